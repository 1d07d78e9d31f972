//! One running server and its folder.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use redis::{FromRedisValue, Value};

use super::{
    artifacts,
    builder::Builder,
    client::Client,
    clock::Clock,
    process::Process,
    room::{PATIENCE, free_port, new_folder, wait_until},
};

/// More seconds than any clock jumps in a test: a jump must not look like a replica or a primary that has gone silent.
const A_JUMP_OF_THE_CLOCK: u64 = 1_000_000_000;
/// What no server may ever log. Compared in lower case.
const CRASHES: [&str; 5] = ["panic", "bug report", "crashed", "assertion failed", "stack trace"];

/// A server under test. Its methods that take a command use one connection of its own; [`Server::client`] opens more.
pub struct Server {
    builder: Builder,
    folder: PathBuf,
    port: u16,
    process: Option<Process>,
    client: Mutex<Option<Client>>,
}

/// Which project a server comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    Redis,
    Valkey,
}

impl Server {
    /// The server under test with the module loaded, its clock stopped at [`START`](super::START).
    #[must_use]
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// Describes another one.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(super) fn launch(builder: Builder) -> Result<Self, String> {
        let mut server = Self { builder, folder: new_folder(), port: 0, process: None, client: Mutex::new(None) };
        // Another process may take the free port first.
        for _ in 0..5 {
            server.port = free_port();
            match server.spawn() {
                Err(log) if log.contains("Address already in use") => {
                    let _ = fs::remove_file(server.folder.join("log"));
                }
                result => return result.map(|()| server),
            }
        }
        Err("no free port".into())
    }

    fn spawn(&mut self) -> Result<(), String> {
        self.write_config();
        let old_log = self.log().len();
        let mut process = Process::spawn(&self.builder, &self.folder);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let log = self.log();
            let news = log.get(old_log..).unwrap_or_default();
            if ["Ready to accept connections", "Sentinel ID is"].iter().any(|sign| news.contains(sign)) {
                self.process = Some(process);
                return Ok(());
            }
            if !process.is_running() || Instant::now() > deadline {
                process.kill();
                let output = fs::read(self.folder.join("output")).unwrap_or_default();
                return Err(format!(
                    "{}{}",
                    self.log().get(old_log..).unwrap_or_default(),
                    String::from_utf8_lossy(&output)
                ));
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn write_config(&self) {
        let folder = self.folder.display();
        let mut config = format!(
            "bind 127.0.0.1\nport {}\ndir {folder}\nlogfile {folder}/log\nsave \"\"\n\
             enable-debug-command local\nenable-module-command local\nrepl-diskless-sync-delay 0\n\
             repl-timeout {A_JUMP_OF_THE_CLOCK}\n",
            self.port
        );
        if let Some(arguments) = &self.builder.module {
            let path = self.builder.module_path.as_deref().unwrap_or_else(|| artifacts::module_path());
            config += &format!("loadmodule {} {}\n", path.display(), arguments.join(" "));
        }
        for (name, value) in &self.builder.config {
            config += &format!("{name} {value}\n");
        }
        fs::write(self.folder.join("redis.conf"), config).unwrap();
    }

    /// How this server was described.
    pub fn description(&self) -> &Builder {
        &self.builder
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where its configuration, log, RDB and AOF files are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its process on this machine; none in a container.
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().and_then(Process::id)
    }

    /// Everything it has logged so far.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.folder.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Its clock; panics on a server that runs on the machine's.
    pub fn clock(&self) -> &Clock {
        self.builder.clock.as_ref().expect("this server has a clock to set")
    }

    /// Sets the server's clock, in microseconds since the epoch.
    pub fn set_clock(&self, us: i64) {
        self.clock().set(us);
    }

    /// Moves the server's clock.
    pub fn advance(&self, us: i64) {
        self.clock().advance(us);
    }

    /// Opens a connection that speaks RESP2.
    pub fn client(&self) -> Client {
        Client::connect(self.port, redis::ProtocolVersion::RESP2)
    }

    /// Opens a connection that speaks RESP3.
    pub fn client_resp3(&self) -> Client {
        Client::connect(self.port, redis::ProtocolVersion::RESP3)
    }

    fn with_client<T>(&self, use_it: impl FnOnce(&mut Client) -> T) -> T {
        let mut client = self.client.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        use_it(client.get_or_insert_with(|| self.client()))
    }

    /// See [`Client::run`].
    pub fn run(&self, command: &str) -> Value {
        self.with_client(|client| client.run(command))
    }

    /// See [`Client::get`].
    pub fn get<T: FromRedisValue>(&self, command: &str) -> T {
        self.with_client(|client| client.get(command))
    }

    /// See [`Client::try_run`].
    pub fn try_run(&self, command: &str) -> Result<Value, String> {
        self.with_client(|client| client.try_run(command))
    }

    /// See [`Client::send`].
    pub fn send<A: AsRef<[u8]>>(&self, words: &[A]) -> Result<Value, String> {
        self.with_client(|client| client.send(words))
    }

    /// See [`Client::five`].
    pub fn five(&self, command: &str) -> [i64; 5] {
        self.with_client(|client| client.five(command))
    }

    /// See [`Client::integers`].
    pub fn integers(&self, command: &str) -> Vec<i64> {
        self.with_client(|client| client.integers(command))
    }

    /// See [`Client::error`].
    pub fn error(&self, command: &str) -> String {
        self.with_client(|client| client.error(command))
    }

    /// One field of INFO, from whatever section it is in.
    pub fn info(&self, field: &str) -> String {
        let info: String = self.get("INFO everything");
        info.lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
            .unwrap_or_else(|| panic!("INFO has no {field}"))
            .to_owned()
    }

    /// What a key holds: its serialised value, empty if there is none, and its PEXPIRETIME.
    pub fn state(&self, key: &str) -> (Vec<u8>, i64) {
        let value: Option<Vec<u8>> = self.get(&format!("DUMP {key}"));
        (value.unwrap_or_default(), self.get(&format!("PEXPIRETIME {key}")))
    }

    /// Every key with its bytes and its PEXPIRETIME, in order. Those that have expired are deleted on the way.
    pub fn records(&self) -> Vec<(String, Vec<u8>, i64)> {
        let mut keys: Vec<String> = self.get("KEYS *");
        keys.sort();
        let record = |key: String| {
            let bytes: Option<Vec<u8>> = self.get(&format!("GET {key}"));
            Some((key.clone(), bytes?, self.get(&format!("PEXPIRETIME {key}"))))
        };
        keys.into_iter().filter_map(record).collect()
    }

    /// What the limiters of these calls hold, as `RL.INFO` tells it.
    pub fn used_by(&self, calls: &[String]) -> Vec<u64> {
        let used = |call: &String| {
            let key = call.split(' ').nth(1).expect("a key");
            let info: Option<BTreeMap<String, Value>> = self.get(&format!("RL.INFO {key}"));
            info.map_or(0, |info| redis::from_redis_value(info["used"].clone()).unwrap())
        };
        calls.iter().map(used).collect()
    }

    /// The project and the version (major, minor) of the server.
    pub fn version(&self) -> (Flavor, u32, u32) {
        let info: String = self.get("INFO server");
        let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name));
        let (flavor, version) = match field("valkey_version:") {
            Some(version) => (Flavor::Valkey, version),
            None => (Flavor::Redis, field("redis_version:").unwrap()),
        };
        let mut numbers = version.split('.').map(|number| number.parse().unwrap());
        (flavor, numbers.next().unwrap(), numbers.next().unwrap())
    }

    /// Waits until `count` replicas are attached and have taken in everything this server has written.
    pub fn wait_for_replicas(&self, count: usize) {
        wait_until("the replicas are in step", || {
            let info: String = self.get("INFO replication");
            let offset = info.lines().find_map(|line| line.strip_prefix("master_repl_offset:")).unwrap();
            let in_step = |line: &&str| {
                line.starts_with("slave")
                    && line.contains("state=online")
                    && line.contains(&format!("offset={offset},"))
            };
            let all = info.lines().filter(in_step).count() == count;
            if count == 0 {
                return all;
            }
            if all && offset == "0" {
                // Nothing was sent yet, which a replica that is still loading has acknowledged too.
                // Asking for more replicas than there are sends a question to those, in a cluster too.
                let mut asker = self.client();
                asker.connection().send_packed_command(b"WAIT 100 0\r\n").unwrap();
            }
            all && offset != "0"
        });
    }

    /// Ends the server as kill -9 does. [`Server::relaunch`] starts it again.
    pub fn kill(&mut self) {
        self.forget_client();
        self.process.take().expect("the server runs").kill();
    }

    /// Sends SHUTDOWN with these words (`SAVE`, `NOSAVE`, ...) and waits for the end.
    pub fn shutdown(&mut self, how: &str) {
        let refusal = self.try_run(&format!("SHUTDOWN {how}"));
        self.forget_client();
        let mut process = self.process.take().expect("the server runs");
        wait_until(&format!("the server is down (it said {refusal:?})"), || !process.is_running());
        process.kill();
    }

    /// Starts a server that was killed or shut down again, in the same folder and on the same port.
    pub fn relaunch(&mut self) {
        self.relaunch_with(|builder| builder);
    }

    /// The same with another description: another binary, other settings, without the module.
    pub fn relaunch_with(&mut self, change: impl FnOnce(Builder) -> Builder) {
        assert!(self.process.is_none(), "the server still runs");
        self.builder = change(self.builder.clone());
        self.spawn().unwrap_or_else(|log| panic!("the server does not start again:\n{log}"));
    }

    /// Drops the connection of its own, for a new one when it is next needed: for servers that close connections.
    pub fn forget_client(&self) {
        *self.client.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let died = self.process.take().is_some_and(|mut process| {
            let died = !process.is_running();
            process.kill();
            died
        });
        let log = self.log();
        let _ = fs::remove_dir_all(&self.folder);
        if thread::panicking() {
            eprintln!("--- log of the server on port {} ---\n{log}", self.port);
            return;
        }
        assert!(!died, "the server ended on its own:\n{log}");
        let crash = |line: &&str| CRASHES.iter().any(|word| line.to_lowercase().contains(word));
        assert_eq!(log.lines().find(crash), None, "the server logged a crash:\n{log}");
    }
}
