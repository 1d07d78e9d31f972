//! Runs one decision of the core many times, so that the difference of two runs under callgrind is its instructions.
//!
//! `decisions` lists its cases; `decisions CASE N` parses the arguments of CASE and decides the call N times, each time
//! against the same stored bytes.

use limiter_core::{
    call::{self, Change, Outcome},
    memo::Memo,
    plain,
    record::Algorithm,
    time::Timestamp,
};
use std::{env, hint::black_box, process::ExitCode};

struct Case {
    name: &'static str,
    algorithm: Algorithm,
    arguments: &'static [&'static [u8]],
    /// Calls that have been admitted when the measured one comes.
    before: u64,
    admitted: bool,
}

const fn case(
    name: &'static str,
    algorithm: Algorithm,
    arguments: &'static [&'static [u8]],
    before: u64,
    admitted: bool,
) -> Case {
    Case { name, algorithm, arguments, before, admitted }
}

use Algorithm::{Fixed, Gcra, SlidingCounter, SlidingLog, TokenBucket};

const CASES: [Case; 13] = [
    case("tokenbucket-admitted", TokenBucket, &[b"100", b"10/s", b"1"], 50, true),
    case("tokenbucket-refused", TokenBucket, &[b"100", b"1/365d", b"1"], 100, false),
    // Far from what fits 64 bits on the way.
    case("tokenbucket-wide", TokenBucket, &[b"1000000000000", b"700/13s", b"999983"], 50, true),
    case("gcra-admitted", Gcra, &[b"100", b"10/s", b"1"], 50, true),
    case("gcra-refused", Gcra, &[b"100", b"1/365d", b"1"], 100, false),
    case("fixed-admitted", Fixed, &[b"100", b"365d", b"1"], 50, true),
    case("fixed-refused", Fixed, &[b"100", b"365d", b"1"], 100, false),
    case("slidingcounter-admitted", SlidingCounter, &[b"100", b"365d", b"1"], 50, true),
    case("slidingcounter-refused", SlidingCounter, &[b"100", b"365d", b"1"], 100, false),
    case("slidinglog-admitted-100", SlidingLog, &[b"1000000", b"365d", b"1"], 100, true),
    case("slidinglog-refused-100", SlidingLog, &[b"100", b"365d", b"1"], 100, false),
    case("slidinglog-admitted-100000", SlidingLog, &[b"1000000", b"365d", b"1"], 100_000, true),
    case("slidinglog-refused-100000", SlidingLog, &[b"100000", b"365d", b"1"], 100_000, false),
];

/// 2026-01-01, in the middle of nothing.
const START_US: u64 = 1_767_225_600_000_000;
const LOG_LIMIT_MAX: u64 = 10_000_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [name, times] = arguments.as_slice() else {
        CASES.iter().for_each(|case| println!("{}", case.name));
        return ExitCode::SUCCESS;
    };
    let (Some(case), Ok(times)) = (CASES.iter().find(|case| case.name == name), times.parse()) else {
        eprintln!("no such case or number");
        return ExitCode::FAILURE;
    };
    match measure(case, times) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{name}: {message}");
            ExitCode::FAILURE
        }
    }
}

fn measure(case: &Case, times: u64) -> Result<(), String> {
    let (mut memo, mut stored) = (Memo::new(), Vec::new());
    for n in 0..case.before {
        if !one(case, &mut memo, &mut stored, START_US + n)? {
            return Err(format!("call {n} was refused before its time"));
        }
    }
    let now = START_US + case.before;
    for _ in 0..times {
        let outcome = decide(black_box(case), &mut memo, black_box(&stored), black_box(now))?;
        if black_box(&outcome).decision.allowed() != case.admitted {
            return Err("the call had another outcome".to_owned());
        }
    }
    Ok(())
}

/// What a server does with one call, but for the server.
fn decide<'a>(case: &Case, memo: &mut Memo, stored: &'a [u8], now: u64) -> Result<Outcome<'a>, String> {
    let (limit, cost) = plain::call(case.algorithm, &mut case.arguments.iter().copied(), LOG_LIMIT_MAX, memo)
        .ok_or("these are not the arguments of a plain call")?;
    let record = if stored.is_empty() { None } else { Some(stored) };
    call::decide(record, &limit, Timestamp::from_micros(now), cost).map_err(|error| format!("{error:?}"))
}

/// Decides one call and stores what it changes.
fn one(case: &Case, memo: &mut Memo, stored: &mut Vec<u8>, now: u64) -> Result<bool, String> {
    let outcome = decide(case, memo, stored, now)?;
    let allowed = outcome.decision.allowed();
    match outcome.change {
        Change::None => {}
        Change::Replace { record, .. } => *stored = record.as_bytes().to_vec(),
        Change::Append { event, header, .. } => {
            if let Some(header) = header {
                stored.splice(..header.len(), header);
            }
            stored.extend_from_slice(event.as_bytes());
        }
        Change::Rewrite { rewrite, .. } => {
            let mut record = vec![0; rewrite.len()];
            rewrite.write(&mut record);
            *stored = record;
        }
    }
    Ok(allowed)
}
