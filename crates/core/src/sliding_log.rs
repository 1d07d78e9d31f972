//! Sliding log: never more than `limit` in any window, exactly.
//!
//! The record is read in place: a header, then the admitted events in the order of their times. An event of a log whose
//! costs are all 1 is its time; else its time and the weight of all events up to it, so that any stretch of the log is
//! weighed by one subtraction. Dead events stay in front of the living until they are as many; a binary search finds
//! where they end, and the record is then rewritten without them: any call takes O(log n), amortised for the admitted.

mod revised;
mod steady;

pub(crate) use revised::Revised;
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

/// Events in the order of their times. Damaged bytes read as some times and some weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Events<'a> {
    bytes: &'a [u8],
    weighted: bool,
}

impl Events<'_> {
    #[inline]
    const fn stride(&self) -> usize {
        if self.weighted { WEIGHTED } else { UNIT }
    }

    #[inline]
    const fn len(&self) -> usize {
        if self.weighted { self.bytes.len() / WEIGHTED } else { self.bytes.len() / UNIT }
    }

    #[inline]
    fn word(&self, at: usize) -> u64 {
        let word = self.bytes.get(at..).and_then(|rest| rest.first_chunk::<8>());
        word.map_or(0, |word| u64::from_le_bytes(*word))
    }

    #[inline]
    fn time(&self, index: usize) -> Timestamp {
        Timestamp::from_micros(self.word(index.wrapping_mul(self.stride())))
    }

    /// The weight of all events before `index`.
    #[inline]
    fn weight_before(&self, index: usize) -> u64 {
        match index.checked_sub(1) {
            None => 0,
            Some(last) if self.weighted => self.word(last.wrapping_mul(WEIGHTED).wrapping_add(UNIT)),
            Some(_) => widen(index),
        }
    }

    /// The weight of the events from `first` to the end.
    #[inline]
    fn weight_from(&self, first: usize) -> u64 {
        self.weight_before(self.len()).wrapping_sub(self.weight_before(first))
    }

    /// The first event of `range` for which `dead` is false, where it is true up to some point; a bounded search,
    /// whatever the bytes.
    #[inline]
    fn search(mut low: usize, mut high: usize, dead: impl Fn(usize) -> bool) -> usize {
        while low < high {
            let middle = low.midpoint(high);
            if dead(middle) {
                low = middle.saturating_add(1);
            } else {
                high = middle;
            }
        }
        low
    }

    /// The first event from `first` on that still counts at `now` in a window of length `window`.
    #[inline(always)]
    fn first_living(&self, first: usize, window: Interval, now: Timestamp) -> usize {
        let dead = |time: Timestamp| time.after(window.span()) <= now;
        if first >= self.len() || !dead(self.time(first)) {
            return first;
        }
        // As arrays the events are searched without a multiplication or a bounds check a step.
        if self.weighted {
            let (events, _) = self.bytes.as_chunks::<WEIGHTED>();
            let from = events.get(first..).unwrap_or_default();
            first.saturating_add(from.partition_point(|event| dead(time_of(event))))
        } else {
            let (events, _) = self.bytes.as_chunks::<UNIT>();
            let from = events.get(first..).unwrap_or_default();
            first.saturating_add(from.partition_point(|event| dead(time_of(event))))
        }
    }

    /// When enough events have left, in order from `first`, to take `weight` with them.
    #[inline]
    fn leaves(&self, first: usize, weight: u64, window: Interval) -> Timestamp {
        let last = self.len().saturating_sub(1);
        let index = if self.weighted {
            let base = self.weight_before(first);
            Self::search(first, last, |index| self.weight_before(index.saturating_add(1)).wrapping_sub(base) < weight)
        } else {
            first.saturating_add(usize::try_from(weight.saturating_sub(1)).unwrap_or(last)).min(last)
        };
        self.time(index).after(window.span())
    }
}

/// The time that an event begins with.
#[inline(always)]
fn time_of<const N: usize>(event: &[u8; N]) -> Timestamp {
    event.first_chunk::<8>().map_or(Timestamp::default(), |time| Timestamp::from_micros(u64::from_le_bytes(*time)))
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

/// The bytes of one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    bytes: [u8; WEIGHTED],
    len: usize,
}

impl Event {
    #[inline]
    fn new(time: Timestamp, weight_through: Option<u64>) -> Self {
        let mut bytes = [0; WEIGHTED];
        let (first, second) = bytes.split_at_mut(UNIT);
        first.copy_from_slice(&time.micros().to_le_bytes());
        second.copy_from_slice(&weight_through.unwrap_or(0).to_le_bytes());
        Self { bytes, len: if weight_through.is_some() { WEIGHTED } else { UNIT } }
    }

    /// The bytes to append.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&self.bytes)
    }
}

/// A record written anew: a header, the living events, and the one just admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewrite<'a> {
    head: [u8; HEADER_LEN],
    kept: Kept<'a>,
    /// The weight that the first event kept has lost; 0 unless all are written with weights.
    cut: u64,
    event: Option<(Timestamp, u64)>,
    weighted: bool,
}

/// What a rewrite keeps of the log before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept<'a> {
    /// The events from an index on.
    From(Events<'a>, usize),
    /// All usage as a single event.
    One(Timestamp, u64),
}

impl Kept<'_> {
    #[inline]
    const fn len(&self) -> usize {
        match self {
            Self::From(events, first) => events.len().saturating_sub(*first),
            Self::One(..) => 1,
        }
    }
}

impl Rewrite<'_> {
    /// The length of the new record in bytes.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        let kept = self.kept.len();
        let stride = if self.weighted { WEIGHTED } else { UNIT };
        kept.saturating_add(usize::from(self.event.is_some())).saturating_mul(stride).saturating_add(HEADER_LEN)
    }

    /// Never: a record holds at least its header.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Writes the record into `out`, which is [`Rewrite::len`] bytes long.
    pub fn write(&self, out: &mut [u8]) {
        let Some((head, space)) = out.split_first_chunk_mut::<HEADER_LEN>() else { return };
        *head = self.head;
        let mut out = Writer { space, weighted: self.weighted, total: 0 };
        match self.kept {
            Kept::One(time, weight) => out.event(time, weight),
            Kept::From(events, first) if !events.weighted && !self.weighted => {
                out.bytes(events.bytes.get(first.saturating_mul(UNIT)..).unwrap_or_default());
            }
            Kept::From(events, first) => {
                let mut cut = self.cut;
                for index in first..events.len() {
                    let through = events.weight_before(index.saturating_add(1));
                    let weight = through.wrapping_sub(events.weight_before(index));
                    out.event(events.time(index), weight.wrapping_sub(cut));
                    cut = 0;
                }
            }
        }
        if let Some((time, weight)) = self.event {
            out.event(time, weight);
        }
    }
}

/// Fills the space after a header with events.
struct Writer<'a> {
    space: &'a mut [u8],
    weighted: bool,
    /// The weight of the events so far.
    total: u64,
}

impl Writer<'_> {
    fn event(&mut self, time: Timestamp, weight: u64) {
        self.total = self.total.wrapping_add(weight);
        let event = Event::new(time, self.weighted.then_some(self.total));
        self.bytes(event.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        if let Some((here, rest)) = core::mem::take(&mut self.space).split_at_mut_checked(bytes.len()) {
            here.copy_from_slice(bytes);
            self.space = rest;
        }
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
