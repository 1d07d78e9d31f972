//! The snippets of examples/clients, run against a real server with its clock stopped.
//!
//! Those whose client a distribution installs by package name are run: redis-py, node-redis and redis-cli. A client
//! that is not installed is skipped, and that is said; `make test` installs them where it can.

use std::{
    env,
    net::TcpListener,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::harness::{Server, exists, skip};

/// What each prints for three calls that pass, one that has to wait, and one that never can pass.
const ANSWERS: &str = r#"200
RateLimit-Policy: "default";q=3;w=60
RateLimit: "default";r=2;t=20
200
RateLimit-Policy: "default";q=3;w=60
RateLimit: "default";r=1;t=40
200
RateLimit-Policy: "default";q=3;w=60
RateLimit: "default";r=0;t=60
429
Retry-After: 20
RateLimit-Policy: "default";q=3;w=60
RateLimit: "default";r=0;t=20
429
RateLimit-Policy: "default";q=3;w=60
RateLimit: "default";r=0;t=60
"#;

/// What a service that fails open prints for two calls without a server, and one that fails closed.
const OPEN: &str = r#"200
RateLimit-Policy: "default";q=3;w=60
200
RateLimit-Policy: "default";q=3;w=60
"#;
const CLOSED: &str = r#"503
Retry-After: 1
RateLimit-Policy: "default";q=3;w=60
503
Retry-After: 1
RateLimit-Policy: "default";q=3;w=60
"#;

/// The key that every snippet makes for the same subject. The client crate's tests hold its keys to this one too.
const KEY: &str = "rl:prod:shop:api:user:fbc823c14963c168bb2bb91ddec63e78";

/// Where Debian keeps the modules of Node packages; only its own `node` looks there by itself.
const NODE_PATH: &str = "/usr/share/nodejs";

fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    if env::var_os("NODE_PATH").is_none() {
        command.env("NODE_PATH", NODE_PATH);
    }
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/clients"));
    command
}

/// Whether a program with these arguments ends well: a look at what is installed.
fn works(program: &str, arguments: &[&str]) -> bool {
    let status = command(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// What the snippet prints with these arguments in front of whatever listens on this port.
#[track_caller]
fn run(program: &str, snippet: &str, arguments: &[&str], port: u16, settings: &[(&str, &str)]) -> String {
    let mut command = command(program);
    command.arg(snippet).args(arguments).env("REDIS_URL", format!("redis://127.0.0.1:{port}"));
    let output = command.envs(settings.iter().copied()).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{snippet}: {printed}{}", String::from_utf8_lossy(&output.stderr));
    printed
}

/// A machine that runs many tests is slower than a server may be.
const PATIENT: (&str, &str) = ("LIMIT_TIMEOUT_MS", "10000");

#[track_caller]
fn check(program: &str, snippet: &str) {
    let server = Server::start();
    let printed = run(program, snippet, &["api:42", "1", "1", "1", "1", "4"], server.port(), &[PATIENT]);
    assert_eq!(printed, ANSWERS, "{snippet}");
    assert_eq!(server.get::<i64>("EXISTS api:42"), 1);
}

/// What a service needs beyond that: a key that hides its subject, and an answer when the server has none.
#[track_caller]
fn check_service(program: &str, snippet: &str) {
    check(program, snippet);
    let server = Server::start();
    run(program, snippet, &[], server.port(), &[PATIENT]);
    assert_eq!(server.get::<Vec<String>>("KEYS *"), [KEY], "{snippet}");

    let without_the_module = Server::builder().without_module().start();
    // Nobody listens there; and somebody does who never answers.
    let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let start = Instant::now();
    for port in [without_the_module.port(), 1, silent.local_addr().unwrap().port()] {
        for (policy, expected) in [("open", OPEN), ("closed", CLOSED)] {
            let printed = run(program, snippet, &["api:42", "1", "1"], port, &[("ON_FAILURE", policy)]);
            assert_eq!(printed, expected, "{snippet}, {policy}, port {port}");
        }
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{snippet} waits too long: {:?}", start.elapsed());
}

#[test]
fn the_python_snippet_answers_429_and_fails_as_it_is_told() {
    // A Python of one's own may lack the package that the system's has.
    let pythons = ["python3", "/usr/bin/python3"];
    match pythons.iter().find(|python| works(python, &["-c", "import redis"])) {
        Some(python) => check_service(python, "limit.py"),
        None => skip("redis-py is not installed"),
    }
}

#[test]
fn the_node_snippet_answers_429_and_fails_as_it_is_told() {
    if works("node", &["-e", "require('redis')"]) {
        check_service("node", "limit.js");
    } else {
        skip("node-redis is not installed");
    }
}

#[test]
fn the_redis_cli_snippet_answers_429_with_its_headers() {
    if exists("redis-cli") {
        check("bash", "limit.sh");
    } else {
        skip("redis-cli is not installed");
    }
}
