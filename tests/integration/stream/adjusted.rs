//! An adjustment sends the state it leaves, as an admitted call does.

use super::{Watched, records::*, wrapped};
use crate::harness::{H, M, MS, S, START, limiters, shown};

const MINUTE: i64 = M / MS;

fn set(record: &str, expiry: Option<i64>) -> [String; 1] {
    let option = expiry.map_or_else(|| "KEEPTTL".into(), |ms| format!("PXAT {}", START_MS + ms));
    [format!("SET k {record} {option}")]
}

#[test]
fn a_bucket_sends_its_debt_and_an_expiry_that_follows_it() {
    for (name, kind) in [("TOKENBUCKET", TOKENBUCKET), ("GCRA", GCRA)] {
        let mut watched = Watched::start();
        watched.server.run(&format!("RL.{name} k 100 60/m 10"));
        watched.sent();
        let at = |seconds, debt, expiry| bucket(kind, START + seconds * S, debt, [100, 60, MINUTE, expiry]);
        watched.server.set_clock(START + S);
        // Ten seconds to drain: the expiry of 17.5 s still fits.
        watched.admitted("RL.ADJUST k 1", &set(&at(1, 10 * M, 16_500), None));
        watched.admitted("RL.ADJUST k 190", &set(&at(1, 200 * M, 350_000), Some(351_000)));
        watched.admitted("RL.ADJUST k -196", &set(&at(1, 4 * M, 7_000), Some(8_000)));
        watched.admitted("RL.ADJUST k -5", &set(&at(1, 0, 1_000), Some(2_000)));
        watched.silent("RL.ADJUST k -5");
        watched.silent("RL.ADJUST k 5");
    }
}

#[test]
fn a_fixed_window_and_a_counter_send_their_counts() {
    let mut watched = Watched::start();
    watched.server.run("RL.FIXED k 5 1m 2");
    watched.sent();
    watched.server.set_clock(START + S);
    let record = |used, expiry| fixed(START, START + S, [used, 5, MINUTE, expiry]);
    watched.admitted("RL.ADJUST k 7", &set(&record(9, 60_000), None));
    watched.admitted("RL.ADJUST k -2", &set(&record(7, 60_000), None));
    watched.admitted("RL.ADJUST k -9", &set(&record(0, 1_000), Some(2_000)));

    watched.server.run("DEL k");
    watched.server.set_clock(START);
    watched.server.run("RL.SLIDINGCOUNTER k 5 1m 4");
    watched.sent();
    watched.server.set_clock(START + 90 * S);
    let record = |counts: [i64; 2], expiry| counter(START + 90 * S, [counts[0], counts[1], 5, MINUTE, expiry]);
    watched.admitted("RL.ADJUST k 7", &set(&record([7, 4], 90_000), None));
    watched.admitted("RL.ADJUST k -8", &set(&record([0, 3], 31_000), Some(121_000)));
    watched.admitted("RL.ADJUST k -3", &set(&record([0, 0], 1_000), Some(91_000)));
}

#[test]
fn a_log_appends_a_charge_and_is_written_anew_without_what_is_given_back() {
    let mut watched = Watched::start();
    watched.server.run("RL.SLIDINGLOG k 5 1m");
    watched.server.run("RL.SLIDINGLOG k 5 1m");
    watched.sent();
    watched.server.set_clock(START + 20 * S);
    let event = |fields: &[i64]| shown(&fields.iter().flat_map(|&field| word(field)).collect::<Vec<_>>());
    watched.admitted("RL.ADJUST k 1", &[format!("APPEND k {}", event(&[START + 20 * S]))]);
    let header = |expiry| [5, 0, MINUTE, START_MS + expiry];
    let charged = log(LOG | WIDE, header(90_000), &[START, 1, START, 2, START + 20 * S, 3, START + 20 * S, 9]);
    watched.admitted("RL.ADJUST k 6", &set(&charged, None));
    let event = event(&[START + 20 * S, 10]);
    watched.admitted("RL.ADJUST k 1", &[format!("APPEND k {event}")]);
    let less = log(LOG | WIDE, header(90_000), &[START, 1, START, 2, START + 20 * S, 3, START + 20 * S, 5]);
    watched.admitted("RL.ADJUST k -5", &set(&less, None));
    watched.admitted("RL.ADJUST k -4", &set(&log(LOG, header(90_000), &[START]), None));
    watched.admitted("RL.ADJUST k -4", &set(&log(LOG, header(21_000), &[]), Some(21_000)));
}

#[test]
fn a_log_whose_newest_event_outlives_the_key_sends_header_and_expiry_too() {
    let mut watched = Watched::start();
    watched.server.run("RL.SLIDINGLOG k 5 1m");
    watched.server.run("RL.SLIDINGLOG k 5 1m");
    watched.sent();
    watched.server.set_clock(START + 40 * S);
    let header = log_header(LOG, [5, 0, MINUTE, START_MS + 130_000]);
    let append = format!("APPEND k {}", shown(&word(START + 40 * S)));
    let expire = format!("PEXPIREAT k {}", START_MS + 130_000);
    watched.admitted("RL.ADJUST k 1", &wrapped([append, format!("SETRANGE k 0 {header}"), expire]));
}

#[test]
fn nothing_is_sent_where_nothing_changes() {
    let mut watched = Watched::start();
    for (name, limits) in limiters(3) {
        watched.server.run(&format!("RL.{name} k {limits}"));
        watched.sent();
        for silent in [
            "RL.ADJUST missing 5",
            "RL.ADJUST missing -5",
            "RL.ADJUST k 0",
            "RL.ADJUST k 1000000000000",
            "RL.ADJUST k x",
            "RL.ADJUST k",
        ] {
            watched.silent(silent);
        }
        watched.server.run("DEL k");
        watched.sent();
    }
}

#[test]
fn what_a_wrong_clock_has_written_is_sent_put_right_and_adjusted_at_once() {
    let mut watched = Watched::start();
    watched.server.set_clock(START + 10 * H);
    watched.server.run("RL.FIXED k 5 1m 2");
    watched.server.set_clock(START);
    watched.sent();
    let record = |used| fixed(START, START, [used, 5, MINUTE, 61_000]);
    watched.admitted("RL.ADJUST k 0", &set(&record(2), Some(61_000)));
    watched.server.set_clock(START + 10 * H);
    watched.server.run("RL.FIXED k 5 1m 2");
    watched.server.set_clock(START);
    watched.sent();
    watched.admitted("RL.ADJUST k 3", &set(&record(5), Some(61_000)));
}
