//! The harness itself, without the module: what the other tests stand on.

use crate::harness::{Clock, DAY, H, MS, S, START, Server, words};

fn bare() -> crate::harness::Builder {
    Server::builder().without_module()
}

fn time(server: &Server) -> i64 {
    let (seconds, micros): (i64, i64) = server.get("TIME");
    seconds * S + micros
}

#[test]
fn the_servers_clock_stands_where_the_test_sets_it_and_key_expiry_follows() {
    let server = bare().start();
    for _ in 0..100 {
        assert_eq!(time(&server), START);
    }
    server.run("SET k v PX 1000");
    server.advance(999 * MS + 999);
    assert_eq!(time(&server), START + S - 1);
    assert_eq!(server.get::<i64>("PTTL k"), 1);
    server.advance(1);
    // A key is expired when its time is over, not when it is reached: one millisecond later.
    server.advance(MS);
    assert_eq!(server.get::<i64>("EXISTS k"), 0);
    server.set_clock(-1);
    assert_eq!(time(&server), -1);
}

#[test]
fn a_running_clock_is_ahead_by_its_offset() {
    let truth = bare().system_clock().start();
    let ahead = bare().clock(&Clock::running_ahead_by(DAY)).start();
    let early = time(&truth);
    let shifted = time(&ahead) - DAY;
    assert!((early..early + 10 * S).contains(&shifted));
}

#[test]
fn a_killed_server_comes_back_in_its_folder_with_its_append_only_file() {
    let mut server = bare().config("appendonly", "yes").config("appendfsync", "always").start();
    server.run("SET k v");
    server.kill();
    server.relaunch_with(|builder| builder.config("maxclients", 100));
    assert_eq!(server.get::<String>("GET k"), "v");
    server.shutdown("NOSAVE");
    server.relaunch();
    assert_eq!(server.get::<String>("GET k"), "v");
}

#[test]
fn replicas_follow_and_share_the_clock_of_their_primary() {
    let primary = bare().start();
    let replica = bare().replica_of(&primary).start();
    let behind = bare().replica_of(&replica).clock(&Clock::stopped_at(START - H)).start();
    primary.run("SET k v PX 5000");
    primary.wait_for_replicas(1);
    replica.wait_for_replicas(1);
    primary.advance(S);
    for server in [&primary, &replica, &behind] {
        assert_eq!(server.state("k"), primary.state("k"));
    }
    assert_eq!(time(&replica), START + S);
    assert_eq!(time(&behind), START - H);
}

#[test]
fn a_server_that_refuses_to_start_says_why() {
    let log = bare().config("no-such-setting", 1).try_start().err();
    assert!(log.unwrap().contains("no-such-setting"));
}

#[test]
#[should_panic(expected = "the server")]
fn a_server_that_dies_fails_the_test() {
    let server = bare().start();
    let _ = server.try_run("DEBUG SEGFAULT");
}

#[test]
fn commands_are_split_into_words_as_redis_cli_does() {
    assert_eq!(words(r#" SET  "a \x00\xff\"" é "" "#), [&b"SET"[..], b"a \x00\xff\"", "é".as_bytes(), b""]);
}
