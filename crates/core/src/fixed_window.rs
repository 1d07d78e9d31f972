//! Fixed window: at most `limit` from a window's start to its end, which is not part of it.
//!
//! The simplest limiter, and the coarsest: around an edge twice the limit can pass within one window's length.

use crate::decision::{Decision, Retry};
use crate::limit::WindowLimit;
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
    #[inline]
    fn end(&self, window: Interval) -> Timestamp {
        let end = self.start.saturating_add_unsigned(window.micros());
        Timestamp::default().after(Span::from_micros(end.try_into().unwrap_or(0)))
    }

    /// The moment this state stops mattering.
    #[inline]
    #[must_use]
    pub fn ends(&self) -> Timestamp {
        self.end(self.limit.window())
    }

    /// The clock rule: a window that starts further ahead of the clock than its own length was opened under a wrong
    /// clock, and is taken to start now.
    #[inline]
    fn corrected(self, now: Timestamp) -> Self {
        let start = Timestamp::from_micros(self.start.try_into().unwrap_or(0));
        if start.since(now) > self.limit.window().span() {
            Self { start: signed(now.micros()), updated: now, ..self }
        } else {
            self
        }
    }
}

/// Decides a call of `cost` under `limit` at `now`, and updates the state if it is admitted.
///
/// `None` is a limiter without an open window. An open window ends after the shorter of the call's and the stored
/// window's length, however it was opened. State changes only when a cost above 0 is admitted, or by the clock rule.
#[inline]
pub fn decide(
    state: &mut Option<FixedWindow>,
    limit: &WindowLimit,
    opening: Opening,
    now: Timestamp,
    cost: u64,
) -> Decision {
    if let Some(stored) = state {
        *stored = stored.corrected(now);
    }
    let window = limit.window();
    let open = state.and_then(|stored| {
        let window = window.min(stored.limit.window());
        (now < stored.end(window)).then_some((stored, window))
    });
    let (used, start, window) = match open {
        Some((stored, window)) => (stored.used, stored.start, window),
        None => (0, opening.start(window, now), window),
    };

    let wanted = used.saturating_add(cost);
    if cost != 0 && wanted <= limit.limit() {
        let opened = FixedWindow {
            start,
            updated: now.max(Timestamp::from_micros(start.try_into().unwrap_or(0))),
            used: wanted,
            limit: limit.lasting(window),
        };
        *state = Some(opened);
        return Decision { limit: limit.limit(), used: wanted, retry: Retry::Now, reset: opened.ends().since(now) };
    }

    let reset = open.map_or(Span::ZERO, |(stored, window)| stored.end(window).since(now));
    let retry = match cost {
        0 => Retry::Now,
        _ if cost > limit.limit() => Retry::Never,
        _ => Retry::After(reset),
    };
    Decision { limit: limit.limit(), used, retry, reset }
}

impl Opening {
    /// The start of a window of length `window` that is opened at `now`.
    #[inline]
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
