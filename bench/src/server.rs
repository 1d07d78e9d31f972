//! Starts servers on free ports in temporary folders, and asks them what they are.

use crate::client::Client;
use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use std::{
    env, fs,
    net::TcpListener,
    path::{self, Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// Where else to look for servers: paths, separated as in PATH.
const SERVERS_VARIABLE: &str = "RL_BENCH_SERVERS";

/// What the server says it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Identity {
    /// "redis" or "valkey".
    pub name: String,
    pub version: String,
    pub allocator: String,
}

impl Identity {
    /// The folder of its results.
    pub fn slug(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }

    pub fn title(&self) -> String {
        let name = if self.name == "valkey" { "Valkey" } else { "Redis" };
        format!("{name} {}", self.version)
    }
}

/// The servers to measure: those named, else those of the environment, else those on PATH.
pub fn find(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = named.to_vec();
    if found.is_empty()
        && let Some(list) = env::var_os(SERVERS_VARIABLE)
    {
        found = env::split_paths(&list).collect();
    }
    if found.is_empty() {
        found = ["redis-server", "valkey-server"].into_iter().filter_map(on_path).collect();
    }
    if found.is_empty() {
        bail!("no redis-server or valkey-server on PATH: install one, or give --server PATH or {SERVERS_VARIABLE}");
    }
    // Valkey packages may leave redis-server as a link to the same binary.
    let mut seen = Vec::new();
    let mut servers = Vec::new();
    for path in &found {
        let file = fs::canonicalize(path).with_context(|| format!("no server at {}", path.display()))?;
        if !seen.contains(&file) {
            seen.push(file);
            // Not what a link leads to: the same file serves as redis-check-rdb, by the name that it is called.
            servers.push(path::absolute(path)?);
        }
    }
    Ok(servers)
}

/// The executable of this name on PATH.
pub fn on_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// How to start a server.
#[derive(Default)]
pub struct Options<'a> {
    pub modules: &'a [PathBuf],
    pub arguments: &'a [String],
    /// A program that runs the server, with its own arguments: valgrind.
    pub wrapper: &'a [String],
}

pub struct Server {
    child: Child,
    pub port: u16,
    pub folder: TempDir,
}

impl Server {
    pub fn start(binary: &Path, options: &Options) -> Result<Self> {
        // Another process may take the port between our look and the server's bind; then try the next one.
        let mut attempts = 3;
        loop {
            attempts -= 1;
            let mut server = Self::spawn(binary, options)?;
            match server.wait_until_ready() {
                Ok(()) => return Ok(server),
                Err(error) if attempts == 0 => return Err(error),
                Err(error) if !error.to_string().contains("Address already in use") => return Err(error),
                Err(_) => {}
            }
        }
    }

    fn spawn(binary: &Path, options: &Options) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("rl-bench-").tempdir()?;
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut words: Vec<String> = options.wrapper.to_vec();
        words.push(binary.display().to_string());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(folder.path());
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"]).arg(folder.path());
        command.args(["--daemonize", "no", "--logfile", "server.log", "--databases", "64"]).args(options.arguments);
        for module in options.modules {
            command.arg("--loadmodule").arg(module);
        }
        let output = fs::File::create(folder.path().join("output.log"))?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let child = command.spawn().with_context(|| format!("cannot run {}", words[0]))?;
        Ok(Self { child, port, folder })
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(status) = self.child.try_wait()? {
                bail!("the server did not start ({status}):\n{}", self.log());
            }
            if let Ok(mut client) = self.client()
                && client.text(&["PING"]).is_ok()
            {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("the server did not answer within a minute:\n{}", self.log());
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn log(&self) -> String {
        let read = |name| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        let text = read("output.log") + &read("server.log");
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(12)..].join("\n")
    }

    pub fn client(&self) -> Result<Client> {
        Client::connect(self.port)
    }

    pub fn identity(&self) -> Result<Identity> {
        let info = self.client()?.text(&["INFO"])?;
        let (name, version) = match field(&info, "valkey_version") {
            Some(version) => ("valkey", version),
            None => ("redis", field(&info, "redis_version").context("INFO names no version")?),
        };
        let allocator = field(&info, "mem_allocator").unwrap_or("unknown");
        Ok(Identity { name: name.to_owned(), version: version.to_owned(), allocator: allocator.to_owned() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A field of an INFO text.
pub fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}
