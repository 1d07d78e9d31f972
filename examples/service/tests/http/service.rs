//! The service in a process of its own.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::harness::{Server, free_port};

const BINARY: &str = env!("CARGO_BIN_EXE_service");

/// The service, ended when dropped.
pub struct Service {
    process: Child,
    url: String,
    agent: ureq::Agent,
    folder: Option<PathBuf>,
}

impl Service {
    /// In front of this server, for which it waits long: a machine that runs many tests is slower than a server may be.
    pub fn start(server: &Server) -> Self {
        Self::impatient(server, "10000")
    }

    /// In front of this server, for which it waits this long.
    pub fn impatient(server: &Server, timeout_ms: &str) -> Self {
        let mut command = Command::new(BINARY);
        command.env("REDIS_URL", format!("redis://127.0.0.1:{}", server.port())).env("LISTEN", "127.0.0.1:0");
        command.env("LIMIT_TIMEOUT_MS", timeout_ms);
        Self::spawn(command, None)
    }

    /// As `make service` starts it, with a server of its own.
    pub fn with_a_server(module: &Path) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/service");
        let folder = env::temp_dir().join(format!("redis-limiter-service-{}", std::process::id()));
        let mut command = Command::new(script);
        command.arg(module).arg(BINARY);
        command.env("PORT", free_port().to_string()).env("LISTEN", "127.0.0.1:0").env("RUN_DIR", &folder);
        command.env("LIMIT_TIMEOUT_MS", "10000");
        Self::spawn(command, Some(folder))
    }

    fn spawn(mut command: Command, folder: Option<PathBuf>) -> Self {
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
        let said = said.inspect(|line| eprintln!("{line}"));
        let url = said.filter_map(|line| Some(line.strip_prefix("listening on ")?.to_owned())).next();
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(30)))
            .build();
        let url = url.expect("the service says where it listens");
        Self { process, url, agent: agent.into(), folder }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// What a GET is answered, with this token if any.
    pub fn get(&self, path: &str, token: Option<&str>) -> Answer {
        let mut request = self.agent.get(format!("{}{path}", self.url));
        if let Some(token) = token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let mut response = request.call().unwrap();
        let fields = response.headers().iter();
        let fields = fields.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
        Answer { status: response.status().as_u16(), fields, body: response.body_mut().read_to_string().unwrap() }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // As Ctrl-C does: a script has a server to stop as well.
        let _ = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
        if let Some(folder) = &self.folder {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// An answer over HTTP.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    fields: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    /// An answer as it is printed, and sent.
    pub fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status").parse().unwrap();
        let field = |line: &str| {
            let (name, value) = line.split_once(": ").expect("a field");
            (name.to_lowercase(), value.to_owned())
        };
        Self { status, fields: lines.map(field).collect(), body: body.to_owned() }
    }

    pub fn fields(&self, name: &str) -> Vec<&str> {
        self.fields.iter().filter(|(other, _)| other == name).map(|(_, value)| value.as_str()).collect()
    }

    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields(name).first().copied()
    }

    /// The value of a counter of one limit.
    #[track_caller]
    pub fn metric(&self, name: &str, limit: &str) -> u64 {
        let label = format!("limit=\"{limit}\"");
        let line = self.body.lines().find(|line| line.starts_with(name) && line.contains(&label));
        let line = line.unwrap_or_else(|| panic!("no {name} of {limit} in\n{}", self.body));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }
}
