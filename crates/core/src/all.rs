//! Several limits decided together: either every one is charged, or none is.
//!
//! [`one_key`] decides limits that share a key, whose record is a [`Compound`]; limits in keys of their own are decided
//! by [`charge`] and [`spare`], key by key.

use crate::block::{BLOCK_LEN, Block};
use crate::bucket::Bucket;
use crate::call::{self, Change, Limit};
use crate::compound::{Compound, Head, LIMITS_MAX, Part};
use crate::decision::{Decision, Retry};
use crate::expiry::Expiry;
use crate::fixed_window::FixedWindow;
use crate::general::{self, Extra, Outcome};
use crate::matching::{self, Stored};
use crate::options::Options;
use crate::record::{self, Algorithm, RecordError, Small};
use crate::request::Call;
use crate::sliding_counter::SlidingCounter;
use crate::sliding_log::{self, Event, HEADER_LEN, Rewrite};
use crate::time::{Interval, Span, Timestamp};

/// The verdict on a call of several limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict<const N: usize> {
    each: [Decision; N],
    count: usize,
    /// Counted from 0.
    binding: usize,
    /// How often the whole would pass again; only while it is allowed.
    times: u64,
    retry: Retry,
    reset: Span,
    /// The longest wait that was booked, if a limit asks to book.
    wait: Option<Span>,
}

impl<const N: usize> Verdict<N> {
    /// On no limit yet.
    #[inline(always)]
    #[must_use]
    pub const fn new() -> Self {
        let none = Decision { limit: 0, used: 0, retry: Retry::Now, reset: Span::ZERO };
        Self {
            each: [none; N],
            count: 0,
            binding: 0,
            times: u64::MAX,
            retry: Retry::Now,
            reset: Span::ZERO,
            wait: None,
        }
    }

    /// Adds the decision on the next limit, for a call of `cost`.
    ///
    /// The binding limit of an allowed whole is the one that lets it pass the fewest times more, that of a refused one
    /// the one with the longest wait; the first of several.
    #[inline(always)]
    pub fn add(&mut self, decision: Decision, cost: u64, extra: Option<Extra>) {
        self.add_spared(decision, cost, extra, decision.allowed());
    }

    /// The same for a limit of a refused whole, that may itself pass the call and still ask the next one to wait.
    #[inline(always)]
    pub fn add_spared(&mut self, decision: Decision, cost: u64, extra: Option<Extra>, passes: bool) {
        let Some(place) = self.each.get_mut(self.count) else { return };
        *place = if passes { Decision { retry: Retry::Now, ..decision } } else { decision };
        if let Some(Extra::Wait(wait)) = extra {
            self.wait = Some(self.wait.unwrap_or_default().max(wait));
        }
        let times = decision.remaining().checked_div(cost).unwrap_or(u64::MAX);
        let binds = match (decision.retry, self.retry) {
            (Retry::Now, Retry::Now) => times < self.times,
            (Retry::Now, _) | (_, Retry::Never) => false,
            (Retry::Never, _) | (Retry::After(_), Retry::Now) => true,
            (Retry::After(wait), Retry::After(longest)) => wait > longest,
        };
        if binds {
            self.binding = self.count;
            self.times = times;
            self.retry = decision.retry;
        }
        self.reset = self.reset.max(decision.reset);
        self.count = self.count.wrapping_add(1);
    }

    /// Whether every limit was charged.
    #[inline(always)]
    #[must_use]
    pub const fn allowed(&self) -> bool {
        matches!(self.retry, Retry::Now)
    }

    /// The decisions on the limits, in the order of the list. In a refused whole those that would have passed are
    /// allowed, and took nothing.
    #[inline(always)]
    #[must_use]
    pub fn each(&self) -> &[Decision] {
        self.each.get(..self.count).unwrap_or_default()
    }

    /// The number of the binding limit, counted from 1.
    #[inline(always)]
    #[must_use]
    pub const fn binding(&self) -> usize {
        self.binding.wrapping_add(1)
    }

    /// With RESERVE in a limit: how long the caller has to wait before it proceeds, the longest of all; zero in a refused
    /// whole.
    #[inline]
    #[must_use]
    pub fn wait(&self) -> Option<Span> {
        self.wait.map(|wait| if self.allowed() { wait } else { Span::ZERO })
    }

