//! Sliding counter: what was used in this aligned window and in the one before, the older fading.

use super::{Int, Verdict, Wait};
use num_integer::Integer;
use num_rational::Ratio;
use num_traits::{One, Zero};

type Fraction = Ratio<Int>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    pub limit: Int,
    pub window: Int,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Where the current window begins.
    pub start: Int,
    pub current: Int,
    pub previous: Int,
    pub limit: Limit,
}

impl Stored {
    pub fn useful_until(&self) -> Int {
        &self.start + &self.limit.window * if self.current.is_zero() { 1 } else { 2 }
    }

    /// The same counts as they stand in the window that holds `time`, or nothing if both are over.
    pub(super) fn rolled_to(&self, time: &Int) -> Option<Stored> {
        let window = &self.limit.window;
        let mut rolled = self.clone();
        while rolled.start.clone() + window <= *time {
            if rolled.current.is_zero() && rolled.previous.is_zero() {
                return None;
            }
            rolled.start += window;
            rolled.previous = rolled.current;
            rolled.current = Int::zero();
        }
        let dead = rolled.current.is_zero() && rolled.previous.is_zero();
        (!dead).then_some(rolled)
    }

    fn weighted(&self, time: &Int) -> Fraction {
        let left = &self.start + &self.limit.window - time;
        let faded = Fraction::new(left, self.limit.window.clone());
        faded * &self.previous + &self.current
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlidingCounter {
    pub stored: Option<Stored>,
}

impl SlidingCounter {
    pub fn call(&mut self, limit: &Limit, now: &Int, cost: &Int) -> Verdict {
        self.correct_the_clock(now);
        let time = self.effective(now);
        let behind = &time - now;
        let used = self.used(&time);
        let left = (Fraction::from_integer(limit.limit.clone()) - &used).floor().to_integer();
        let reset = self.reset(&time) + &behind;

        if cost.is_zero() {
            return Verdict::allowed(&limit.limit, left, reset);
        }
        if fits(&used, cost, limit) {
            let admitted = match self.stored.as_ref().and_then(|stored| stored.rolled_to(&time)) {
                Some(rolled) if rolled.limit.window == limit.window => {
                    Stored { current: &rolled.current + cost, limit: limit.clone(), ..rolled }
                }
                _ => Stored {
                    start: time.div_floor(&limit.window) * &limit.window,
                    current: used.ceil().to_integer() + cost,
                    previous: Int::zero(),
                    limit: limit.clone(),
                },
            };
            self.stored = Some(admitted);
            let left = left_after(limit, &self.used(&time));
            return Verdict::allowed(&limit.limit, left, self.reset(&time) + behind);
        }
        let retry =
            if *cost > limit.limit { Wait::Never } else { Wait::After(self.first_fit(limit, cost, &time) + behind) };
        Verdict::refused(&limit.limit, left, retry, reset)
    }

    /// A refused call that counts: as much of it as is left, in whole. True if that is a change.
    pub fn count(&mut self, limit: &Limit, now: &Int, cost: &Int) -> bool {
        let left = self.clone().call(limit, now, &Int::zero()).remaining;
        let counted = left.min(cost.clone());
        let changes = !counted.is_zero();
        if changes {
            self.call(limit, now, &counted);
        }
        changes
    }

    pub fn peek(&self, now: &Int, cost: &Int) -> Option<Verdict> {
        let stored = self.stored.as_ref().filter(|_| !self.is_idle(now))?;
        Some(self.clone().call(&stored.limit, now, cost))
    }

    pub fn is_idle(&self, now: &Int) -> bool {
        self.used(&self.effective(now)).is_zero()
    }

    pub fn correct_the_clock(&mut self, now: &Int) -> bool {
        match &mut self.stored {
            Some(stored) if &stored.start - now > stored.limit.window => {
                let window = &stored.limit.window;
                stored.start = now.div_floor(window) * window;
                true
            }
            _ => false,
        }
    }

    /// A clock that is behind reads as the start of the stored window, unless nothing was counted in it.
    pub(super) fn effective(&self, now: &Int) -> Int {
        let counts = |stored: &&Stored| !stored.current.is_zero() || !stored.previous.is_zero();
        self.stored.as_ref().filter(counts).map_or(now, |stored| (&stored.start).max(now)).clone()
    }

    pub(super) fn used(&self, time: &Int) -> Fraction {
        self.stored
            .as_ref()
            .and_then(|stored| stored.rolled_to(time))
            .map_or_else(Fraction::zero, |rolled| rolled.weighted(time))
    }

    /// When neither count weighs any more: the first whole microsecond at which nothing is used.
    fn reset(&self, time: &Int) -> Int {
        let Some(stored) = &self.stored else {
            return Int::zero();
        };
        let Some(rolled) = stored.rolled_to(time) else {
            return Int::zero();
        };
        let windows = if rolled.current.is_zero() { 1 } else { 2 };
        &rolled.start + &rolled.limit.window * windows - time
    }

    /// The usage never grows while nobody calls, so the first moment with room is found by halving.
    fn first_fit(&self, limit: &Limit, cost: &Int, time: &Int) -> Int {
        let mut refused = Int::zero();
        let mut fitting = self.reset(time);
        while &fitting - &refused > Int::one() {
            let middle: Int = (&refused + &fitting) / 2;
            if fits(&self.used(&(time + &middle)), cost, limit) {
                fitting = middle;
            } else {
                refused = middle;
            }
        }
        fitting
    }
}

fn fits(used: &Fraction, cost: &Int, limit: &Limit) -> bool {
    used + cost <= Fraction::from_integer(limit.limit.clone())
}

fn left_after(limit: &Limit, used: &Fraction) -> Int {
    (Fraction::from_integer(limit.limit.clone()) - used).floor().to_integer()
}
