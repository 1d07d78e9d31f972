//! A primary hands over with `FAILOVER`.

use std::{thread, time::Duration};

use super::{difference, load, load_calls, pair};
use crate::harness::wait_until;

#[test]
fn a_planned_failover_under_load_loses_and_doubles_nothing() {
    let (primary, replica) = pair();
    let calls = load_calls();
    let tally = load(primary.port(), &calls, || {
        thread::sleep(Duration::from_millis(50));
        primary.run("FAILOVER");
        wait_until("the roles are changed", || replica.info("role") == "master" && primary.info("role") == "slave");
    });
    // Later calls meet a replica.
    let read_only = |error: &&String| error.contains("READONLY");
    assert_eq!(tally.errors.iter().find(|error| !read_only(error)), None);
    assert_eq!(difference(&tally.admitted, &replica.used_by(&calls)), (0, 0));
    replica.wait_for_replicas(1);
    assert_eq!(primary.records(), replica.records());
}
