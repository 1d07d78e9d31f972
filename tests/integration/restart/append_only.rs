//! The append-only file: rewritten under load, and torn.

use std::{fs, path::PathBuf};

use super::in_background;
use crate::harness::{M, S, Server, Tally, load_calls, under_load};

fn durable() -> Server {
    Server::builder().config("appendonly", "yes").config("appendfsync", "always").start()
}

#[test]
fn a_rewrite_or_a_snapshot_under_load_loses_and_doubles_nothing() {
    for command in ["BGREWRITEAOF", "BGSAVE"] {
        let mut server = durable();
        let calls = load_calls();
        let connect = || {
            let mut client = server.client();
            move |call: &str| client.try_run(call)
        };
        let work = || (0..3).for_each(|_| in_background(&server, command));
        let ((), Tally { admitted, errors, .. }) = under_load(4, &calls, connect, work);
        assert_eq!(errors, [""; 0]);
        let records = server.records();
        server.kill();
        server.relaunch();
        assert_eq!(server.records(), records);
        assert_eq!(server.used_by(&calls), admitted);
    }
}

fn increment(server: &Server) -> PathBuf {
    let files = fs::read_dir(server.folder().join("appendonlydir")).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.to_str().unwrap().ends_with(".incr.aof")).max().unwrap()
}

#[test]
fn a_torn_file_loses_whole_calls_and_never_half_of_one() {
    let mut server = durable();
    // States of a log after each call: events alone, with the header, with the expiry, and all at once.
    let mut states = vec![server.records()];
    for (wait, call) in [
        (0, "RL.SLIDINGLOG k 9 1m"),
        (S, "RL.SLIDINGLOG k 9 1m"),
        (S, "RL.SLIDINGLOG k 8 1m"),
        (M / 2, "RL.SLIDINGLOG k 8 1m"),
        (S, "RL.SLIDINGLOG k 9 2m"),
        (S, "RL.SLIDINGLOG k 9 2m 2"),
    ] {
        server.advance(wait);
        assert_eq!(server.five(call)[0], 1, "{call}");
        states.push(server.records());
    }
    server.kill();
    let file = increment(&server);
    let whole = fs::read(&file).unwrap();
    let mut seen = vec![false; states.len()];
    for length in (0..=whole.len()).rev().step_by(37) {
        fs::write(&file, &whole[..length]).unwrap();
        server.relaunch();
        let records = server.records();
        let state = states.iter().position(|state| *state == records);
        seen[state.unwrap_or_else(|| panic!("{length} of {} bytes: {records:?}", whole.len()))] = true;
        server.kill();
    }
    assert_eq!(seen, vec![true; states.len()], "each state was met");
}
