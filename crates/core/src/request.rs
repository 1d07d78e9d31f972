//! The arguments of a call, from bytes to validated limits.
//!
//! Integers are `0` or digits without a leading zero. Durations are an integer and a unit: `500ms`, `60s`, `5m`, `1h`,
//! `30d`. Rates are tokens a second, or tokens a duration: `10`, `10/s`, `30/60s`. Nothing else is accepted: a sign, a
//! blank or a missing unit is an error that tells what was got and what is expected.

use core::fmt;

use crate::adjust::{Delta, Excess};
use crate::call::Limit;
use crate::compound::LIMITS_MAX;
use crate::fixed_window::Opening;
use crate::limit::{
    Bound, BucketLimit, CAPACITY, COST, DELTA, FILL_MAX_US, INTERVAL_MS, RATE, Rate, USED_MAX, WindowLimit,
};
use crate::list::KEYS;
use crate::options::{Options, Reader, is_option};
use crate::record::Algorithm;
use crate::time::{Interval, Span};

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

/// A wrong argument: its name, what was got, and what is expected. `Display` is one line of printable ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgumentError<'a> {
    /// The number of the limit it belongs to, in a list of several; else 0.
    limit: usize,
    argument: &'static str,
    got: &'a [u8],
    expected: Expected,
}

