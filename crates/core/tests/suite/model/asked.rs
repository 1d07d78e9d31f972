//! What may be asked of any limiter beyond a plain verdict, in terms of plain verdicts.

use super::{Int, Verdict, Wait};
use num_traits::{One, Zero};

/// A limiter under the limits of one call.
pub trait Limiter: Clone {
    fn call(&mut self, now: &Int, cost: &Int) -> Verdict;
    fn count(&mut self, now: &Int, cost: &Int) -> bool;
    fn book(&mut self, now: &Int, cost: &Int, wait: &Int) -> Verdict;
    fn correct_the_clock(&mut self, now: &Int) -> bool;
}

/// Times in microseconds.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub partial: bool,
    pub strict: bool,
    pub reserve: Option<Int>,
    pub block: Option<Int>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub since: Int,
    pub length: Int,
}

impl Block {
    /// A block that begins further ahead of the clock than it is long begins now.
    pub fn corrected(&self, now: &Int) -> Self {
        let since = if &self.since - now > self.length { now } else { &self.since };
        Self { since: since.clone(), ..self.clone() }
    }

    pub fn ends(&self) -> Int {
        &self.since + &self.length
    }
}

/// What a call was told, and whether anything was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub verdict: Verdict,
    /// The sixth element: what was granted, or the wait in microseconds.
    pub extra: Option<Int>,
    pub stored: bool,
}

/// Asks the limiter, which is under this block if under any.
pub fn ask(limiter: &mut impl Limiter, block: &mut Option<Block>, now: &Int, cost: &Int, options: &Options) -> Answer {
    let mut stored = limiter.correct_the_clock(now);
    if let Some(block) = block
        && block.corrected(now) != *block
    {
        *block = block.corrected(now);
        stored = true;
    }
    let blocked = block.as_ref().is_some_and(|block| *now < block.ends());
    let has_extra = options.partial || options.reserve.is_some();
    let extra = |n: &Int| has_extra.then(|| n.clone());

    if cost.is_zero() {
        let verdict = limiter.call(now, cost);
        let verdict = if blocked { under(block.as_ref().unwrap(), verdict, now) } else { verdict };
        // A block that is over goes with the next change, whatever that is.
        *block = block.take().filter(|_| blocked || !stored);
        return Answer { verdict, extra: extra(&Int::zero()), stored };
    }
    if !blocked && let Some((verdict, number)) = pass(limiter, now, cost, options) {
        *block = None;
        return Answer { verdict, extra: extra(&number), stored: true };
    }

    if options.strict && limiter.count(now, cost) {
        stored = true;
        limiter.correct_the_clock(now);
    }
    let asked = if options.partial { Int::one() } else { cost.clone() };
    let own = match limiter.clone().call(now, &asked).retry {
        Wait::Now => Some(Int::zero()),
        Wait::After(wait) => Some((wait - options.reserve.clone().unwrap_or_default()).max(Int::zero())),
        Wait::Never => None,
    };
    if let (Some(length), Some(_)) = (&options.block, &own) {
        let anew = Block { since: now.clone(), length: length.clone() };
        let longer = blocked && options.strict && anew.ends() > block.as_ref().unwrap().ends();
        if !blocked || longer {
            *block = Some(anew);
            stored = true;
        }
    }
    if stored {
        *block = block.take().filter(|block| *now < block.ends());
    }
    let usage = limiter.call(now, &Int::zero());
    let block = block.as_ref().filter(|block| *now < block.ends());
    let usage = block.map_or(usage.clone(), |block| under(block, usage, now));
    let left = block.map_or_else(Int::zero, |block| block.ends() - now);
    let retry = own.map_or(Wait::Never, |own| Wait::After(own.max(left).max(Int::one())));
    Answer { verdict: Verdict { allowed: false, retry, ..usage }, extra: extra(&Int::zero()), stored }
}

/// What is taken, if anything is, and the sixth element.
fn pass(limiter: &mut impl Limiter, now: &Int, cost: &Int, options: &Options) -> Option<(Verdict, Int)> {
    let verdict = limiter.clone().call(now, cost);
    if verdict.allowed {
        limiter.call(now, cost);
        return Some((verdict, if options.partial { cost.clone() } else { Int::zero() }));
    }
    if options.partial && verdict.remaining > Int::zero() {
        let granted = verdict.remaining;
        return Some((limiter.call(now, &granted), granted));
    }
    match (verdict.retry, &options.reserve) {
        (Wait::After(wait), Some(most)) if wait <= *most => Some((limiter.book(now, cost, &wait), wait)),
        _ => None,
    }
}

/// Nothing is left while the block lasts.
fn under(block: &Block, verdict: Verdict, now: &Int) -> Verdict {
    let left = block.ends() - now;
    Verdict { remaining: Int::zero(), reset: verdict.reset.max(left), ..verdict }
}
