//! What `INFO rl` tells: the verdicts since the module was loaded, by algorithm.

use std::sync::atomic::{AtomicU64, Ordering};

use limiter_core::record::Algorithm;

use crate::ffi::InfoSection;

/// How a deciding command ended.
#[derive(Clone, Copy)]
pub enum Ending {
    Allowed,
    Refused,
    Error,
}

struct Counts {
    allowed: AtomicU64,
    refused: AtomicU64,
    errors: AtomicU64,
}

impl Counts {
    const fn new() -> Self {
        Self { allowed: AtomicU64::new(0), refused: AtomicU64::new(0), errors: AtomicU64::new(0) }
    }
}

impl Counts {
    #[inline(always)]
    fn count(&self, ending: Ending) {
        let count = match ending {
            Ending::Allowed => &self.allowed,
            Ending::Refused => &self.refused,
            Ending::Error => &self.errors,
        };
        count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}

static COUNTS: [Counts; 5] = [const { Counts::new() }; 5];

/// The calls of `RL.ALL`, each counted once.
static ALL: Counts = Counts::new();

/// Counts one call of several limits.
#[inline]
pub fn count_all(ending: Ending) {
    ALL.count(ending);
}

/// Counts one call. Commands run one at a time, so a load and a store count as well as an atomic addition, and faster.
#[inline]
pub fn count(algorithm: Algorithm, ending: Ending) {
    let [tokenbucket, gcra, fixed, slidinglog, slidingcounter] = &COUNTS;
    let counts = match algorithm {
        Algorithm::TokenBucket => tokenbucket,
        Algorithm::Gcra => gcra,
        Algorithm::Fixed => fixed,
        Algorithm::SlidingLog => slidinglog,
        Algorithm::SlidingCounter => slidingcounter,
    };
    counts.count(ending);
}

/// How an adjustment ended.
#[derive(Clone, Copy)]
pub enum Adjusting {
    /// With a reply, which may be null.
    Answered,
    Error,
}

static ADJUSTED: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Counts one adjustment.
pub fn count_adjusting(ending: Adjusting) {
    let [answered, errors] = &ADJUSTED;
    let count = match ending {
        Adjusting::Answered => answered,
        Adjusting::Error => errors,
    };
    count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// Writes the section `rl_stats`.
pub fn report(section: &InfoSection) {
    section.begin(c"stats");
    let names = [
        [c"tokenbucket_allowed", c"tokenbucket_refused", c"tokenbucket_errors"],
        [c"gcra_allowed", c"gcra_refused", c"gcra_errors"],
        [c"fixed_allowed", c"fixed_refused", c"fixed_errors"],
        [c"slidinglog_allowed", c"slidinglog_refused", c"slidinglog_errors"],
        [c"slidingcounter_allowed", c"slidingcounter_refused", c"slidingcounter_errors"],
        [c"all_allowed", c"all_refused", c"all_errors"],
    ];
    for (counts, [allowed, refused, errors]) in COUNTS.iter().chain([&ALL]).zip(names) {
        section.field(allowed, counts.allowed.load(Ordering::Relaxed));
        section.field(refused, counts.refused.load(Ordering::Relaxed));
        section.field(errors, counts.errors.load(Ordering::Relaxed));
    }
    for (count, name) in ADJUSTED.iter().zip([c"adjust_calls", c"adjust_errors"]) {
        section.field(name, count.load(Ordering::Relaxed));
    }
}
