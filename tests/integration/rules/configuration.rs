//! `rl.sliding-log-max-limit`, and what there is beside it.

use std::collections::BTreeMap;

use crate::harness::{Server, peek_of};

fn setting(server: &Server) -> i64 {
    let (name, value): (String, i64) = server.get("CONFIG GET rl.sliding-log-max-limit");
    assert_eq!(name, "rl.sliding-log-max-limit");
    value
}

#[test]
fn it_is_a_million_unless_set_and_the_only_other_setting_is_a_switch_that_is_off() {
    let server = Server::start();
    let all: BTreeMap<String, String> = server.get("CONFIG GET rl.*");
    let expected = [("rl.cl-throttle", "no"), ("rl.sliding-log-max-limit", "1000000")];
    assert_eq!(all, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
}

#[test]
fn it_takes_1_to_10000000_and_refuses_the_rest() {
    let server = Server::start();
    for value in [1, 1000, 10_000_000] {
        server.run(&format!("CONFIG SET rl.sliding-log-max-limit {value}"));
        assert_eq!(setting(&server), value);
    }
    for value in ["0", "-1", "10000001", "18446744073709551617", "x", "1.5", r#""""#] {
        let error = server.error(&format!("CONFIG SET rl.sliding-log-max-limit {value}"));
        assert!(error.starts_with("ERR "), "{value}: {error}");
        assert_eq!(setting(&server), 10_000_000);
    }
}

#[test]
fn it_bounds_the_limits_of_new_calls_before_anything_is_touched() {
    let server = Server::start();
    server.run("CONFIG SET rl.sliding-log-max-limit 5");
    for command in ["RL.SLIDINGLOG k 6 60s", "RL.SLIDINGLOG k 1000000000000 60s 0"] {
        let limit = command.split(' ').nth(2).unwrap();
        let error =
            format!("ERR limit: got '{limit}', expected an integer from 0 to 5 (the setting rl.sliding-log-max-limit)");
        assert_eq!(server.error(command), error);
        assert_eq!(server.error(&peek_of(command)), error);
        assert_eq!(server.get::<i64>("DBSIZE"), 0);
    }
    assert_eq!(server.five("RL.SLIDINGLOG k 5 60s 5")[..3], [1, 5, 0]);
    server.run("CONFIG SET rl.sliding-log-max-limit 3");
    let before = server.state("k");
    assert!(server.error("RL.SLIDINGLOG k 5 60s").starts_with("ERR limit: "));
    assert_eq!(server.state("k"), before);
    // What is stored is still shown, and still counts.
    assert_eq!(server.five("RL.PEEK k 0"), [1, 5, 0, 0, 60_000]);
    assert_eq!(server.five("RL.SLIDINGLOG k 3 60s"), [0, 3, 0, 60_000, 60_000]);
    // The other commands have no such bound.
    assert_eq!(server.five("RL.FIXED f 1000000000000 60s")[0], 1);
    assert_eq!(server.five("RL.SLIDINGCOUNTER c 1000000000000 60s")[0], 1);
}

#[test]
fn it_can_stand_in_the_configuration_file_and_be_written_back_there() {
    let server = Server::builder().config("rl.sliding-log-max-limit", 77).start();
    assert_eq!(setting(&server), 77);
    server.run("CONFIG SET rl.sliding-log-max-limit 78");
    server.run("CONFIG REWRITE");
    let file = std::fs::read_to_string(server.folder().join("redis.conf")).unwrap();
    assert!(file.contains("rl.sliding-log-max-limit 78"), "{file}");
}

#[test]
fn a_value_out_of_range_in_the_configuration_file_stops_the_start() {
    for value in ["0", "10000001", "many"] {
        let log = Server::builder().config("rl.sliding-log-max-limit", value).try_start().err();
        let log = log.unwrap_or_else(|| panic!("started with {value}"));
        assert!(log.contains("rl.sliding-log-max-limit") || log.contains("sliding-log-max-limit"), "{log}");
    }
}

#[test]
fn arguments_on_the_loadmodule_line_are_refused_with_a_sentence() {
    let log = Server::builder().module_arg("max=5").try_start().err().expect("it does not start");
    assert!(log.contains("argument"), "{log}");
}
