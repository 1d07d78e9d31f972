//! Times without the module: state that is left behind, and loads that fail.

use std::fs;

use redis::Value;

use super::{every_algorithm, install, key_of, present_version, server_with_module, upgrade, version};
use crate::harness::{Client, DAY, MS, Server, module_path};

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
