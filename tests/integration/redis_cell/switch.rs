//! `rl.cl-throttle`: who owns the name `CL.THROTTLE`, and how it passes from one module to the other.

use std::collections::{BTreeMap, BTreeSet};

use redis::Value;

use super::{ON, cell, drop_in, load};
use crate::harness::{Server, Stream, cell_module, module_path, under_load};

const SENTENCE: &str = "<rl> does not load: cannot create the command cl.throttle: another module has one of that name; \
                        unload that module first, or set rl.cl-throttle to no";

/// Which of the two modules are loaded; servers have some of their own.
fn modules(server: &Server) -> BTreeSet<String> {
    let modules: Vec<BTreeMap<String, Value>> = server.get("MODULE LIST");
    let name = |mut module: BTreeMap<_, _>| redis::from_redis_value(module.remove("name").unwrap()).unwrap();
    let both = names(&["redis-cell", "rl"]);
    modules.into_iter().map(name).filter(|name| both.contains(name)).collect()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

/// The switch as docs/redis-cell.md has it: both steps at once.
fn switch(server: &Server, from: &str, load: &str) -> Value {
    let mut client = server.client();
    client.run("MULTI");
    client.run(&format!("MODULE UNLOAD {from}"));
    client.run(load);
    client.run("EXEC")
}

fn both() -> Value {
    Value::Array(vec![Value::Okay, Value::Okay])
}

#[test]
fn it_is_off_unless_set_and_then_there_is_no_cl_throttle() {
    let server = Server::start();
    assert!(server.error("CL.THROTTLE k 4 1 1").starts_with("ERR unknown command"));
    assert_eq!(server.five("RL.THROTTLE k 4 1 1"), [0, 5, 4, -1, 1]);
    for value in ["yes", "no"] {
        let error = server.error(&format!("CONFIG SET rl.cl-throttle {value}"));
        assert!(error.contains("immutable"), "{error}");
    }
}

#[test]
fn it_can_stand_in_the_configuration_file_and_is_written_back_there() {
    let mut server = drop_in();
    assert_eq!(server.get::<(String, String)>("CONFIG GET rl.cl-throttle").1, "yes");
    server.run("CONFIG REWRITE");
    let file = std::fs::read_to_string(server.folder().join("redis.conf")).unwrap();
    assert!(file.contains("rl.cl-throttle yes"), "{file}");
    assert_eq!(server.five("CL.THROTTLE k 4 1 1")[0], 0);
    server.shutdown("NOSAVE");
    server.relaunch();
    assert_eq!(server.five("CL.THROTTLE k 4 1 1")[0], 0);
    for value in ["maybe", "2", "\"\""] {
        let log = Server::builder().config("rl.cl-throttle", value).try_start().err();
        let log = log.unwrap_or_else(|| panic!("started with {value}"));
        assert!(log.contains("cl-throttle"), "{log}");
    }
}

#[test]
fn the_server_tells_the_same_of_cl_throttle_as_of_rl_throttle() {
    let server = drop_in();
    let rest = |name: &str| {
        let Value::Array(commands) = server.run(&format!("COMMAND INFO {name}")) else { panic!("no array") };
        let Value::Array(info) = &commands[0] else { panic!("{name} is not there: {commands:?}") };
        info[1..].to_vec()
    };
    assert_eq!(format!("{:?}", rest("cl.throttle")), format!("{:?}", rest("rl.throttle")));
    let docs = |name: &str| {
        let Value::Array(docs) = server.run(&format!("COMMAND DOCS {name}")) else { panic!("no array") };
        docs[1].clone()
    };
    assert_eq!(docs("cl.throttle"), docs("rl.throttle"));
    assert_eq!(server.get::<Vec<String>>("COMMAND GETKEYS CL.THROTTLE the:key 4 1 1"), ["the:key"]);
    let commands: BTreeSet<String> = server.get("COMMAND LIST FILTERBY MODULE rl");
    assert!(commands.contains("cl.throttle"));
    if server.try_run("ACL CAT ratelimit").is_ok() {
        assert!(server.get::<BTreeSet<String>>("ACL CAT ratelimit").contains("cl.throttle"));
    }
}

#[test]
fn where_another_module_has_the_name_the_load_fails_as_a_whole_with_a_sentence() {
    let server = cell().start();
    assert_eq!(server.five("CL.THROTTLE k 15 30 60"), [0, 16, 15, -1, 2]);
    for attempt in 1..=2 {
        let error = server.error(&load(ON));
        assert!(error.starts_with("ERR Error loading the extension"), "{error}");
        assert_eq!(server.log().matches(SENTENCE).count(), attempt, "{}", server.log());
        // Nothing of it is there, and the other is unharmed.
        assert_eq!(modules(&server), names(&["redis-cell"]));
        for command in ["RL.THROTTLE k 15 30 60", "RL.FIXED f 1 1s", "RL.PEEK k"] {
            assert!(server.error(command).starts_with("ERR unknown command"), "{command}");
        }
        assert_eq!(server.get::<Vec<String>>("CONFIG GET rl.*"), [""; 0]);
        assert!(!server.get::<String>("INFO everything").contains("rl_stats"));
    }
    assert_eq!(server.five("CL.THROTTLE k 15 30 60"), [0, 16, 14, -1, 4]);

    // Without the name there is room for both, and each has its own kind of key.
    server.run(&load(""));
    assert_eq!(modules(&server), names(&["redis-cell", "rl"]));
    assert_eq!(server.five("RL.THROTTLE other 15 30 60"), [0, 16, 15, -1, 2]);
    assert_eq!(server.five("CL.THROTTLE k 15 30 60"), [0, 16, 13, -1, 6]);
    server.run("MODULE UNLOAD rl");
    server.run("PING");
}

#[test]
fn a_server_that_is_to_load_both_with_the_name_does_not_start_and_says_why() {
    let ours = module_path().display();
    let log = cell().config("loadmodule", &ours).config("rl.cl-throttle", "yes").try_start().err();
    let log = log.expect("it does not start");
    assert!(log.contains(SENTENCE), "{log}");
    let server = cell().config("loadmodule", &ours).config("rl.cl-throttle", "no").start();
    assert_eq!(modules(&server), names(&["redis-cell", "rl"]));
}

#[test]
fn the_name_passes_from_redis_cell_without_a_failed_call_and_every_debt_goes_with_it() {
    let server = cell().start();
    for key in ["full", "half"] {
        server.run(&format!("CL.THROTTLE {key} 15 30 60 {}", if key == "full" { 16 } else { 8 }));
    }
    let mut caller = server.client();
    assert_eq!(caller.five("CL.THROTTLE full 15 30 60"), [1, 16, 0, 2, 32]);
    assert_eq!(switch(&server, "redis-cell", &load(ON)), both());
    assert_eq!(modules(&server), names(&["rl"]));
    assert_eq!(caller.five("CL.THROTTLE full 15 30 60"), [1, 16, 0, 2, 32]);
    assert_eq!(caller.five("CL.THROTTLE half 15 30 60"), [0, 16, 7, -1, 18]);
    // What is replicated from here on are effects.
    let mut stream = Stream::attach(&server);
    caller.five("CL.THROTTLE half 15 30 60");
    let sent = stream.lines();
    assert!(sent.len() == 1 && sent[0].starts_with("SET half 0x524c"), "{sent:?}");
}

#[test]
fn under_load_too_no_call_fails_and_each_is_charged_once() {
    let server = cell().start();
    let calls = ["CL.THROTTLE full 6 1 86400", "CL.THROTTLE open 99999 1 3600"].map(String::from);
    let connect = || {
        let mut client = server.client();
        move |call: &str| client.try_run(call)
    };
    let ((), tally) = under_load(4, &calls, connect, || assert_eq!(switch(&server, "redis-cell", &load(ON)), both()));
    assert_eq!(tally.errors, [""; 0]);
    // The load counts as refused what is answered 0, which here is what was allowed.
    let [full, open] = tally.refused[..] else { panic!("{tally:?}") };
    assert_eq!(full, 7);
    let used = |key: &str| 100_000 - server.five(&format!("RL.PEEK {key} 0"))[2] as u64;
    assert_eq!(used("open"), open);
}

#[test]
fn with_both_loaded_the_name_passes_in_one_transaction_too() {
    let server = cell().config("loadmodule", module_path().display()).start();
    server.run("CL.THROTTLE k 15 30 60 16");
    let mut client = server.client();
    client.run("MULTI");
    for step in ["MODULE UNLOAD redis-cell", "MODULE UNLOAD rl", &load(ON)] {
        client.run(step);
    }
    assert_eq!(client.run("EXEC"), Value::Array(vec![Value::Okay; 3]));
    assert_eq!(server.five("CL.THROTTLE k 15 30 60"), [1, 16, 0, 2, 32]);
}

#[test]
fn an_upgrade_with_the_setting_keeps_the_command_and_one_without_it_drops_it() {
    let server = drop_in();
    assert_eq!(server.five("CL.THROTTLE k 15 30 60 16")[0], 0);
    assert_eq!(switch(&server, "rl", &load(ON)), both());
    assert_eq!(server.five("CL.THROTTLE k 15 30 60"), [1, 16, 0, 2, 32]);
    assert_eq!(switch(&server, "rl", &load("")), both());
    assert!(server.error("CL.THROTTLE k 15 30 60").starts_with("ERR unknown command"));
    assert_eq!(server.five("RL.THROTTLE k 15 30 60"), [1, 16, 0, 2, 32]);
    // And the name is free for others.
    server.run(&format!("MODULE LOAD {}", cell_module().display()));
    assert_eq!(server.five("CL.THROTTLE k2 15 30 60"), [0, 16, 15, -1, 2]);
}

#[test]
fn while_a_user_names_cl_throttle_it_is_not_unloaded_and_another_modules_is_no_reason() {
    let server = drop_in();
    for rules in ["+cl.throttle", "+@all -CL.Throttle", "\"(+cl.throttle ~x)\""] {
        server.run(&format!("ACL SETUSER bob on nopass ~* {rules}"));
        let error = server.error("MODULE UNLOAD rl");
        assert!(error.starts_with("ERR Error unloading module"), "{rules}: {error}");
        assert_eq!(server.five("CL.THROTTLE k 4 1 1 0")[0], 0, "{rules}");
        server.run("ACL DELUSER bob");
    }
    server.run("ACL SETUSER bob on nopass ~* +@all");
    server.run("MODULE UNLOAD rl");
    server.run("ACL LIST");

    let server = cell().config("loadmodule", module_path().display()).start();
    server.run("ACL SETUSER bob on nopass ~* +cl.throttle");
    server.run("MODULE UNLOAD rl");
    assert_eq!(server.five("CL.THROTTLE k 4 1 1")[0], 0);
    server.run("ACL LIST");
}

#[test]
fn a_user_may_be_granted_either_name_alone() {
    let server = drop_in();
    for (granted, barred) in [("cl.throttle", "rl.throttle"), ("rl.throttle", "cl.throttle")] {
        server.run(&format!("ACL SETUSER bob reset on nopass ~k +{granted}"));
        let mut bob = server.client();
        bob.run("AUTH bob any");
        assert_eq!(bob.five(&format!("{granted} k 9 1 1"))[0], 0);
        for command in [format!("{barred} k 9 1 1"), format!("{granted} other 9 1 1"), "SET k x".into()] {
            assert!(bob.error(&command).starts_with("NOPERM "), "{command}");
        }
    }
    server.run("ACL DELUSER bob");
}

#[test]
fn once_no_rule_names_the_command_any_more_the_name_passes_without_harm_to_the_users() {
    let server = cell().config("loadmodule", module_path().display()).start();
    server.run("ACL SETUSER bob on nopass ~* +cl.throttle");
    let mut bob = server.client();
    bob.run("AUTH bob any");
    assert_eq!(bob.five("CL.THROTTLE k 15 30 60"), [0, 16, 15, -1, 2]);
    // As docs/redis-cell.md has it; on Redis 7.0 modules have no category.
    let category = if server.try_run("ACL CAT ratelimit").is_ok() { "ratelimit" } else { "all" };
    server.run(&format!("ACL SETUSER bob -@all +@{category}"));
    let mut client = server.client();
    client.run("MULTI");
    for step in ["MODULE UNLOAD redis-cell", "MODULE UNLOAD rl", &load(ON)] {
        client.run(step);
    }
    assert_eq!(client.run("EXEC"), Value::Array(vec![Value::Okay; 3]));
    server.run("ACL LIST");
    assert_eq!(bob.five("CL.THROTTLE k 15 30 60"), [0, 16, 14, -1, 4]);
}
