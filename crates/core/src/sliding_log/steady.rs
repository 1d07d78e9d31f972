//! A log in steady use: unit events, the limits it was stored with, a cost of 1 and a clock that goes on. Nearly every
//! call on a log is one of these, and takes the short way.

use crate::decision::{Decision, Retry};
use crate::expiry::fits;
use crate::limit::{LOG_LIMIT, WindowLimit};
use crate::record::{Algorithm, expiry_in_range};
use crate::steady::{plain, wide, words};
use crate::time::{Span, Timestamp};

use super::{HEADER_LEN, UNIT, time_of, widen};

/// What a call of cost 1 comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steady {
    /// The verdict.
    pub decision: Decision,
    /// The event to append, if the call is admitted; nothing else changes.
    pub event: Option<[u8; UNIT]>,
    /// Whether every event in the record counts: the log is filling, and has not yet anything to drop.
    pub filling: bool,
}

/// Decides a call of cost 1 where no more than an event is to be written; `None` is for [`call::decide`].
///
/// [`call::decide`]: crate::call::decide
#[inline(always)]
#[must_use]
pub fn steady(record: &[u8], limit: &WindowLimit, now: Timestamp) -> Option<Steady> {
    let (head, rest) = record.split_first_chunk::<HEADER_LEN>()?;
    let (events, over) = rest.as_chunks::<UNIT>();
    let [form, stored_limit, dead, window_low, window_high, expiry_low, expiry_high] = words::<HEADER_LEN, 7>(head)?;
    let dead = usize::try_from(dead).ok()?;
    let window_ms = wide(window_low, window_high);
    let expiry_ms = wide(expiry_low, expiry_high);
    let form_fits = form == plain(Algorithm::SlidingLog) && over.is_empty();
    let same = u64::from(stored_limit) == limit.limit() && window_ms == limit.window().millis();
    if !form_fits || !same || limit.limit() > LOG_LIMIT.max {
        return None;
    }
    expiry_in_range(expiry_ms)?;
    let (newest, oldest) = (time_of(events.last()?), time_of(events.get(dead)?));
    if now < newest {
        return None;
    }

    let window = limit.window().span();
    let gone = |event: &[u8; UNIT]| time_of(event).after(window) <= now;
    let living = events.get(dead..)?;
    let first = if oldest.after(window) <= now { dead.wrapping_add(living.partition_point(gone)) } else { dead };
    let used = events.len().wrapping_sub(first);
    if widen(used) < limit.limit() {
        // A log that may forget as much as it remembers is written anew.
        if first >= used || !fits(expiry_ms, now.after(window), now) {
            return None;
        }
        let used = widen(used).wrapping_add(1);
        let decision = Decision { limit: limit.limit(), used, retry: Retry::Now, reset: window };
        return Some(Steady { decision, event: Some(now.micros().to_le_bytes()), filling: first == 0 });
    }
    // All that is beyond the limit must leave, and one more.
    let leaves = usize::try_from(widen(used).wrapping_sub(limit.limit())).ok()?;
    let last = time_of(events.get(first.wrapping_add(leaves))?);
    // Damaged events may come in any order; a refusal never says 0 all the same.
    let wait = last.after(window).since(now).max(Span::from_micros(1));
    let reset = newest.after(window).since(now);
    let decision = Decision { limit: limit.limit(), used: widen(used), retry: Retry::After(wait), reset };
    Some(Steady { decision, event: None, filling: false })
}
