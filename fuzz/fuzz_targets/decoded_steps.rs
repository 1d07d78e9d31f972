//! Calls and adjustments from bytes.

use arbitrary::Unstructured;
use limiter_core::limit::{DELTA, LOG_LIMIT};

use crate::adjusting::{Change, Step, Steps};
use crate::decoded::{beginning, byte, call, nudge, number};

/// The steps that the bytes make, at most `most`; at least one.
pub fn steps(bytes: &mut Unstructured<'_>, most: usize) -> Steps {
    let (start, palette) = beginning(bytes);
    let mut steps = Vec::new();
    while steps.is_empty() || (steps.len() < most && !bytes.is_empty()) {
        let (call, when) = call(bytes, &palette);
        steps.push(if when >= 220 { Step::Adjust(call, change(bytes)) } else { Step::Call(call) });
    }
    Steps { start, steps, log_limit_max: if palette[2].interval_ms % 7 == 0 { 3 } else { LOG_LIMIT.max } }
}

fn change(bytes: &mut Unstructured<'_>) -> Change {
    let choice = byte(bytes);
    let small = i64::from(choice >> 3);
    match choice % 8 {
        0 | 1 => Change::Exactly(small),
        2 => Change::Exactly(-small),
        3 => {
            let number = i64::try_from(number(bytes).min(DELTA.max)).unwrap_or(0);
            Change::Exactly(if choice & 8 == 0 { number } else { -number })
        }
        4 => Change::BackAll(nudge(bytes)),
        5 => Change::BackPart(byte(bytes)),
        6 => Change::UpToLimit(nudge(bytes)),
        _ => Change::UpToMost(nudge(bytes)),
    }
}
