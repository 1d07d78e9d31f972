//! What happens when the server does not answer.

use std::{num::NonZeroU32, time::Duration};

use limiter_core::{
    call::Limit as CoreLimit,
    limit::{BucketLimit, RATE, Rate, WindowLimit},
    time::Interval,
};

use crate::{
    decision::{Decision, Retry, Source},
    limit::Limit,
    local::Local,
    options::Options,
};

/// What becomes of a call when the server does not answer: out of reach, too slow, without the module.
///
/// There is no right one for everybody, so there is no default.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FailurePolicy {
    /// Let it pass. For limits that share out a resource which bears more for a while: an outage of the limiter is not one of
    /// the service.
    Open,
    /// Refuse it. For limits that protect: passwords, payments, codes by SMS.
    Closed,
    /// Decide in this process, by a share of the limit. What was used before the outage is not known here: each process starts
    /// with a full share.
    Local(LocalShare),
}

impl FailurePolicy {
    /// [`FailurePolicy::Local`] with the limit divided by the number of processes that are expected to share it.
    #[must_use]
    pub fn local(instances: NonZeroU32) -> Self {
        Self::Local(LocalShare::of(instances))
    }

    /// [`FailurePolicy::Local`] with a limit of its own.
    #[must_use]
    pub fn local_limit(limit: Limit) -> Self {
        Self::Local(LocalShare::limit(limit))
    }
}

/// How much one process may let pass on its own.
#[derive(Clone, Debug)]
pub struct LocalShare {
    how: How,
    local: Local,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Divided(NonZeroU32),
    Own(Limit),
}

impl LocalShare {
    /// The limit divided by `instances`: capacity, burst or limit rounded down, but to no less than 1 unless it is 0; the rate
    /// exactly, as far as its period can say it.
    #[must_use]
    pub fn of(instances: NonZeroU32) -> Self {
        Self { how: How::Divided(instances), local: Local::new() }
    }

    /// A limit of its own.
    #[must_use]
    pub fn limit(limit: Limit) -> Self {
        Self { how: How::Own(limit), local: Local::new() }
    }

    /// Decides by this one, which bounds how many keys are kept.
    #[must_use]
    pub fn by(mut self, local: Local) -> Self {
        self.local = local;
        self
    }

    /// The share of `limit`.
    #[must_use]
    pub fn share(&self, limit: &Limit) -> Limit {
        match self.how {
            How::Own(own) => own,
            How::Divided(instances) => divided(limit, instances),
        }
    }

    pub(crate) const fn engine(&self) -> &Local {
        &self.local
    }
}

fn divided(limit: &Limit, instances: NonZeroU32) -> Limit {
    let by = u64::from(instances.get());
    let share = |whole: u64| whole.checked_div(by).unwrap_or(whole).max(1).min(whole);
    let bucket = |bucket: &BucketLimit| {
        let Rate { tokens, period } = bucket.rate();
        // A period so much longer is exact; where it would be too long, there are less tokens in it.
        let longer = period.millis().checked_mul(by).and_then(Interval::from_millis);
        let rate = match longer {
            Some(period) => Some(Rate { tokens, period }),
            None => Rate::new(share(tokens.get()).max(RATE.min), period),
        };
        rate.and_then(|rate| BucketLimit::new(share(bucket.capacity()), rate)).unwrap_or(*bucket)
    };
    let window = |window: &WindowLimit| WindowLimit::new(share(window.limit()), window.window()).unwrap_or(*window);
    Limit::from(match limit.core() {
        CoreLimit::TokenBucket(limit) => CoreLimit::TokenBucket(bucket(limit)),
        CoreLimit::Gcra(limit) => CoreLimit::Gcra(bucket(limit)),
        CoreLimit::Fixed(limit, opening) => CoreLimit::Fixed(window(limit), *opening),
        CoreLimit::SlidingLog(limit) => CoreLimit::SlidingLog(window(limit)),
        CoreLimit::SlidingCounter(limit) => CoreLimit::SlidingCounter(window(limit)),
    })
}

/// A call that nobody has decided, and that passes.
pub(crate) fn open(limit: &Limit, cost: u64, options: &Options) -> Decision {
    let mut decision =
        Decision::allowed(limit.max(), limit.max().saturating_sub(cost), Duration::ZERO).by(Source::Open);
    give_options(&mut decision, options, cost);
    decision
}

/// A call that nobody has decided, and that does not pass; it may be asked again after `wait`.
pub(crate) fn closed(limit: &Limit, cost: u64, options: &Options, wait: Duration) -> Decision {
    let mut decision = if cost == 0 {
        Decision::allowed(limit.max(), 0, wait)
    } else {
        let retry = if cost > limit.max() && !options.core().partial { Retry::Never } else { Retry::After(wait) };
        Decision::refused(limit.max(), 0, retry, wait)
    };
    decision = decision.by(Source::Closed);
    give_options(&mut decision, options, 0);
    decision
}

fn give_options(decision: &mut Decision, options: &Options, granted: u64) {
    decision.granted = options.core().partial.then_some(granted);
    decision.wait = options.core().reserve.map(|_| Duration::ZERO);
}
