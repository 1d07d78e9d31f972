//! A log together with what a call makes of it, before anything is written: the general flow decides on these.

use super::{Change, Decision, Event, Events, Kept, Log, Retry, Rewrite, head, widen};
use crate::adjust::{Adjustable, Adjustment, Delta, Excess, within_bounds};
use crate::block::Block;
use crate::expiry::Expiry;
use crate::general::State;
use crate::limit::WindowLimit;
use crate::record::{Algorithm, Stored};
use crate::time::{Interval, Span, Timestamp};

/// A log as it is to be.
#[derive(Clone, Copy)]
pub(crate) struct Revised<'a> {
    /// As it is stored.
    origin: Option<Log<'a>>,
    /// The limits to store.
    limit: WindowLimit,
    /// What is kept of the events before.
    kept: Kept<'a>,
    /// The weight that the first event kept has lost.
    cut: u64,
    /// Events that still count were dropped from the front.
    dropped: bool,
    /// The event at the end.
    added: Option<(Timestamp, u64)>,
}

/// What counts at one instant.
struct Counting<'a> {
    window: Interval,
    /// What an admitted call once dropped stays dropped when the clock steps back: the instant is not before this log's
    /// newest event.
    settled: Timestamp,
    kept: Kept<'a>,
    cut: u64,
    used: u64,
}

const NOTHING: Kept<'static> = Kept::From(Events { bytes: &[], weighted: false }, 0);

impl<'a> Revised<'a> {
    /// A log without events.
    const fn new(limit: WindowLimit) -> Self {
        Self { origin: None, limit, kept: NOTHING, cut: 0, dropped: false, added: None }
    }

    fn newest(&self) -> Option<Timestamp> {
        match (self.added, self.kept) {
            (Some((time, _)), _) | (None, Kept::One(time, _)) => Some(time),
            (None, Kept::From(events, first)) => {
                let last = events.len().checked_sub(1)?;
                // Dead or dropped, an event has told its time all the same.
                (first <= events.len()).then(|| events.time(last))
            }
        }
    }

    fn counting(&self, window: Interval, now: Timestamp) -> Counting<'a> {
        let settled = self.newest().map_or(now, |newest| newest.max(now));
        let added = self.added.map_or(0, |(_, weight)| weight);
        let (kept, cut, weight) = match self.kept {
            Kept::One(time, _) if time.after(window.span()) <= settled => (NOTHING, 0, 0),
            Kept::One(_, weight) => (self.kept, self.cut, weight),
            Kept::From(events, first) => {
                let living = events.first_living(first, window, settled);
                let cut = if living == first { self.cut } else { 0 };
                (Kept::From(events, living), cut, events.weight_from(living))
            }
        };
        Counting { window, settled, kept, cut, used: weight.wrapping_sub(cut).wrapping_add(added) }
    }

    /// When `weight` of what counts has left, the oldest first.
    fn leaves(&self, counting: &Counting<'a>, weight: u64) -> Timestamp {
        let added = self.added.map(|(time, _)| time.after(counting.window.span()));
        let through = weight.saturating_add(counting.cut);
        match (counting.kept, added) {
            (Kept::One(time, whole), _) if through <= whole => time.after(counting.window.span()),
            (Kept::From(events, first), None) => events.leaves(first, through, counting.window),
            (Kept::From(events, first), _) if through <= events.weight_from(first) => {
                events.leaves(first, through, counting.window)
            }
            (_, Some(added)) => added,
            (Kept::One(time, _), None) => time.after(counting.window.span()),
        }
    }

    /// Without the oldest `weight` of what counts.
    fn without(&self, counting: &Counting<'a>, weight: u64) -> (Kept<'a>, u64) {
        let cut = weight.saturating_add(counting.cut);
        match counting.kept {
            Kept::One(..) => (counting.kept, cut),
            Kept::From(events, first) => {
                let base = events.weight_before(first);
                let goes = |index: usize| events.weight_before(index.saturating_add(1)).wrapping_sub(base) <= cut;
                let left = Events::search(first, events.len(), goes);
                (Kept::From(events, left), cut.saturating_sub(events.weight_before(left).wrapping_sub(base)))
            }
        }
    }

    /// The new bytes, without an event that was dropped or dead; with the block's room in front where there is one.
    fn rewritten(&self, expiry: Expiry) -> Change<'a> {
        let (kept, weight) = match self.kept {
            Kept::One(time, weight) if self.cut < weight => {
                (Kept::One(time, weight.wrapping_sub(self.cut)), weight.wrapping_sub(self.cut))
            }
            Kept::One(..) => (NOTHING, 0),
            Kept::From(events, first) => (self.kept, events.weight_from(first).wrapping_sub(self.cut)),
        };
        let cut = if matches!(kept, Kept::From(..)) { self.cut } else { 0 };
        let added = self.added.map_or(0, |(_, weight)| weight);
        let count = widen(kept.len()).saturating_add(u64::from(self.added.is_some()));
        let weighted = weight.wrapping_add(added) != count;
        let head = head(&self.limit, 0, expiry.at_ms, weighted);
        Change::Rewrite { rewrite: Rewrite { head, kept, cut, event: self.added, weighted }, expiry }
    }
}

