//! Sliding-window counter: two counts over epoch-aligned windows, the older weighted by how much of it the sliding
//! window still covers.
//!
//! Constant memory, and approximate: it takes the calls of the window before as evenly spread.

use crate::decision::{Decision, Retry};
use crate::exact::{narrow, product, quotient, quotient_up_u64, up};
use crate::limit::WindowLimit;
use crate::meter::{Meter, Then};
use crate::record::{self, Algorithm, Small, Stored};
use crate::steady::{self, Steady};
use crate::time::{Interval, Span, Timestamp};

/// The counts of the window of the last admitted call and of the window before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlidingCounter {
    /// When the last admitted call was; never before the current window's start, so that it also tells the window.
    pub(crate) updated: Timestamp,
    pub(crate) current: u64,
    pub(crate) previous: u64,
    pub(crate) limit: WindowLimit,
}

impl SlidingCounter {
    /// When the last admitted call was.
    #[must_use]
    pub const fn updated(&self) -> Timestamp {
        self.updated
    }

    /// The limits of the last admitted call.
    #[must_use]
    pub const fn limit(&self) -> WindowLimit {
        self.limit
    }

    /// The start of the current window.
    #[inline]
    #[must_use]
    pub fn start(&self) -> Timestamp {
        window_start(self.updated, self.limit.window())
    }

    /// The moment this state stops mattering, unless another call is admitted.
    #[inline(always)]
    #[must_use]
    pub fn ends(&self) -> Timestamp {
        let window = self.limit.window().span();
        let end = self.start().after(window);
        // Only an adjustment leaves nothing in the current window.
        if self.current == 0 { end } else { end.after(window) }
    }

    /// The same usage as the counts of the window that holds `now`.
    pub(crate) fn rolled(self, now: Timestamp) -> Self {
        let counts = Weighed::new(Some(self), self.limit.window(), now);
        Self { updated: now.max(counts.start), current: counts.current, previous: counts.previous, limit: self.limit }
    }

    /// The clock rule: a window that starts further ahead of the clock than its own length was counted under a wrong
    /// clock, and its counts are taken to be of now's window.
    #[inline(always)]
    fn is_of_a_wrong_clock(&self, now: Timestamp) -> bool {
        self.start().since(now) > self.limit.window().span()
    }
}

/// The counts as they weigh at one instant.
#[derive(Clone, Copy)]
pub(crate) struct Weighed {
    start: Timestamp,
    current: u64,
    previous: u64,
    window: Interval,
    /// How far into the current window it is.
    into: u64,
}

impl Weighed {
    #[inline]
    fn new(stored: Option<SlidingCounter>, window: Interval, now: Timestamp) -> Self {
        stored
            .and_then(|stored| Self::of(stored.current, stored.previous, stored.updated, stored.limit.window(), now))
            .unwrap_or(Self { start: window_start(now, window), current: 0, previous: 0, window, into: 0 })
    }

    /// The counts of the window of `updated` and of the one before, as they weigh at `now`; `None` if they do not.
    #[inline(always)]
    pub(crate) fn of(
        current: u64,
        previous: u64,
        updated: Timestamp,
        window: Interval,
        now: Timestamp,
    ) -> Option<Self> {
        let start = window_start(updated, window);
        let passed = now.since(start).micros();
        let (current, previous, start, into) = if passed < window.micros() {
            (current, previous, start, passed)
        } else {
            let into = passed.wrapping_sub(window.micros());
            if into >= window.micros() {
                return None;
            }
            (0, current, start.after(window.span()), into)
        };
        if current == 0 && previous == 0 { None } else { Some(Self { start, current, previous, window, into }) }
    }

    /// The start of the current window.
    #[inline(always)]
    pub(crate) const fn start(&self) -> Timestamp {
        self.start
    }

    /// The counts of the current window and of the one before.
    #[inline(always)]
    pub(crate) const fn counts(&self) -> [u64; 2] {
        [self.current, self.previous]
    }

    /// Weighted usage, rounded up; `None` if its weight does not fit 64 bits.
    #[inline(always)]
    pub(crate) fn used(&self) -> Option<u64> {
        let left = self.window.micros().saturating_sub(self.into);
        let weight = self.current.checked_mul(self.window.micros())?.checked_add(self.previous.checked_mul(left)?)?;
        Some(up(weight, self.window.get()))
    }

    /// When a call that does not fit will, with `free` the limit less its cost; and when neither count weighs any more.
    #[inline(always)]
    pub(crate) fn waits(&self, free: u64, now: Timestamp) -> (Retry, Span) {
        (Retry::After(self.wait(self.fits_after(free), now)), self.wait(self.clears_after(), now))
    }

