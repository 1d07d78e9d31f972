//! A module that is replaced, removed or refused while the server runs.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use redis::Value;

use crate::harness::{
    Client, DAY, MS, NEXT_VERSION, NEXT_WORDS, Server, Tally, module_path, next_version, skip, under_load,
};

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

/// How often the module has said this in the server's log.
fn said(server: &Server, sentence: &str) -> usize {
    server.log().matches(sentence).count()
}

fn both_steps_failed(replies: &Result<Value, String>) -> bool {
    let failed = |reply: &Value| matches!(reply, Value::ServerError(_));
    matches!(replies, Ok(Value::Array(steps)) if steps.len() == 2 && steps.iter().all(failed))
}

#[test]
fn while_a_user_names_a_command_unload_is_refused_with_a_sentence_and_the_server_lives() {
    let (server, file) = server_with_module();
    server.run("RL.FIXED k 5 1h");
    let state = server.state("k");
    for rules in ["+rl.fixed", "+@all -rl.peek", "\"(+rl.info ~x)\"", "+RL.GCRA"] {
        let sentence = "does not unload: a user's ACL rules name one of its commands";
        let before = said(&server, sentence);
        server.run(&format!("ACL SETUSER bob on nopass ~* {rules}"));
        let error = server.error("MODULE UNLOAD rl");
        assert!(error.starts_with("ERR Error unloading module"), "{rules}: {error}");
        // Valkey 9 sees it before the module is asked, and says so to the client.
        if !error.contains("ACL users reference commands from this module") {
            assert_eq!(said(&server, sentence), before + 1, "{rules}: {}", server.log());
        }

        // In the recipe neither step happens, and the old version goes on.
        let replies = upgrade(&mut server.client(), &file, "");
        assert!(both_steps_failed(&replies), "{rules}: {replies:?}");
        assert_eq!(version(&server), Some(present_version()));
        assert_eq!(server.five("RL.FIXED k 5 1h 0")[..3], [1, 5, 4]);
        assert_eq!(server.state("k"), state);
        server.run("ACL DELUSER bob");
    }
    server.run("ACL SETUSER bob on nopass ~* +@all");
    server.run("MODULE UNLOAD rl");
    server.run("ACL LIST");
}

#[test]
fn while_a_client_has_commands_queued_unload_is_refused_with_a_sentence_and_they_run_in_the_end() {
    let (server, file) = server_with_module();
    if server.client().try_run("CLIENT LIST FLAGS x").is_err() {
        skip("this server cannot list the clients in a transaction alone");
        return;
    }
    let mut slow = server.client();
    slow.run("MULTI");
    let replies = upgrade(&mut server.client(), &file, "");
    assert!(!both_steps_failed(&replies), "an open transaction without a command is no reason: {replies:?}");
    slow.run("RL.FIXED k 5 1h");
    let id = server.get::<String>("CLIENT LIST");
    let id = id.lines().find(|line| line.contains(" multi=1 ")).and_then(|line| line.split(' ').next()).unwrap();

    let sentence = format!("does not unload: a client ({id}) has commands queued after MULTI");
    assert!(server.error("MODULE UNLOAD rl").starts_with("ERR Error unloading module"));
    assert_eq!(said(&server, &sentence), 1, "{}", server.log());
    let replies = upgrade(&mut server.client(), &file, "");
    assert!(both_steps_failed(&replies), "{replies:?}");

    let replies: Vec<Vec<i64>> = slow.get("EXEC");
    assert_eq!(replies, [[1, 5, 4, 0, 3_600_000]]);
    let replies = upgrade(&mut server.client(), &file, "");
    assert_eq!(replies, Ok(Value::Array(vec![Value::Okay, Value::Okay])));
    assert_eq!(server.five("RL.FIXED k 5 1h")[..3], [1, 5, 3]);
}

#[test]
fn unloading_asks_nothing_of_clients_whose_last_command_is_long_gone() {
    let (server, file) = server_with_module();
    let calls = every_algorithm("k", 1_000);
    let idle: Vec<Client> = (0..20)
        .map(|number| {
            let mut client = server.client();
            client.run(&calls[number % 5]);
            client
        })
        .collect();
    let mut operator = server.client();
    for round in 0..3 {
        operator.run("MODULE UNLOAD rl");
        // Values of all sizes take the memory that was freed.
        for size in 1..300 {
            operator.run(&format!("SET value:{round}:{size} {}", "x".repeat(size)));
        }
        operator.run(&format!("MODULE LOAD {}", file.display()));
    }
    assert_eq!(version(&server), Some(present_version()));
    // The server's own fault stays: it may not survive a CLIENT LIST while they are there.
    operator.run("CLIENT KILL TYPE normal SKIPME yes");
    drop(idle);
}

#[test]
fn keys_left_behind_by_an_unloaded_module_expire_by_themselves() {
    let server = Server::start();
    for call in every_algorithm("k", 5) {
        server.run(&call);
    }
    server.run("MODULE UNLOAD rl");
    assert!(server.error("RL.FIXED k:f 5 1d").starts_with("ERR unknown command"));
    assert_eq!(server.get::<u32>("DBSIZE"), 5);
    let last = every_algorithm("k", 5).iter().map(|call| server.state(key_of(call)).1).max().unwrap();
    assert!(last > 0 && last * MS <= server.clock().now() + 4 * DAY, "{last}");
    server.set_clock(last * MS + MS);
    for call in every_algorithm("k", 5) {
        assert_eq!(server.get::<u32>(&format!("EXISTS {}", key_of(&call))), 0, "{call}");
    }
}

