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
    /// The name of the next limit, once it was looked at.
    ahead: Option<(&'a [u8], Algorithm)>,
}

impl<'a, I: Iterator<Item = &'a [u8]>> Iterator for Until<'a, I> {
    type Item = &'a [u8];

    #[inline(always)]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.ahead.is_some() {
            return None;
        }
        let next = self.args.next()?;
        if let Some(algorithm) = algorithm(next) {
            self.ahead = Some((next, algorithm));
            return None;
        }
        Some(next)
    }
}

/// The algorithm of this name.
#[inline(always)]
fn algorithm(name: &[u8]) -> Option<Algorithm> {
    // The length tells which name it may be. That of a longer one is compared in two words, which overlap.
    let (algorithm, lower) = match name.len() {
        4 => (Algorithm::Gcra, b"gcragcra"),
        5 => (Algorithm::Fixed, b"fixeixed"),
        10 => (Algorithm::SlidingLog, b"slidingl"),
        11 => (Algorithm::TokenBucket, b"tokenbuc"),
        14 => (Algorithm::SlidingCounter, b"slidingc"),
        _ => return None,
    };
    let same = match (name.first_chunk::<8>(), name.last_chunk::<8>()) {
        (Some(first), Some(last)) => {
            let end = match algorithm {
                Algorithm::SlidingLog => b"idinglog",
                Algorithm::TokenBucket => b"enbucket",
                _ => b"gcounter",
            };
            lower_case(first) == *lower && lower_case(last) == *end
        }
        _ => match (name.first_chunk::<4>(), name.last_chunk::<4>()) {
            (Some([a, b, c, d]), Some([e, f, g, h])) => lower_case(&[*a, *b, *c, *d, *e, *f, *g, *h]) == *lower,
            _ => false,
        },
    };
    same.then_some(algorithm)
}

/// Letters in lower case. What is no letter becomes none.
#[inline(always)]
fn lower_case(letters: &[u8; 8]) -> [u8; 8] {
    (u64::from_le_bytes(*letters) | 0x2020_2020_2020_2020).to_le_bytes()
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
    let mut next = None;
    if let Some(name) = args.next() {
        match algorithm(name) {
            Some(algorithm) => next = Some((name, algorithm)),
            None => return Err(unnamed(name)),
        }
    }
    let mut list: Option<List<N>> = None;
    let mut logs = 0_usize;
    while let Some((name, named)) = next {
        let number = list.as_ref().map_or(1, |list| list.len.wrapping_add(1));
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
fn unnamed(name: &[u8]) -> RequestError<'_> {
    wrong("algorithm", name, Expected::Algorithm).of_limit(1).into()
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

#[cfg(test)]
mod tests {
    use super::{Algorithm, algorithm};

    #[test]
    fn an_algorithm_is_known_by_its_name_in_either_case_and_by_no_other() {
        for known in Algorithm::ALL {
            let name = known.name().as_bytes();
            assert_eq!(algorithm(name), Some(known));
            assert_eq!(algorithm(&name.to_ascii_uppercase()), Some(known));
            for at in 0..name.len() {
                for byte in 0..=255 {
                    let mut other = name.to_vec();
                    if let Some(place) = other.get_mut(at) {
                        *place = byte;
                    }
                    let expected = other.eq_ignore_ascii_case(name).then_some(known);
                    assert_eq!(algorithm(&other), expected, "{other:?}");
                }
                assert_eq!(algorithm(name.get(..at).unwrap_or_default()), None);
            }
        }
    }
}
