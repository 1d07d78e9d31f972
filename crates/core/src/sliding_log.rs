//! Sliding log: never more than `limit` in any window, exactly.
//!
//! The record is read in place: a header, then the admitted events in the order of their times. An event of a log whose
//! costs are all 1 is its time; else its time and the weight of all events up to it, so that any stretch of the log is
//! weighed by one subtraction. Dead events stay in front of the living until they are as many; a binary search finds
//! where they end, and the record is then rewritten without them: any call takes O(log n), amortised for the admitted.

mod events;
mod revised;
mod rewrite;
mod steady;

pub use events::Event;
use events::{Events, time_of};
pub(crate) use revised::Revised;
use rewrite::Kept;
pub use rewrite::Rewrite;
pub use steady::{Steady, steady};

use crate::call::{Change, Outcome};
use crate::decision::{Decision, Retry};
use crate::exact::narrow;
use crate::expiry::Expiry;
use crate::limit::{LOG_LIMIT, WindowLimit};
use crate::record::{Algorithm, Fields, RecordError, Small, expiry_in_range, header, open_as};
use crate::time::{Interval, Span, Timestamp};

/// The bytes before the first event: the four of every record, limit, dead events, window and expiry.
pub const HEADER_LEN: usize = 28;

/// Bytes an event without weight.
const UNIT: usize = 8;
/// Bytes an event with weight.
const WEIGHTED: usize = 16;

/// A sliding log in its stored bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log<'a> {
    /// The limits of the last admitted call.
    limit: WindowLimit,
    /// How many events in front were dead when the header was written.
    dead: usize,
    expiry_ms: u64,
    events: Events<'a>,
}

impl<'a> Log<'a> {
    /// Reads the fields that follow the first four bytes. The header and the length are checked, not each event.
    #[inline(always)]
    pub(crate) fn decode(weighted: bool, fields: &'a [u8]) -> Option<Self> {
        let mut fields = Fields(fields);
        let limit = fields.u32()?;
        let dead = usize::try_from(fields.u32()?).ok()?;
        let window = Interval::from_millis(fields.u64()?)?;
        let expiry_ms = expiry_in_range(fields.u64()?)?;
        let events = Events { bytes: fields.0, weighted };
        let whole = events.bytes.len().is_multiple_of(events.stride());
        if !whole || dead > events.len() || limit > LOG_LIMIT.max {
            return None;
        }
        Some(Self { limit: WindowLimit::new(limit, window)?, dead, expiry_ms, events })
    }

    /// The limits of the last admitted call.
    #[must_use]
    pub const fn limit(&self) -> WindowLimit {
        self.limit
    }

    /// The key's expiry in milliseconds since the epoch, as this module last set it.
    #[must_use]
    pub const fn expiry_ms(&self) -> u64 {
        self.expiry_ms
    }

    /// When the last admitted call was; `None` in a log without events.
    #[must_use]
    pub fn newest(&self) -> Option<Timestamp> {
        let last = self.events.len().checked_sub(1)?;
        Some(self.events.time(last))
    }

    /// The number of events that count at `now` under the stored window.
    #[must_use]
    pub fn living(&self, now: Timestamp) -> u64 {
        if self.collapsed(now).is_some() {
            return 1;
        }
        let now = self.newest().map_or(now, |newest| newest.max(now));
        widen(self.events.len().saturating_sub(self.events.first_living(self.dead, self.limit.window(), now)))
    }

    /// The clock rule: `Some` weight, that of a single event at now, if the newest event is further ahead of the clock
    /// than the stored window is long.
    #[inline(always)]
    fn collapsed(&self, now: Timestamp) -> Option<u64> {
        let newest = self.newest()?;
        if newest.since(now) <= self.limit.window().span() { None } else { Some(self.weight_at(newest)) }
    }

    #[cold]
    fn weight_at(&self, time: Timestamp) -> u64 {
        self.events.weight_from(self.events.first_living(self.dead, self.limit.window(), time))
    }
}

/// Decides a call against the stored record.
#[inline(always)]
pub(crate) fn call<'a>(
    record: Option<&'a [u8]>,
    limit: &WindowLimit,
    now: Timestamp,
    cost: u64,
) -> Result<Outcome<'a>, RecordError> {
    let stored = match record {
        None => None,
        Some(bytes) => {
            let (weighted, fields) = open_as(bytes, Algorithm::SlidingLog)?;
            let Some(log) = Log::decode(weighted, fields) else { return Err(RecordError::Foreign) };
            Some(log)
        }
    };
    let (decision, change) = decide(stored.as_ref(), limit, now, cost);
    Ok(Outcome { decision, change })
}

