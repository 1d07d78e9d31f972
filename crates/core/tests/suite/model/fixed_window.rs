//! Fixed window: a count since the window opened.

use super::{Int, Verdict, Wait};
use num_integer::Integer;
use num_traits::Zero;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    pub limit: Int,
    pub window: Int,
    /// Where windows open: at the first call, or at this offset from whole windows since the epoch.
    pub aligned: Option<Int>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub start: Int,
    pub used: Int,
    pub limit: Int,
    pub window: Int,
}

impl Stored {
    pub fn useful_until(&self) -> Int {
        &self.start + &self.window
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FixedWindow {
    pub stored: Option<Stored>,
}

impl FixedWindow {
    pub fn call(&mut self, limit: &Limit, now: &Int, cost: &Int) -> Verdict {
        self.correct_the_clock(now);
        let open = self.open_window(&limit.window, now);
        let used = open.as_ref().map_or_else(Int::zero, |window| window.used.clone());
        let until_end = |window: &Stored| window.useful_until() - now;
        let reset = open.as_ref().map_or_else(Int::zero, until_end);

        if cost.is_zero() {
            return Verdict::allowed(&limit.limit, &limit.limit - used, reset);
        }
        if &used + cost <= limit.limit {
            let admitted = Stored {
                used: &used + cost,
                limit: limit.limit.clone(),
                ..open.unwrap_or_else(|| new_window(limit, now))
            };
            let left = &limit.limit - &admitted.used;
            let reset = until_end(&admitted);
            self.stored = Some(admitted);
            return Verdict::allowed(&limit.limit, left, reset);
        }
        let retry = if *cost > limit.limit { Wait::Never } else { Wait::After(reset.clone()) };
        Verdict::refused(&limit.limit, &limit.limit - used, retry, reset)
    }

    /// A refused call that counts, up to the limit. True if that is a change.
    pub fn count(&mut self, limit: &Limit, now: &Int, cost: &Int) -> bool {
        let open = self.open_window(&limit.window, now).unwrap_or_else(|| new_window(limit, now));
        let counted = (&open.used + cost).min(limit.limit.clone());
        if counted <= open.used {
            return false;
        }
        self.stored = Some(Stored { used: counted, limit: limit.limit.clone(), ..open });
        true
    }

    pub fn peek(&self, now: &Int, cost: &Int) -> Option<Verdict> {
        let stored = self.stored.as_ref().filter(|_| !self.is_idle(now))?;
        let limit = Limit { limit: stored.limit.clone(), window: stored.window.clone(), aligned: None };
        Some(self.clone().call(&limit, now, cost))
    }

    pub fn is_idle(&self, now: &Int) -> bool {
        self.stored.as_ref().is_none_or(|stored| stored.used.is_zero() || stored.useful_until() <= *now)
    }

    pub fn correct_the_clock(&mut self, now: &Int) -> bool {
        match &mut self.stored {
            Some(stored) if &stored.start - now > stored.window => {
                stored.start = now.clone();
                true
            }
            _ => false,
        }
    }

    /// The window that a call with this length falls in, cut to that length.
    fn open_window(&self, window: &Int, now: &Int) -> Option<Stored> {
        // A window from which everything was given back is as good as none.
        let stored = self.stored.as_ref().filter(|stored| !stored.used.is_zero())?;
        let window = window.min(&stored.window).clone();
        let cut = Stored { window, ..stored.clone() };
        (*now < cut.useful_until()).then_some(cut)
    }
}

fn new_window(limit: &Limit, now: &Int) -> Stored {
    let start = match &limit.aligned {
        None => now.clone(),
        Some(offset) => (now - offset).div_floor(&limit.window) * &limit.window + offset,
    };
    Stored { start, used: Int::zero(), limit: limit.limit.clone(), window: limit.window.clone() }
}
