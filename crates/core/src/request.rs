//! The arguments of a call, from bytes to validated limits.
//!
//! Integers are `0` or digits without a leading zero. Durations are an integer and a unit: `500ms`, `60s`, `5m`, `1h`,
//! `30d`. Rates are tokens a second, or tokens a duration: `10`, `10/s`, `30/60s`. Nothing else is accepted: a sign, a
//! blank or a missing unit is an error that tells what was got and what is expected.

mod words;
mod wrong;

use crate::adjust::{Delta, Excess};
use crate::call::Limit;
use crate::fixed_window::Opening;
use crate::limit::{Bound, BucketLimit, CAPACITY, COST, DELTA, WindowLimit};
use crate::list::KEYS;
use crate::options::{Options, Reader, is_option};
use crate::record::Algorithm;
use crate::time::Span;

pub(crate) use words::{digits, duration, offset};
pub use words::{integer, interval, rate};
pub use wrong::ArgumentError;
pub(crate) use wrong::{Expected, unfillable, wrong};

/// A call's limits, cost and options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The limits, and with them the algorithm.
    pub limit: Limit,
    /// The cost; 1 where the call names none.
    pub cost: u64,
    /// What is asked beyond a plain verdict.
    pub options: Options,
}

impl Call {
    /// A call without options.
    #[inline(always)]
    #[must_use]
    pub const fn plain(limit: Limit, cost: u64) -> Self {
        Self { limit, cost, options: Options::NONE }
    }
}

/// What `RL.PEEK` is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peek {
    /// What a call of this cost would be answered under the stored limits.
    Stored {
        /// The cost; 1 where the call names none.
        cost: u64,
    },
    /// What exactly this call would be answered.
    Call(Call),
}

/// Why arguments are not a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestError<'a> {
    /// Too few or too many.
    Arity,
    /// One is wrong.
    Argument(ArgumentError<'a>),
}

impl<'a> From<ArgumentError<'a>> for RequestError<'a> {
    #[inline]
    fn from(error: ArgumentError<'a>) -> Self {
        Self::Argument(error)
    }
}

/// Reads the arguments that follow the key of a deciding command.
///
/// `log_limit_max` is the setting `rl.sliding-log-max-limit`.
///
/// # Errors
///
/// Names the argument, what was got and the accepted range.
pub fn call<'a>(
    algorithm: Algorithm,
    args: &mut impl Iterator<Item = &'a [u8]>,
    log_limit_max: u64,
) -> Result<Call, RequestError<'a>> {
    let limit = match algorithm {
        Algorithm::TokenBucket => Limit::TokenBucket(bucket("capacity", args)?),
        Algorithm::Gcra => Limit::Gcra(bucket("burst", args)?),
        Algorithm::Fixed => Limit::Fixed(window(args, None)?, Opening::FirstCall),
        Algorithm::SlidingLog => Limit::SlidingLog(window(args, Some(log_limit_max))?),
        Algorithm::SlidingCounter => Limit::SlidingCounter(window(args, None)?),
    };
    let Some(given) = args.next() else { return Ok(Call::plain(limit, 1)) };
    match digits(given) {
        Some(cost) if COST.holds(cost) => match args.next() {
            None => Ok(Call::plain(limit, cost)),
            Some(word) => options(limit, cost, word, args),
        },
        _ if is_option(given) || (algorithm == Algorithm::Fixed && is_aligned(given)) => options(limit, 1, given, args),
        _ => Err(wrong("cost", given, Expected::Integer(COST)).into()),
    }
}

/// Reads what follows the cost: options in any order, the first of which is `word`; for a fixed window, `ALIGNED` is
/// one of them.
#[cold]
fn options<'a>(
    mut limit: Limit,
    cost: u64,
    word: &'a [u8],
    args: &mut impl Iterator<Item = &'a [u8]>,
) -> Result<Call, RequestError<'a>> {
    let mut reader = Reader::default();
    let mut next = Some(word);
    while let Some(word) = next {
        next = None;
        match &mut limit {
            Limit::Fixed(window, opening) if is_aligned(word) => {
                if *opening != Opening::FirstCall {
                    return Err(wrong("option", word, Expected::Once).into());
                }
                next = args.next();
                let offset = match next {
                    Some(given) if !is_option(given) => {
                        next = None;
                        offset(given, window)?
                    }
                    _ => Span::ZERO,
                };
                *opening = Opening::Aligned { offset };
            }
            _ => {
                if !reader.read(word, limit.algorithm(), args)? {
                    return Err(no_option(&limit, word));
                }
            }
        }
        next = next.or_else(|| args.next());
    }
    Ok(Call { limit, cost, options: reader.options })
}

/// A number where no number can stand is one argument too many; a word is an option that there is not.
fn no_option<'a>(limit: &Limit, word: &'a [u8]) -> RequestError<'a> {
    let may_be_aligned = matches!(limit, Limit::Fixed(_, Opening::FirstCall));
    if !may_be_aligned && word.first().is_some_and(u8::is_ascii_digit) {
        return RequestError::Arity;
    }
    wrong("option", word, Expected::Option(limit.algorithm())).into()
}