#[test]
fn state_outlives_an_unload_and_is_charged_again_after_the_next_load() {
    let (server, file) = server_with_module();
    for call in every_algorithm("k", 5) {
        server.run(&format!("{call} 5"));
    }
    server.run("MODULE UNLOAD rl");
    server.run("DEBUG RELOAD");
    server.run(&format!("MODULE LOAD {}", file.display()));
    for call in every_algorithm("k", 5) {
        assert_eq!(server.five(&call)[..3], [0, 5, 0], "{call}");
    }
}

#[test]
fn a_load_that_fails_is_an_error_and_nothing_more() {
    let server = Server::builder().without_module().start();
    let module = install(&server, module_path(), "libredis_limiter.so");
    let module = module.display();
    let nonsense = server.folder().join("nonsense.so");
    fs::write(&nonsense, "not a library").unwrap();
    let try_all = || {
        for load in [
            format!("MODULE LOADEX {module} CONFIG rl.nothing 1"),
            format!("MODULE LOADEX {module} CONFIG rl.sliding-log-max-limit 0"),
            format!("MODULE LOADEX {module} CONFIG rl.sliding-log-max-limit 10000001"),
            format!("MODULE LOADEX {module} CONFIG rl.sliding-log-max-limit many"),
            format!("MODULE LOADEX {module} CONFIG rl.sliding-log-max-limit 5 CONFIG rl.nothing 1"),
            format!("MODULE LOADEX {module} CONFIG maxmemory 1"),
            format!("MODULE LOADEX {module} CONFIG"),
            format!("MODULE LOADEX {module} ARGS x"),
            format!("MODULE LOAD {module} x"),
            format!("MODULE LOAD {}", nonsense.display()),
            "MODULE LOAD /nowhere/libredis_limiter.so".to_owned(),
        ] {
            let error = server.error(&load);
            assert!(error.starts_with("ERR"), "{load}: {error}");
            server.run("PING");
        }
    };
    try_all();
    assert_eq!(version(&server), None);
    assert!(server.error("RL.FIXED k 5 1h").starts_with("ERR unknown command"));
    assert_eq!(server.get::<Vec<String>>("CONFIG GET rl.*"), [""; 0]);

    // Nor does a failed attempt harm what is loaded.
    server.run(&format!("MODULE LOADEX {module} CONFIG rl.sliding-log-max-limit 5"));
    server.run("RL.FIXED k 5 1h");
    try_all();
    assert_eq!(version(&server), Some(present_version()));
    assert_eq!(server.five("RL.FIXED k 5 1h")[..3], [1, 5, 3]);
    assert_eq!(server.get::<(String, i64)>("CONFIG GET rl.sliding-log-max-limit").1, 5);
    server.run("MODULE UNLOAD rl");
}

#[test]
fn an_upgrade_with_a_wrong_setting_leaves_no_module_and_all_state_and_can_be_repaired() {
    let (server, file) = server_with_module();
    server.run("RL.FIXED k 5 1h");
    let state = server.state("k");
    let replies = upgrade(&mut server.client(), &file, "CONFIG rl.sliding-log-max-limit 0");
    let Ok(Value::Array(steps)) = replies else { panic!("{replies:?}") };
    assert!(matches!(&steps[..], [Value::Okay, Value::ServerError(_)]), "{steps:?}");
    assert_eq!(version(&server), None);
    assert!(server.error("RL.FIXED k 5 1h").starts_with("ERR unknown command"));
    assert_eq!(server.state("k"), state);
    server.run(&format!("MODULE LOADEX {} CONFIG rl.sliding-log-max-limit 9", file.display()));
    assert_eq!(server.five("RL.FIXED k 5 1h")[..3], [1, 5, 3]);
}

#[test]
fn a_module_that_is_removed_together_with_its_callers_leaves_nothing_for_the_server_to_stumble_over() {
    let (server, _) = server_with_module();
    let calls = every_algorithm("k", 1_000);
    let callers: Vec<Client> = (0..20)
        .map(|number| {
            let mut caller = server.client();
            caller.run(&calls[number % 5]);
            caller
        })
        .collect();
    let mut operator = server.client();
    operator.run("MULTI");
    operator.run("CLIENT KILL TYPE normal SKIPME yes");
    operator.run("MODULE UNLOAD rl");
    let replies = operator.run("EXEC");
    let Value::Array(steps) = &replies else { panic!("{replies:?}") };
    assert_eq!(steps[1], Value::Okay, "{replies:?}");
    // Values of all sizes take the memory that was freed.
    for size in 1..1_000 {
        operator.run(&format!("SET value:{size} {}", "x".repeat(size)));
    }
    assert_eq!(operator.get::<String>("CLIENT LIST").lines().count(), 1);
    drop(callers);
}