/// Decides a call of `cost` under `limit` at `now` against the stored log, and tells how its bytes change.
///
/// An event counts for the shorter of the call's and the stored window. `None` is a log without events.
#[inline(always)]
fn decide<'a>(stored: Option<&Log<'a>>, limit: &WindowLimit, now: Timestamp, cost: u64) -> (Decision, Change<'a>) {
    if let Some(log) = stored
        && let Some(weight) = log.collapsed(now)
    {
        return decide_collapsed(log, weight, limit, now, cost);
    }
    let nothing = Events { bytes: &[], weighted: false };
    let (events, dead, window) = match stored {
        Some(log) => (log.events, log.dead, log.limit.window().min(limit.window())),
        None => (nothing, 0, limit.window()),
    };
    let newest = match events.len().checked_sub(1) {
        Some(last) => events.time(last),
        None => now,
    };
    // What an admitted call once dropped stays dropped when the clock steps back.
    let settled = newest.max(now);
    let first = events.first_living(dead, window, settled);
    let used = events.weight_from(first);
    let wanted = used.saturating_add(cost);

    if cost != 0 && wanted <= limit.limit() {
        let reset = settled.after(limit.window().span()).since(now);
        let decision = Decision { limit: limit.limit(), used: wanted, retry: Retry::Now, reset };
        return (decision, admit(stored, events, first, limit, now, settled, cost));
    }
    let reset = if used == 0 { Span::ZERO } else { newest.after(window.span()).since(now) };
    let retry = match cost {
        0 => Retry::Now,
        _ if cost > limit.limit() => Retry::Never,
        _ => {
            let leaves = events.leaves(first, wanted.saturating_sub(limit.limit()), window);
            // Damaged events may come in any order; a refusal never says 0 all the same.
            Retry::After(leaves.since(now).max(Span::from_micros(1)))
        }
    };
    (Decision { limit: limit.limit(), used, retry, reset }, Change::None)
}

/// The change of an admitted call: the events before `first` are dead, and the new one is of time `settled`.
#[inline(always)]
fn admit<'a>(
    stored: Option<&Log<'a>>,
    events: Events<'a>,
    first: usize,
    limit: &WindowLimit,
    now: Timestamp,
    settled: Timestamp,
    cost: u64,
) -> Change<'a> {
    let expiry = plan_expiry(stored.map(Log::expiry_ms), limit, now, settled);
    let living = events.len().saturating_sub(first);
    if first < living && (events.weighted || cost == 1) {
        let weight_through = events.weight_before(events.len()).wrapping_add(cost);
        let event = Event::new(settled, events.weighted.then_some(weight_through));
        let unchanged = !expiry.moved && stored.is_some_and(|log| log.limit == *limit);
        let header = (!unchanged).then(|| head(limit, first, expiry.at_ms, events.weighted));
        let expiry_ms = expiry.moved.then_some(expiry.at_ms);
        return Change::Append { event, header, expiry_ms, filling: first == 0 };
    }
    // The dead are as many as the living, or the first weight other than 1 has come.
    let all_ones = cost == 1 && events.weight_from(first) == widen(living);
    let rewrite = Rewrite {
        head: head(limit, 0, expiry.at_ms, !all_ones),
        kept: Kept::From(events, first),
        cut: 0,
        event: Some((settled, cost)),
        weighted: !all_ones,
    };
    Change::Rewrite { rewrite, expiry }
}

/// A call on a log that a wrong clock has written: all usage is taken to be one event of now.
#[cold]
fn decide_collapsed<'a>(
    log: &Log<'a>,
    weight: u64,
    limit: &WindowLimit,
    now: Timestamp,
    cost: u64,
) -> (Decision, Change<'a>) {
    let wanted = weight.saturating_add(cost);
    let allowed = cost != 0 && wanted <= limit.limit();
    let stored = if allowed { *limit } else { log.limit };
    let window = if allowed { limit.window() } else { limit.window().min(log.limit.window()) };
    let expiry = plan_expiry(None, &stored, now, now);
    let event = allowed.then_some((now, cost));
    let weighted = weight != 1 || (allowed && cost != 1);
    let rewrite = Rewrite {
        head: head(&stored, 0, expiry.at_ms, weighted),
        kept: Kept::One(now, weight),
        cut: 0,
        event,
        weighted,
    };
    let retry = match cost {
        0 => Retry::Now,
        _ if allowed => Retry::Now,
        _ if cost > limit.limit() => Retry::Never,
        _ => Retry::After(window.span()),
    };
    let used = if allowed { wanted } else { weight };
    let decision = Decision { limit: limit.limit(), used, retry, reset: window.span() };
    (decision, Change::Rewrite { rewrite, expiry })
}

/// The expiry of a log whose newest event is of `newest`.
#[inline]
fn plan_expiry(stored_ms: Option<u64>, limit: &WindowLimit, now: Timestamp, newest: Timestamp) -> Expiry {
    let window = limit.window().span();
    Expiry::plan(stored_ms, newest.after(window), now, Span::from_micros(window.micros() / 2))
}

/// The bytes before the first event.
#[inline]
pub(crate) fn head(limit: &WindowLimit, dead: usize, expiry_ms: u64, weighted: bool) -> [u8; HEADER_LEN] {
    let mut record = Small::new(header(Algorithm::SlidingLog, weighted));
    // Both are bounded by the largest limit of a log.
    record.put(u32::try_from(limit.limit()).unwrap_or(u32::MAX).to_le_bytes());
    record.put(u32::try_from(dead).unwrap_or(u32::MAX).to_le_bytes());
    record.put(limit.window().millis().to_le_bytes());
    record.put(expiry_ms.to_le_bytes());
    record.as_bytes().first_chunk().copied().unwrap_or([0; HEADER_LEN])
}

/// Lengths of slices fit 64 bits.
#[inline]
fn widen(n: usize) -> u64 {
    narrow(n as u128)
}
