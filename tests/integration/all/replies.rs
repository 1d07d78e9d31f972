//! Verdicts on limits that share a key.

use std::collections::BTreeMap;

use redis::Value;

use super::{all, expected, reply};
use crate::harness::{H, MS, S, START, Server, raw_reply};

#[test]
fn either_every_limit_is_charged_or_none_is() {
    let server = Server::start();
    let call = "RL.ALL 1 k TOKENBUCKET 2 1/s FIXED 3 1h";
    assert_eq!(
        all(&server, call),
        expected([1, 2, 1, 0, 3_600_000], 1, [[1, 2, 1, 0, 1_000], [1, 3, 2, 0, 3_600_000]])
    );
    assert_eq!(
        all(&server, call),
        expected([1, 2, 0, 0, 3_600_000], 1, [[1, 2, 0, 0, 2_000], [1, 3, 1, 0, 3_600_000]])
    );
    let refused = expected([0, 2, 0, 1_000, 3_600_000], 1, [[0, 2, 0, 1_000, 2_000], [1, 3, 1, 0, 3_600_000]]);
    let before = server.state("k");
    assert_eq!(all(&server, call), refused);
    assert_eq!(server.state("k"), before, "a refused whole changes nothing");
    server.set_clock(START + S - 1);
    assert_eq!(all(&server, call).whole[0], 0);
    server.set_clock(START + S);
    let third = expected([1, 2, 0, 0, 3_599_000], 1, [[1, 2, 0, 0, 2_000], [1, 3, 0, 0, 3_599_000]]);
    assert_eq!(all(&server, call), third);
    server.set_clock(START + 2 * S);
    // The quota binds now, and the bucket, which would let it in, is left alone.
    let refused = expected([0, 3, 0, 3_598_000, 3_598_000], 2, [[1, 2, 1, 0, 1_000], [0, 3, 0, 3_598_000, 3_598_000]]);
    assert_eq!(all(&server, call), refused);
    server.set_clock(START + H);
    assert_eq!(all(&server, call).whole[..3], [1, 2, 1]);
}

#[test]
fn a_cost_that_one_limit_can_never_let_in_is_never_let_in() {
    let server = Server::start();
    let got = all(&server, "RL.ALL 1 k FIXED 5 1h 6 GCRA 1 1/h");
    assert_eq!(got, expected([0, 5, 5, -1, 0], 1, [[0, 5, 5, -1, 0], [1, 1, 1, 0, 0]]));
    assert_eq!(server.get::<i64>("EXISTS k"), 0);
}

#[test]
fn the_reply_is_the_same_bytes_in_both_protocols() {
    let server = Server::start();
    for protocol in [2, 3] {
        server.run("DEL k");
        let raw = raw_reply(&server, protocol, "RL.ALL 1 k FIXED 5 1h GCRA 9 1 2 RESERVE 0ms");
        let whole = "*8\r\n:1\r\n:9\r\n:7\r\n:0\r\n:3600000\r\n:2\r\n*2\r\n";
        let each = "*5\r\n:1\r\n:5\r\n:4\r\n:0\r\n:3600000\r\n*5\r\n:1\r\n:9\r\n:7\r\n:0\r\n:2000\r\n";
        assert_eq!(raw, [whole, each, ":0\r\n"].concat(), "RESP{protocol}");
    }
}

#[test]
fn options_mean_within_a_list_what_they_mean_alone() {
    let server = Server::start();
    // Booked for as long as the bucket needs.
    let call = "RL.ALL 1 b FIXED 9 1h GCRA 1 1/s RESERVE 1500ms";
    assert_eq!(all(&server, call).wait, Some(0));
    let booked = all(&server, call);
    assert_eq!((booked.whole[0], booked.whole[2], booked.binding, booked.wait), (1, 0, 2, Some(1_000)));
    let refused = all(&server, call);
    assert_eq!((refused.whole[..4].to_vec(), refused.wait), (vec![0, 1, 0, 500], Some(0)));
    assert_eq!(refused.each[0][..3], [1, 9, 7]);

    // STRICT counts what the other limit refuses.
    let strict = "RL.ALL 1 s FIXED 1 1h FIXED 5 1m STRICT";
    assert_eq!(all(&server, strict).whole[0], 1);
    for left in [3, 2, 1, 0] {
        let got = all(&server, strict);
        assert_eq!((got.whole[0], got.binding, &got.each[1][..3]), (0, 1, &[1, 5, left][..]));
    }
    assert_eq!(all(&server, strict).each[1][..3], [0, 5, 0]);

    // BLOCK blocks the limit that refuses, and not another.
    let block = "RL.ALL 1 l FIXED 1 1s BLOCK 1m FIXED 9 1h BLOCK 1d";
    assert_eq!(all(&server, block).whole[0], 1);
    let refused = all(&server, block);
    assert_eq!((refused.whole[3], refused.binding), (60_000, 1));
    server.set_clock(START + 59_999 * MS);
    assert_eq!(all(&server, block).whole[3], 1);
    server.set_clock(START + 60_000 * MS);
    assert_eq!(all(&server, block).whole[..2], [1, 1]);
    let error = "ERR limit 2: option: got 'PARTIAL', expected it with a single limit only";
    assert_eq!(server.error("RL.ALL 1 l FIXED 1 1s FIXED 9 1h PARTIAL"), error);
}

