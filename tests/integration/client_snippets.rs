//! The snippets of examples/clients, run against a real server with its clock stopped.
//!
//! Those whose client a distribution installs by package name are run: redis-py, node-redis and redis-cli. A client
//! that is not installed is skipped, and that is said; `make test` installs them where it can.

use std::{
    env,
    path::Path,
    process::{Command, Stdio},
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

#[track_caller]
fn check(program: &str, snippet: &str) {
    let server = Server::start();
    let output = command(program)
        .args([snippet, "api:42", "1", "1", "1", "1", "4"])
        .env("REDIS_URL", format!("redis://127.0.0.1:{}", server.port()))
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{snippet}: {printed}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(printed, ANSWERS, "{snippet}");
    assert_eq!(server.get::<i64>("EXISTS api:42"), 1);
}

#[test]
fn the_python_snippet_answers_429_with_its_headers() {
    // A Python of one's own may lack the package that the system's has.
    let pythons = ["python3", "/usr/bin/python3"];
    match pythons.iter().find(|python| works(python, &["-c", "import redis"])) {
        Some(python) => check(python, "limit.py"),
        None => skip("redis-py is not installed"),
    }
}

#[test]
fn the_node_snippet_answers_429_with_its_headers() {
    if works("node", &["-e", "require('redis')"]) {
        check("node", "limit.js");
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
