//! Calls from bytes. Every choice is a byte or two, so that a change of one byte is a small change of a call.

use arbitrary::Unstructured;
use limiter_core::limit::{Bound, CAPACITY, COST, INTERVAL_MS, RATE, RESERVE_MS};
use limiter_core::time::Timestamp;

use crate::scenario::{Asks, Call, Cost, Duration, Numbers, Offset, Pause, Scenario};

/// The calls that the bytes make, at most `most`; at least one.
#[allow(dead_code, reason = "one target makes calls, another steps")]
pub fn scenario(bytes: &mut Unstructured<'_>, most: usize) -> Scenario {
    let (start, palette) = beginning(bytes);
    let mut calls = Vec::new();
    while calls.is_empty() || (calls.len() < most && !bytes.is_empty()) {
        let (call, _) = call(bytes, &palette);
        calls.push(call);
    }
    Scenario { start, calls }
}

pub fn beginning(bytes: &mut Unstructured<'_>) -> (u64, [Numbers; 3]) {
    let start = match byte(bytes) % 8 {
        0 => u64::from(byte(bytes) % 4),
        1 => Timestamp::MAX.micros() - u64::from(byte(bytes) % 4),
        2 => number(bytes).min(Timestamp::MAX.micros()),
        _ => 1_767_225_600_000_000 + u64::from(byte(bytes)) * 1_234_567,
    };
    (start, [numbers(bytes), numbers(bytes), numbers(bytes)])
}

/// A call, and a byte that tells what else is asked.
pub fn call(bytes: &mut Unstructured<'_>, palette: &[Numbers; 3]) -> (Call, u8) {
    let choice = byte(bytes);
    let numbers = match choice % 16 {
        0..=10 => palette[0],
        11..=12 => palette[1],
        13..=14 => palette[2],
        _ => numbers(bytes),
    };
    let cost = match choice >> 4 {
        0..=6 => Cost::Exactly(1),
        7 => Cost::Exactly(0),
        8..=9 => Cost::Exactly(byte(bytes).into()),
        10 => Cost::Exactly(number(bytes).min(COST.max)),
        11..=13 => Cost::Remaining(nudge(bytes)),
        _ => Cost::Limit(nudge(bytes)),
    };
    let when = byte(bytes);
    let pause = match when % 20 {
        0..=3 => Pause::None,
        4 => Pause::Forward(byte(bytes).into()),
        5 => Pause::Forward(number(bytes)),
        6 => Pause::Back(byte(bytes).into()),
        7 => Pause::Back(number(bytes)),
        8..=9 => Pause::Retry(nudge(bytes)),
        10 => Pause::Reset(nudge(bytes)),
        11 => Pause::PartOfReset(byte(bytes)),
        12 => Pause::SpanBack(nudge(bytes)),
        13 => Pause::PartOfSpanBack(byte(bytes)),
        14 => Pause::Interval(nudge(bytes)),
        15..=18 => Pause::PartOfInterval(byte(bytes)),
        _ => Pause::At(number(bytes)),
    };
    let asks = if (200..220).contains(&when) { asks(bytes) } else { Asks::default() };
    (Call { numbers, cost, pause, asks }, when)
}

fn asks(bytes: &mut Unstructured<'_>) -> Asks {
    let choice = byte(bytes);
    let mut of = |bits: u8| (choice & bits == bits).then(|| duration(bytes));
    Asks { partial: choice & 1 != 0, strict: choice & 2 != 0, reserve: of(12), block: of(48) }
}

fn duration(bytes: &mut Unstructured<'_>) -> Duration {
    match byte(bytes) % 5 {
        0 => Duration::Exactly(byte(bytes).into()),
        1 => Duration::Exactly(number(bytes).min(RESERVE_MS.max)),
        2 => Duration::Retry(nudge(bytes)),
        3 => Duration::Reset(nudge(bytes)),
        _ => Duration::PartOfInterval(byte(bytes)),
    }
}

fn numbers(bytes: &mut Unstructured<'_>) -> Numbers {
    Numbers {
        amount: within(bytes, CAPACITY),
        tokens: within(bytes, RATE),
        interval_ms: within(bytes, INTERVAL_MS),
        alignment: match byte(bytes) % 8 {
            0..=3 => None,
            4 => Some(Offset::None),
            5 => Some(Offset::Last),
            _ => Some(Offset::Part(byte(bytes))),
        },
    }
}

/// A number in a bound: small, at its end, near a power of ten, or any.
fn within(bytes: &mut Unstructured<'_>, Bound { min, max }: Bound) -> u64 {
    let choice = byte(bytes);
    let number = match choice >> 5 {
        0..=3 => u64::from(choice),
        4 => max - u64::from(choice % 4),
        5 => (10_u64.pow(u32::from(choice % 16)) + 1).saturating_sub(u64::from(byte(bytes) % 3)),
        _ => number(bytes),
    };
    number.clamp(min, max)
}

pub fn nudge(bytes: &mut Unstructured<'_>) -> i64 {
    i64::from(byte(bytes) % 5) - 2
}

pub fn number(bytes: &mut Unstructured<'_>) -> u64 {
    let bits = byte(bytes) % 64;
    bytes.arbitrary::<u64>().unwrap_or(0) >> bits
}

pub fn byte(bytes: &mut Unstructured<'_>) -> u8 {
    bytes.arbitrary().unwrap_or(0)
}
