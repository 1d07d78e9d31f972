//! Token bucket and GCRA: one meter that drains at a constant rate.
//!
//! A bucket's debt is what was taken and has not flowed back. Counting debt (as the continuous-state leaky bucket of
//! ITU-T I.371, annex A, does) and comparing a theoretical arrival time with the clock (as the virtual scheduling
//! algorithm beside it, GCRA, does) admit exactly the same calls; the two commands differ in their words alone.
//!
//! Debt is kept in units of which one token is the period P in microseconds, so that N units flow back a microsecond
//! and nothing is ever rounded while the limits stay as they are.

use crate::decision::{Decision, Retry};
use crate::exact::{narrow, product, quotient, quotient_up, quotient_up_u64};
use crate::limit::BucketLimit;
use crate::time::{Span, Timestamp};

/// A bucket as it was just after the last admitted call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    pub(crate) debt: u128,
    pub(crate) updated: Timestamp,
    pub(crate) limit: BucketLimit,
}

impl Bucket {
    /// A bucket that owed `debt` at `updated` under `limit`; `None` if the debt is more than an empty bucket's.
    #[inline]
    #[must_use]
    pub fn new(debt: u128, updated: Timestamp, limit: BucketLimit) -> Option<Self> {
        (debt <= limit.full()).then_some(Self { debt, updated, limit })
    }

    /// The debt just after the last admitted call, in units of which one token is the period in microseconds.
    #[must_use]
    pub const fn debt(&self) -> u128 {
        self.debt
    }

    /// When the last admitted call was.
    #[must_use]
    pub const fn updated(&self) -> Timestamp {
        self.updated
    }

    /// The limits of the last admitted call.
    #[must_use]
    pub const fn limit(&self) -> BucketLimit {
        self.limit
    }

    /// How long after `updated` the whole debt has flowed back, under the rate it was stored with.
    #[inline]
    fn drain(&self) -> Span {
        Span::from_micros(quotient_up_u64(self.debt, self.limit.rate().tokens))
    }

    /// The moment this state stops mattering.
    #[inline]
    #[must_use]
    pub fn ends(&self) -> Timestamp {
        self.updated.after(self.drain())
    }

    /// The clock rule: state further ahead of the clock than the bucket takes to fill was written under a wrong clock,
    /// and is taken to be of now.
    #[inline]
    fn corrected(self, now: Timestamp) -> Self {
        let ahead = self.updated.since(now);
        if ahead > Span::ZERO && product(ahead.micros(), self.limit.rate().tokens.get()) > self.limit.full() {
            Self { updated: now, ..self }
        } else {
            self
        }
    }

    /// The debt in units of `limit`'s period, rounded up.
    #[inline]
    fn debt_under(&self, limit: &BucketLimit) -> u128 {
        let (stored, period) = (self.limit.rate().period, limit.rate().period);
        if stored == period {
            return self.debt;
        }
        // debt * period may not fit 128 bits: whole tokens first, then the rest of one.
        let (tokens, rest) = quotient(self.debt, stored.get());
        let whole = product(narrow(tokens), period.micros());
        whole.wrapping_add(quotient_up(product(rest, period.micros()), stored.get()))
    }
}

/// Decides a call of `cost` tokens under `limit` at `now`, and updates the state if it is admitted.
///
/// `None` is a new or idle bucket, which is full. State changes only when a cost above 0 is admitted, or by the clock
/// rule.
#[inline]
pub fn decide(state: &mut Option<Bucket>, limit: &BucketLimit, now: Timestamp, cost: u64) -> Decision {
    let rate = limit.rate();
    let period = rate.period;
    let (mut debt, mut behind, mut idle_in, mut updated) = (0, Span::ZERO, Span::ZERO, now);
    if let Some(stored) = state {
        *stored = stored.corrected(now);
        let elapsed = now.since(stored.updated);
        if stored.debt > product(stored.limit.rate().tokens.get(), elapsed.micros()) {
            let flowed = product(rate.tokens.get(), elapsed.micros());
            debt = stored.debt_under(limit).saturating_sub(flowed);
            behind = stored.updated.since(now);
            idle_in = stored.drain().less(elapsed);
            updated = stored.updated.max(now);
        }
    }

    let full = limit.full();
    let wanted = debt.wrapping_add(product(cost, period.micros()));
    let fits = cost <= limit.capacity() && wanted <= full;
    if cost != 0 && fits {
        let stored = Bucket { debt: wanted, updated, limit: *limit };
        *state = Some(stored);
        let used = narrow(quotient_up(wanted, period.get()));
        return Decision { limit: limit.capacity(), used, retry: Retry::Now, reset: stored.drain().plus(behind) };
    }

    let used = narrow(quotient_up(debt, period.get()));
    // Under the stored limits the state is idle after `idle_in`, whatever the present ones say.
    let wait = |units: u128| Span::from_micros(quotient_up_u64(units, rate.tokens)).min(idle_in).plus(behind);
    let retry = match cost {
        0 => Retry::Now,
        _ if cost > limit.capacity() => Retry::Never,
        _ => Retry::After(wait(wanted.saturating_sub(full))),
    };
    let reset = if debt == 0 { Span::ZERO } else { wait(debt) };
    Decision { limit: limit.capacity(), used, retry, reset }
}
