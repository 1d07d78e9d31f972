//! Keyspace events.

use std::{collections::HashMap, time::Duration};

use crate::harness::{H, Server};

/// The events in `classes` that the commands cause, as `event key`.
fn events(classes: &str, prepare: &[&str], commands: &[&str]) -> Vec<String> {
    events_on(&Server::start(), classes, prepare, commands, || ())
}

/// The same on a server that `meanwhile` can reach, after the preparation.
fn events_on(
    server: &Server,
    classes: &str,
    prepare: &[&str],
    commands: &[&str],
    meanwhile: impl FnOnce(),
) -> Vec<String> {
    for command in prepare {
        server.run(command);
    }
    meanwhile();
    server.run(&format!("CONFIG SET notify-keyspace-events {classes}"));
    let mut listener = server.client();
    let mut listener = listener.connection().as_pubsub();
    listener.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    listener.psubscribe("*").unwrap();
    for command in commands {
        let _ = server.try_run(command);
    }
    server.run("PUBLISH last word");
    let mut seen = Vec::new();
    loop {
        let message = listener.get_message().unwrap();
        let channel = message.get_channel_name().to_owned();
        if channel == "last" {
            return seen;
        }
        let event = channel.strip_prefix("__keyevent@0__:").expect("a key event").to_owned();
        seen.push(format!("{event} {}", message.get_payload::<String>().unwrap()));
    }
}

const CALLS: [&str; 6] = [
    "RL.TOKENBUCKET t 1 1/60s",
    "RL.GCRA g 1 1/60s",
    "RL.FIXED f 1 60s",
    "RL.SLIDINGLOG l 1 60s",
    "RL.SLIDINGCOUNTER c 1 60s",
    "RL.SLIDINGLOG w 2 60s 2",
];

#[test]
fn an_admitted_call_is_one_event_of_the_class_module() {
    let expected =
        ["rl.tokenbucket t", "rl.gcra g", "rl.fixed f", "rl.slidinglog l", "rl.slidingcounter c", "rl.slidinglog w"];
    assert_eq!(events("Ed", &[], &CALLS), expected);
}

#[test]
fn in_redis_cells_words_it_is_the_event_of_gcra_whose_state_it_is() {
    let server = Server::builder().config("rl.cl-throttle", "yes").start();
    let commands = ["RL.THROTTLE k 1 1 60", "CL.THROTTLE k 1 1 60", "CL.THROTTLE k 1 1 60", "RL.THROTTLE k 1 1 60 0"];
    assert_eq!(events_on(&server, "Ed", &[], &commands, || ()), ["rl.gcra k", "rl.gcra k"]);
}

#[test]
fn it_is_the_only_event_of_any_class_on_the_primary() {
    // Without `n`, the class of new keys, which the server itself reports.
    assert_eq!(events("EA", &["RL.FIXED f 2 60s"], &["RL.FIXED f 2 60s"]), ["rl.fixed f"]);
    assert_eq!(events("EA", &["RL.SLIDINGLOG l 2 60s"], &["RL.SLIDINGLOG l 2 60s"]), ["rl.slidinglog l"]);
    assert_eq!(events("EA", &["RL.GCRA g 2 1/60s"], &["RL.GCRA g 2 1/60s"]), ["rl.gcra g"]);
}

#[test]
fn what_changes_nothing_is_no_event() {
    let quiet = [
        "RL.FIXED f 1 60s",
        "RL.FIXED f 1 60s 0",
        "RL.FIXED f 1 60s 5",
        "RL.FIXED f x 60s",
        "RL.PEEK f",
        "RL.PEEK f FIXED 1 60s",
        "RL.INFO f",
        "RL.GCRA f 1 1/s",
        "RL.SLIDINGLOG l 1 60s",
        "RL.GCRA g 1 1/60s",
    ];
    let seen = events("EA", &["RL.FIXED f 1 60s", "RL.SLIDINGLOG l 1 60s", "RL.GCRA g 1 1/60s"], &quiet);
    assert_eq!(seen, [""; 0]);
}

#[test]
fn state_brought_back_by_the_clock_rule_is_an_event_only_of_a_call_that_is_admitted() {
    let calls = &CALLS[..5];
    let back_an_hour = |limit: &str, cost: &str| {
        let server = Server::start();
        let commands: Vec<_> = calls.iter().map(|c| c.replacen(" 1 ", &format!(" {limit} "), 1) + cost).collect();
        let commands: Vec<_> = commands.iter().map(String::as_str).collect();
        let seen = events_on(&server, "EA", calls, &commands, || server.advance(-H));
        // Each of them has stored the state anew: none is an hour ahead any more.
        for key in ["t", "g", "f", "l", "c"] {
            let info: HashMap<String, redis::Value> = server.get(&format!("RL.INFO {key}"));
            assert_eq!(info["updated_us"], redis::Value::Int(server.clock().now()), "{key}");
        }
        seen
    };
    let admitted = ["rl.tokenbucket t", "rl.gcra g", "rl.fixed f", "rl.slidinglog l", "rl.slidingcounter c"];
    assert_eq!(back_an_hour("2", ""), admitted);
    assert_eq!(back_an_hour("1", ""), [""; 0], "refused");
    assert_eq!(back_an_hour("1", " 0"), [""; 0], "of cost 0");
}

#[test]
fn without_the_class_there_is_no_event() {
    assert_eq!(events("E$g", &[], &CALLS), [""; 0]);
}
