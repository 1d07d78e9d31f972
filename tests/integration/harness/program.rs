//! Programs beside the server, and tests that the machine or the server cannot run.

use std::{
    io::Write,
    process::{Command, Stdio},
    thread,
};

/// Runs redis-cli, or valkey-cli where that is what there is, and answers what it printed. It has to succeed.
#[track_caller]
pub fn redis_cli<A: AsRef<std::ffi::OsStr>>(arguments: &[A]) -> String {
    let name = ["redis-cli", "valkey-cli"].into_iter().find(|name| exists(name));
    let name = name.expect("redis-cli or valkey-cli is installed");
    let output = Command::new(name).args(arguments).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{name} failed: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Whether a program is on PATH.
pub fn exists(program: &str) -> bool {
    Command::new(program).arg("--version").stdin(Stdio::null()).output().is_ok()
}

/// Says that the running test has no meaning here, and why, where the test runner does not swallow it.
pub fn skip(why: &str) {
    let test = thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
}