    /// The verdict on the whole: limit and usage of the binding limit, the wait until all would pass, and the longest
    /// wait until one is as good as new.
    #[inline(always)]
    #[must_use]
    pub fn whole(&self) -> Decision {
        let (limit, used) = self.each.get(self.binding).map_or((0, 0), |binding| (binding.limit, binding.used));
        Decision { limit, used, retry: self.retry, reset: self.reset }
    }
}

impl<const N: usize> Verdict<N> {
    /// The same with room for another number of limits, at least as many as there are.
    #[must_use]
    pub fn resized<const M: usize>(&self) -> Verdict<M> {
        let mut other = Verdict { count: self.count, binding: self.binding, ..Verdict::new() };
        (other.times, other.retry, other.reset, other.wait) = (self.times, self.retry, self.reset, self.wait);
        for (place, decision) in other.each.iter_mut().zip(self.each()) {
            *place = *decision;
        }
        other
    }
}

impl<const N: usize> Default for Verdict<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// Decides one limit of several as if it were alone.
///
/// # Errors
///
/// As [`call::decide`].
#[inline(always)]
pub fn charge<'a>(record: Option<&'a [u8]>, call: &Call, now: Timestamp) -> Result<Outcome<'a>, RecordError> {
    if call.options.is_none() {
        match call::decide(record, &call.limit, now, call.cost) {
            Ok(call::Outcome { decision, change }) => {
                return Ok(Outcome { decision, used: decision.used, extra: None, change, block: None });
            }
            Err(RecordError::Extended) => {}
            Err(error) => return Err(error),
        }
    }
    general::decide(record, &call.limit, now, call.cost, &call.options)
}

/// Decides one limit of a whole that is refused: one that would pass takes nothing, unless it counts what is refused.
/// Then the wait it tells is that of the next call.
///
/// # Errors
///
/// As [`call::decide`].
#[inline(never)]
pub fn spare<'a>(record: Option<&'a [u8]>, call: &Call, now: Timestamp) -> Result<Spared<'a>, RecordError> {
    let outcome = charge(record, call, now)?;
    let passes = outcome.decision.allowed();
    let outcome = match call.options.strict {
        _ if !passes || call.cost == 0 => outcome,
        // It has not refused, and so starts no block.
        true => general::refuse(record, &call.limit, now, call.cost, &Options { block: None, ..call.options })?,
        false => charge(record, &Call { cost: 0, ..*call }, now)?,
    };
    Ok(Spared { outcome, passes })
}

/// What one limit of a refused whole says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spared<'a> {
    /// What it comes to.
    pub outcome: Outcome<'a>,
    /// Whether this limit lets the call in.
    pub passes: bool,
}

/// How the stored bytes change. What it does not hold itself is in the [`Head`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListChange<'a> {
    /// Not at all.
    None,
    /// The record is replaced, by the head and what follows it.
    Replace {
        /// What follows the head.
        tail: Tail<'a>,
        /// The key's expiry.
        expiry: Expiry,
    },
    /// The head, unless it is empty, is put over the first bytes; then the event, if there is one, is added at the end.
    Extend {
        /// The event.
        event: Option<Event>,
        /// The key's new expiry in milliseconds since the epoch, if it moved.
        expiry_ms: Option<u64>,
        /// Whether every event in the log counts: it is filling, and has not yet anything to drop.
        filling: bool,
    },
}

/// What follows the head of a record that is replaced: the log, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail<'a> {
    /// No log, or nothing of one but what the head holds.
    Nothing,
    /// Bytes that were stored before, then an event.
    Kept(&'a [u8], Option<Event>),
    /// A log that is written anew, with its block.
    Anew(Rewrite<'a>, Option<Block>),
}

impl Tail<'_> {
    /// The length in bytes.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Kept(bytes, event) => {
                bytes.len().saturating_add(event.as_ref().map_or(0, |event| event.as_bytes().len()))
            }
            Self::Anew(rewrite, block) => rewrite.len().saturating_add(block.map_or(0, |_| BLOCK_LEN)),
        }
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes it into `out`, which is [`Tail::len`] bytes long.
    pub fn write(&self, out: &mut [u8]) {
        match self {
            Self::Nothing => {}
            Self::Kept(bytes, event) => {
                let event = event.as_ref().map_or(&[][..], Event::as_bytes);
                for (space, &byte) in out.iter_mut().zip(bytes.iter().chain(event)) {
                    *space = byte;
                }
            }
            Self::Anew(rewrite, None) => rewrite.write(out),
            Self::Anew(rewrite, Some(block)) => {
                rewrite.write(out.get_mut(BLOCK_LEN..).unwrap_or_default());
                block.put(out);
            }
        }
    }
}

