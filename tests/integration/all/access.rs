//! Who may call it on which keys, what it counts, and what it announces.

use std::time::Duration;

use super::all;
use crate::harness::Server;

const TWO: &str = "RL.ALL 2 mine:1 mine:2 FIXED 5 1h GCRA 5 1";

#[test]
fn every_key_needs_its_permission() {
    let server = Server::start();
    server.run("ACL SETUSER some on nopass ~mine:* +@all");
    server.run("ACL SETUSER looker on nopass %R~mine:* +@all");
    let allowed = |user: &str, call: &str| server.get::<String>(&format!("ACL DRYRUN {user} {call}")) == "OK";
    assert!(allowed("some", TWO));
    assert!(!allowed("looker", TWO));
    for other in ["RL.ALL 2 mine:1 other FIXED 5 1h GCRA 5 1", "RL.ALL 2 other mine:1 FIXED 5 1h GCRA 5 1"] {
        assert!(!allowed("some", other), "{other}");
        let mut client = server.client();
        client.run("AUTH some any");
        assert!(client.error(other).starts_with("NOPERM "), "{other}");
    }
    assert_eq!(server.get::<i64>("DBSIZE"), 0);
}

#[test]
fn the_server_finds_every_key() {
    let server = Server::start();
    let keys = |call: &str| server.get::<Vec<String>>(&format!("COMMAND GETKEYS {call}"));
    assert_eq!(keys(TWO), ["mine:1", "mine:2"]);
    assert_eq!(keys("RL.ALL 1 FIXED FIXED 5 1h GCRA 5 1"), ["FIXED"]);
    assert!(server.try_run("COMMAND GETKEYS RL.ALL 9 a b FIXED 5 1h").is_err());
    assert!(server.try_run("COMMAND GETKEYS RL.ALL x a b FIXED 5 1h").is_err());
}

#[test]
fn a_whole_is_counted_once_and_not_with_its_limits() {
    let server = Server::start();
    server.run(TWO);
    server.run("RL.ALL 1 k FIXED 1 1h GCRA 5 1");
    server.run("RL.ALL 1 k FIXED 1 1h GCRA 5 1");
    server.run("RL.PEEK k ALL FIXED 1 1h");
    server.error("RL.ALL 1 k FIXED 1 1h GCRA 5 x");
    let counts: Vec<String> = ["all_allowed", "all_refused", "all_errors", "fixed_allowed", "gcra_refused"]
        .map(|name| server.info(&format!("rl_{name}")))
        .to_vec();
    assert_eq!(counts, ["2", "1", "1", "0", "0"]);
}

#[test]
fn an_admitted_call_is_announced_for_each_key_that_it_takes_from() {
    let server = Server::start();
    server.run("CONFIG SET notify-keyspace-events Ed");
    let mut listener = server.client();
    let mut listener = listener.connection().as_pubsub();
    listener.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    listener.psubscribe("*").unwrap();
    for call in [
        "RL.ALL 1 k FIXED 1 1h GCRA 5 1",
        "RL.ALL 1 k FIXED 1 1h GCRA 5 1",
        "RL.ALL 1 k FIXED 1 1h 0 GCRA 5 1 0",
        "RL.ALL 3 a b c FIXED 5 1h SLIDINGLOG 5 1h 0 GCRA 5 1",
    ] {
        all(&server, call);
    }
    server.run("PUBLISH last word");
    let mut seen = Vec::new();
    loop {
        let message = listener.get_message().unwrap();
        let Some(event) = message.get_channel_name().strip_prefix("__keyevent@0__:") else { break };
        seen.push(format!("{event} {}", message.get_payload::<String>().unwrap()));
    }
    assert_eq!(seen, ["rl.all k", "rl.fixed a", "rl.gcra c"]);
}

#[test]
fn watch_is_disturbed_by_what_changes_alone() {
    let server = Server::start();
    server.run("RL.ALL 1 k FIXED 2 1h GCRA 1 1/h");
    for (call, undisturbed) in [
        ("RL.ALL 1 k FIXED 2 1h GCRA 1 1/h", true),
        ("RL.ALL 1 k FIXED 2 1h 0", true),
        ("RL.ALL 2 x k FIXED 2 1h FIXED 2 1h", true),
        ("RL.ALL 1 k FIXED 2 1h", false),
    ] {
        let mut client = server.client();
        client.run("WATCH k");
        let _ = server.try_run(call);
        client.run("MULTI");
        client.run("PING");
        let done = client.try_run("EXEC").unwrap();
        assert_eq!(done != redis::Value::Nil, undisturbed, "{call}");
    }
}
