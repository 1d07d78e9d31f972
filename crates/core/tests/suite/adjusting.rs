//! Calls and adjustments in turn: the core and the model get the same, and must say the same to the microsecond.

use limiter_core::adjust::{AdjustError, Delta, Excess};
use limiter_core::decision::{Decision, Retry};

use limiter_core::limit::DELTA;
use limiter_core::record::Algorithm;
use limiter_core::time::Span;
use std::fmt;

use crate::agreement::{Model, Pair, exact};
use crate::key::told;
use crate::model::adjust::TooMuch;
use crate::model::{Int, Verdict, Wait, int};
use crate::says::{Said, same};
use crate::scenario::Call;

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

impl Pair {
    /// Adjusts both; `None` if nothing was in use.
    fn adjust(&mut self, number: i64, now: u64, log_limit_max: u64) -> Result<Option<Decision>, String> {
        let at = int(now);
        let present = self.present(&at);
        let before = self.key.clone();
        let was_idle = self.model.is_idle(&at);
        let is_corrected = self.model.clone().correct_the_clock(&at) || (present.is_some() && present != self.block);
        let got = self.key.adjust(delta(number), now, log_limit_max);
        let mut wanted = self.model.adjust(&at, &Int::from(number), present.is_some(), log_limit_max);
        if let (Some(block), Ok(verdict)) = (&present, &mut wanted) {
            // Nothing is left while the key is blocked, whatever is in use.
            let own = verdict.take().unwrap_or_else(|| {
                self.model.correct_the_clock(&at);
                let limit = self.model.stored_limit().expect("a blocked key has limits");
                Verdict { allowed: true, limit, remaining: int(0), retry: Wait::Now, reset: int(0) }
            });
            let left = block.ends() - &at;
            *verdict = Some(Verdict { remaining: int(0), reset: own.reset.clone().max(left), ..own });
        }
        let what = || format!("adjusting by {number} at {now} us");
        let told = got.map(|decision| decision.map(|decision| exact(&decision)));
        same(&told, &wanted.map_err(|too_much| excess(&too_much, log_limit_max)), what)?;

        // What cannot be adjusted is not put right either.
        let answered = matches!(got, Ok(Some(_)));
        let starts = number > 0 && !matches!(self.model, Model::Fixed(_));
        let is_changed = answered && ((number != 0 && !was_idle) || starts || is_corrected);
        same(&(self.key != before), &is_changed, || format!("bytes changed by {}", what()))?;
        if is_changed {
            self.block = present;
            let emptied = self.model.is_idle(&at);
            let useful_until = self.model.useful_until().filter(|_| !emptied).unwrap_or(at);
            self.check_written(now, &useful_until).map_err(|error| format!("{error} after {}", what()))?;
        }
        self.check_told(now).map_err(|error| format!("{error} after {}", what()))?;
        Ok(got.ok().flatten())
    }
}

/// Does the steps on a key and on the model.
pub fn agree(algorithm: Algorithm, steps: &Steps) -> Said {
    let mut pair = Pair::new(algorithm);
    let mut now = steps.start;
    let mut last = Decision { limit: 0, used: 0, retry: Retry::Now, reset: Span::ZERO };
    for (index, step) in steps.steps.iter().enumerate() {
        let (Step::Call(call) | Step::Adjust(call, _)) = step;
        now = call.pause.resolve(now, &pair.told);
        let at = |error| format!("step {index}: {error}");
        pair.look(now, 1).map_err(at)?;
        match step {
            Step::Call(call) => last = pair.call(call, now).map_err(at)?,
            Step::Adjust(call, change) => {
                let adjusted = pair.adjust(change.resolve(&last), now, steps.log_limit_max).map_err(at)?;
                last = adjusted.unwrap_or(last);
                pair.told = told(&last, &call.numbers, pair.key.is_bucket());
            }
        }
    }
    Ok(())
}
