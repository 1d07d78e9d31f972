//! Bounds for what a failover forgets, for those who ask for them.

use std::{thread, time::Duration};

use super::{CALLERS, difference, load_calls, pair};
use crate::harness::{Client, S, limiters, under_load, wait_until};

#[test]
fn a_call_that_wait_has_confirmed_is_never_forgotten() {
    let (mut primary, replica) = pair();
    let calls = load_calls();
    let port = primary.port();
    let connect = || {
        let mut client = Client::at(port);
        move |call: &str| {
            let answer = client.try_run(call)?;
            let confirmed = client.try_run("WAIT 1 1000")?;
            if confirmed == redis::Value::Int(1) { Ok(answer) } else { Err(format!("{call}: {confirmed:?}")) }
        }
    };
    let ((), tally) = under_load(CALLERS, &calls, connect, || {
        wait_until("there is a history", || primary.used_by(&calls[9..])[0] > 100);
        primary.kill();
    });
    replica.run("REPLICAOF NO ONE");
    let (lost, unconfirmed) = difference(&tally.admitted, &replica.used_by(&calls));
    assert_eq!(lost, 0, "{tally:?}");
    assert!(unconfirmed <= CALLERS as u64);
}

#[test]
fn a_primary_that_has_lost_its_replicas_admits_nothing_where_that_is_asked_for() {
    let (primary, replica) = pair();
    primary.run("CONFIG SET min-replicas-to-write 1 min-replicas-max-lag 1");
    for (name, limits) in limiters(3) {
        assert_eq!(primary.five(&format!("RL.{name} {name} {limits}"))[0], 1);
    }
    let assert_closed = || {
        for (name, limits) in limiters(3) {
            assert!(primary.error(&format!("RL.{name} {name} {limits}")).starts_with("NOREPLICAS"));
            assert_eq!(primary.five(&format!("RL.PEEK {name}"))[..3], [1, 3, 1]);
        }
    };
    let call = "RL.FIXED other 1000000 1h";
    // A replica that says nothing for longer than the lag.
    thread::scope(|scope| {
        let asleep = scope.spawn(|| replica.run("DEBUG SLEEP 2"));
        wait_until("the primary misses its replica", || {
            primary.advance(S);
            thread::sleep(Duration::from_millis(100));
            primary.try_run(call).is_err()
        });
        assert_closed();
        asleep.join().unwrap();
    });
    wait_until("the replica is back", || primary.try_run(call).is_ok());
    // A replica that is gone.
    replica.run("REPLICAOF NO ONE");
    wait_until("the primary sees that its replica has left", || primary.try_run(call).is_err());
    assert_closed();
    for (name, _) in limiters(3) {
        assert_eq!(replica.five(&format!("RL.PEEK {name}"))[..3], [1, 3, 1], "{name}");
    }
}
