//! A replica takes over: it refuses what the old primary would have refused, but for what had not reached it.

mod clocks;
mod planned;
mod promoted;
mod sentinel;
mod unreplicated;

use crate::harness::{Client, Server, Tally, load_calls, under_load};

/// How many connections call at once, each with one call under way.
const CALLERS: usize = 8;

/// A primary and a replica in step, both with the module, on one clock.
fn pair() -> (Server, Server) {
    let primary = Server::start();
    let replica = Server::builder().replica_of(&primary).start();
    primary.wait_for_replicas(1);
    (primary, replica)
}

/// Calls of many connections to whoever listens on `port`, while `work` runs.
fn load(port: u16, calls: &[String], work: impl FnOnce()) -> Tally {
    let connect = || {
        let mut client = Client::at(port);
        move |call: &str| client.try_run(call)
    };
    under_load(CALLERS, calls, connect, work).1
}

/// What was answered "allowed" and is not charged, and what is charged though the answer was lost.
fn difference(admitted: &[u64], used: &[u64]) -> (u64, u64) {
    let pairs = || admitted.iter().zip(used);
    (pairs().map(|(a, u)| a.saturating_sub(*u)).sum(), pairs().map(|(a, u)| u.saturating_sub(*a)).sum())
}
