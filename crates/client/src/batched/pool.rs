//! The tokens of one key.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use super::lease::{Lease, Lot, later};
use crate::{
    decision::{Decision, Retry, Source},
    error::{Error, Result},
    key::Key,
    limit::Limit,
};

/// A batch grows at most so many times at once.
const GROWTH: u64 = 8;
/// After the server had less than was asked for, it is left alone for a fifth of a life, and for no longer than this.
const PACE_MAX: Duration = Duration::from_millis(50);

pub(super) struct Pool {
    pub(super) key: Key,
    pub(super) limit: Limit,
    pub(super) lease: Lease,
    state: Mutex<State>,
    /// A refill is over.
    pub(super) filled: Notify,
}

struct State {
    /// In the order in which they were taken.
    lots: VecDeque<Lot>,
    refilling: bool,
    /// How many refills are over, and how the last one ended.
    rounds: u64,
    failure: Option<Error>,
    /// Until when the server has nothing more to give, as far as is known.
    dry_until: Option<Instant>,
    /// Whether the last refill found less than it asked for.
    dry: bool,
    /// Whether the tokens of the last refill had died when they came.
    too_far: bool,
    /// The last answer, and when it was asked for.
    last: Option<(Instant, Decision)>,
    /// What was asked for since the last refill began.
    demand: u64,
    begun: Option<Instant>,
    batch: u64,
    /// What those ask for who wait for a refill.
    waiting: u64,
}

/// A call that waits for a refill, until it is dropped.
pub(super) struct Waiting<'a> {
    pool: &'a Pool,
    cost: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = self.pool.state();
        state.waiting = state.waiting.saturating_sub(self.cost);
    }
}

/// What a call comes to.
pub(super) enum Step {
    Done(Decision),
    Failed(Error),
    /// A refill is under way; this is its number.
    Wait(u64),
    /// So much is to be taken from the server by the caller; then as [`Step::Wait`].
    Refill(u64, u64),
    /// The call is the server's: tokens do not live long enough to get here.
    Direct,
}

impl Pool {
    pub(super) fn new(key: Key, limit: Limit, lease: Lease) -> Self {
        let state = State {
            lots: VecDeque::new(),
            refilling: false,
            rounds: 0,
            failure: None,
            dry_until: None,
            dry: false,
            too_far: false,
            last: None,
            demand: 0,
            begun: None,
            batch: 1,
            waiting: 0,
        };
        Self { key, limit, lease, state: Mutex::new(state), filled: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves a call of `cost`, refuses it, or says what it has to wait for. `waited` is the number of the refill that it has
    /// waited for already.
    pub(super) fn step(&self, cost: u64, waited: Option<u64>) -> Step {
        let now = Instant::now();
        let mut state = self.state();
        if waited.is_none() {
            state.demand = state.demand.saturating_add(cost);
        }
        // Who has waited for the server has its answer.
        let rounds = waited.map_or(0, |round| state.rounds.saturating_sub(round));
        let source = if rounds > 0 { Source::Server } else { Source::Memory };
        let living = state.living(now);
        if living >= cost {
            state.take(cost, now);
            let left = living.saturating_sub(cost);
            return Step::Done(self.allowed(&state, left, now).by(source));
        }
        // Also if the answer took so long that it is history.
        if let Some(dry_until) = state.dry_until.filter(|until| *until > now || (rounds > 0 && state.dry)) {
            return Step::Done(self.refused(&state, living, cost, dry_until, now).by(source));
        }
        if state.refilling {
            return Step::Wait(state.rounds);
        }
        if source == Source::Server
            && let Some(error) = state.failure.clone()
        {
            return Step::Failed(error);
        }
        if rounds > 0 && state.too_far {
            return Step::Direct;
        }
        let batch = state.batch(&self.lease, now).max(state.waiting.min(self.lease.batch_max));
        let ask = batch.max(cost.saturating_sub(living));
        state.refilling = true;
        state.demand = 0;
        state.begun = Some(now);
        Step::Refill(ask, state.rounds)
    }

    /// A call of `cost` waits from now on.
    pub(super) fn wait(&self, cost: u64) -> Waiting<'_> {
        let mut state = self.state();
        state.waiting = state.waiting.saturating_add(cost);
        Waiting { pool: self, cost }
    }

    /// A refill of `ask` that was begun at `asked` is over; until when it has to be remembered.
    pub(super) fn refilled(&self, ask: u64, asked: Instant, answer: Result<Decision>) -> Instant {
        let mut state = self.state();
        state.refilling = false;
        state.rounds = state.rounds.saturating_add(1);
        let mut until = asked;
        match answer {
            Err(error) => {
                state.failure = Some(error);
                state.dry = false;
            }
            Ok(decision) => {
                state.failure = None;
                let granted = decision.granted.unwrap_or(if decision.allowed { ask } else { 0 });
                if granted > 0 {
                    let dies = self.lease.dies(asked, decision.reset_after);
                    state.lots.push_back(Lot { tokens: granted, asked, dies, reset: decision.reset_after });
                    until = until.max(dies);
                }
                state.dry = granted < ask;
                state.too_far = granted > 0 && self.lease.dies(asked, decision.reset_after) <= Instant::now();
                if state.dry {
                    let pace = self.lease.life.checked_div(5).unwrap_or_default().min(PACE_MAX);
                    let told = match decision.retry_after {
                        Retry::Now => pace,
                        Retry::After(wait) => wait.clamp(pace, self.lease.life.max(pace)),
                        Retry::Never => self.lease.life,
                    };
                    let dry_until = later(asked, told);
                    state.dry_until = Some(dry_until);
                    until = until.max(dry_until);
                }
                state.last = Some((asked, decision));
            }
        }
        drop(state);
        self.filled.notify_waiters();
        until
    }

    /// A refill was given up before its end.
    pub(super) fn given_up(&self) {
        let mut state = self.state();
        state.refilling = false;
        state.rounds = state.rounds.saturating_add(1);
        state.failure = Some(Error::Unavailable);
        drop(state);
        self.filled.notify_waiters();
    }

    /// Takes out what is to be given back: what has died, or everything.
    pub(super) fn give_back(&self, closing: bool) -> u64 {
        let now = Instant::now();
        let mut state = self.state();
        let mut sum = 0_u64;
        let lease = &self.lease;
        state.lots.retain(|lot| {
            let goes = closing || lot.dies <= now;
            if goes {
                sum = sum.saturating_add(lease.returnable(lot, now, closing));
            }
            !goes
        });
        sum
    }

    /// Whether nothing is held, known or under way.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.state();
        state.lots.is_empty() && !state.refilling && state.dry_until.is_none_or(|until| until <= Instant::now())
    }

