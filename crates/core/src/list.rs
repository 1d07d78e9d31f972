//! The arguments of `RL.ALL` that follow its keys: limits, each an algorithm's name and what its own command takes.

use crate::call::Limit;
use crate::compound::LIMITS_MAX;
use crate::limit::Bound;
use crate::memo::Memo;
use crate::options::Options;
use crate::plain;
use crate::record::Algorithm;
use crate::request::{self, ArgumentError, Call, Expected, RequestError, wrong};

/// The number of keys, one for all limits or one for each.
pub const KEYS: Bound = Bound { min: 1, max: LIMITS_MAX as u64 };

/// The limits of one call, at most `N`.
#[derive(Clone, Copy, Debug)]
pub struct List<const N: usize> {
    calls: [Call; N],
    len: usize,
}

impl<const N: usize> List<N> {
    /// The limits in order.
    #[inline(always)]
    #[must_use]
    pub fn calls(&self) -> &[Call] {
        self.calls.get(..self.len).unwrap_or_default()
    }
}

/// Stops in front of the next limit.
struct Until<'a, I> {
    args: I,
    /// An argument that was looked at.
    ahead: Option<&'a [u8]>,
}

impl<'a, I: Iterator<Item = &'a [u8]>> Iterator for Until<'a, I> {
    type Item = &'a [u8];

    #[inline(always)]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.ahead.is_some() {
            return None;
        }
        let next = self.args.next()?;
        if algorithm(next).is_some() {
            self.ahead = Some(next);
            return None;
        }
        Some(next)
    }
}

/// The algorithm of this name.
#[inline(always)]
pub(crate) fn algorithm(name: &[u8]) -> Option<Algorithm> {
    // Most arguments are numbers, or start with one.
    if !name.first()?.is_ascii_alphabetic() {
        return None;
    }
    Algorithm::ALL.into_iter().find(|algorithm| name.eq_ignore_ascii_case(algorithm.name().as_bytes()))
}

/// Reads the limits of a call on `keys` keys; `numkeys` is the argument that named their number.
///
/// `log_limit_max` is the setting `rl.sliding-log-max-limit`. `N` is at least the number of limits that can stand in the
/// arguments, or [`LIMITS_MAX`].
///
/// # Errors
///
/// Names the limit by its number, its argument, what was got and the accepted range.
#[inline(always)]
pub fn read<'a, const N: usize>(
    numkeys: &'a [u8],
    keys: usize,
    args: &mut (impl Iterator<Item = &'a [u8]> + Clone),
    log_limit_max: u64,
    memo: &mut Memo,
) -> Result<List<N>, RequestError<'a>> {
    let mut next = args.next();
    let mut list: Option<List<N>> = None;
    let mut logs = 0_usize;
    while let Some(name) = next {
        let number = list.as_ref().map_or(1, |list| list.len.wrapping_add(1));
        let Some(named) = algorithm(name) else { return Err(unnamed(name, number)) };
        let mut own = Until { args: args.clone(), ahead: None };
        let call = match plain::call(named, &mut own, log_limit_max, memo) {
            Some((limit, cost)) => Call { limit, cost, options: Options::NONE },
            None => {
                own = Until { args: args.clone(), ahead: None };
                in_full(name, named, number, &mut own, log_limit_max)?
            }
        };
        *args = own.args;
        next = own.ahead;
        logs = logs.wrapping_add(usize::from(matches!(call.limit, Limit::SlidingLog(_))));
        match &mut list {
            None => list = Some(List { calls: [call; N], len: 1 }),
            Some(List { calls, len }) => {
                let Some(place) = calls.get_mut(*len) else { return Err(too_many(name)) };
                *place = call;
                *len = len.wrapping_add(1);
            }
        }
        if keys == 1 && logs > 1 {
            return Err(wrong("algorithm", name, Expected::OneLog).of_limit(number).into());
        }
    }
    let Some(list) = list else { return Err(RequestError::Arity) };
    if keys != 1 && keys != list.len {
        return Err(wrong("numkeys", numkeys, Expected::Keys(list.len)).into());
    }
    Ok(list)
}

/// Reads a limit that has options, or none that is right.
#[cold]
fn in_full<'a>(
    name: &'a [u8],
    algorithm: Algorithm,
    number: usize,
    args: &mut impl Iterator<Item = &'a [u8]>,
    log_limit_max: u64,
) -> Result<Call, RequestError<'a>> {
    match request::call(algorithm, args, log_limit_max) {
        Ok(Call { options: Options { partial: true, .. }, .. }) => {
            Err(wrong("option", b"PARTIAL", Expected::NotInList).of_limit(number).into())
        }
        Ok(call) => Ok(call),
        Err(error) => Err(of_limit(error, name, algorithm, number)),
    }
}

#[cold]
fn unnamed(name: &[u8], number: usize) -> RequestError<'_> {
    wrong("algorithm", name, Expected::Algorithm).of_limit(number).into()
}

#[cold]
fn too_many(name: &[u8]) -> RequestError<'_> {
    wrong("limits", name, Expected::Limits).into()
}

#[cold]
fn of_limit<'a>(error: RequestError<'a>, name: &'a [u8], algorithm: Algorithm, number: usize) -> RequestError<'a> {
    let error = match error {
        RequestError::Argument(error) => error,
        RequestError::Arity => wrong("arguments", name, Expected::Arguments(algorithm)),
    };
    error.of_limit(number).into()
}

/// A key that is named twice.
#[cold]
#[must_use]
pub fn repeated(key: &[u8]) -> ArgumentError<'_> {
    wrong("key", key, Expected::Distinct)
}