/// The stored state of each limit of a call; `None` for one that has none yet.
pub type States<'a, const N: usize> = [Option<&'a [u8]>; N];

/// Decides `calls`, whose limits share a key, at `now` against its stored `record`; `None` is a key that does not exist.
///
/// `states` is what [`matching`] found for them in the record, and `same` whether they are the very list
/// that it holds. `head` gets what the change needs of the new record. At most one of the limits is a log; `N` is at
/// least their number, and [`LIMITS_MAX`] where the list is not the same.
///
/// # Errors
///
/// A record that is not limiter state, or was written by a newer version.
#[inline(always)]
pub fn one_key<'a, const N: usize>(
    record: Option<&'a [u8]>,
    calls: &[Call],
    states: &States<'a, N>,
    same: bool,
    now: Timestamp,
    head: &mut Head<N>,
) -> Result<(Verdict<N>, ListChange<'a>), RecordError> {
    let mut verdict = Verdict::new();
    let mut taken = false;
    let mut made = Made::begin(head, calls.len());
    for (call, state) in calls.iter().zip(states) {
        let Outcome { decision, extra, change, block, .. } = charge(*state, call, now)?;
        if !decision.allowed() {
            return refuse(record, calls, states, now, head);
        }
        verdict.add(decision, call.cost, extra);
        taken |= call.cost != 0;
        made.add(call.limit.interval(), *state, change, block, || unused(&call.limit));
    }
    if !taken {
        return refuse(record, calls, states, now, head);
    }
    Ok((verdict, made.finish(record, same)))
}

/// What `calls`, whose limits share a key, would be answered.
///
/// # Errors
///
/// As [`one_key`].
pub fn look(record: Option<&[u8]>, calls: &[Call], now: Timestamp) -> Result<Verdict<LIMITS_MAX>, RecordError> {
    let states = matching::changed(record, calls)?;
    let mut head = Head::new();
    one_key(record, calls, &states, false, now, &mut head).map(|(verdict, _)| verdict)
}

/// What a call of `cost` for every limit of a stored list would be answered under the limits of the last admitted call.
///
/// # Errors
///
/// As [`one_key`].
pub fn look_again(list: &Compound<'_>, now: Timestamp, cost: u64) -> Result<Verdict<LIMITS_MAX>, RecordError> {
    list.check()?;
    let call =
        |part: Part<'_>| call::stored_limit(part.record).map(|limit| Call { limit, cost, options: Options::NONE });
    let mut verdict = Verdict::new();
    let mut allowed = true;
    for part in list.parts() {
        allowed &= charge(Some(part.record), &call(part)?, now)?.decision.allowed();
    }
    for part in list.parts() {
        let (record, call) = (Some(part.record), call(part)?);
        let outcome = if allowed { charge(record, &call, now)? } else { spare(record, &call, now)?.outcome };
        verdict.add(outcome.decision, cost, None);
    }
    Ok(verdict)
}

/// The verdict on a whole that takes nothing, since a limit refuses or every cost is 0.
#[inline(never)]
fn refuse<'a, const N: usize>(
    record: Option<&'a [u8]>,
    calls: &[Call],
    states: &States<'a, N>,
    now: Timestamp,
    head: &mut Head<N>,
) -> Result<(Verdict<N>, ListChange<'a>), RecordError> {
    let mut verdict = Verdict::new();
    let (mut changes, mut begun) = (0_usize, 0_usize);
    for (call, state) in calls.iter().zip(states) {
        let Spared { outcome: Outcome { decision, extra, change, .. }, passes } = spare(*state, call, now)?;
        verdict.add_spared(decision, call.cost, extra, passes);
        if change != Change::None {
            changes = changes.wrapping_add(1);
            begun = begun.wrapping_add(usize::from(state.is_none()));
        }
    }
    let change = match changes {
        0 => ListChange::None,
        _ => restate(record, calls, states, begun, now, head)?,
    };
    Ok((verdict, change))
}

