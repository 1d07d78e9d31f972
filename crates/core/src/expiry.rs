//! When a key may be deleted.
//!
//! Expiry is garbage collection: it must not come before the state stops mattering, and may come later. The room after
//! it saves work: while the stored expiry still fits, a call leaves it alone.

use crate::time::{Span, Timestamp};

/// The most that an expiry may lie beyond the moment it is needed, unless twice the wait is more.
const ROOM: Span = Span::from_millis(2_000);

/// The least that a newly chosen expiry lies beyond the moment it is needed: a fast limiter in use is not deleted and
/// created again between calls.
const SLACK_MIN_MS: u64 = 1_000;

/// An absolute expiry in milliseconds since the epoch, and whether this call moved it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// Milliseconds since the epoch.
    pub at_ms: u64,
    /// Whether it differs from the key's present expiry.
    pub moved: bool,
}

/// Whether an expiry that is already set, in milliseconds since the epoch, does for state that stops mattering at
/// `needed`: see [`Expiry::plan`].
#[inline(always)]
pub(crate) fn fits(at_ms: u64, needed: Timestamp, now: Timestamp) -> bool {
    let at = Timestamp::default().after(Span::from_millis(at_ms));
    let room = needed.since(now).max(ROOM);
    at >= needed && at <= needed.after(room)
}

impl Expiry {
    /// The expiry of state that stops mattering at `needed`: the `stored` one (milliseconds since the epoch) if it
    /// still fits, else one that lies `slack` later, at least a second.
    ///
    /// It fits if it is not before `needed` (rounded up to the millisecond), and at most twice as far from `now` or two
    /// seconds beyond, whichever is later. `slack` must not exceed `needed - now`.
    #[inline(always)]
    #[must_use]
    pub fn plan(stored: Option<u64>, needed: Timestamp, now: Timestamp, slack: Span) -> Self {
        if let Some(at_ms) = stored
            && fits(at_ms, needed, now)
        {
            return Self { at_ms, moved: false };
        }
        let slack_ms = (slack.micros() / 1_000).max(SLACK_MIN_MS);
        Self { at_ms: needed.ceil_ms().saturating_add(slack_ms), moved: true }
    }
}