impl<'a> State<'a> for Revised<'a> {
    type Limit = WindowLimit;

    fn read(wide: bool, fields: &'a [u8]) -> Option<Stored<Self>> {
        let log = Log::decode(wide, fields)?;
        let kept = Kept::From(log.events, log.dead);
        let state = Self { origin: Some(log), limit: log.limit, kept, cut: 0, dropped: false, added: None };
        Some(Stored { state, expiry_ms: log.expiry_ms })
    }

    fn decide(stored: Option<Self>, limit: &WindowLimit, now: Timestamp, cost: u64) -> (Decision, Option<Self>) {
        let mut log = stored.unwrap_or(Self::new(*limit));
        let mut corrected = None;
        if let Some(newest) = log.newest()
            && newest.since(now) > log.limit.window().span()
        {
            let weight = log.counting(log.limit.window(), newest).used;
            log = Self { kept: Kept::One(now, weight), cut: 0, added: None, ..log };
            corrected = Some(log);
        }
        let counting = log.counting(log.limit.window().min(limit.window()), now);
        let Counting { settled, used, window, .. } = counting;
        let wanted = used.saturating_add(cost);

        if cost != 0 && wanted <= limit.limit() {
            let reset = settled.after(limit.window().span()).since(now);
            let decision = Decision { limit: limit.limit(), used: wanted, retry: Retry::Now, reset };
            let Counting { kept, cut, .. } = counting;
            return (decision, Some(Self { limit: *limit, kept, cut, added: Some((settled, cost)), ..log }));
        }
        let newest = log.newest().unwrap_or(now);
        let reset = if used == 0 { Span::ZERO } else { newest.after(window.span()).since(now) };
        let retry = match cost {
            0 => Retry::Now,
            _ if cost > limit.limit() => Retry::Never,
            _ => {
                let leaves = log.leaves(&counting, wanted.saturating_sub(limit.limit()));
                // Damaged events may come in any order; a refusal never says 0 all the same.
                Retry::After(leaves.since(now).max(Span::from_micros(1)))
            }
        };
        (Decision { limit: limit.limit(), used, retry, reset }, corrected)
    }

    /// The refused call is an event like an admitted one, of at most the limit's weight; as much of the oldest weight as
    /// does not fit beside it is dropped.
    fn count(stored: Option<Self>, limit: &WindowLimit, now: Timestamp, cost: u64) -> Option<Self> {
        let weight = cost.min(limit.limit());
        if weight == 0 {
            return None;
        }
        let log = stored.unwrap_or(Self::new(*limit));
        let counting = log.counting(log.limit.window().min(limit.window()), now);
        let whole = counting.used.saturating_add(weight);
        let after = whole.min(limit.limit()).max(counting.used);
        let excess = whole.saturating_sub(after);
        let (kept, cut) = log.without(&counting, excess);
        let dropped = excess > 0;
        Some(Self { limit: *limit, kept, cut, dropped, added: Some((counting.settled, weight)), ..log })
    }

    fn book(_: Option<Self>, _: &WindowLimit, _: Timestamp, _: u64) -> Option<(Decision, Self)> {
        None
    }

    fn expires(&self, now: Timestamp) -> (Timestamp, Span) {
        let ends = self.newest().map_or(now, |newest| newest.after(self.limit.window().span()));
        let half = self.limit.window().span().min(ends.since(now)).micros() / 2;
        (ends, Span::from_micros(half))
    }

    /// A log that a wrong clock has written is given a new expiry, whatever the old one.
    fn expires_anew(&self) -> bool {
        matches!(self.kept, Kept::One(..))
    }

    fn change(
        &self,
        _algorithm: Algorithm,
        expiry: Expiry,
        found: Option<Block>,
        wanted: Option<Block>,
    ) -> (Change<'a>, Option<Block>) {
        let (Kept::From(events, first), Some((time, weight)), Some(log)) = (self.kept, self.added, self.origin) else {
            return (self.rewritten(expiry), wanted);
        };
        // A block is begun by writing the log anew. Once it is over, its room stays until there is another reason to.
        let carried = if found.is_some() { wanted.or(Some(Block::OVER)) } else { wanted };
        let room = found.is_some() == carried.is_some();
        let living = events.len().saturating_sub(first);
        if !room || self.cut > 0 || first >= living || (!events.weighted && weight != 1) {
            return (self.rewritten(expiry), wanted);
        }
        let weight_through = events.weight_before(events.len()).wrapping_add(weight);
        let event = Event::new(time, events.weighted.then_some(weight_through));
        let unchanged = !expiry.moved && log.limit == self.limit && carried == found && !self.dropped;
        let header = (!unchanged).then(|| head(&self.limit, first, expiry.at_ms, events.weighted));
        let expiry_ms = expiry.moved.then_some(expiry.at_ms);
        (Change::Append { event, header, expiry_ms, filling: first == 0 }, carried)
    }
}