impl ArgumentError<'_> {
    /// The same, in the limit of this number.
    pub(crate) fn of_limit(self, number: usize) -> Self {
        Self { limit: number, ..self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Integer(Bound),
    /// At most the setting `rl.sliding-log-max-limit`.
    LogLimit(u64),
    Duration(Bound),
    /// A number came without its unit.
    Unit(Bound),
    /// Shorter than the window, which is this many milliseconds long.
    Offset(u64),
    Rate,
    RateUnit,
    Fill,
    /// One of the options that the algorithm has.
    Option(Algorithm),
    /// An option that was not given before.
    Once,
    /// An option that windows have too.
    Bucket,
    /// Either PARTIAL or RESERVE.
    NotBoth,
    Algorithm,
    Delta,
    /// Less than would leave too much behind.
    Less(Excess),
    /// What a limit of a list consists of.
    Arguments(Algorithm),
    /// As many keys as limits, of which there are this many, or one.
    Keys(usize),
    /// At most as many limits as a call may have.
    Limits,
    /// A second log in one key.
    OneLog,
    /// `LIMIT n`, and nothing else.
    Limit,
    /// An option that limits of a list do not have.
    NotInList,
    /// A key that is not named before.
    Distinct,
}

/// The most bytes of a wrong argument that its error repeats.
const GOT_MAX: usize = 64;

impl fmt::Display for ArgumentError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.limit != 0 {
            write!(f, "limit {}: ", self.limit)?;
        }
        write!(f, "{}: got '", self.argument)?;
        for &byte in self.got.iter().take(GOT_MAX) {
            if byte == b' ' || byte.is_ascii_graphic() {
                write!(f, "{}", char::from(byte))?;
            } else {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        let cut = if self.got.len() > GOT_MAX { "..." } else { "" };
        write!(f, "'{cut}, expected {}", self.expected)
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: &str = "with its unit (ms, s, m, h or d)";
        let days = |ms: u64| ms / 86_400_000;
        match self {
            Self::Integer(Bound { min, max }) => write!(f, "an integer from {min} to {max}"),
            Self::LogLimit(max) => {
                let min = CAPACITY.min;
                write!(f, "an integer from {min} to {max} (the setting rl.sliding-log-max-limit)")
            }
            Self::Duration(Bound { min, max }) => {
                write!(f, "a duration from {min}ms to {}d {UNITS}, such as 60s", days(*max))
            }
            Self::Unit(Bound { min, max }) => {
                write!(f, "a number with a unit: a duration from {min}ms to {}d {UNITS}, such as 60s", days(*max))
            }
            Self::Offset(window) => {
                write!(f, "a duration from 0ms to less than the window of {window}ms, {UNITS}, such as 22h")
            }
            Self::Rate | Self::RateUnit => {
                let unit = if matches!(self, Self::RateUnit) { "a unit after the period's number: " } else { "" };
                let (Bound { min, max }, Bound { min: shortest, max: longest }) = (RATE, INTERVAL_MS);
                let longest = days(longest);
                write!(f, "{unit}n or n/duration, n an integer from {min} to {max}, ")?;
                write!(f, "the duration from {shortest}ms to {longest}d {UNITS}, such as 10 or 30/60s")
            }
            Self::Fill => {
                write!(f, "a rate that fills the bucket within {}d", days(FILL_MAX_US / 1_000))
            }
            Self::Option(algorithm) => match algorithm {
                Algorithm::TokenBucket | Algorithm::Gcra => {
                    write!(f, "PARTIAL, RESERVE max_wait, STRICT or BLOCK duration")
                }
                Algorithm::Fixed => write!(f, "ALIGNED [offset], PARTIAL, STRICT or BLOCK duration"),
                Algorithm::SlidingLog | Algorithm::SlidingCounter => write!(f, "PARTIAL, STRICT or BLOCK duration"),
            },
            Self::Once => write!(f, "each option at most once"),
            Self::Bucket => write!(f, "it with TOKENBUCKET or GCRA only: a window cannot be booked ahead"),
            Self::NotBoth => write!(f, "PARTIAL or RESERVE, not both"),
            Self::Algorithm => write!(f, "TOKENBUCKET, GCRA, FIXED, SLIDINGLOG or SLIDINGCOUNTER"),
            Self::Delta => write!(f, "an integer from -{0} to {0}", DELTA.max),
            Self::Less(Excess::Used) => write!(f, "one that leaves at most {USED_MAX} in use"),
            Self::Less(Excess::Drain) => {
                write!(f, "one that leaves a debt that flows back within {}d", days(FILL_MAX_US / 1_000))
            }
            Self::Less(Excess::Events(max)) => {
                write!(f, "one that leaves at most {max} events in the log (the setting rl.sliding-log-max-limit)")
            }
            Self::Arguments(algorithm) => {
                let parameters = match algorithm {
                    Algorithm::TokenBucket => "capacity rate [cost] [options]",
                    Algorithm::Gcra => "burst rate [cost] [options]",
                    _ => "limit window [cost] [options]",
                };
                write!(f, "{parameters} after it")
            }
            Self::Keys(1) => write!(f, "1, as there is one limit"),
            Self::Keys(limits) => write!(f, "1, or {limits} as there are {limits} limits"),
            Self::Limits => write!(f, "at most {LIMITS_MAX} limits"),
            Self::OneLog => write!(f, "at most one SLIDINGLOG in a key"),
            Self::Limit => write!(f, "LIMIT n"),
            Self::NotInList => write!(f, "it with a single limit only"),
            Self::Distinct => write!(f, "each key once"),
        }
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

/// Reads an integer within `bound`; `argument` is its name in an error.
///
/// # Errors
///
/// Anything but `0` or digits without a leading zero, or a number outside `bound`.
#[inline(always)]
pub fn integer<'a>(argument: &'static str, given: &'a [u8], bound: Bound) -> Result<u64, ArgumentError<'a>> {
    match digits(given) {
        Some(number) if bound.holds(number) => Ok(number),
        _ => Err(wrong(argument, given, Expected::Integer(bound))),
    }
}

/// Reads a period or window; `argument` is its name in an error.
///
/// # Errors
///
/// Anything but an integer and a unit, or a length outside [`INTERVAL_MS`].
#[inline(always)]
pub fn interval<'a>(argument: &'static str, given: &'a [u8]) -> Result<Interval, ArgumentError<'a>> {
    if let Some(ms) = millis(given)
        && let Some(interval) = Interval::from_millis(ms)
    {
        return Ok(interval);
    }
    Err(wrong_duration(argument, given, INTERVAL_MS))
}

/// Reads a duration within `bound`, in milliseconds.
pub(crate) fn duration<'a>(argument: &'static str, given: &'a [u8], bound: Bound) -> Result<u64, ArgumentError<'a>> {
    millis(given).filter(|&ms| bound.holds(ms)).ok_or_else(|| wrong_duration(argument, given, bound))
}

#[cold]
fn wrong_duration<'a>(argument: &'static str, given: &'a [u8], bound: Bound) -> ArgumentError<'a> {
    let bare = !given.is_empty() && given.iter().all(u8::is_ascii_digit);
    wrong(argument, given, if bare { Expected::Unit(bound) } else { Expected::Duration(bound) })
}

pub(crate) fn offset<'a>(given: &'a [u8], limit: &WindowLimit) -> Result<Span, ArgumentError<'a>> {
    let window = limit.window().millis();
    let ms = millis(given).filter(|&ms| ms < window);
    ms.map(Span::from_millis).ok_or_else(|| wrong("offset", given, Expected::Offset(window)))
}

/// Reads a rate: `n`, `n/unit` or `n/duration`.
///
/// # Errors
///
/// Anything else, a number outside [`RATE`] or a period outside [`INTERVAL_MS`].
#[inline(always)]
pub fn rate(given: &[u8]) -> Result<Rate, ArgumentError<'_>> {
    if let Some((tokens, rest)) = number(given) {
        let period = match rest {
            [] => Some(Interval::SECOND),
            [b'/', period @ ..] => rate_period(period),
            _ => None,
        };
        if let Some(period) = period
            && let Some(rate) = Rate::new(tokens, period)
        {
            return Ok(rate);
        }
    }
    Err(wrong_rate(given))
}