/// The change by a whole that takes nothing: the stored list stays as it is, but for the states that change and `begun`
/// that come to be. Where they are too many for one record, the last without a limit in the call give way.
#[cold]
#[inline(never)]
fn restate<'a, const N: usize>(
    record: Option<&'a [u8]>,
    calls: &[Call],
    states: &States<'a, N>,
    begun: usize,
    now: Timestamp,
    head: &mut Head<N>,
) -> Result<ListChange<'a>, RecordError> {
    let stored = Stored::read(record)?;
    let limit_of = |part: &Part<'a>| {
        let state = Some(part.record);
        calls.iter().zip(states).find(|(_, of)| of.is_some_and(|of| core::ptr::eq(of, part.record)) && **of == state)
    };
    let matched = stored.parts().filter(|part| limit_of(part).is_some()).count();
    let mut loose = N.min(LIMITS_MAX).saturating_sub(begun).saturating_sub(matched);
    let kept = stored.len().saturating_sub(matched).min(loose).saturating_add(matched);
    let mut made = Made::begin(head, kept.saturating_add(begun));
    for part in stored.parts() {
        let (change, block) = match limit_of(&part) {
            Some((call, state)) => {
                let Outcome { change, block, .. } = spare(*state, call, now)?.outcome;
                (change, block)
            }
            None if loose == 0 => continue,
            None => {
                loose = loose.saturating_sub(1);
                (Change::None, None)
            }
        };
        made.add(part.window, Some(part.record), change, block, || Unused::Nothing);
    }
    for (call, state) in calls.iter().zip(states) {
        if state.is_none() {
            let Outcome { change, block, .. } = spare(None, call, now)?.outcome;
            if change != Change::None {
                made.add(call.limit.interval(), None, change, block, || Unused::Nothing);
            }
        }
    }
    let same = begun == 0 && kept == stored.len();
    Ok(made.finish(record, same))
}

/// A record in the making.
struct Made<'a, 'h, const N: usize> {
    head: &'h mut Head<N>,
    log: MadeLog<'a>,
    /// The latest expiry of the parts so far, in milliseconds since the epoch.
    until_ms: u64,
    moved: bool,
}

/// The log of a record in the making.
enum MadeLog<'a> {
    Nothing,
    Fresh([u8; HEADER_LEN]),
    Stored(&'a [u8], Change<'a>, Option<Block>),
}

impl<'a, 'h, const N: usize> Made<'a, 'h, N> {
    #[inline(always)]
    fn begin(head: &'h mut Head<N>, count: usize) -> Self {
        head.begin(count);
        Self { head, log: MadeLog::Nothing, until_ms: 0, moved: false }
    }

    /// Adds the next limit: its stored state as it changes, or what stands for one without.
    #[inline(always)]
    fn add(
        &mut self,
        window: Interval,
        state: Option<&'a [u8]>,
        change: Change<'a>,
        block: Option<Block>,
        unused: impl FnOnce() -> Unused,
    ) {
        if let Change::Replace { record, expiry } = change {
            match block {
                None => self.head.add(window, record.as_bytes()),
                Some(block) => self.head.add(window, block.wrap(record.as_bytes()).as_bytes()),
            }
            self.lasts(expiry.at_ms, expiry.moved);
            return;
        }
        self.add_other(window, state, change, block, unused);
    }

    /// What is not a new record of bounded size.
    #[inline(never)]
    fn add_other(
        &mut self,
        window: Interval,
        state: Option<&'a [u8]>,
        change: Change<'a>,
        block: Option<Block>,
        unused: impl FnOnce() -> Unused,
    ) {
        match (change, state) {
            (Change::None, None) => match unused() {
                Unused::Nothing => {}
                Unused::Record(record) => self.head.add(window, record.as_bytes()),
                Unused::Log(header) => {
                    self.head.add_log(window);
                    self.log = MadeLog::Fresh(header);
                }
            },
            (Change::None, Some(state)) if record::algorithm_of(state) != Some(Algorithm::SlidingLog) => {
                self.head.add(window, state);
                self.lasts(record::expiry_of(state), false);
            }
            (change, state) => {
                self.head.add_log(window);
                let state = state.unwrap_or_default();
                match change {
                    Change::Rewrite { expiry, .. } => self.lasts(expiry.at_ms, expiry.moved),
                    Change::Append { expiry_ms: Some(at_ms), .. } => self.lasts(at_ms, true),
                    _ => self.lasts(record::expiry_of(state), false),
                }
                self.log = MadeLog::Stored(state, change, block);
            }
        }
    }

