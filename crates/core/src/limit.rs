//! The bounds of every quantity, each declared once, and the validated limits of a call.

use core::num::NonZeroU64;

use crate::exact::product;
use crate::time::Interval;

/// The closed range of an integer argument or setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The least value accepted.
    pub min: u64,
    /// The greatest value accepted.
    pub max: u64,
}

impl Bound {
    /// Whether `value` lies in the range.
    #[inline]
    #[must_use]
    pub const fn holds(&self, value: u64) -> bool {
        self.min <= value && value <= self.max
    }
}

/// Milliseconds in a day.
const DAY_MS: u64 = 86_400_000;

/// Capacity, burst and limit, in tokens or events. 0 closes the limiter.
pub const CAPACITY: Bound = Bound { min: 0, max: 1_000_000_000_000 };

/// Cost of a call, in tokens or events. 0 asks without taking.
pub const COST: Bound = Bound { min: 0, max: 1_000_000_000_000 };

/// How much an adjustment charges or gives back, in tokens or events.
pub const DELTA: Bound = Bound { min: 0, max: 1_000_000_000_000 };

/// The most that an adjustment may leave in use, in tokens or events.
pub const USED_MAX: u64 = 1_000_000_000_000;

/// Tokens a period.
pub const RATE: Bound = Bound { min: 1, max: 1_000_000_000_000 };

/// A period or window in milliseconds: 1 ms to 3650 days.
pub const INTERVAL_MS: Bound = Bound { min: 1, max: 3_650 * DAY_MS };

/// How far ahead a bucket may be booked, in milliseconds: not at all to 3650 days.
pub const RESERVE_MS: Bound = Bound { min: 0, max: INTERVAL_MS.max };

/// `max_burst` in redis-cell's words: what may pass at once beside the first call.
pub const MAX_BURST: Bound = Bound { min: 0, max: CAPACITY.max - 1 };

/// A period in redis-cell's words, in seconds: 1 s to 3650 days.
pub const PERIOD_S: Bound = Bound { min: 1, max: INTERVAL_MS.max / 1_000 };

/// The longest time that a bucket may take to fill from empty, in microseconds: 3,650,000 days.
pub const FILL_MAX_US: u64 = 3_650_000 * DAY_MS * 1_000;

/// The longest time that a debt takes to flow back, in microseconds: that of the slowest bucket, emptied and booked as far
/// ahead as can be.
pub const DRAIN_MAX_US: u64 = FILL_MAX_US + RESERVE_MS.max * 1_000;

/// The setting `rl.sliding-log-max-limit`: the largest limit of a sliding log, in events.
pub const LOG_LIMIT: Bound = Bound { min: 1, max: 10_000_000 };

/// The default of `rl.sliding-log-max-limit`.
pub const LOG_LIMIT_DEFAULT: u64 = 1_000_000;

/// A refill rate: `tokens` a `period`, a rational that is never rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Tokens gained a period, within [`RATE`].
    pub tokens: NonZeroU64,
    /// The period.
    pub period: Interval,
}

impl Rate {
    /// A rate of `tokens` a `period`; `None` if `tokens` is outside [`RATE`].
    #[inline]
    #[must_use]
    pub const fn new(tokens: u64, period: Interval) -> Option<Self> {
        match NonZeroU64::new(tokens) {
            Some(n) if RATE.holds(tokens) => Some(Self { tokens: n, period }),
            _ => None,
        }
    }
}

/// What a bucket enforces: at most `capacity` at once, refilled at `rate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketLimit {
    capacity: u64,
    rate: Rate,
}

impl BucketLimit {
    /// A bucket of `capacity` tokens; `None` if the capacity is outside [`CAPACITY`] or the bucket would take longer
    /// than [`FILL_MAX_US`] to fill.
    #[inline]
    #[must_use]
    pub const fn new(capacity: u64, rate: Rate) -> Option<Self> {
        let limit = Self { capacity, rate };
        if CAPACITY.holds(capacity) && limit.full() <= product(FILL_MAX_US, rate.tokens.get()) {
            Some(limit)
        } else {
            None
        }
    }

    /// The most that can pass at once, in tokens.
    #[inline]
    #[must_use]
    pub const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The refill rate.
    #[inline]
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// The debt of an empty bucket, in units of which one token is the period in microseconds.
    #[inline]
    pub(crate) const fn full(&self) -> u128 {
        product(self.capacity, self.rate.period.micros())
    }

    /// Whether stored debt is one that calls can have made: at most an empty bucket's, or what was booked or charged
    /// beyond it.
    #[inline(always)]
    pub(crate) fn holds(&self, debt: u128) -> bool {
        debt <= self.full() || self.flows_back_in_time(debt)
    }

    #[cold]
    fn flows_back_in_time(&self, debt: u128) -> bool {
        debt <= product(DRAIN_MAX_US, self.rate.tokens.get())
    }
}

/// What a window enforces: at most `limit` a `window`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowLimit {
    limit: u64,
    window: Interval,
}

impl WindowLimit {
    /// At most `limit` a `window`; `None` if the limit is outside [`CAPACITY`].
    #[inline]
    #[must_use]
    pub const fn new(limit: u64, window: Interval) -> Option<Self> {
        if CAPACITY.holds(limit) { Some(Self { limit, window }) } else { None }
    }

    /// The most that a window admits.
    #[inline]
    #[must_use]
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// The window's length.
    #[inline]
    #[must_use]
    pub const fn window(&self) -> Interval {
        self.window
    }
}

impl WindowLimit {
    /// The same limit over another window.
    #[inline]
    pub(crate) const fn lasting(&self, window: Interval) -> Self {
        Self { limit: self.limit, window }
    }
}
