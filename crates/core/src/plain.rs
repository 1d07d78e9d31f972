//! The calls that nearly all calls are: limits, perhaps a cost, and no option. They are read by the shortest way, and
//! whatever is not one of them is left to [`request::call`](crate::request::call), errors and options alike.

use crate::call::Limit;
use crate::fixed_window::Opening;
use crate::limit::{BucketLimit, COST, WindowLimit};
use crate::memo::{Given, Memo, Parsed};
use crate::record::Algorithm;
use crate::request::{digits, is_aligned, offset, read_bucket, read_window};
use crate::time::Span;

/// Reads the arguments that follow the key of a deciding command: its limits and its cost. The limits are remembered for
/// the next call with the same ones.
///
/// `None` is a call with options, or no call: [`request::call`](crate::request::call) tells which. `log_limit_max` is the
/// setting `rl.sliding-log-max-limit`.
#[inline(always)]
pub fn call<'a>(
    algorithm: Algorithm,
    args: &mut impl Iterator<Item = &'a [u8]>,
    log_limit_max: u64,
    memo: &mut Memo,
) -> Option<(Limit, u64)> {
    let (first, second) = (args.next()?, args.next()?);
    let mut limit = match algorithm {
        Algorithm::TokenBucket => Limit::TokenBucket(bucket(first, second, memo)?),
        Algorithm::Gcra => Limit::Gcra(bucket(first, second, memo)?),
        Algorithm::Fixed => Limit::Fixed(window(first, second, memo)?, Opening::FirstCall),
        Algorithm::SlidingCounter => Limit::SlidingCounter(window(first, second, memo)?),
        Algorithm::SlidingLog => {
            let limit = window(first, second, memo)?;
            if limit.limit() > log_limit_max {
                return None;
            }
            Limit::SlidingLog(limit)
        }
    };
    let mut next = args.next();
    let mut cost = 1;
    if let Some(given) = next
        && let Some(number) = digits(given)
    {
        if !COST.holds(number) {
            return None;
        }
        cost = number;
        next = args.next();
    }
    match (next, &mut limit) {
        (None, _) => Some((limit, cost)),
        (Some(word), Limit::Fixed(window, opening)) if is_aligned(word) => {
            let offset = match args.next() {
                None => Span::ZERO,
                Some(given) => offset(given, window).ok()?,
            };
            *opening = Opening::Aligned { offset };
            if args.next().is_some() { None } else { Some((limit, cost)) }
        }
        _ => None,
    }
}

#[inline(always)]
fn bucket(capacity: &[u8], rate: &[u8], memo: &mut Memo) -> Option<BucketLimit> {
    let given = Given::new(capacity, rate, 1);
    if let Some(given) = &given
        && let Parsed::Bucket(limit) = memo.recall(given)
    {
        return Some(limit);
    }
    let limit = read_bucket("", capacity, rate).ok()?;
    if let Some(given) = given {
        memo.learn(given, Parsed::Bucket(limit));
    }
    Some(limit)
}

/// Also that of a log, whose bound is a setting that may change: it is for the caller to check.
#[inline(always)]
fn window(limit: &[u8], window: &[u8], memo: &mut Memo) -> Option<WindowLimit> {
    let given = Given::new(limit, window, 2);
    if let Some(given) = &given
        && let Parsed::Window(limit) = memo.recall(given)
    {
        return Some(limit);
    }
    let limit = read_window(limit, window, None).ok()?;
    if let Some(given) = given {
        memo.learn(given, Parsed::Window(limit));
    }
    Some(limit)
}
