//! Instants and lengths of time, in whole microseconds.

use core::num::NonZeroU64;

use crate::limit::INTERVAL_MS;

/// Microseconds in a millisecond.
const MS: u64 = 1_000;

/// An instant: microseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(u64);

impl Timestamp {
    /// 2^62 us, about the year 148000: no clock and no stored time is later. What is still to come after it, the end of
    /// a wait or an expiry, may be; it is still a positive `i64`.
    pub const MAX: Self = Self(1 << 62);

    /// The instant `us` after the epoch; a clock beyond [`Timestamp::MAX`] stands still there.
    #[inline]
    #[must_use]
    pub const fn from_micros(us: u64) -> Self {
        if us > Self::MAX.0 { Self::MAX } else { Self(us) }
    }

    /// Microseconds since the epoch.
    #[inline]
    #[must_use]
    pub const fn micros(self) -> u64 {
        self.0
    }

    /// Milliseconds since the epoch, rounded down.
    #[inline]
    #[must_use]
    pub const fn floor_ms(self) -> u64 {
        self.0 / MS
    }

    /// Milliseconds since the epoch, rounded up: the first whole millisecond that is not before this instant.
    #[inline]
    #[must_use]
    pub const fn ceil_ms(self) -> u64 {
        self.0.div_ceil(MS)
    }

    /// How long after `earlier` this is; zero if it is not after it.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The instant `span` later, which may lie beyond [`Timestamp::MAX`].
    #[inline]
    #[must_use]
    pub const fn after(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

/// A length of time in microseconds, possibly zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(u64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A length of `us` microseconds.
    #[inline]
    #[must_use]
    pub const fn from_micros(us: u64) -> Self {
        Self(us)
    }

    /// A length of `ms` milliseconds.
    #[inline]
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(MS))
    }

    /// The length in microseconds.
    #[inline]
    #[must_use]
    pub const fn micros(self) -> u64 {
        self.0
    }

    /// The length in milliseconds, rounded up: who waits that long has waited at least this span.
    #[inline]
    #[must_use]
    pub const fn ceil_ms(self) -> u64 {
        self.0.saturating_add(MS - 1) / MS
    }

    /// The length in seconds, rounded up.
    #[inline]
    #[must_use]
    pub const fn ceil_s(self) -> u64 {
        self.0.div_ceil(MS * 1_000)
    }

    /// The sum of two lengths.
    #[inline]
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// This length less `other`; zero if `other` is longer.
    #[inline]
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// The length of a period or a window: whole milliseconds within [`INTERVAL_MS`], never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interval(NonZeroU64);

impl Interval {
    /// One second, the period of a rate that names none.
    pub const SECOND: Self = match Self::from_millis(1_000) {
        Some(second) => second,
        None => Self(NonZeroU64::MIN),
    };

    /// An interval of `ms` milliseconds; `None` outside [`INTERVAL_MS`].
    #[inline]
    #[must_use]
    pub const fn from_millis(ms: u64) -> Option<Self> {
        if ms < INTERVAL_MS.min || ms > INTERVAL_MS.max {
            return None;
        }
        match NonZeroU64::new(ms.wrapping_mul(MS)) {
            Some(us) => Some(Self(us)),
            None => None,
        }
    }

    /// The interval in milliseconds; exact.
    #[inline]
    #[must_use]
    pub const fn millis(self) -> u64 {
        self.0.get() / MS
    }

    /// The interval in microseconds, as a divisor that cannot be zero.
    #[inline]
    #[must_use]
    pub const fn get(self) -> NonZeroU64 {
        self.0
    }

    /// The interval in microseconds.
    #[inline]
    #[must_use]
    pub const fn micros(self) -> u64 {
        self.0.get()
    }

    /// The interval as a length that may enter sums.
    #[inline]
    #[must_use]
    pub const fn span(self) -> Span {
        Span(self.0.get())
    }
}
