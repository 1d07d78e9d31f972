//! A server of its own: on a free port, in a folder that goes away with it.

use std::{
    env,
    error::Error,
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio, id},
    thread,
    time::Duration,
};

pub struct Server {
    process: Child,
    port: u16,
    folder: PathBuf,
}

impl Server {
    /// Starts `redis-server`, or `valkey-server`, with the module.
    pub fn start(module: &str) -> Result<Self, Box<dyn Error>> {
        let folder = env::temp_dir().join(format!("redis-limiter-demo-{}", id()));
        fs::create_dir_all(&folder)?;
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let module = fs::canonicalize(module).map_err(|error| format!("{module}: {error}"))?;
        let given = env::var("RL_SERVER").ok();
        let names = given.as_deref().map_or(vec!["redis-server", "valkey-server"], |name| vec![name]);
        let process = names.iter().find_map(|name| spawn(name, &module, port, &folder).ok());
        let process = process.ok_or_else(|| format!("none of {names:?} can be started: make setup installs one"))?;
        Ok(Self { process, port, folder })
    }

    /// Connects as soon as the server answers.
    pub fn connect(&self) -> Result<redis::Connection, Box<dyn Error>> {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port))?;
        for _ in 0..100 {
            if let Ok(mut connection) = client.get_connection()
                && redis::cmd("PING").exec(&mut connection).is_ok()
            {
                return Ok(connection);
            }
            thread::sleep(Duration::from_millis(50));
        }
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        Err(format!("the server does not answer:\n{log}").into())
    }
}

fn spawn(name: &str, module: &Path, port: u16, folder: &Path) -> std::io::Result<Child> {
    Command::new(name)
        .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", "", "--logfile", "log"])
        .arg("--dir")
        .arg(folder)
        .arg("--loadmodule")
        .arg(module)
        .stdout(Stdio::null())
        .spawn()
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only if there is nothing left to do.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