impl<'a> Adjustable<'a> for Revised<'a> {
    fn stored_limit(&self) -> WindowLimit {
        self.limit
    }

    /// A charge is one event; what is given back goes newest first. That is a shorter record, and nothing but `SET`
    /// shortens a string: it is written anew.
    fn adjusted(self, &Adjustment { delta, now, events_max }: &Adjustment) -> Result<Self, Excess> {
        let Counting { settled, kept, cut, used, .. } = self.counting(self.limit.window(), now);
        let left = delta.of(used);
        match (delta, kept) {
            (Delta::Charge(more), _) => {
                within_bounds(delta, left)?;
                if widen(kept.len()) >= events_max {
                    return Err(Excess::Events(events_max));
                }
                Ok(Self { kept, cut, added: Some((settled, more)), ..self })
            }
            (Delta::GiveBack(_), _) if left == 0 => Ok(Self::new(self.limit)),
            (Delta::GiveBack(_), Kept::One(time, _)) => {
                Ok(Self { kept: Kept::One(time, left), ..Self::new(self.limit) })
            }
            (Delta::GiveBack(_), Kept::From(events, first)) => {
                let end = events.covered(first, left);
                let whole = events.weight_before(end).wrapping_sub(events.weight_before(first));
                let part = left.saturating_sub(whole);
                let added = (part > 0 && end < events.len()).then(|| (events.time(end), part));
                Ok(Self { kept: Kept::From(events.before(end), first), added, ..Self::new(self.limit) })
            }
        }
    }
}

impl Events<'_> {
    /// The events before `end`.
    fn before(&self, end: usize) -> Self {
        Self { bytes: self.bytes.get(..end.saturating_mul(self.stride())).unwrap_or(self.bytes), ..*self }
    }

    /// Where those events end, from `first` on, that weigh no more than `weight` together.
    fn covered(&self, first: usize, weight: u64) -> usize {
        if !self.weighted {
            return first.saturating_add(usize::try_from(weight).unwrap_or(usize::MAX)).min(self.len());
        }
        let base = self.weight_before(first);
        let fits = |index: usize| self.weight_before(index.saturating_add(1)).wrapping_sub(base) <= weight;
        Self::search(first, self.len(), fits)
    }
}
