//! Limits that live in keys of their own.

use super::{all, expected};
use crate::harness::Server;

#[test]
fn each_key_holds_the_record_of_its_limits_own_command() {
    let server = Server::start();
    let singles = ["RL.SLIDINGLOG a 5 1m 2", "RL.TOKENBUCKET b 9 1/s 3", "RL.FIXED c 5 1h"];
    for call in singles {
        server.five(call);
    }
    let apart: Vec<_> = ["a", "b", "c"].map(|key| server.state(key)).to_vec();
    server.run("FLUSHALL");
    let got = all(&server, "RL.ALL 3 a b c SLIDINGLOG 5 1m 2 TOKENBUCKET 9 1/s 3 FIXED 5 1h");
    let each = [[1, 5, 3, 0, 60_000], [1, 9, 6, 0, 3_000], [1, 5, 4, 0, 3_600_000]];
    assert_eq!(got, expected([1, 5, 3, 0, 3_600_000], 1, each));
    let together: Vec<_> = ["a", "b", "c"].map(|key| server.state(key)).to_vec();
    assert_eq!(together, apart);
    // Several logs are nothing special where each has its key.
    let logs = all(&server, "RL.ALL 2 a d SLIDINGLOG 5 1m SLIDINGLOG 5 1m");
    assert_eq!(logs.each, [[1, 5, 2, 0, 60_000], [1, 5, 4, 0, 60_000]]);
}

#[test]
fn what_one_key_refuses_no_key_is_charged_for() {
    let server = Server::start();
    server.run("RL.FIXED full 1 1h");
    server.run("RL.GCRA other 5 1/h");
    let before = [server.state("full"), server.state("other")];
    let got = all(&server, "RL.ALL 3 other new full GCRA 5 1/h FIXED 7 1h FIXED 1 1h");
    assert_eq!((got.whole[..4].to_vec(), got.binding), (vec![0, 1, 0, 3_600_000], 3));
    assert_eq!(got.each[0][..4], [1, 5, 4, 0]);
    assert_eq!(got.each[1], [1, 7, 7, 0, 0]);
    assert_eq!([server.state("full"), server.state("other")], before);
    assert_eq!(server.get::<i64>("EXISTS new"), 0);
}

#[test]
fn a_wrong_key_leaves_the_others_alone() {
    let server = Server::start();
    server.run("SET string hello");
    server.run("RL.GCRA gcra 5 1");
    server.run("RL.ALL 1 list FIXED 5 1h GCRA 5 1");
    for (key, got) in [("string", "a string that is not limiter state"), ("gcra", "gcra state"), ("list", "all state")]
    {
        let before = server.state(key);
        let error = server.error(&format!("RL.ALL 2 new {key} FIXED 5 1h FIXED 9 1h"));
        assert_eq!(error, format!("WRONGTYPE key: got {got}, expected fixed state"));
        assert_eq!(server.state(key), before);
        assert_eq!(server.get::<i64>("EXISTS new"), 0);
    }
}

#[test]
fn keys_are_as_many_as_limits_and_each_is_named_once() {
    let server = Server::start();
    for (call, error) in [
        ("RL.ALL 2 a b FIXED 5 1h", "ERR numkeys: got '2', expected 1, as there is one limit"),
        (
            "RL.ALL 2 a b FIXED 5 1h FIXED 6 1h FIXED 7 1h",
            "ERR numkeys: got '2', expected 1, or 3 as there are 3 limits",
        ),
        ("RL.ALL 3 a b a FIXED 5 1h FIXED 6 1h FIXED 7 1h", "ERR key: got 'a', expected each key once"),
        ("RL.ALL 0 FIXED 5 1h FIXED 6", "ERR numkeys: got '0', expected an integer from 1 to 32"),
        ("RL.ALL 33 a FIXED 5 1h", "ERR numkeys: got '33', expected an integer from 1 to 32"),
        ("RL.ALL -1 a FIXED 5 1h", "ERR numkeys: got '-1', expected an integer from 1 to 32"),
        ("RL.ALL 9 a FIXED 5 1h", "ERR wrong number of arguments for 'rl.all' command"),
        (
            "RL.ALL 1 a b FIXED 5 1h",
            "ERR limit 1: algorithm: got 'b', expected TOKENBUCKET, GCRA, FIXED, SLIDINGLOG or SLIDINGCOUNTER",
        ),
    ] {
        assert_eq!(server.error(call), error, "{call}");
    }
    assert_eq!(server.get::<i64>("DBSIZE"), 0);
    let keys: String = (0..32).map(|n| format!(" k{n}")).collect();
    let got = all(&server, &format!("RL.ALL 32{keys}{}", " FIXED 5 1h".repeat(32)));
    assert_eq!((got.whole[0], got.each.len(), server.get::<i64>("DBSIZE")), (1, 32, 32));
}