    /// Usage times the window: `current * W + previous * (W - into)`, exact.
    #[inline(always)]
    fn weight(&self) -> u128 {
        let left = self.window.micros().saturating_sub(self.into);
        product(self.current, self.window.micros()).wrapping_add(product(self.previous, left))
    }

    /// The wait, from this window's start, until `free` is left for a call that does not fit now.
    ///
    /// `free` is the limit less the cost. Within this window `current` stays whole and `previous` shrinks; in the next
    /// one `current` shrinks.
    #[inline(always)]
    fn fits_after(&self, free: u64) -> Span {
        let shrinks_to = |count: u64, room: u64| {
            // The first moment of a window at which count * (W - into) <= room * W.
            let share = core::num::NonZeroU64::new(count)
                .map_or(self.window.micros(), |count| narrow(quotient(product(room, self.window.micros()), count).0));
            Span::from_micros(self.window.micros().saturating_sub(share))
        };
        match free.checked_sub(self.current) {
            // Room 0 gives the whole window: the next one's start.
            Some(room) => shrinks_to(self.previous, room),
            None => self.window.span().plus(shrinks_to(self.current, free)),
        }
    }

    /// The wait, from this window's start, until neither count weighs.
    #[inline(always)]
    fn clears_after(&self) -> Span {
        let window = self.window.span();
        match (self.current, self.previous) {
            (0, 0) => Span::ZERO,
            (0, _) => window,
            _ => window.plus(window),
        }
    }

    /// The wait from `now` until `after` has passed since this window's start.
    #[inline(always)]
    fn wait(&self, after: Span, now: Timestamp) -> Span {
        self.start.after(after).since(now)
    }
}

impl Meter for SlidingCounter {
    type Limit = WindowLimit;
    type Compact = [u8; 32];

    #[inline(always)]
    fn steady(record: &[u8], _: Algorithm, limit: &WindowLimit, now: Timestamp, cost: u64) -> Option<Steady<[u8; 32]>> {
        steady::counter(record, limit, now, cost)
    }

    /// While the call's window differs from the stored one, the stored window decides; an admitted call then restates the
    /// usage, rounded up, as the count of its own current window.
    #[inline(always)]
    fn decide<T: Then<Self>>(
        stored: Option<Self>,
        limit: &WindowLimit,
        now: Timestamp,
        cost: u64,
        then: T,
    ) -> T::Output {
        let (mut stored, mut corrected) = (stored, None);
        if let Some(state) = stored
            && state.is_of_a_wrong_clock(now)
        {
            corrected = Some(Self { updated: now, ..state });
            stored = corrected;
        }
        let counts = Weighed::new(stored, limit.window(), now);
        let used = quotient_up_u64(counts.weight(), counts.window.get());
        let wanted = used.saturating_add(cost);

        if cost != 0 && wanted <= limit.limit() {
            let (current, previous) = if counts.window == limit.window() {
                (counts.current.saturating_add(cost), counts.previous)
            } else {
                (wanted, 0)
            };
            let state = Self { updated: now.max(counts.start), current, previous, limit: *limit };
            let reset = state.ends().since(now);
            return then.changed(Decision { limit: limit.limit(), used: wanted, retry: Retry::Now, reset }, state);
        }

        let reset = if used == 0 { Span::ZERO } else { counts.wait(counts.clears_after(), now) };
        let retry = match limit.limit().checked_sub(cost) {
            _ if cost == 0 => Retry::Now,
            None => Retry::Never,
            Some(free) => Retry::After(counts.wait(counts.fits_after(free), now)),
        };
        let decision = Decision { limit: limit.limit(), used, retry, reset };
        match corrected {
            None => then.unchanged(decision),
            Some(state) => then.changed(decision, state),
        }
    }

    /// State lives two windows. A whole window of slack covers the end of the next one too.
    #[inline(always)]
    fn expires(&self, _now: Timestamp) -> (Timestamp, Span) {
        let slack = if self.current == 0 { Span::ZERO } else { self.limit.window().span() };
        (self.ends(), slack)
    }

    #[inline(always)]
    fn decode(wide: bool, fields: &[u8]) -> Option<Stored<Self>> {
        record::decode_counter(wide, fields)
    }

    #[inline(always)]
    fn encode(stored: &Stored<Self>, _algorithm: Algorithm) -> Small {
        record::encode_counter(stored)
    }
}

/// The start of the epoch-aligned window that holds `at`.
#[inline]
fn window_start(at: Timestamp, window: Interval) -> Timestamp {
    Timestamp::from_micros(at.micros().saturating_sub(at.micros() % window.get()))
}
