//! Usage put right in a key that holds several limits.

use super::all;
use crate::harness::{M, MS, START, Server, Stream};

#[test]
fn every_limit_of_the_key_is_adjusted_or_the_one_that_is_named() {
    let server = Server::start();
    let call = "RL.ALL 1 k TOKENBUCKET 100 1/m 40 FIXED 1000 1h 40 SLIDINGLOG 500 1m 40";
    all(&server, call);
    let used = || all(&server, "RL.ALL 1 k TOKENBUCKET 100 1/m 0 FIXED 1000 1h 0 SLIDINGLOG 500 1m 0");
    let left = || used().each.iter().map(|one| one[2]).collect::<Vec<_>>();
    assert_eq!(left(), [60, 960, 460]);
    assert_eq!(server.five("RL.ADJUST k -15"), [1, 100, 75, 0, 3_600_000]);
    assert_eq!(left(), [75, 975, 475]);
    assert_eq!(server.five("RL.ADJUST k 30 LIMIT 2"), [1, 1000, 945, 0, 3_600_000]);
    assert_eq!(left(), [75, 945, 475]);
    // Of the whole, the reply tells the limit with the least left, wherever it stands.
    let whole = |limits: &str| {
        all(&server, &format!("RL.ALL 1 order {limits}"));
        server.five("RL.ADJUST order 1")
    };
    assert_eq!(whole("FIXED 1000 1h 1 TOKENBUCKET 10 1/m 1"), [1, 10, 8, 0, 3_600_000]);
    // More than the limit, and never less than nothing.
    assert_eq!(server.five("RL.ADJUST k 90 limit 1")[..3], [1, 100, 0]);
    assert_eq!(server.five("RL.PEEK k 1")[..4], [0, 100, 0, 16 * 60_000]);
    assert_eq!(server.five("RL.ADJUST k -10000")[..3], [1, 100, 100]);
    assert_eq!(left(), [100, 1000, 500]);
    assert_eq!(server.get::<Option<Vec<i64>>>("RL.ADJUST k 1"), None, "nothing is in use any more");
}

#[test]
fn a_charge_that_one_limit_cannot_hold_changes_none() {
    let server = Server::start();
    all(&server, "RL.ALL 1 k FIXED 1000 1h GCRA 5 1/1d");
    let before = server.state("k");
    for (call, error) in [
        (
            "RL.ADJUST k 4000000",
            "ERR delta: got '4000000', expected one that leaves a debt that flows back within 3650000d",
        ),
        ("RL.ADJUST k 1 LIMIT 3", "ERR limit: got '3', expected an integer from 1 to 2"),
        ("RL.ADJUST k 1 LIMIT 0", "ERR limit: got '0', expected an integer from 1 to 32"),
        ("RL.ADJUST k 1 BLOCK", "ERR option: got 'BLOCK', expected LIMIT n"),
        ("RL.ADJUST k 1 LIMIT", "ERR wrong number of arguments for 'rl.adjust' command"),
    ] {
        assert_eq!(server.error(call), error, "{call}");
        assert_eq!(server.state("k"), before, "{call}");
    }
    server.run("RL.FIXED single 5 1h");
    assert_eq!(server.five("RL.ADJUST single 1 LIMIT 1")[..3], [1, 5, 3]);
    assert_eq!(server.error("RL.ADJUST single 1 LIMIT 2"), "ERR limit: got '2', expected an integer from 1 to 1");
    assert_eq!(server.get::<Option<Vec<i64>>>("RL.ADJUST missing 1 LIMIT 2"), None);
}

#[test]
fn it_is_sent_as_its_effect() {
    let server = Server::start();
    let mut stream = Stream::attach(&server);
    let outline = |stream: &mut Stream| -> Vec<String> {
        stream.lines().iter().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect()
    };
    all(&server, "RL.ALL 1 k FIXED 9 1h 3 SLIDINGLOG 9 1m 1");
    outline(&mut stream);
    server.run("RL.ADJUST k 1 LIMIT 1");
    assert_eq!(outline(&mut stream), ["SETRANGE k"]);
    server.set_clock(START + M / 2);
    server.run("RL.ADJUST k 1");
    assert_eq!(outline(&mut stream), ["MULTI", "APPEND k", "SETRANGE k", "EXEC"]);
    server.run("RL.ADJUST k -1 LIMIT 2");
    assert_eq!(outline(&mut stream), ["SET k"]);
    server.run("RL.ADJUST k 0");
    server.set_clock(START + 3_600_000 * MS);
    server.run("RL.ADJUST k 1");
    assert_eq!(outline(&mut stream), [""; 0]);
}
