//! A primary dies, and its replica is told to take over.

use std::{thread, time::Duration};

use super::{CALLERS, difference, load, load_calls, pair};
use crate::harness::{MS, S, Server, Traffic, limiters, module_path, wait_until};

#[test]
fn it_refuses_what_the_old_primary_would_have_and_waits_no_longer() {
    // C124 (a) and (d): on the replica, and once it has taken over. Another replica had not loaded the module till then.
    let mut primary = Server::start();
    let with = Server::builder().replica_of(&primary).start();
    let without = Server::builder().without_module().replica_of(&primary).start();
    for (name, limits) in limiters(3) {
        for remaining in [2, 1, 0] {
            assert_eq!(primary.five(&format!("RL.{name} {name} {limits}"))[..3], [1, 3, remaining]);
        }
    }
    primary.wait_for_replicas(2);
    primary.advance(S);
    let peeks = |server: &Server| limiters(3).map(|(name, _)| server.five(&format!("RL.PEEK {name}")));
    let expected = peeks(&primary);
    assert_eq!(expected[1], [0, 3, 0, 1_199_000, 3_599_000]);
    assert_eq!(peeks(&with), expected);
    primary.kill();

    without.run(&format!("MODULE LOAD {}", module_path().display()));
    for promoted in [with, without] {
        promoted.run("REPLICAOF NO ONE");
        assert_eq!(peeks(&promoted), expected);
        for ((name, limits), expected) in limiters(3).into_iter().zip(expected) {
            let call = format!("RL.{name} {name} {limits}");
            assert_eq!(promoted.five(&call), expected);
            promoted.advance((expected[3] - 1) * MS);
            assert_eq!(promoted.five(&call)[..4], [0, 3, 0, 1], "{call}");
            promoted.advance(MS);
            assert_eq!(promoted.five(&call)[0], 1, "{call}");
            promoted.advance(-expected[3] * MS);
        }
    }
}

#[test]
fn it_decides_as_the_old_primary_would_have_after_any_run() {
    let (primary, replica) = pair();
    Traffic::new(30).play(&primary, 1_500);
    primary.wait_for_replicas(1);
    replica.run("REPLICAOF NO ONE");
    // The same calls to both at the same moments: once apart, they stay alike.
    let mut calls = Traffic::new(31);
    let mut admitted = 0;
    for _ in 0..1_000 {
        let call = calls.call();
        let answers = [primary.try_run(&call), replica.try_run(&call)];
        assert_eq!(answers[0], answers[1], "{call}");
        admitted += usize::from(answers[0].is_ok());
        primary.advance(7 * MS);
    }
    assert!(admitted > 500, "{admitted}");
    assert_eq!(primary.records(), replica.records());
}

#[test]
fn under_load_it_lacks_no_more_than_the_calls_that_were_under_way() {
    let (mut primary, replica) = pair();
    let calls = load_calls();
    let before = load(primary.port(), &calls, || {
        thread::sleep(Duration::from_millis(200));
        primary.kill();
        // Until it sees the end of the connection, it has not read all that had been sent to it.
        wait_until("the replica misses its primary", || replica.info("master_link_status") == "down");
        replica.run("REPLICAOF NO ONE");
    });
    let (lost, unanswered) = difference(&before.admitted, &replica.used_by(&calls));
    assert!(lost <= CALLERS as u64, "{lost} calls are not charged");
    assert!(unanswered <= CALLERS as u64, "{unanswered} calls are charged that nobody was told of");
    let after = load(replica.port(), &calls, || ());
    assert_eq!(after.errors, [""; 0]);
    for ((call, before), after) in calls.iter().zip(&before.admitted).zip(&after.admitted).take(5) {
        // They were full long before the end.
        assert_eq!((*before, *after), (20, 0), "{call}");
    }

    // The old primary comes back, follows the new one, and forgets what it alone had.
    primary.relaunch_with(|builder| builder.config("replicaof", format!("127.0.0.1 {}", replica.port())));
    replica.wait_for_replicas(1);
    assert_eq!(primary.records(), replica.records());
    assert!(primary.error(&calls[0]).starts_with("READONLY"));
}
