//! Calls and adjustments in turn: the core and the model get the same, and must say the same to the microsecond.

use limiter_core::adjust::{AdjustError, Delta, Excess};
use limiter_core::decision::{Decision, Retry};

use limiter_core::limit::DELTA;
use limiter_core::record::Algorithm;
use limiter_core::time::Span;
use std::fmt;

use crate::agreement::{Model, check_expiry, check_report, check_round_trip, exact, reply};
use crate::key::{Key, told};
use crate::model::adjust::TooMuch;
use crate::model::{Int, int};
use crate::says::{Said, same};
use crate::scenario::{Call, Told};

/// By how much usage is adjusted, in terms of what the step before was told.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    Exactly(i64),
    /// What is in use is given back, and this much more.
    BackAll(i64),
    /// A part of it is given back, in 256ths.
    BackPart(u8),
    /// What was left is charged, and this much more.
    UpToLimit(i64),
    /// So much that this much more than the most is in use.
    UpToMost(i64),
}

#[derive(Clone, Copy, Debug)]
pub enum Step {
    Call(Call),
    Adjust(Call, Change),
}

#[derive(Clone)]
pub struct Steps {
    pub start: u64,
    pub steps: Vec<Step>,
    /// The setting for the events of a log.
    pub log_limit_max: u64,
}

/// A line a step, however the rest is printed.
impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "from {} us, at most {} events:", self.start, self.log_limit_max)?;
        self.steps.iter().try_for_each(|step| writeln!(f, "{}", format_args!("{step:?}")))
    }
}

impl Change {
    pub fn resolve(self, last: &Decision) -> i64 {
        let most = i64::try_from(DELTA.max).unwrap();
        let [used, remaining] = [last.used, last.remaining()].map(|n| i64::try_from(n).unwrap_or(most));
        let delta = match self {
            Self::Exactly(delta) => delta,
            Self::BackAll(more) => -used.saturating_add(more),
            Self::BackPart(of_256) => i64::try_from(-(i128::from(used) * i128::from(of_256) / 256)).unwrap(),
            Self::UpToLimit(more) => remaining.saturating_add(more),
            Self::UpToMost(more) => most.saturating_sub(used).saturating_add(more),
        };
        delta.clamp(-most, most)
    }
}

pub fn delta(number: i64) -> Delta {
    if number < 0 { Delta::GiveBack(number.unsigned_abs()) } else { Delta::Charge(number.unsigned_abs()) }
}

fn excess(too_much: &TooMuch, log_limit_max: u64) -> AdjustError {
    AdjustError::Excess(match too_much {
        TooMuch::Used => Excess::Used,
        TooMuch::Drain => Excess::Drain,
        TooMuch::Events => Excess::Events(log_limit_max),
    })
}

/// Does the steps on a key and on the model.
pub fn agree(algorithm: Algorithm, steps: &Steps) -> Said {
    let mut key = Key::new(algorithm);
    let mut model = Model::new(algorithm);
    let mut now = steps.start;
    let mut last = (Told::default(), Decision { limit: 0, used: 0, retry: Retry::Now, reset: Span::ZERO });
    for (index, step) in steps.steps.iter().enumerate() {
        let (Step::Call(call) | Step::Adjust(call, _)) = step;
        now = call.pause.resolve(now, &last.0);
        let at = int(now);
        let doing = |what: &str| format!("{what} step {index}, {step:?} at {now} us");

        let peeked = key.peek(now, 1).map(|decision| exact(&decision));
        same(&peeked, &model.peek(&at, &int(1)), || doing("peek before"))?;
        same(&key.is_idle(now), &model.is_idle(&at), || doing("idle before"))?;

        let before = key.clone();
        let mut corrected = model.correct_the_clock_of_a_copy(&at);
        let (decision, changes) = match step {
            Step::Call(_) => {
                let cost = call.cost.resolve(&last.0);
                let decision = key.call(&call.numbers, now, cost);
                let expected = model.call(&call.numbers, &at, &int(cost));
                same(&exact(&decision), &expected, || doing(&format!("the verdict, for cost {cost}, of")))?;
                same(&decision.reply(), &reply(&expected), || doing("the reply to"))?;
                (decision, expected.allowed && cost > 0)
            }
            Step::Adjust(_, change) => {
                let number = change.resolve(&last.1);
                let got = key.adjust(delta(number), now, steps.log_limit_max);
                let expected = model.adjust(&at, &Int::from(number), steps.log_limit_max);
                let wanted = expected.map_err(|too_much| excess(&too_much, steps.log_limit_max));
                let verdict = got.map(|decision| decision.map(|decision| exact(&decision)));
                same(&verdict, &wanted, || doing(&format!("adjusting by {number}")))?;
                // What is idle is not put right, nor what cannot be adjusted.
                corrected &= matches!(got, Ok(Some(_)));
                (got.ok().flatten().unwrap_or(last.1), matches!(got, Ok(Some(_))) && number != 0)
            }
        };
        same(&(key != before), &(changes || corrected), || doing("bytes changed by"))?;
        if key != before {
            // What an adjustment leaves empty may go at once; a plain call that puts its clock right asks no further.
            let emptied = matches!(step, Step::Adjust(..)) && model.is_idle(&at);
            let needed = model.useful_until().filter(|_| !emptied).unwrap_or_else(|| at.clone());
            check_expiry(&key, &at, &needed)
                .and_then(|()| check_round_trip(&key))
                .map_err(|error| format!("{} after {}", error, doing("")))?;
        }
        if key.record.is_some() {
            check_report(&key, &model, now).map_err(|error| format!("{} after {}", error, doing("")))?;
        }
        last = (told(&decision, &call.numbers, key.is_bucket()), decision);
    }
    Ok(())
}
