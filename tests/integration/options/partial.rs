//! `PARTIAL`: what is left, if not all.

use crate::harness::{M, S, Server, peek_of};

const CALLS: [&str; 6] = [
    "RL.TOKENBUCKET k 10 10/60s",
    "RL.GCRA k 10 10/60s",
    "RL.FIXED k 10 60s",
    "RL.FIXED k 10 60s {} ALIGNED",
    "RL.SLIDINGLOG k 10 60s",
    "RL.SLIDINGCOUNTER k 10 60s",
];

/// The call at this cost.
fn at_cost(call: &str, cost: u64) -> String {
    if call.contains("{}") { call.replace("{}", &cost.to_string()) } else { format!("{call} {cost}") }
}

#[test]
fn it_takes_what_is_left_and_tells_how_much() {
    let server = Server::start();
    for call in CALLS {
        server.run("FLUSHALL");
        let partial = |cost| server.integers(&format!("{} PARTIAL", at_cost(call, cost)));
        assert_eq!(partial(7)[..4], [1, 10, 3, 0], "{call}");
        let all = partial(3)[5];
        assert_eq!(all, 3, "{call}");
        server.run("DEL k");
        assert_eq!(partial(7)[5], 7, "{call}");
        let rest = partial(1_000_000_000_000);
        assert_eq!((&rest[..4], rest[5]), (&[1, 10, 0, 0][..], 3), "{call}");
        // Nothing is left: the wait is that of a call of cost 1, whatever the cost, and it is true.
        let refused = partial(11);
        assert_eq!((&refused[..3], refused[5]), (&[0, 10, 0][..], 0), "{call}");
        assert_eq!(refused[3], server.five(&peek_of(&at_cost(call, 1)))[3], "{call}");
        let clock = server.clock().now();
        server.advance(refused[3] * 1_000 - 1);
        assert_eq!(partial(11)[0], 0, "{call}");
        server.set_clock(clock + refused[3] * 1_000);
        let again = partial(11);
        assert!(again[0] == 1 && again[5] >= 1, "{call}: {again:?}");
        server.set_clock(clock);
    }
}

#[test]
fn a_closed_limiter_never_has_anything_and_a_cost_of_nothing_is_granted_nothing() {
    let server = Server::start();
    for call in ["TOKENBUCKET k 0 1", "GCRA k 0 1", "FIXED k 0 1s", "SLIDINGLOG k 0 1s", "SLIDINGCOUNTER k 0 1s"] {
        assert_eq!(server.integers(&format!("RL.{call} 5 PARTIAL")), [0, 0, 0, -1, 0, 0], "{call}");
        assert_eq!(server.integers(&format!("RL.{call} 0 PARTIAL")), [1, 0, 0, 0, 0, 0], "{call}");
    }
    assert_eq!(server.integers("RL.FIXED k 5 60s 0 partial"), [1, 5, 5, 0, 0, 0]);
    assert_eq!(server.get::<i64>("DBSIZE"), 0);
}

#[test]
fn a_refused_one_changes_nothing() {
    let server = Server::start();
    for call in CALLS {
        server.run("FLUSHALL");
        server.five(&at_cost(call, 10));
        server.advance(S);
        let look = || (server.state("k"), server.info("rdb_changes_since_last_save"));
        let before = look();
        assert_eq!(server.integers(&format!("{} PARTIAL", at_cost(call, 10)))[0], 0, "{call}");
        assert_eq!(look(), before, "{call}");
        server.advance(2 * M);
    }
}
