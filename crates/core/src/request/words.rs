//! One argument each: integers, durations and rates.

use super::{ArgumentError, Expected, wrong};
use crate::limit::{Bound, INTERVAL_MS, Rate, WindowLimit};
use crate::time::{Interval, Span};

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
/// Anything else, a number outside [`RATE`](crate::limit::RATE) or a period outside [`INTERVAL_MS`].
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
