//! What a call with options sends: the state that it leaves, whether it was refused or not.

use super::{Watched, records::*, wrapped};
use crate::harness::{M, MS, S, START, Server, limiters, shown};

fn set(record: &str, expiry: Option<i64>) -> [String; 1] {
    let option = expiry.map_or_else(|| "KEEPTTL".into(), |ms| format!("PXAT {}", START_MS + ms));
    [format!("SET k {record} {option}")]
}

#[test]
fn a_booking_sends_a_debt_above_the_capacity() {
    let mut watched = Watched::start();
    let call = "RL.GCRA k 2 60/m 1 RESERVE 1s";
    let record = |debt, expiry| bucket(GCRA, START, debt * M, [2, 60, M / MS, expiry]);
    watched.admitted(call, &set(&record(1, 2_000), Some(2_000)));
    watched.admitted(call, &set(&record(2, 2_000), None));
    watched.admitted(call, &set(&record(3, 5_250), Some(5_250)));
    watched.refused(call, &[]);
}

#[test]
fn a_partial_call_sends_what_it_was_granted() {
    let mut watched = Watched::start();
    let record = |used| fixed(START, START, [used, 5, M / MS, 61_000]);
    watched.admitted("RL.FIXED k 5 1m 3", &set(&record(3), Some(61_000)));
    watched.admitted("RL.FIXED k 5 1m 3 PARTIAL", &set(&record(5), None));
    watched.refused("RL.FIXED k 5 1m 3 PARTIAL", &[]);
}

#[test]
fn a_refused_call_that_counts_sends_its_usage_once() {
    let mut watched = Watched::start();
    let record = |used| fixed(START, START, [used, 5, M / MS, 61_000]);
    watched.admitted("RL.FIXED k 5 1m 3", &set(&record(3), Some(61_000)));
    watched.refused("RL.FIXED k 5 1m 3 STRICT", &set(&record(5), None));
    watched.refused("RL.FIXED k 5 1m 3 STRICT", &[]);
}

#[test]
fn a_full_log_sends_the_refused_event_and_a_header_that_drops_the_oldest() {
    let mut watched = Watched::start();
    for second in 0..5 {
        watched.server.set_clock(START + second * S);
        assert_eq!(watched.server.five("RL.SLIDINGLOG k 5 1m")[0], 1);
    }
    watched.sent();
    let expiry = START_MS + 90_000;
    for dropped in 1..=3 {
        let at = START + 10 * S + dropped * MS;
        watched.server.set_clock(at);
        let header = log_header(LOG, [5, dropped, M / MS, expiry]);
        let effects = wrapped([format!("APPEND k {}", shown(&word(at))), format!("SETRANGE k 0 {header}")]);
        // Three dead and five living: that is three times the same. The expiry still fits.
        watched.refused("RL.SLIDINGLOG k 5 1m 1 STRICT", &effects);
    }
    // Half an event of weight 4 cannot be dropped in place.
    watched.server.run("DEL k");
    watched.server.set_clock(START);
    watched.server.five("RL.SLIDINGLOG k 5 1m 4");
    watched.sent();
    let weighted = log(LOG | WIDE, [5, 0, M / MS, expiry], &[START, 2, START, 5]);
    watched.refused("RL.SLIDINGLOG k 5 1m 3 STRICT", &set(&weighted, None));
}