#[cold]
fn wrong_rate(given: &[u8]) -> ArgumentError<'_> {
    let bare = match number(given) {
        Some((_, [b'/', period @ ..])) => digits(period).is_some(),
        _ => false,
    };
    wrong("rate", given, if bare { Expected::RateUnit } else { Expected::Rate })
}

/// The period of a rate: a duration whose number may be left out if it is 1.
#[inline(always)]
fn rate_period(given: &[u8]) -> Option<Interval> {
    let ms = match unit_ms(given) {
        Some(ms) => ms,
        None => millis(given)?,
    };
    Interval::from_millis(ms)
}

/// An integer and a unit, in milliseconds.
#[inline(always)]
fn millis(given: &[u8]) -> Option<u64> {
    let (number, unit) = number(given)?;
    number.checked_mul(unit_ms(unit)?)
}

/// The length of a unit in milliseconds.
#[inline(always)]
fn unit_ms(unit: &[u8]) -> Option<u64> {
    match unit {
        b"s" | b"S" => Some(1_000),
        b"m" | b"M" => Some(60_000),
        b"h" | b"H" => Some(3_600_000),
        b"d" | b"D" => Some(86_400_000),
        [b'm' | b'M', b's' | b'S'] => Some(1),
        _ => None,
    }
}

/// `0`, or digits without a leading zero, and nothing else.
#[inline(always)]
pub(crate) fn digits(given: &[u8]) -> Option<u64> {
    match number(given) {
        Some((number, [])) => Some(number),
        _ => None,
    }
}

/// The number that `given` starts with, and what follows it: `0`, or digits without a leading zero, at most 19 of them.
/// More are beyond every range here.
#[inline(always)]
fn number(given: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0_u64;
    let mut rest = given;
    while let [byte, after @ ..] = rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        rest = after;
    }
    match given.len().wrapping_sub(rest.len()) {
        1 => Some((number, rest)),
        2..=19 if given.first() != Some(&b'0') => Some((number, rest)),
        _ => None,
    }
}

/// A rate that fills its bucket too slowly; `argument` is the one to raise.
#[cold]
pub(crate) fn unfillable<'a>(argument: &'static str, given: &'a [u8]) -> ArgumentError<'a> {
    wrong(argument, given, Expected::Fill)
}

#[cold]
pub(crate) fn wrong<'a>(argument: &'static str, got: &'a [u8], expected: Expected) -> ArgumentError<'a> {
    ArgumentError { limit: 0, argument, got, expected }
}
