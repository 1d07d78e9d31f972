//! What changes nothing sends nothing.

use super::Watched;
use crate::harness::{H, M, Server, limiters};

#[test]
fn a_look_or_a_cost_of_nothing_sends_nothing() {
    let mut watched = Watched::start();
    for (name, limits) in limiters(2) {
        let call = format!("RL.{name} {name} {limits}");
        let looks = [
            format!("RL.PEEK {name}"),
            format!("RL.PEEK {name} 2"),
            format!("RL.PEEK {name} {name} {limits} 2"),
            format!("RL.INFO {name}"),
            format!("{call} 0"),
        ];
        for used in 0..=2 {
            looks.iter().for_each(|look| watched.silent(look));
            watched.silent(&format!("EVAL_RO \"return redis.call('RL.PEEK', KEYS[1])\" 1 {name}"));
            if used < 2 {
                assert_eq!(watched.server.five(&call)[..3], [1, 2, 1 - used]);
                assert_eq!(watched.sent().len(), 1);
            }
        }
        // All has come back, and the key is still there.
        watched.server.advance(H);
        assert_eq!(watched.server.get::<i64>(&format!("EXISTS {name}")), 1);
        looks.iter().for_each(|look| watched.silent(look));
    }
}

#[test]
fn a_refusal_sends_nothing() {
    let mut watched = Watched::start();
    for (name, limits) in limiters(2) {
        let call = format!("RL.{name} {name} {limits}");
        // More than can ever pass, on a missing key.
        let never = format!("{call} 3");
        assert_eq!(watched.server.five(&never)[..4], [0, 2, 2, -1]);
        watched.silent(&never);
        watched.server.five(&format!("{call} 2"));
        assert_eq!(watched.sent().len(), 1);
        watched.server.advance(M);
        let closed = format!("RL.{name} {name} 0 {}", limits.split_once(' ').unwrap().1);
        for refused in [call.clone(), format!("{call} 2"), never, closed] {
            assert_eq!(watched.server.five(&refused)[0], 0, "{refused}");
            watched.silent(&refused);
            watched.silent(&format!("EVAL \"return redis.call(unpack(ARGV))\" 1 {name} {refused}"));
            for word in ["MULTI", &refused, &refused, "EXEC"] {
                watched.silent(word);
            }
        }
    }
}

#[test]
fn an_error_sends_nothing() {
    let mut watched = Watched::start();
    watched.server.run("SET text hello");
    watched.server.run("LPUSH list a");
    for (name, limits) in limiters(2) {
        watched.server.run(&format!("RL.{name} {name} {limits}"));
    }
    watched.sent();
    for (name, limits) in limiters(2) {
        let another = if name == "FIXED" { "GCRA" } else { "FIXED" };
        let wrong_keys = [another, "text", "list"].map(|key| format!("RL.{name} {key} {limits}"));
        let wrong_arguments = ["", " 2", " -1 1h", " 2 x", " 2 1h x", " 2 1h 1 2 3 4"];
        let wrong_calls = wrong_arguments.map(|arguments| format!("RL.{name} {name}{arguments}"));
        for wrong in wrong_keys.iter().chain(&wrong_calls) {
            watched.server.error(wrong);
            watched.silent(wrong);
        }
        let script = format!("EVAL_RO \"return redis.call(unpack(ARGV))\" 1 {name} RL.{name} {name} {limits}");
        watched.server.error(&script);
        watched.silent(&script);
    }
}

#[test]
fn a_server_that_may_not_write_sends_nothing() {
    let mut watched = Watched::start();
    for (name, limits) in limiters(2) {
        watched.server.run(&format!("RL.{name} {name} {limits}"));
    }
    watched.sent();
    let states = |server: &Server| limiters(2).map(|(name, _)| server.state(name));
    let before = states(&watched.server);
    watched.server.run("CONFIG SET min-replicas-to-write 9");
    for (name, limits) in limiters(2) {
        for key in [name, "new"] {
            let call = format!("RL.{name} {key} {limits}");
            assert!(watched.server.error(&call).starts_with("NOREPLICAS"));
            watched.silent(&call);
        }
        assert_eq!(watched.server.five(&format!("RL.PEEK {name}"))[..3], [1, 2, 0]);
    }
    assert_eq!(states(&watched.server), before);
}