    fn allowed(&self, state: &State, left: u64, now: Instant) -> Decision {
        let (remaining, reset) = match &state.last {
            Some((asked, last)) => {
                (last.remaining, last.reset_after.saturating_sub(now.saturating_duration_since(*asked)))
            }
            None => (0, Duration::ZERO),
        };
        let limit = self.limit.max();
        Decision::allowed(limit, remaining.saturating_add(left).min(limit), reset)
    }

    fn refused(&self, state: &State, living: u64, cost: u64, dry_until: Instant, now: Instant) -> Decision {
        let mut until = dry_until;
        let mut reset = Duration::ZERO;
        if let Some((asked, last)) = &state.last {
            reset = last.reset_after;
            let missing = cost.saturating_sub(living);
            let told = match last.retry_after {
                Retry::After(wait) if missing == 1 => wait,
                _ => self.lease.wait_for(missing, reset),
            };
            until = until.max(later(*asked, told));
            reset = reset.saturating_sub(now.saturating_duration_since(*asked));
        }
        let wait = until.saturating_duration_since(now).max(Duration::from_millis(1));
        Decision::refused(self.limit.max(), living, Retry::After(wait), reset)
    }
}

impl State {
    fn living(&self, now: Instant) -> u64 {
        self.lots.iter().filter(|lot| lot.dies > now).fold(0, |sum, lot| lot.tokens.saturating_add(sum))
    }

    /// The oldest first. What is used up goes; what has died stays, to be given back.
    fn take(&mut self, mut cost: u64, now: Instant) {
        for lot in self.lots.iter_mut().filter(|lot| lot.dies > now) {
            let taken = lot.tokens.min(cost);
            lot.tokens = lot.tokens.saturating_sub(taken);
            cost = cost.saturating_sub(taken);
            if cost == 0 {
                break;
            }
        }
        self.lots.retain(|lot| lot.tokens > 0);
    }

    /// As much as will be asked for in half a life, if it goes on as since the last refill.
    fn batch(&mut self, lease: &Lease, now: Instant) -> u64 {
        let Some(begun) = self.begun else { return self.batch };
        let passed = now.saturating_duration_since(begun);
        let half = lease.life.as_micros() / 2;
        let wanted = u128::from(self.demand).saturating_mul(half).checked_div(passed.as_micros().max(1)).unwrap_or(0);
        let wanted = u64::try_from(wanted).unwrap_or(u64::MAX).min(self.batch.saturating_mul(GROWTH));
        // Calls come in bursts: a short stretch with few of them is not believed at once.
        let least = if passed < lease.life { self.batch / 2 } else { 1 };
        self.batch = wanted.max(least).clamp(1, lease.batch_max);
        self.batch
    }
}
