//! A circuit breaker: a server that does not answer is left alone for a while, and costs no timeout meanwhile.
//!
//! ```text
//!           failures outnumber answers by `failures`
//!   closed ------------------------------------------> open <---------+
//!     ^                                                  | pause over  | the probe fails:
//!     |             the probe is answered                v             | a pause twice as long
//!     +---------------------------------------------- half-open -------+
//! ```
//!
//! Half-open lets one call through, the probe; all others are turned away as before. A probe that is dropped before it is answered
//! gives its place to the next call.

use std::{
    fmt,
    hash::{BuildHasher as _, RandomState},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

/// Cleared while a breaker is closed and nothing has failed lately, which is all that most calls look at.
const TROUBLE: u64 = 1;
/// The rest counts how often it was closed again.
const EPOCH: u64 = 2;

/// How long a probe may take: a call that nobody polls any more, and nobody drops, must not keep the breaker open for ever.
const PROBE_MAX: Duration = Duration::from_secs(10);

/// When a breaker opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerSettings {
    /// It opens when so many more calls have failed than were answered, counted from the last time that there was no
    /// failure: 5 by default, at least 1.
    pub failures: u32,
    /// The first pause, 100 ms by default. Each failed probe doubles it.
    pub pause: Duration,
    /// The longest pause, 5 s by default: a server that is back is noticed after this time at the latest, by the next call.
    pub pause_max: Duration,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self { failures: 5, pause: Duration::from_millis(100), pause_max: Duration::from_secs(5) }
    }
}

/// Turns calls away while the server does not answer. Clones are the same breaker: limiters that ask the same server do well to
/// share one.
///
/// Pauses are shortened at random by up to a fifth, so that many processes do not come back in the same instant.
#[derive(Clone)]
pub struct Breaker(Arc<Inner>);

struct Inner {
    settings: BreakerSettings,
    sign: AtomicU64,
    state: Mutex<State>,
    random: RandomState,
}

#[derive(Clone, Copy)]
struct State {
    position: Position,
    /// The pause after the next failure to come back.
    pause: Duration,
}

#[derive(Clone, Copy)]
enum Position {
    Closed {
        failures: u32,
    },
    Open {
        until: Instant,
    },
    /// A probe is under way; one that is still not done by then is given up.
    HalfOpen {
        until: Instant,
    },
}

/// A change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Opened,
    Closed,
}

impl Breaker {
    /// A closed breaker.
    #[must_use]
    pub fn new(settings: BreakerSettings) -> Self {
        let state = State { position: Position::Closed { failures: 0 }, pause: settings.pause };
        Self(Arc::new(Inner {
            settings,
            sign: AtomicU64::new(0),
            state: Mutex::new(state),
            random: RandomState::new(),
        }))
    }

    /// Whether calls are turned away now. A probe may be under way, or the next call be one.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.0.sign.load(Ordering::Acquire) & TROUBLE != 0 && !matches!(self.state().position, Position::Closed { .. })
    }

    /// Lets a call through, or says for how long none will be.
    pub(crate) fn admit(&self) -> Result<Pass<'_>, Duration> {
        let sign = self.0.sign.load(Ordering::Acquire);
        if sign & TROUBLE == 0 {
            return Ok(Pass { breaker: self, epoch: sign, probe: false, told: false });
        }
        let mut state = self.state();
        let probe = match state.position {
            Position::Closed { .. } => false,
            Position::Open { until } | Position::HalfOpen { until } => {
                let now = Instant::now();
                let left = until.saturating_duration_since(now);
                if !left.is_zero() {
                    return Err(left);
                }
                state.position = Position::HalfOpen { until: now.checked_add(PROBE_MAX).unwrap_or(now) };
                true
            }
        };
        Ok(Pass { breaker: self, epoch: sign & !TROUBLE, probe, told: false })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the sign anew; the lock is held.
    fn show(&self, trouble: bool, anew: bool) {
        let sign = self.0.sign.load(Ordering::Relaxed) & !TROUBLE;
        let sign = if anew { sign.wrapping_add(EPOCH) } else { sign };
        self.0.sign.store(if trouble { sign | TROUBLE } else { sign }, Ordering::Release);
    }

    fn current(&self, epoch: u64) -> bool {
        self.0.sign.load(Ordering::Relaxed) & !TROUBLE == epoch
    }

    #[cold]
    fn answered(&self, probe: bool, epoch: u64) -> Option<Turn> {
        let mut state = self.state();
        match &mut state.position {
            Position::HalfOpen { .. } if probe => {
                *state = State { position: Position::Closed { failures: 0 }, pause: self.0.settings.pause };
                self.show(false, true);
                Some(Turn::Closed)
            }
            Position::Closed { failures } if self.current(epoch) => {
                *failures = failures.saturating_sub(1);
                if *failures == 0 {
                    self.show(false, false);
                }
                None
            }
            _ => None,
        }
    }

    #[cold]
    fn failed(&self, probe: bool, epoch: u64) -> Option<Turn> {
        let settings = &self.0.settings;
        let mut state = self.state();
        let opens = match &mut state.position {
            Position::HalfOpen { .. } => probe,
            Position::Closed { failures } if self.current(epoch) => {
                *failures = failures.saturating_add(1);
                *failures >= settings.failures
            }
            _ => return None,
        };
        self.show(true, false);
        if !opens {
            return None;
        }
        let pause = state.pause;
        state.pause = pause.saturating_mul(2).min(settings.pause_max);
        let now = Instant::now();
        state.position = Position::Open { until: now.checked_add(self.shortened(pause, now)).unwrap_or(now) };
        (!probe).then_some(Turn::Opened)
    }

    /// Between four fifths of a pause and all of it.
    fn shortened(&self, pause: Duration, now: Instant) -> Duration {
        let [random, ..] = self.0.random.hash_one(now).to_le_bytes();
        let step = pause.checked_div(5 * 256).unwrap_or_default();
        pause.saturating_sub(step.saturating_mul(random.into()))
    }

    fn abandoned(&self) {
        let mut state = self.state();
        if matches!(state.position, Position::HalfOpen { .. }) {
            state.position = Position::Open { until: Instant::now() };
        }
    }
}

impl Default for Breaker {
    fn default() -> Self {
        Self::new(BreakerSettings::default())
    }
}

impl fmt::Debug for Breaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_open() { "Breaker(open)" } else { "Breaker(closed)" })
    }
}

/// A call that was let through. What is not told how it went says nothing, and a probe's place is free again.
pub(crate) struct Pass<'a> {
    breaker: &'a Breaker,
    epoch: u64,
    probe: bool,
    told: bool,
}

impl Pass<'_> {
    /// The server answered, whatever it said.
    pub(crate) fn answered(mut self) -> Option<Turn> {
        self.told = true;
        // Nothing is wrong, and nothing was: the way of most calls.
        if self.breaker.0.sign.load(Ordering::Acquire) & TROUBLE == 0 {
            return None;
        }
        self.breaker.answered(self.probe, self.epoch)
    }

    /// It did not.
    pub(crate) fn failed(mut self) -> Option<Turn> {
        self.told = true;
        self.breaker.failed(self.probe, self.epoch)
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if self.probe && !self.told {
            self.breaker.abandoned();
        }
    }
}