/// Reads the arguments that follow the key of `RL.PEEK`: a cost, or an algorithm and the arguments of its call.
///
/// # Errors
///
/// As [`call`].
pub fn peek<'a>(args: &mut impl Iterator<Item = &'a [u8]>, log_limit_max: u64) -> Result<Peek, RequestError<'a>> {
    let Some(first) = args.next() else { return Ok(Peek::Stored { cost: 1 }) };
    let named = Algorithm::ALL.into_iter().find(|algorithm| first.eq_ignore_ascii_case(algorithm.name().as_bytes()));
    if let Some(algorithm) = named {
        return call(algorithm, args, log_limit_max).map(Peek::Call);
    }
    if args.next().is_some() {
        return Err(wrong("algorithm", first, Expected::Algorithm).into());
    }
    Ok(Peek::Stored { cost: integer("cost", first, COST)? })
}

/// What `RL.ADJUST` is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adjustment<'a> {
    /// The change of usage.
    pub delta: Delta,
    /// The delta as it was given.
    pub given: &'a [u8],
    /// The one limit of a list that is meant, counted from 1, as it was given too; without it all are.
    pub limit: Option<(usize, &'a [u8])>,
}

/// Reads the arguments that follow the key of `RL.ADJUST`: a delta, and perhaps a limit's number.
///
/// # Errors
///
/// As [`call`].
pub fn adjustment<'a>(args: &mut impl Iterator<Item = &'a [u8]>) -> Result<Adjustment<'a>, RequestError<'a>> {
    let given = required(args)?;
    let limit = match args.next() {
        None => None,
        Some(word) if word.eq_ignore_ascii_case(b"LIMIT") => Some(required(args)?),
        Some(word) => return Err(wrong("option", word, Expected::Limit).into()),
    };
    if args.next().is_some() {
        return Err(RequestError::Arity);
    }
    let delta = delta(given)?;
    let limit = match limit {
        None => None,
        Some(given) => Some((integer("limit", given, KEYS)?, given)),
    };
    let limit = limit.map(|(number, given)| (usize::try_from(number).unwrap_or(usize::MAX), given));
    Ok(Adjustment { delta, given, limit })
}

/// The error of a limit's number that the list, of so many, does not have.
#[cold]
#[must_use]
pub fn no_limit(given: &[u8], count: usize) -> ArgumentError<'_> {
    let max = u64::try_from(count).unwrap_or(u64::MAX);
    wrong("limit", given, Expected::Integer(Bound { min: KEYS.min, max }))
}

/// Reads a delta: an integer, with a minus sign where it gives back.
///
/// # Errors
///
/// Anything else, `-0` too, or a number outside [`DELTA`].
pub fn delta(given: &[u8]) -> Result<Delta, ArgumentError<'_>> {
    let delta = match given {
        [b'-', number @ ..] => digits(number).filter(|&number| number != 0).map(Delta::GiveBack),
        number => digits(number).map(Delta::Charge),
    };
    let in_range = |delta: &Delta| match delta {
        Delta::Charge(number) | Delta::GiveBack(number) => DELTA.holds(*number),
    };
    delta.filter(in_range).ok_or_else(|| wrong("delta", given, Expected::Delta))
}

/// The error of a delta that would leave too much behind.
#[must_use]
pub fn excessive(given: &[u8], excess: Excess) -> ArgumentError<'_> {
    wrong("delta", given, Expected::Less(excess))
}

fn bucket<'a>(name: &'static str, args: &mut impl Iterator<Item = &'a [u8]>) -> Result<BucketLimit, RequestError<'a>> {
    let (capacity, rate) = (required(args)?, required(args)?);
    Ok(read_bucket(name, capacity, rate)?)
}

/// `name` is the first argument's in an error.
pub(crate) fn read_bucket<'a>(
    name: &'static str,
    capacity: &'a [u8],
    given: &'a [u8],
) -> Result<BucketLimit, ArgumentError<'a>> {
    let capacity = integer(name, capacity, CAPACITY)?;
    BucketLimit::new(capacity, rate(given)?).ok_or_else(|| wrong("rate", given, Expected::Fill))
}

/// `log_max` is the setting that bounds the limit of a sliding log.
fn window<'a>(
    args: &mut impl Iterator<Item = &'a [u8]>,
    log_max: Option<u64>,
) -> Result<WindowLimit, RequestError<'a>> {
    let (limit, window) = (required(args)?, required(args)?);
    Ok(read_window(limit, window, log_max)?)
}

/// `log_max` is the setting that bounds the limit of a sliding log.
pub(crate) fn read_window<'a>(
    limit: &'a [u8],
    window: &'a [u8],
    log_max: Option<u64>,
) -> Result<WindowLimit, ArgumentError<'a>> {
    let max = log_max.unwrap_or(CAPACITY.max);
    let parsed = digits(limit).filter(|&number| number <= max);
    let wrong_limit = || wrong("limit", limit, log_max.map_or(Expected::Integer(CAPACITY), Expected::LogLimit));
    let number = parsed.ok_or_else(wrong_limit)?;
    WindowLimit::new(number, interval("window", window)?).ok_or_else(wrong_limit)
}

#[inline(always)]
pub(crate) fn is_aligned(given: &[u8]) -> bool {
    given.eq_ignore_ascii_case(b"ALIGNED")
}

#[inline(always)]
pub(crate) fn required<'a>(args: &mut impl Iterator<Item = &'a [u8]>) -> Result<&'a [u8], RequestError<'a>> {
    match args.next() {
        Some(given) => Ok(given),
        None => Err(RequestError::Arity),
    }
}
