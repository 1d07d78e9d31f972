//! Token bucket and GCRA: one meter that drains at a constant rate.
//!
//! A bucket's debt is what was taken and has not flowed back. Counting debt (as the continuous-state leaky bucket of
//! ITU-T I.371, annex A, does) and comparing a theoretical arrival time with the clock (as the virtual scheduling
//! algorithm beside it, GCRA, does) admit exactly the same calls; the two commands differ in their words alone.
//!
//! Debt is kept in units of which one token is the period P in microseconds, so that N units flow back a microsecond
//! and nothing is ever rounded while the limits stay as they are.

use crate::decision::{Decision, Retry};
use crate::exact::{product, quotient, quotient_up, quotient_up_u64};
use crate::limit::BucketLimit;
use crate::meter::{Meter, Then};
use crate::record::{self, Algorithm, Small, Stored};
use crate::steady::{self, Steady};
use crate::time::{Span, Timestamp};

/// What stands for a debt of more tokens than fit 64 bits: no bucket holds nearly as much, and none drains it before the
/// state that owes it has become idle.
const DEBT_BEYOND_ALL: u128 = 1 << 120;

/// A bucket as it was just after the last admitted call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    pub(crate) debt: u128,
    pub(crate) updated: Timestamp,
    pub(crate) limit: BucketLimit,
}

impl Bucket {
    /// A bucket that owed `debt` at `updated` under `limit`; `None` if it would not flow back within
    /// [`DRAIN_MAX_US`](crate::limit::DRAIN_MAX_US).
    #[inline(always)]
    #[must_use]
    pub fn new(debt: u128, updated: Timestamp, limit: BucketLimit) -> Option<Self> {
        limit.holds(debt).then_some(Self { debt, updated, limit })
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
    #[inline(always)]
    fn drain(&self) -> Span {
        Span::from_micros(quotient_up_u64(self.debt, self.limit.rate().tokens))
    }

    /// The moment this state stops mattering.
    #[inline(always)]
    #[must_use]
    pub fn ends(&self) -> Timestamp {
        self.updated.after(self.drain())
    }

    /// The clock rule: state further ahead of the clock than the bucket takes to fill was written under a wrong clock,
    /// and is taken to be of now.
    #[inline(always)]
    fn is_of_a_wrong_clock(&self, now: Timestamp) -> bool {
        let ahead = self.updated.since(now);
        ahead > Span::ZERO && product(ahead.micros(), self.limit.rate().tokens.get()) > self.limit.full()
    }

    /// The debt in units of `limit`'s period, rounded up.
    #[inline(always)]
    fn debt_under(&self, limit: &BucketLimit) -> u128 {
        let (stored, period) = (self.limit.rate().period, limit.rate().period);
        if stored == period {
            return self.debt;
        }
        // debt * period may not fit 128 bits: whole tokens first, then the rest of one.
        let (tokens, rest) = quotient(self.debt, stored.get());
        let Ok(tokens) = u64::try_from(tokens) else { return DEBT_BEYOND_ALL };
        let whole = product(tokens, period.micros());
        whole.wrapping_add(quotient_up(product(rest, period.micros()), stored.get()))
    }
}

impl Meter for Bucket {
    type Limit = BucketLimit;
    type Compact = [u8; 36];

    #[inline(always)]
    fn steady(
        record: &[u8],
        algorithm: Algorithm,
        limit: &BucketLimit,
        now: Timestamp,
        cost: u64,
    ) -> Option<Steady<[u8; 36]>> {
        steady::bucket(record, algorithm, limit, now, cost)
    }

    #[inline(always)]
    fn decide<T: Then<Self>>(
        stored: Option<Self>,
        limit: &BucketLimit,
        now: Timestamp,
        cost: u64,
        then: T,
    ) -> T::Output {
        let rate = limit.rate();
        let period = rate.period;
        let (mut debt, mut behind, mut idle_in, mut updated) = (0, Span::ZERO, Span::ZERO, now);
        let mut corrected = None;
        if let Some(mut state) = stored {
            if state.is_of_a_wrong_clock(now) {
                state.updated = now;
                corrected = Some(state);
            }
            let elapsed = now.since(state.updated);
            if state.debt > product(state.limit.rate().tokens.get(), elapsed.micros()) {
                let flowed = product(rate.tokens.get(), elapsed.micros());
                debt = state.debt_under(limit).saturating_sub(flowed);
                behind = state.updated.since(now);
                idle_in = state.drain().less(elapsed);
                updated = state.updated.max(now);
            }
        }

        let full = limit.full();
        let wanted = debt.wrapping_add(product(cost, period.micros()));
        if cost != 0 && cost <= limit.capacity() && wanted <= full {
            let state = Self { debt: wanted, updated, limit: *limit };
            let used = quotient_up_u64(wanted, period.get());
            let reset = state.drain().plus(behind);
            return then.changed(Decision { limit: limit.capacity(), used, retry: Retry::Now, reset }, state);
        }

        let used = quotient_up_u64(debt, period.get());
        let retry = if cost == 0 {
            Retry::Now
        } else if cost > limit.capacity() {
            Retry::Never
        } else {
            Retry::After(flows_back(wanted.saturating_sub(full), limit, idle_in).plus(behind))
        };
        let reset = if debt == 0 { Span::ZERO } else { flows_back(debt, limit, idle_in).plus(behind) };
        let decision = Decision { limit: limit.capacity(), used, retry, reset };
        match corrected {
            None => then.unchanged(decision),
            Some(state) => then.changed(decision, state),
        }
    }

