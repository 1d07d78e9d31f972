//! Records from their fields, as the stream's lines show them.

use crate::harness::{MS, START, shown};

pub const START_MS: i64 = START / MS;

/// The header byte of a record's kind.
pub const TOKENBUCKET: u8 = 1;
pub const GCRA: u8 = 2;
pub const FIXED: u8 = 3;
pub const LOG: u8 = 4;
pub const COUNTER: u8 = 5;
/// Added for the wide form, and for a log whose events have weights.
pub const WIDE: u8 = 0x10;

fn record(kind: u8, fields: &[&[u8]]) -> String {
    shown(&[b"RL\x01", &[kind][..], &fields.concat()].concat())
}

fn small(n: i64) -> [u8; 4] {
    u32::try_from(n).unwrap().to_le_bytes()
}

fn numbers(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|&n| small(n)).collect()
}

/// An event of a log without weights, or one number of the wide form.
pub fn word(n: i64) -> [u8; 8] {
    n.to_le_bytes()
}

/// A bucket in the compact form: its time, its debt (a token is the period in microseconds), and then capacity, tokens
/// a period, period, and the expiry counted from the time, both in milliseconds.
pub fn bucket(kind: u8, at: i64, debt: i64, limits_and_expiry: [i64; 4]) -> String {
    record(kind, &[&word(at), &word(debt), &numbers(&limits_and_expiry)])
}

/// The same in the wide form, where the expiry is absolute.
pub fn wide_bucket(kind: u8, at: i64, debt: i128, limits_and_expiry: [i64; 4]) -> String {
    let rest: Vec<u8> = limits_and_expiry.into_iter().flat_map(word).collect();
    record(kind | WIDE, &[&word(at), &debt.to_le_bytes(), &rest])
}

/// A fixed window: its start, its time, and then usage, limit, window and expiry.
pub fn fixed(start: i64, at: i64, usage_and_limits: [i64; 4]) -> String {
    record(FIXED, &[&word(start), &word(at), &numbers(&usage_and_limits)])
}

/// A sliding counter: its time, and then both counts, limit, window and expiry.
pub fn counter(at: i64, counts_and_limits: [i64; 5]) -> String {
    record(COUNTER, &[&word(at), &numbers(&counts_and_limits)])
}

/// The header of a log: limit, dead events, window and absolute expiry.
pub fn log_header(kind: u8, [limit, dead, window, expiry]: [i64; 4]) -> String {
    record(kind, &[&small(limit), &small(dead), &word(window), &word(expiry)])
}

/// A log: its header, and its events, with their weights so far if it has any.
pub fn log(kind: u8, header: [i64; 4], events: &[i64]) -> String {
    events.iter().fold(log_header(kind, header), |log, &event| log + &shown(&word(event))[2..])
}

/// A plain record in its blocked form: since when, and for how many milliseconds.
pub fn blocked(plain: &str, since: i64, length_ms: i64) -> String {
    let (kind, rest) = plain.strip_prefix("0x524c01").unwrap().split_at(2);
    let kind = u8::from_str_radix(kind, 16).unwrap() | 0x20;
    let block: String = [since, length_ms].iter().flat_map(|&n| word(n)).map(|byte| format!("{byte:02x}")).collect();
    format!("0x524c02{kind:02x}{block}{rest}")
}
