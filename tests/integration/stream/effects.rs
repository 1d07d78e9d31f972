//! An admitted call of anything but a log sends its state in one `SET`.

use super::{Watched, records::*};
use crate::harness::{DAY, M, MS, S, START};

fn set(key: &str, record: String, expiry: Option<i64>) -> [String; 1] {
    let option = expiry.map_or_else(|| "KEEPTTL".into(), |ms| format!("PXAT {}", START_MS + ms));
    [format!("SET {key} {record} {option}")]
}

#[test]
fn a_bucket_sends_its_debt_and_its_expiry_when_that_moves() {
    for (name, kind) in [("TOKENBUCKET", TOKENBUCKET), ("GCRA", GCRA)] {
        let mut watched = Watched::start();
        let call = format!("RL.{name} k 10 60/m");
        let record = |at, debt, expiry| bucket(kind, START + at, debt, [10, 60, M / MS, expiry]);
        // Full again in 1 s, it may live 2 s; in 2 s, that still does; in 3 s, it becomes three quarters as
        // long again.
        watched.admitted(&call, &set("k", record(0, M, 2_000), Some(2_000)));
        watched.admitted(&call, &set("k", record(0, 2 * M, 2_000), None));
        watched.admitted(&call, &set("k", record(0, 3 * M, 5_250), Some(5_250)));
        // 1.5 tokens have come back, and the record counts its expiry from its own time.
        let at = 1_500 * MS;
        watched.server.set_clock(START + at);
        watched.admitted(&format!("{call} 3"), &set("k", record(at, 4 * M + M / 2, 7_875), Some(9_375)));
        let at = at + 1_001;
        watched.server.set_clock(START + at);
        let debt = 4 * M + M / 2 - 60 * 1_001;
        watched.admitted(&format!("{call} 1"), &set("k", record(at, debt + M, 7_874), None));
    }
}

#[test]
fn a_bucket_beyond_the_compact_form_sends_the_wide_one() {
    let mut watched = Watched::start();
    let limits = [1_000_000_000_000, 1_000_000_000_000, 3650 * DAY / MS];
    let debt = 1_000_000_000_000 * i128::from(3650 * DAY);
    let expiry = 3650 * DAY / MS * 7 / 4;
    let record = wide_bucket(GCRA, START, debt, [limits[0], limits[1], limits[2], START_MS + expiry]);
    let call = "RL.GCRA k 1000000000000 1000000000000/3650d 1000000000000";
    watched.admitted(call, &set("k", record, Some(expiry)));
}

#[test]
fn a_fixed_window_sends_its_count() {
    let mut watched = Watched::start();
    let record = |start, at, used, expiry| fixed(START + start, START + at, [used, 5, M / MS, expiry]);
    watched.admitted("RL.FIXED k 5 1m", &set("k", record(0, 0, 1, 61_000), Some(61_000)));
    let at = 59 * S + 1;
    watched.server.set_clock(START + at);
    watched.admitted("RL.FIXED k 5 1m 3", &set("k", record(0, at, 4, 2_000), None));
    watched.server.set_clock(START + M);
    watched.admitted("RL.FIXED k 5 1m", &set("k", record(M, M, 1, 61_000), Some(121_000)));

    watched.server.set_clock(START + 70 * S);
    watched.admitted("RL.FIXED a 5 1m ALIGNED", &set("a", record(M, 70 * S, 1, 51_000), Some(121_000)));
    watched.admitted("RL.FIXED b 5 1m ALIGNED 30s", &set("b", record(30 * S, 70 * S, 1, 21_000), Some(91_000)));
}

#[test]
fn a_sliding_counter_sends_both_counts() {
    let mut watched = Watched::start();
    let record = |at, counts: [i64; 2], expiry| counter(START + at, [counts[0], counts[1], 5, M / MS, expiry]);
    watched.admitted("RL.SLIDINGCOUNTER k 5 1m", &set("k", record(0, [1, 0], 180_000), Some(180_000)));
    watched.server.set_clock(START + 90 * S);
    watched.admitted("RL.SLIDINGCOUNTER k 5 1m 2", &set("k", record(90 * S, [2, 1], 90_000), None));
    watched.server.set_clock(START + 2 * M);
    watched.admitted("RL.SLIDINGCOUNTER k 5 1m", &set("k", record(2 * M, [1, 2], 180_000), Some(300_000)));
}

#[test]
fn an_expired_key_is_first_deleted_by_the_server() {
    let mut watched = Watched::start();
    watched.server.run("CONFIG SET lazyfree-lazy-expire no");
    watched.server.run("DEBUG SET-ACTIVE-EXPIRE 0");
    let record = |start| fixed(START + start, START + start, [1, 1, 1_000, 2_000]);
    watched.admitted("RL.FIXED k 1 1s", &set("k", record(0), Some(2_000)));
    watched.server.set_clock(START + M);
    let [renewed] = set("k", record(M), Some(62_000));
    watched.admitted("RL.FIXED k 1 1s", &super::wrapped(["DEL k".into(), renewed]));
    watched.server.set_clock(START + 2 * M);
    assert_eq!(watched.server.five("RL.FIXED k 1 1s 0"), [1, 1, 1, 0, 0]);
    assert_eq!(watched.sent(), ["DEL k"]);
}

#[test]
fn a_call_costs_as_many_bytes_as_the_documentation_says() {
    let watched = Watched::start();
    for (call, bytes) in [("RL.GCRA bucket:0123456789abc 9 9/h", 96), ("RL.SLIDINGLOG log:0123456789abcdef 9 1h", 57)] {
        let offset = || watched.server.info("master_repl_offset").parse::<u64>().unwrap();
        watched.server.run(call);
        watched.server.run(call);
        let before = offset();
        watched.server.run(call);
        assert_eq!(offset() - before, bytes, "{call}");
    }
}

#[test]
fn a_key_is_sent_as_it_is() {
    let mut watched = Watched::start();
    let record = fixed(START, START, [1, 1, 1_000, 2_000]);
    let long = "k".repeat(100_000);
    for (key, shown) in [("\"\"", "0x"), (r#""a \x00\xff\x0d\x0a""#, "0x612000ff0d0a"), (&long, &*long)] {
        watched.admitted(&format!("RL.FIXED {key} 1 1s"), &set(shown, record.clone(), Some(2_000)));
    }
}
