//! Usage that is put right after the fact, on each of the models.

use super::bucket::{self, Bucket};
use super::fixed_window::{self, FixedWindow};
use super::sliding_counter::{self, SlidingCounter};
use super::sliding_log::{self, Event, SlidingLog};
use super::{Int, Verdict, int};
use num_integer::Integer;
use num_rational::Ratio;
use num_traits::{Signed, Zero};

/// Why nothing was adjusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TooMuch {
    Used,
    Drain,
    Events,
}

/// What a call of cost 0 gets after it; `None` if nothing was in use.
pub type Adjusted = Result<Option<Verdict>, TooMuch>;

fn most_used() -> Int {
    int(10).pow(12)
}

/// 3,650,000 days.
fn longest_drain() -> Int {
    int(3_650_000) * 24 * 3_600 * 1_000_000
}

fn changed(used: &Int, delta: &Int) -> Int {
    (used + delta).max(Int::zero())
}

/// Nothing is too much to be given back from.
fn allowed(used: Int, delta: &Int) -> Result<(), TooMuch> {
    if delta.is_positive() && used > most_used() { Err(TooMuch::Used) } else { Ok(()) }
}

/// A blocked key is there although nothing is in use, and can be charged.
fn is_left_alone(idle: bool, delta: &Int, blocked: bool) -> bool {
    idle && !(blocked && delta.is_positive())
}

impl Bucket {
    pub fn adjust(&mut self, now: &Int, delta: &Int, blocked: bool) -> Adjusted {
        if is_left_alone(self.is_idle(now), delta, blocked) {
            return Ok(None);
        }
        let mut new = self.clone();
        new.correct_the_clock(now);
        let debt = new.owed(now);
        let stored = new.stored.as_mut().expect("what is owed is stored");
        let limit = stored.limit.clone();
        stored.time = if debt.is_zero() { now } else { (&stored.time).max(now) }.clone();
        stored.debt = (debt + Ratio::from_integer(delta.clone())).max(Ratio::zero());
        allowed(stored.debt.ceil().to_integer(), delta)?;
        if delta.is_positive() && stored.useful_until() - &stored.time > longest_drain() {
            return Err(TooMuch::Drain);
        }
        // Without a change, time and counts stand as they stood.
        if delta.is_zero() {
            self.correct_the_clock(now);
        } else {
            *self = new;
        }
        Ok(Some(self.call(&limit, now, &Int::zero())))
    }

    fn owed(&self, now: &Int) -> Ratio<Int> {
        let bucket::Stored { debt, time, limit } = self.stored.as_ref().expect("it is not idle");
        let elapsed = (now - time).max(Int::zero());
        (debt - Ratio::new(&limit.tokens * elapsed, limit.period.clone())).max(Ratio::zero())
    }
}

impl FixedWindow {
    pub fn adjust(&mut self, now: &Int, delta: &Int) -> Adjusted {
        if self.is_idle(now) {
            return Ok(None);
        }
        let mut new = self.clone();
        new.correct_the_clock(now);
        let stored = new.stored.as_mut().expect("an open window is stored");
        let limit = fixed_window::Limit { limit: stored.limit.clone(), window: stored.window.clone(), aligned: None };
        stored.used = changed(&stored.used, delta);
        allowed(stored.used.clone(), delta)?;
        *self = new;
        Ok(Some(self.call(&limit, now, &Int::zero())))
    }
}

impl SlidingCounter {
    pub fn adjust(&mut self, now: &Int, delta: &Int, blocked: bool) -> Adjusted {
        if is_left_alone(self.is_idle(now), delta, blocked) {
            return Ok(None);
        }
        let mut new = self.clone();
        new.correct_the_clock(now);
        let time = new.effective(now);
        let found = new.stored.clone().expect("counts are stored");
        let empty = || {
            let start = time.div_floor(&found.limit.window) * &found.limit.window;
            sliding_counter::Stored { start, current: Int::zero(), previous: Int::zero(), ..found.clone() }
        };
        let mut stored = found.rolled_to(&time).unwrap_or_else(empty);
        let limit: sliding_counter::Limit = stored.limit.clone();
        let rest = (&stored.current + delta).min(Int::zero());
        stored.current = changed(&stored.current, delta);
        stored.previous = changed(&stored.previous, &rest);
        new.stored = Some(stored);
        allowed(new.used(&time).ceil().to_integer(), delta)?;
        if delta.is_zero() {
            self.correct_the_clock(now);
        } else {
            *self = new;
        }
        Ok(Some(self.call(&limit, now, &Int::zero())))
    }
}

impl SlidingLog {
    /// At most `most` events may be left behind.
    pub fn adjust(&mut self, now: &Int, delta: &Int, blocked: bool, most: usize) -> Adjusted {
        if is_left_alone(self.is_idle(now), delta, blocked) {
            return Ok(None);
        }
        let mut new = self.clone();
        new.correct_the_clock(now);
        let limit = new.stored.as_ref().map(|stored| &stored.limit).or(new.emptied.as_ref()).cloned();
        let limit = limit.expect("a log has limits");
        let mut events = new.counted(&limit.window, now);
        let time = new.effective(now);
        if delta.is_positive() {
            events.push(Event { time, weight: delta.clone() });
            allowed(sliding_log::weight(&events), delta)?;
            if events.len() > most {
                return Err(TooMuch::Events);
            }
        }
        let mut back = -delta;
        while back.is_positive() {
            let Some(mut newest) = events.pop() else { break };
            if newest.weight > back {
                newest.weight -= &back;
                events.push(newest);
                break;
            }
            back -= newest.weight;
        }
        // Without a change, the dead stay where they are, and tell when a clock was wrong.
        if delta.is_zero() {
            self.correct_the_clock(now);
        } else {
            self.emptied = Some(limit.clone());
            self.stored = (!events.is_empty()).then(|| sliding_log::Stored { events, limit: limit.clone() });
        }
        Ok(Some(self.call(&limit, now, &Int::zero())))
    }
}