#[test]
fn a_single_limiter_is_a_list_of_one_and_a_list_is_none_of_the_single_ones() {
    let server = Server::start();
    server.run("RL.FIXED k 5 1h 2");
    let single = server.state("k");
    server.run("DEL k");
    assert_eq!(all(&server, "RL.ALL 1 k FIXED 5 1h 2").whole, [1, 5, 3, 0, 3_600_000]);
    assert_eq!(server.state("k"), single);
    assert_eq!(all(&server, "RL.ALL 1 k GCRA 9 1 FIXED 5 1h").each[1][..3], [1, 5, 2]);
    for call in ["RL.FIXED k 5 1h", "RL.PEEK k FIXED 5 1h"] {
        assert_eq!(server.error(call), "WRONGTYPE key: got all state, expected fixed state", "{call}");
    }
    assert_eq!(server.error("RL.THROTTLE k 5 1 1"), "WRONGTYPE key: got all state, expected gcra state");
    assert_eq!(all(&server, "RL.ALL 1 k FIXED 5 1h").whole[..3], [1, 5, 1]);
    assert_eq!(server.five("RL.FIXED k 5 1h")[..3], [1, 5, 0]);

    server.run("SET other hello");
    server.run("RPUSH list a");
    let error = "WRONGTYPE key: got a string that is not limiter state, expected limiter state";
    assert_eq!(server.error("RL.ALL 1 other FIXED 5 1h GCRA 1 1"), error);
    assert_eq!(server.error("RL.ALL 1 list FIXED 5 1h"), "WRONGTYPE key: got a list, expected limiter state");
}

#[test]
fn thirty_two_limits_are_as_good_as_one_and_thirty_three_are_too_many() {
    let server = Server::start();
    let limits = |count: u64| (1..=count).map(|n| format!(" FIXED {} {n}h", 100 + n)).collect::<String>();
    let call = format!("RL.ALL 1 k{}", limits(32));
    for left in [100, 99] {
        let got = all(&server, &call);
        assert_eq!((got.whole[0], got.whole[2], got.binding, got.each.len()), (1, left, 1, 32));
    }
    let error = "ERR limits: got 'FIXED', expected at most 32 limits";
    assert_eq!(server.error(&format!("RL.ALL 1 k{}", limits(33))), error);
}

#[test]
fn looks_see_the_whole() {
    let server = Server::start();
    let call = "RL.ALL 1 k TOKENBUCKET 10 1/s 4 SLIDINGLOG 9 1m 2 FIXED 100 1h 0";
    assert_eq!(all(&server, call).whole[..3], [1, 10, 6]);
    let before = server.state("k");
    assert_eq!(server.five("RL.PEEK k"), [1, 10, 5, 0, 3_600_000]);
    assert_eq!(server.five("RL.PEEK k 7"), [0, 10, 6, 1_000, 60_000]);
    assert_eq!(server.five("RL.PEEK k 9"), [0, 9, 7, 60_000, 60_000]);
    let seen = reply(server.run("RL.PEEK k ALL FIXED 100 1h 101 TOKENBUCKET 10 1/s"));
    assert_eq!((seen.whole[3], seen.binding, &seen.each[1][..]), (-1, 1, &[1, 10, 6, 0, 4_000][..]));
    assert_eq!(reply(server.run("RL.PEEK new ALL FIXED 5 1m")).whole, [1, 5, 4, 0, 60_000]);
    let info: BTreeMap<String, Value> = server.get("RL.INFO k");
    assert_eq!(info.keys().collect::<Vec<_>>(), ["algorithm", "bytes", "limits", "version"]);
    assert_eq!((&info["algorithm"], &info["version"]), (&Value::BulkString(b"all".to_vec()), &Value::Int(2)));
    assert_eq!(info["bytes"], Value::Int(server.get("STRLEN k")));
    let Value::Array(limits) = &info["limits"] else { panic!("no array: {info:?}") };
    let limits: Vec<BTreeMap<String, Value>> =
        limits.iter().map(|limit| redis::from_redis_value(limit.clone()).unwrap()).collect();
    let used = limits.iter().map(|limit| limit["used"].clone()).collect::<Vec<_>>();
    assert_eq!(used, [Value::Int(4), Value::Int(2), Value::Int(0)]);
    assert_eq!((&limits[1]["events"], limits[0].contains_key("bytes")), (&Value::Int(1), false));
    assert_eq!(server.state("k"), before, "who looks changes nothing");
    server.set_clock(START + H);
    assert_eq!(server.get::<Option<Vec<i64>>>("RL.PEEK k"), None);
}

#[test]
fn memory_of_a_damaged_list_is_no_verdict() {
    let server = Server::start();
    server.run("RL.ALL 1 k FIXED 5 1h GCRA 5 1");
    let (length, before): (i64, Vec<u8>) = (server.get("STRLEN k"), server.get("GET k"));
    for cut in [5, 20, length - 1] {
        server.run("DEL k");
        server.send(&[b"SET".as_slice(), b"k", &before[..cut as usize]]).unwrap();
        for call in ["RL.ALL 1 k FIXED 5 1h GCRA 5 1", "RL.ALL 1 k FIXED 5 1h", "RL.PEEK k", "RL.INFO k"] {
            let error = server.error(call);
            assert!(error.starts_with("WRONGTYPE key: got a string that is not limiter state"), "{call}: {error}");
        }
        assert_eq!(server.get::<i64>("STRLEN k"), cut);
    }
}
