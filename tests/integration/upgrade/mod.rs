//! A module that is replaced, removed or refused while the server runs.

mod gone;
mod refused;

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use redis::Value;

use crate::harness::{Client, NEXT_VERSION, NEXT_WORDS, Server, Tally, module_path, next_version, skip, under_load};

/// A server that loaded the module from a file in its own folder, and that file.
fn server_with_module() -> (Server, PathBuf) {
    let server = Server::builder().without_module().start();
    let file = install(&server, module_path(), "libredis_limiter.so");
    server.run(&format!("MODULE LOADEX {}", file.display()));
    (server, file)
}

/// Puts a build into the server's folder, in place of another of that name, as package managers do: a new file, renamed.
fn install(server: &Server, build: &Path, name: &str) -> PathBuf {
    let file = server.folder().join(name);
    let draft = server.folder().join("draft");
    fs::copy(build, &draft).unwrap();
    fs::rename(&draft, &file).unwrap();
    file
}

/// The upgrade as docs/operations.md has it, and what the two commands in it answered.
fn upgrade(client: &mut Client, file: &Path, settings: &str) -> Result<Value, String> {
    client.run("MULTI");
    client.run("MODULE UNLOAD rl");
    client.run(&format!("MODULE LOADEX {} {settings}", file.display()));
    client.try_run("EXEC")
}

fn version(server: &Server) -> Option<i64> {
    let modules: Vec<BTreeMap<String, Value>> = server.get("MODULE LIST");
    let ours = modules.into_iter().find(|module| module["name"] == Value::BulkString(b"rl".to_vec()));
    ours.map(|module| redis::from_redis_value(module["ver"].clone()).unwrap())
}

fn present_version() -> i64 {
    env!("CARGO_PKG_VERSION").split('.').fold(0, |number, part| 100 * number + part.parse::<i64>().unwrap())
}

/// The files that the server has executable pages of, among those of this module: device and inode do not change when a
/// file is renamed or removed.
fn executable_mappings(server: &Server) -> Option<Vec<u64>> {
    let maps = fs::read_to_string(format!("/proc/{}/maps", server.process_id()?)).ok()?;
    let fields = maps.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let ours =
        fields.filter(|fields| fields.len() > 5 && fields[5].contains("redis_limiter") && fields[1].contains('x'));
    Some(ours.map(|fields| fields[4].parse().unwrap()).collect())
}

fn every_algorithm(key: &str, limit: u32) -> [String; 5] {
    [
        format!("RL.TOKENBUCKET {key}:t {limit} 1/1d"),
        format!("RL.GCRA {key}:g {limit} 1/1d"),
        format!("RL.FIXED {key}:f {limit} 1d"),
        format!("RL.SLIDINGLOG {key}:l {limit} 1d"),
        format!("RL.SLIDINGCOUNTER {key}:c {limit} 1d"),
    ]
}

fn key_of(call: &str) -> &str {
    call.split(' ').nth(1).unwrap()
}

fn assert_each_call_is_charged_once(server: &Server, calls: &[String], tally: &Tally) {
    assert_eq!(tally.errors, [""; 0]);
    for (call, &admitted) in calls.iter().zip(&tally.admitted) {
        let info: BTreeMap<String, Value> = server.get(&format!("RL.INFO {}", key_of(call)));
        assert_eq!(info["used"], Value::Int(admitted as i64), "{call}");
        assert_eq!(admitted == 7, call.contains(" 7 "), "{call}: {admitted} admitted");
    }
}

/// Upgrades to a really different build, twice there and back, and looks that nobody noticed.
fn upgrade_under_load(name: &str) {
    let (server, file) = server_with_module();
    let calls = [every_algorithm("full", 7), every_algorithm("open", 1_000_000)].concat();
    let connect = || {
        let mut client = server.client();
        move |call: &str| client.try_run(call)
    };
    let ((), tally) = under_load(4, &calls, connect, || {
        let mut operator = server.client();
        let mut old = file.clone();
        for (build, expected) in
            [(next_version(), NEXT_VERSION), (module_path(), present_version()), (next_version(), NEXT_VERSION)]
        {
            let old_inode = fs::metadata(&old).unwrap().ino();
            let new = install(&server, build, if old.ends_with(name) { "libredis_limiter.so" } else { name });
            let new_inode = fs::metadata(&new).unwrap().ino();
            let replies = upgrade(&mut operator, &new, "CONFIG rl.sliding-log-max-limit 1000001");
            assert_eq!(replies, Ok(Value::Array(vec![Value::Okay, Value::Okay])));
            assert_eq!(version(&server), Some(expected));
            assert_eq!(server.get::<(String, i64)>("CONFIG GET rl.sliding-log-max-limit").1, 1_000_001);
            if let Some(inodes) = executable_mappings(&server) {
                assert!(inodes.contains(&new_inode), "the new file runs");
                assert!(!inodes.contains(&old_inode), "nothing of the old file is left");
            }
            server.run("SET foreign string");
            let error = server.error("RL.FIXED foreign 1 1s");
            assert_eq!(
                error.contains(NEXT_WORDS),
                expected == NEXT_VERSION,
                "the code that runs is the other: {error}"
            );
            old = new;
        }
    });
    assert_each_call_is_charged_once(&server, &calls, &tally);
}

#[test]
fn an_upgrade_in_place_under_load_loses_no_call_and_no_state_and_runs_the_new_code() {
    upgrade_under_load("libredis_limiter.so");
}

#[test]
fn an_upgrade_from_another_path_under_load_loses_no_call_and_no_state_and_runs_the_new_code() {
    upgrade_under_load("libredis_limiter-next.so");
}

#[test]
fn a_reload_without_settings_takes_their_defaults() {
    let (server, file) = server_with_module();
    server.run("CONFIG SET rl.sliding-log-max-limit 5");
    assert!(server.error("RL.SLIDINGLOG k 6 1s").contains("expected an integer from 0 to 5"));
    upgrade(&mut server.client(), &file, "").unwrap();
    assert_eq!(server.get::<(String, i64)>("CONFIG GET rl.sliding-log-max-limit").1, 1_000_000);
    assert_eq!(server.five("RL.SLIDINGLOG k 6 1s")[..3], [1, 6, 5]);
}

#[test]
fn grants_by_category_survive_an_upgrade() {
    let (server, file) = server_with_module();
    if server.try_run("ACL CAT ratelimit").is_err() {
        skip("this server has no ACL categories for modules");
        return;
    }
    server.run("ACL SETUSER limited on nopass ~* +@ratelimit +ping");
    server.run("ACL SETUSER barred on nopass ~* +@all -@ratelimit");
    let mut limited = server.client();
    limited.run("AUTH limited x");
    let mut barred = server.client();
    barred.run("AUTH barred x");
    for _ in 0..3 {
        for call in every_algorithm("k", 5) {
            let key = key_of(&call);
            assert_eq!(limited.five(&call)[1], 5, "{call}");
            limited.five(&format!("RL.PEEK {key}"));
            limited.run(&format!("RL.INFO {key}"));
            for call in [&call, &format!("RL.PEEK {key}"), &format!("RL.INFO {key}")] {
                assert!(barred.error(call).starts_with("NOPERM"), "{call}");
            }
        }
        assert!(limited.error("GET k").starts_with("NOPERM"));
        upgrade(&mut server.client(), &file, "").unwrap();
    }
}
