//! Primary, replicas and replicas of replicas hold the same bytes and the same absolute expiry of every key, whatever
//! their clocks, their lag and their modules.

use crate::harness::{Clock, DAY, H, M, MS, S, START, Server, Traffic, limiters};

type State = (String, (Vec<u8>, i64));

/// Every key with its serialised value and its expiry; what is past it goes first.
fn states(server: &Server) -> Vec<State> {
    let mut keys: Vec<String> = server.get("KEYS *");
    keys.sort();
    let states = keys.into_iter().map(|key| (key.clone(), server.state(&key)));
    states.filter(|(_, (value, _))| !value.is_empty()).collect()
}

/// A primary with four descendants: with the module and without, ahead of its clock and behind.
///
/// ```text
/// primary - replica, 5 h behind - replica of a replica without the module, 300 d ahead
///        \ replica without the module, 7 h ahead - replica of a replica with the module, 2 h behind
/// ```
struct Family {
    primary: Server,
    replicas: [Server; 2],
    grandchildren: [Server; 2],
}

impl Family {
    fn start() -> Self {
        let primary = Server::start();
        let clock = |us| Clock::stopped_at(START + us);
        let with = Server::builder().replica_of(&primary).clock(&clock(-5 * H)).start();
        let without = Server::builder().without_module().replica_of(&primary).clock(&clock(7 * H)).start();
        let below_with = Server::builder().without_module().replica_of(&with).clock(&clock(300 * DAY)).start();
        let below_without = Server::builder().replica_of(&without).clock(&clock(-2 * H)).start();
        let family = Self { primary, replicas: [with, without], grandchildren: [below_with, below_without] };
        family.settle();
        family
    }

    fn settle(&self) {
        self.primary.wait_for_replicas(2);
        self.replicas.iter().for_each(|replica| replica.wait_for_replicas(1));
    }

    fn descendants(&self) -> impl Iterator<Item = &Server> {
        self.replicas.iter().chain(&self.grandchildren)
    }

    /// Holds all copies against the primary, and tells how many keys they have.
    fn assert_identical(&self) -> usize {
        let expected = states(&self.primary);
        self.settle();
        for (index, copy) in self.descendants().enumerate() {
            // On their own clocks many keys would count as expired, and not be shown.
            let clock = copy.clock().now();
            copy.set_clock(0);
            assert_eq!(states(copy), expected, "copy {index}");
            copy.set_clock(clock);
        }
        expected.len()
    }
}

#[test]
fn copies_are_identical_after_random_runs() {
    let family = Family::start();
    for seed in 0..4 {
        Traffic::new(seed).play(&family.primary, 600);
        if seed == 1 {
            // The links break once; the replicas go on from where they were.
            let links: i64 = family.primary.get("CLIENT KILL TYPE replica");
            assert_eq!(links, 2);
        }
        let keys = family.assert_identical();
        assert!(keys > 10, "{keys} keys");
    }
    for replica in &family.replicas {
        assert_eq!(replica.info("master_link_status"), "up");
    }
    assert_eq!(family.primary.info("sync_full"), "2", "broken links are mended without a full copy");
}

#[test]
fn a_replica_that_joins_under_load_is_identical() {
    let primary = Server::start();
    let mut traffic = Traffic::new(20);
    traffic.play(&primary, 500);
    std::thread::scope(|scope| {
        let load = scope.spawn(|| traffic.play(&primary, 3_000));
        let joined = [
            Server::builder().replica_of(&primary).clock(&Clock::stopped_at(0)).start(),
            Server::builder().without_module().replica_of(&primary).clock(&Clock::stopped_at(0)).start(),
        ];
        load.join().unwrap();
        let expected = states(&primary);
        primary.wait_for_replicas(2);
        assert!(expected.len() > 10);
        for replica in joined {
            assert_eq!(states(&replica), expected);
        }
    });
}

#[test]
fn lag_does_not_lengthen_a_limiters_life() {
    // C126.
    let family = Family::start();
    std::thread::scope(|scope| {
        let asleep = scope.spawn(|| family.replicas[0].run("DEBUG SLEEP 0.3"));
        for (name, limits) in limiters(3) {
            family.primary.run(&format!("RL.{name} {name} {limits}"));
            family.primary.advance(S);
        }
        asleep.join().unwrap();
    });
    family.settle();
    for (name, _) in limiters(3) {
        let expiry: i64 = family.primary.get(&format!("PEXPIRETIME {name}"));
        assert!(expiry > (START + M) / MS, "{name}");
        for copy in family.descendants() {
            copy.set_clock(0);
            assert_eq!(copy.get::<i64>(&format!("PEXPIRETIME {name}")), expiry, "{name}");
        }
    }
}