    #[inline(always)]
    fn lasts(&mut self, at_ms: u64, moved: bool) {
        self.until_ms = self.until_ms.max(at_ms);
        self.moved |= moved;
    }

    /// The change from the stored `record`; `same` tells that its list is this one.
    #[inline(always)]
    fn finish(self, record: Option<&'a [u8]>, same: bool) -> ListChange<'a> {
        let Self { head, log, until_ms: at_ms, moved } = self;
        let moved = (moved || !same) && stored_expiry(record) != Some(at_ms);
        let expiry = Expiry { at_ms, moved };
        match log {
            MadeLog::Nothing => ListChange::Replace { tail: Tail::Nothing, expiry },
            log => finish_log(head, log, record.unwrap_or_default(), expiry),
        }
    }
}

/// The change of a list that has a log.
#[inline(never)]
fn finish_log<'a, const N: usize>(
    head: &mut Head<N>,
    log: MadeLog<'a>,
    record: &'a [u8],
    expiry: Expiry,
) -> ListChange<'a> {
    let (state, event, header, block, filling) = match log {
        MadeLog::Nothing => return ListChange::Replace { tail: Tail::Nothing, expiry },
        MadeLog::Fresh(header) => {
            head.put(&header);
            return ListChange::Replace { tail: Tail::Nothing, expiry };
        }
        MadeLog::Stored(_, Change::Rewrite { rewrite, .. }, block) => {
            return ListChange::Replace { tail: Tail::Anew(rewrite, block), expiry };
        }
        MadeLog::Stored(state, Change::Append { event, header, filling, .. }, block) => {
            (state, Some(event), header, block, filling)
        }
        MadeLog::Stored(state, ..) => (state, None, None, None, false),
    };
    // The log is the end of the record, so that it stays where it is if what comes before keeps its length.
    let before = record.len().checked_sub(state.len()).and_then(|before| record.get(..before));
    let stays = before.is_some_and(|before| before.len() == head.as_bytes().len());
    if stays && header.is_none() && before == Some(head.as_bytes()) {
        head.clear();
    }
    let stored_len = HEADER_LEN.saturating_add(record::block(state).map_or(0, |_| BLOCK_LEN));
    match header {
        Some(header) => match block {
            None => head.put(&header),
            Some(block) => head.put(block.wrap(&header).as_bytes()),
        },
        None if stays => {}
        None => head.put(state.get(..stored_len).unwrap_or_default()),
    }
    if stays {
        return ListChange::Extend { event, expiry_ms: expiry.moved.then_some(expiry.at_ms), filling };
    }
    ListChange::Replace { tail: Tail::Kept(state.get(stored_len..).unwrap_or_default(), event), expiry }
}

/// The expiry of a key, as its record holds it: that of the limiter that matters longest.
#[cold]
fn stored_expiry(record: Option<&[u8]>) -> Option<u64> {
    let bytes = record?;
    match Compound::open(bytes) {
        Ok(compound) => compound.parts().map(|part| record::expiry_of(part.record)).max(),
        Err(_) => Some(record::expiry_of(bytes)),
    }
}

/// The state of a limit that has taken nothing yet: it keeps the limit's place in the list.
enum Unused {
    Nothing,
    Record(Small),
    Log([u8; HEADER_LEN]),
}

/// Of the epoch, so that no clock is so far behind it that the clock rule applies.
#[cold]
fn unused(limit: &Limit) -> Unused {
    let (updated, expiry_ms) = (Timestamp::default(), 0);
    match limit {
        Limit::TokenBucket(bucket) | Limit::Gcra(bucket) => {
            let state = Bucket { debt: 0, updated, limit: *bucket };
            Unused::Record(record::encode_bucket(limit.algorithm(), &record::Stored { state, expiry_ms }))
        }
        Limit::Fixed(window, _) => {
            let state = FixedWindow::over(*window);
            Unused::Record(record::encode_fixed(&record::Stored { state, expiry_ms }))
        }
        Limit::SlidingCounter(window) => {
            let state = SlidingCounter { updated, current: 0, previous: 0, limit: *window };
            Unused::Record(record::encode_counter(&record::Stored { state, expiry_ms }))
        }
        Limit::SlidingLog(window) => Unused::Log(sliding_log::head(window, 0, expiry_ms, false)),
    }
}