    #[inline(never)]
    fn count(stored: Option<Self>, limit: &BucketLimit, now: Timestamp, cost: u64) -> Option<Self> {
        let Owed { debt, updated, .. } = Owed::new(stored, limit, now);
        let wanted = debt.saturating_add(product(cost, limit.rate().period.micros())).min(limit.full());
        (wanted > debt).then_some(Self { debt: wanted, updated, limit: *limit })
    }

    /// Booked calls are admitted in the order in which they came: each adds to the debt that the next one waits for. A
    /// debt of other limits, which is forgotten before it has flowed back, is none any more at the end of the wait.
    #[inline(never)]
    fn book(stored: Option<Self>, limit: &BucketLimit, now: Timestamp, cost: u64) -> Option<(Decision, Self)> {
        let Owed { debt, idle_in, updated } = Owed::new(stored, limit, now);
        let tokens = limit.rate().tokens;
        let taken = product(cost, limit.rate().period.micros());
        let excess = debt.saturating_add(taken).saturating_sub(limit.full());
        let forgotten = quotient_up_u64(excess, tokens) >= idle_in.micros();
        let debt = if forgotten { debt.min(product(tokens.get(), idle_in.micros())) } else { debt };
        let state = Self::new(debt.saturating_add(taken), updated, *limit)?;
        let used = quotient_up_u64(state.debt, limit.rate().period.get());
        let reset = state.ends().since(now);
        Some((Decision { limit: limit.capacity(), used, retry: Retry::Now, reset }, state))
    }

    /// Three quarters as long again as it matters, so that a bucket in use moves its expiry now and then, not at each
    /// call: debt may grow by as much, or a quarter of it flow back, before the expiry no longer fits.
    #[inline(always)]
    fn expires(&self, now: Timestamp) -> (Timestamp, Span) {
        let ends = self.ends();
        (ends, Span::from_micros((ends.since(now).micros() / 4).saturating_mul(3)))
    }

    #[inline(always)]
    fn decode(wide: bool, fields: &[u8]) -> Option<Stored<Self>> {
        record::decode_bucket(wide, fields)
    }

    #[inline(always)]
    fn encode(stored: &Stored<Self>, algorithm: Algorithm) -> Small {
        record::encode_bucket(algorithm, stored)
    }
}

/// The wait until `units` of debt have flowed back under `limit`; under the stored limits the state is idle after
/// `idle_in`, whatever the present ones say.
#[inline(always)]
fn flows_back(units: u128, limit: &BucketLimit, idle_in: Span) -> Span {
    Span::from_micros(quotient_up_u64(units, limit.rate().tokens)).min(idle_in)
}

/// What is owed under some limits at one instant.
struct Owed {
    debt: u128,
    /// When the state is idle under the limits it was stored with, whatever the present ones say.
    idle_in: Span,
    /// The time of the state that a call leaves behind.
    updated: Timestamp,
}

impl Owed {
    /// Of state to which the clock rule has been applied.
    fn new(stored: Option<Bucket>, limit: &BucketLimit, now: Timestamp) -> Self {
        let nothing = Self { debt: 0, idle_in: Span::ZERO, updated: now };
        let Some(state) = stored else { return nothing };
        let elapsed = now.since(state.updated);
        if state.debt <= product(state.limit.rate().tokens.get(), elapsed.micros()) {
            return nothing;
        }
        let flowed = product(limit.rate().tokens.get(), elapsed.micros());
        let debt = state.debt_under(limit).saturating_sub(flowed);
        Self { debt, idle_in: state.drain().less(elapsed), updated: state.updated.max(now) }
    }
}
