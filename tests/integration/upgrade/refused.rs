//! Unloads that the module refuses, since the server would not survive them.

use redis::Value;

use super::{every_algorithm, present_version, server_with_module, upgrade, version};
use crate::harness::{Client, Server, skip};

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
