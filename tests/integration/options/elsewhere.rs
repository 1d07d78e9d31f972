//! A blocked or booked key under the other commands.

use crate::harness::{MS, S, Server};

#[test]
fn a_block_holds_for_the_same_limiter_in_redis_cells_words() {
    let server = Server::start();
    server.five("RL.GCRA k 2 1/s 2");
    assert_eq!(server.five("RL.GCRA k 2 1/s 1 BLOCK 1m")[3], 60_000);
    server.advance(10 * S);
    assert_eq!(server.five("RL.THROTTLE k 1 1 1"), [1, 2, 0, 50, 50]);
    server.advance(50 * S);
    assert_eq!(server.five("RL.THROTTLE k 1 1 1"), [0, 2, 1, -1, 1]);
}

#[test]
fn a_block_holds_for_its_limit_in_a_call_of_several() {
    let server = Server::start();
    server.five("RL.GCRA {k}a 2 1/s 2");
    server.five("RL.GCRA {k}a 2 1/s 1 BLOCK 1m");
    let all = "RL.ALL 2 {k}a {k}b GCRA 2 1/s FIXED 5 1h";
    let five = |reply: redis::Value| -> Vec<redis::Value> {
        let redis::Value::Array(items) = reply else { panic!("{reply:?}") };
        items[..5].to_vec()
    };
    let integers = |numbers: [i64; 5]| numbers.map(redis::Value::Int).to_vec();
    assert_eq!(five(server.run(all)), integers([0, 2, 0, 60_000, 60_000]));
    assert_eq!(server.get::<i64>("EXISTS {k}b"), 0);
    server.advance(60 * S);
    assert_eq!(five(server.run(all))[0], redis::Value::Int(1));
}

#[test]
fn an_adjustment_leaves_a_block_as_it_is_and_gives_a_place_in_the_queue_back() {
    let server = Server::start();
    server.five("RL.FIXED k 3 1m 3");
    server.five("RL.FIXED k 3 1m 1 BLOCK 10m");
    assert_eq!(server.five("RL.ADJUST k -3"), [1, 3, 0, 0, 600_000]);
    assert_eq!(server.five("RL.FIXED k 3 1m"), [0, 3, 0, 600_000, 600_000]);

    for wait in [0, 1_000, 2_000] {
        assert_eq!(server.integers("RL.GCRA q 1 1/s 1 RESERVE 1h")[5], wait);
    }
    assert_eq!(server.five("RL.ADJUST q -1"), [1, 1, 0, 0, 2_000]);
    assert_eq!(server.integers("RL.GCRA q 1 1/s 1 RESERVE 1h")[5], 2_000);
}

#[test]
fn copies_and_dumps_carry_a_block() {
    let server = Server::start();
    let other = Server::start();
    server.five("RL.SLIDINGLOG k 1 1m");
    server.five("RL.SLIDINGLOG k 1 1m 1 BLOCK 10m");
    server.run("COPY k copy");
    let dump: Vec<u8> = server.get("DUMP k");
    let expires: i64 = server.get("PEXPIRETIME k");
    other.send(&[b"RESTORE", &b"k"[..], expires.to_string().as_bytes(), &dump, b"ABSTTL"]).unwrap();
    server.advance(9 * 60 * S + 59_999 * MS);
    other.set_clock(server.clock().now());
    for (server, key) in [(&server, "k"), (&server, "copy"), (&other, "k")] {
        assert_eq!(server.five(&format!("RL.SLIDINGLOG {key} 1 1m")), [0, 1, 0, 1, 1]);
    }
    server.advance(MS);
    assert_eq!(server.five("RL.SLIDINGLOG copy 1 1m")[0], 1);
}
