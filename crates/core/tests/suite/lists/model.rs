//! The model of a list: a model a limit, and the rules that tie them.

use limiter_core::record::Algorithm;
use num_traits::Zero;

use crate::agreement::Model;
use crate::model::fixed_window::FixedWindow;
use crate::model::{Int, Verdict, Wait, int};
use crate::scenario::Numbers;

/// One limit of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub algorithm: Algorithm,
    pub numbers: Numbers,
    pub cost: u64,
}

/// One state of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    algorithm: Algorithm,
    /// The window or period that the call named, in microseconds.
    window: Int,
    model: Model,
}

/// The verdict on a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    pub whole: Verdict,
    /// Counted from 1.
    pub binding: usize,
    pub each: Vec<Verdict>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    states: Vec<State>,
}

impl List {
    /// The place of each limit's state.
    pub fn places(&self, limits: &[Limit]) -> Vec<Option<usize>> {
        let mut places = vec![None; limits.len()];
        for by_window in [true, false] {
            for (at, limit) in limits.iter().enumerate() {
                if places[at].is_some() {
                    continue;
                }
                places[at] = (0..self.states.len()).find(|place| {
                    let state = &self.states[*place];
                    !places.contains(&Some(*place))
                        && state.algorithm == limit.algorithm
                        && (!by_window || self.window(state) == int(limit.numbers.interval_us()))
                });
            }
        }
        places
    }

    /// A fixed window that is alone tells its own window, which may have been shortened.
    fn window(&self, state: &State) -> Int {
        match &state.model {
            Model::Fixed(FixedWindow { stored: Some(stored) }) if self.states.len() == 1 => stored.window.clone(),
            _ => state.window.clone(),
        }
    }

    /// Whether a clock was put right, and the verdict.
    pub fn call(&mut self, limits: &[Limit], now: &Int) -> (bool, Whole) {
        let places = self.places(limits);
        let mut corrected = false;
        for place in places.iter().flatten() {
            corrected |= self.states[*place].model.correct_the_clock(now);
        }
        let before: Vec<Model> = limits
            .iter()
            .zip(&places)
            .map(|(limit, place)| match place {
                Some(place) => self.states[*place].model.clone(),
                None => Model::new(limit.algorithm),
            })
            .collect();
        let mut after = before.clone();
        let verdicts: Vec<Verdict> = limits
            .iter()
            .zip(&mut after)
            .map(|(limit, model)| model.call(&limit.numbers, now, &int(limit.cost)))
            .collect();
        if verdicts.iter().any(|verdict| !verdict.allowed) {
            let each = limits.iter().zip(&verdicts).zip(before).map(|((limit, verdict), mut model)| {
                let looked = model.call(&limit.numbers, now, &Int::zero());
                if verdict.allowed { looked } else { verdict.clone() }
            });
            return (corrected, refused(each.collect()));
        }
        if limits.iter().any(|limit| limit.cost > 0) {
            let states = limits.iter().zip(after).map(|(limit, model)| State {
                algorithm: limit.algorithm,
                window: int(limit.numbers.interval_us()),
                model,
            });
            self.states = states.collect();
        }
        (corrected, allowed(limits, verdicts))
    }

    /// The latest moment at which one of the states still matters.
    pub fn useful_until(&self) -> Int {
        self.states.iter().filter_map(|state| state.model.useful_until()).max().unwrap_or_else(Int::zero)
    }
}

fn refused(each: Vec<Verdict>) -> Whole {
    let rank = |wait: &Wait| match wait {
        Wait::Now => (0, Int::zero()),
        Wait::After(wait) => (1, wait.clone()),
        Wait::Never => (2, Int::zero()),
    };
    let longest = each.iter().map(|verdict| rank(&verdict.retry)).max().expect("a list is not empty");
    let at = each.iter().position(|verdict| rank(&verdict.retry) == longest).expect("one is the longest");
    whole(each, at)
}

fn allowed(limits: &[Limit], each: Vec<Verdict>) -> Whole {
    // How often each would pass again; one that costs nothing, always.
    let times = |at: usize| match limits[at].cost {
        0 => None,
        cost => Some(&each[at].remaining / int(cost)),
    };
    let at = (0..each.len()).filter(|&at| times(at).is_some()).min_by_key(|&at| times(at)).unwrap_or(0);
    whole(each, at)
}

fn whole(each: Vec<Verdict>, at: usize) -> Whole {
    let reset = each.iter().map(|verdict| verdict.reset.clone()).max().expect("a list is not empty");
    let mut whole = each[at].clone();
    whole.reset = reset;
    Whole { whole, binding: at + 1, each }
}
