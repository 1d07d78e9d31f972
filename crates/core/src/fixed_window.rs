//! Fixed window: at most `limit` from a window's start to its end, which is not part of it.
//!
//! The simplest limiter, and the coarsest: around an edge twice the limit can pass within one window's length.

use crate::decision::{Decision, Retry};
use crate::limit::WindowLimit;
use crate::meter::{Meter, Then};
use crate::record::{self, Algorithm, Small, Stored};
use crate::steady::{self, Steady};
use crate::time::{Interval, Span, Timestamp};

/// Where new windows start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// At the first admitted call.
    FirstCall,
    /// At `offset + n * window` since the epoch, in UTC; the offset is shorter than the window.
    Aligned {
        /// The offset from the epoch.
        offset: Span,
    },
}

/// A window that has been opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedWindow {
    /// Microseconds since the epoch; negative for an aligned window that holds the epoch.
    pub(crate) start: i64,
    pub(crate) updated: Timestamp,
    pub(crate) used: u64,
    pub(crate) limit: WindowLimit,
}

impl FixedWindow {
    /// A window that was over before any clock: as good as none.
    #[inline]
    pub(crate) fn over(limit: WindowLimit) -> Self {
        let start = 0_i64.saturating_sub_unsigned(limit.window().micros());
        Self { start, updated: Timestamp::default(), used: 0, limit }
    }

    /// When the last admitted call was.
    #[must_use]
    pub const fn updated(&self) -> Timestamp {
        self.updated
    }

    /// The limit of the last admitted call, and the shorter of its window and those before it in this window.
    #[must_use]
    pub const fn limit(&self) -> WindowLimit {
        self.limit
    }

    /// The end of a window of this start and of length `window`.
    #[inline(always)]
    fn end(&self, window: Interval) -> Timestamp {
        let end = self.start.saturating_add_unsigned(window.micros());
        Timestamp::default().after(Span::from_micros(end.try_into().unwrap_or(0)))
    }

    /// The moment this state stops mattering.
    #[inline(always)]
    #[must_use]
    pub fn ends(&self) -> Timestamp {
        self.end(self.limit.window())
    }

    /// The clock rule: a window that starts further ahead of the clock than its own length was opened under a wrong
    /// clock, and is taken to start now.
    #[inline(always)]
    fn is_of_a_wrong_clock(&self, now: Timestamp) -> bool {
        let start = Timestamp::from_micros(self.start.try_into().unwrap_or(0));
        start.since(now) > self.limit.window().span()
    }
}

/// What a call enforces: at most `limit.limit()` a window, which starts as `opening` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedLimit {
    /// The limit and the window.
    pub limit: WindowLimit,
    /// Where a new window starts.
    pub opening: Opening,
}

impl Meter for FixedWindow {
    type Limit = FixedLimit;
    type Compact = [u8; 36];

    #[inline(always)]
    fn steady(record: &[u8], _: Algorithm, limit: &FixedLimit, now: Timestamp, cost: u64) -> Option<Steady<[u8; 36]>> {
        steady::fixed(record, limit, now, cost)
    }

    #[inline(always)]
    fn decide<T: Then<Self>>(
        stored: Option<Self>,
        limit: &FixedLimit,
        now: Timestamp,
        cost: u64,
        then: T,
    ) -> T::Output {
        let FixedLimit { limit, opening } = limit;
        let (mut used, mut start, mut window, mut reset) = (0, None, limit.window(), Span::ZERO);
        let mut corrected = None;
        if let Some(mut state) = stored {
            if state.is_of_a_wrong_clock(now) {
                state = Self { start: signed(now.micros()), updated: now, ..state };
                corrected = Some(state);
            }
            // An open window ends after the shorter of the two lengths, however it was opened.
            let shorter = window.min(state.limit.window());
            let end = state.end(shorter);
            // A window from which everything was given back is as if it had never been opened.
            if now < end && state.used != 0 {
                (used, start, window, reset) = (state.used, Some(state.start), shorter, end.since(now));
            }
        }

        let wanted = used.saturating_add(cost);
        if cost != 0 && wanted <= limit.limit() {
            let start = match start {
                Some(start) => start,
                None => opening.start(window, now),
            };
            let updated = now.max(Timestamp::from_micros(start.try_into().unwrap_or(0)));
            let state = Self { start, updated, used: wanted, limit: limit.lasting(window) };
            let reset = state.end(window).since(now);
            return then.changed(Decision { limit: limit.limit(), used: wanted, retry: Retry::Now, reset }, state);
        }

        let retry = if cost == 0 {
            Retry::Now
        } else if cost > limit.limit() {
            Retry::Never
        } else {
            Retry::After(reset)
        };
        let decision = Decision { limit: limit.limit(), used, retry, reset };
        match corrected {
            None => then.unchanged(decision),
            Some(state) => then.changed(decision, state),
        }
    }

    /// No slack beyond the least: within a window the expiry stays where it is.
    #[inline(always)]
    fn expires(&self, _now: Timestamp) -> (Timestamp, Span) {
        (self.ends(), Span::ZERO)
    }

    #[inline(always)]
    fn decode(wide: bool, fields: &[u8]) -> Option<Stored<Self>> {
        record::decode_fixed(wide, fields)
    }

    #[inline(always)]
    fn encode(stored: &Stored<Self>, _algorithm: Algorithm) -> Small {
        record::encode_fixed(stored)
    }
}

impl Opening {
    /// The start of a window of length `window` that is opened at `now`.
    #[inline(always)]
    fn start(self, window: Interval, now: Timestamp) -> i64 {
        match self {
            Self::FirstCall => signed(now.micros()),
            Self::Aligned { offset } => {
                // How far into the window `now` lies; adding one window keeps the difference positive at the epoch.
                let into = now.micros().saturating_add(window.micros()).saturating_sub(offset.micros()) % window.get();
                signed(now.micros()).saturating_sub_unsigned(into)
            }
        }
    }
}

/// Timestamps are at most 2^62.
#[inline]
fn signed(us: u64) -> i64 {
    i64::try_from(us).unwrap_or(i64::MAX)
}
