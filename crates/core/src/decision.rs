//! The verdict on one call.

use crate::time::Span;

/// When the same call can succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// It was allowed.
    Now,
    /// It was refused, and succeeds after exactly this wait if nobody else calls; never zero, and minimal.
    After(Span),
    /// It can never succeed under these limits: the cost exceeds what can pass at once.
    Never,
}

/// The verdict on one call, exact to the microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The most that can pass at once: capacity, burst or limit.
    pub limit: u64,
    /// What is in use after this call, in whole tokens or events, rounded up.
    pub used: u64,
    /// The verdict: when the same call can succeed.
    pub retry: Retry,
    /// The wait until the limiter is as good as new if nobody calls; zero when nothing is used.
    pub reset: Span,
}

impl Decision {
    /// Whether the call was allowed.
    #[inline]
    #[must_use]
    pub const fn allowed(&self) -> bool {
        matches!(self.retry, Retry::Now)
    }

    /// The largest cost that would still be allowed at this instant, after this call.
    #[inline]
    #[must_use]
    pub const fn remaining(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }

    /// The reply of every deciding command: allowed (1 or 0), limit, remaining, retry_after and reset_after, the waits
    /// in milliseconds rounded up. retry_after is 0 if allowed and -1 if the call can never succeed.
    #[inline]
    #[must_use]
    pub fn reply(&self) -> [i64; 5] {
        let retry = match self.retry {
            Retry::Now => 0,
            Retry::After(wait) => signed(wait.ceil_ms()),
            Retry::Never => -1,
        };
        [i64::from(self.allowed()), signed(self.limit), signed(self.remaining()), retry, signed(self.reset.ceil_ms())]
    }
}

/// Limits and millisecond waits are far below 2^63.
#[inline]
fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