#[test]
fn a_block_is_sent_once_and_gone_with_the_next_call_that_is_let_in() {
    let mut watched = Watched::start();
    let record = |start, used, expiry| fixed(START + start, START + start, [used, 2, M / MS, expiry]);
    watched.admitted("RL.FIXED k 2 1m 2", &set(&record(0, 2, 61_000), Some(61_000)));
    // Blocked for an hour, it may live half as long again.
    let call = "RL.FIXED k 2 1m 1 BLOCK 1h";
    watched.refused(call, &set(&blocked(&record(0, 2, 5_400_000), START, 3_600_000), Some(5_400_000)));
    watched.server.set_clock(START + 59 * M);
    watched.refused(call, &[]);
    watched.refused("RL.FIXED k 2 1m 2", &[]);
    watched.admitted("RL.FIXED k 2 1m 0", &[]);
    watched.silent("RL.PEEK k");
    watched.silent("RL.INFO k");
    // A strict repeat begins it anew, and has used up the next window.
    let strict = blocked(&record(59 * M, 1, 5_400_000), START + 59 * M, 3_600_000);
    let expiry = 59 * 60_000 + 5_400_000;
    watched.refused(&format!("{call} STRICT"), &set(&strict, Some(expiry)));
    let at = 59 * M + 60 * M;
    watched.server.set_clock(START + at);
    watched.admitted(call, &set(&record(at, 1, 61_000), Some(at / MS + 61_000)));
}

#[test]
fn a_log_is_sent_whole_when_a_block_begins_and_keeps_its_room() {
    let mut watched = Watched::start();
    for _ in 0..3 {
        assert_eq!(watched.server.five("RL.SLIDINGLOG k 3 1m")[0], 1);
    }
    watched.sent();
    let header = |dead, expiry| [3, dead, M / MS, START_MS + expiry];
    let plain = log(LOG, header(0, 90_000), &[START; 3]);
    watched.refused("RL.SLIDINGLOG k 3 1m 1 BLOCK 30s", &set(&blocked(&plain, START, 30_000), None));
    // A call that counts in the meantime goes to its end.
    watched.server.set_clock(START + 20 * S);
    let append = |at: i64| format!("APPEND k {}", shown(&word(START + at)));
    let header_of = |dead, since, length| {
        format!("SETRANGE k 0 {}", blocked(&log_header(LOG, header(dead, 90_000)), since, length))
    };
    watched.refused("RL.SLIDINGLOG k 3 1m 1 STRICT", &wrapped([append(20 * S), header_of(1, START, 30_000)]));
    // Over, the first call that is let in says so, and from then on the log is appended to as ever.
    watched.server.set_clock(START + M);
    watched.admitted(
        "RL.SLIDINGLOG k 4 1m",
        &set(&log(LOG, [4, 0, M / MS, START_MS + 150_000], &[START + 20 * S, START + M]), Some(150_000)),
    );
}

#[test]
fn what_is_refused_without_a_change_sends_nothing() {
    let mut watched = Watched::start();
    for (name, limits) in limiters(2) {
        let call = format!("RL.{name} {name} {limits}");
        watched.server.five(&format!("{call} 2"));
        watched.sent();
        for options in ["1 PARTIAL", "3 BLOCK 1h", "0 BLOCK 1h STRICT", "0 PARTIAL", "1 BLOCK x", "1 STRICT STRICT"] {
            watched.silent(&format!("{call} {options}"));
        }
        watched.silent(&format!("RL.PEEK {name} {name} {limits} 1 STRICT BLOCK 1h"));
    }
    watched.silent("RL.GCRA GCRA 2 2/h 1 RESERVE 1ms");
}

#[test]
fn replicas_end_with_the_same_bytes_and_expiry_whatever_was_asked() {
    let primary = Server::start();
    let replica = Server::builder().without_module().replica_of(&primary).start();
    primary.wait_for_replicas(1);
    for (name, limits) in limiters(3) {
        let reserve = if name == "TOKENBUCKET" || name == "GCRA" { "RESERVE 3h" } else { "PARTIAL" };
        for options in
            ["", "2 STRICT", "2 PARTIAL", &format!("1 {reserve}"), "1 BLOCK 5h", "1 STRICT BLOCK 6h", "1 STRICT"]
        {
            primary.integers(&format!("RL.{name} {name} {limits} {options}"));
            primary.advance(MS);
        }
    }
    primary.wait_for_replicas(1);
    assert_eq!(primary.records().len(), 5);
    assert_eq!(primary.records(), replica.records());
}
