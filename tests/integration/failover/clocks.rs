//! A new primary whose clock differs from the old one's.

use crate::harness::{Clock, H, M, MS, START, Server, limiters};

/// New primaries on clocks that are off by so many microseconds from the old one's, which stood at [`START`] when it had
/// used up each limiter and died.
fn promoted<const N: usize>(offsets: [i64; N]) -> [Server; N] {
    let mut primary = Server::start();
    let on_clock = |us| Server::builder().replica_of(&primary).clock(&Clock::stopped_at(START + us)).start();
    let replicas = offsets.map(on_clock);
    for (name, limits) in limiters(3) {
        assert_eq!(primary.five(&format!("RL.{name} {name} {limits} 3"))[..3], [1, 3, 0]);
    }
    primary.wait_for_replicas(N);
    primary.kill();
    for replica in &replicas {
        replica.run("REPLICAOF NO ONE");
    }
    replicas
}

#[test]
fn one_that_is_behind_grants_nothing_and_keeps_its_promises() {
    // C114. An hour is the span of each limiter; the counter's right wait is longer, into the next window.
    let behind = [0, 1, M, H, H + 1, 10 * H];
    let servers = promoted(behind.map(|us| -us));
    let right = limiters(3).map(|(name, limits)| servers[0].five(&format!("RL.{name} {name} {limits}"))[3]);
    for (server, behind) in servers.iter().zip(behind) {
        for ((name, limits), right) in limiters(3).into_iter().zip(right) {
            let call = format!("RL.{name} {name} {limits}");
            let [allowed, _, remaining, retry, _] = server.five(&call);
            assert_eq!([allowed, remaining], [0, 0], "{call}, {behind} us behind");
            assert!(retry <= right + H / MS, "{call}, {behind} us behind: {retry} ms in place of {right}");
            server.advance((retry - 1) * MS);
            assert_eq!(server.five(&call)[..3], [0, 3, 0], "{call}, {behind} us behind");
            server.advance(MS);
            assert_eq!(server.five(&call)[0], 1, "{call}, {behind} us behind, after {retry} ms");
            server.set_clock(START - behind);
        }
    }
}

#[test]
fn one_that_is_ahead_opens_earlier_by_that_much() {
    let [server] = promoted([25 * M]);
    for name in ["TOKENBUCKET", "GCRA"] {
        // A token each 20 minutes.
        assert_eq!(server.five(&format!("RL.{name} {name} 3 3/h")), [1, 3, 0, 0, 55 * M / MS]);
    }
    for name in ["FIXED", "SLIDINGLOG"] {
        assert_eq!(server.five(&format!("RL.{name} {name} 3 1h")), [0, 3, 0, 35 * M / MS, 35 * M / MS]);
    }
}
