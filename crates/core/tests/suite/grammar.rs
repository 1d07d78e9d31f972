//! The grammar of arguments once more, slow and on integers without a bound.

use limiter_core::call::Limit;
use limiter_core::fixed_window::Opening;
use limiter_core::limit::{
    Bound, BucketLimit, CAPACITY, COST, FILL_MAX_US, INTERVAL_MS, RATE, RESERVE_MS, Rate, WindowLimit,
};
use limiter_core::memo::Memo;
use limiter_core::options::Options;
use limiter_core::plain;
use limiter_core::record::Algorithm;
use limiter_core::request::{self, ArgumentError, Call, Peek, RequestError};
use limiter_core::time::{Interval, Span};
use num_traits::ToPrimitive;

use crate::model::Int;
use crate::says::{Said, holds, same};

fn integer(text: &[u8]) -> Option<Int> {
    let canonical = text == b"0" || text.first().is_some_and(|first| (b'1'..=b'9').contains(first));
    let digits = text.iter().all(u8::is_ascii_digit);
    (canonical && digits).then(|| Int::parse_bytes(text, 10).unwrap())
}

fn unit(text: &[u8]) -> Option<u64> {
    let unit = std::str::from_utf8(text).ok()?.to_ascii_lowercase();
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)]
        .into_iter()
        .find_map(|(name, ms)| (unit == name).then_some(ms))
}

fn milliseconds(text: &[u8]) -> Option<Int> {
    (0..=text.len()).find_map(|at| Some(integer(&text[..at])? * unit(&text[at..])?))
}

fn within(value: Option<Int>, Bound { min, max }: Bound) -> Option<u64> {
    value.filter(|n| *n >= Int::from(min) && *n <= Int::from(max))?.to_u64()
}

fn interval(text: &[u8]) -> Option<Interval> {
    Interval::from_millis(within(milliseconds(text), INTERVAL_MS)?)
}

fn rate(text: &[u8]) -> Option<Rate> {
    let mut parts = text.splitn(2, |&byte| byte == b'/');
    let tokens = within(integer(parts.next()?), RATE)?;
    let period = match parts.next() {
        None => Interval::from_millis(1_000),
        Some(period) => match unit(period) {
            Some(ms) => Interval::from_millis(ms),
            None => interval(period),
        },
    };
    Rate::new(tokens, period?)
}

fn bucket(args: &[&[u8]]) -> Option<BucketLimit> {
    let (capacity, rate) = (within(integer(args[0]), CAPACITY)?, rate(args[1])?);
    let fill = Int::from(capacity) * rate.period.micros();
    (fill <= Int::from(FILL_MAX_US) * rate.tokens.get()).then(|| BucketLimit::new(capacity, rate).unwrap())
}

fn window(args: &[&[u8]], max: u64) -> Option<WindowLimit> {
    WindowLimit::new(within(integer(args[0]), Bound { max, ..CAPACITY })?, interval(args[1])?)
}

fn cost(text: &[u8]) -> Option<u64> {
    within(integer(text), COST)
}

/// The cost, if the next argument is one, and the rest.
fn cost_first<'a, 'b>(args: &'b [&'a [u8]]) -> Option<(u64, &'b [&'a [u8]])> {
    match args {
        [] => Some((1, args)),
        [word, ..] if is_keyword(word) => Some((1, args)),
        [given, rest @ ..] => Some((cost(given)?, rest)),
    }
}

fn is_keyword(word: &[u8]) -> bool {
    let word = word.to_ascii_lowercase();
    [&b"aligned"[..], b"partial", b"reserve", b"strict", b"block"].contains(&&word[..])
}

/// Every option at most once, in any order.
fn options(mut limit: Limit, cost: u64, mut args: &[&[u8]]) -> Option<Call> {
    let mut seen = Vec::new();
    let mut options = Options::NONE;
    while let Some((word, rest)) = args.split_first() {
        let word = word.to_ascii_lowercase();
        args = rest;
        match (&word[..], &mut limit) {
            (b"aligned", Limit::Fixed(window, opening)) => {
                let ms = match args.split_first() {
                    Some((given, rest)) if !is_keyword(given) => {
                        args = rest;
                        milliseconds(given)
                    }
                    _ => Some(Int::from(0)),
                };
                let range = Bound { min: 0, max: window.window().millis() - 1 };
                *opening = Opening::Aligned { offset: Span::from_millis(within(ms, range)?) };
            }
            (b"partial", _) => options.partial = true,
            (b"strict", _) => options.strict = true,
            (b"reserve", Limit::TokenBucket(_) | Limit::Gcra(_)) => {
                let (given, rest) = args.split_first()?;
                args = rest;
                options.reserve = Some(Span::from_millis(within(milliseconds(given), RESERVE_MS)?));
            }
            (b"block", _) => {
                let (given, rest) = args.split_first()?;
                args = rest;
                options.block = Some(interval(given)?);
            }
            _ => return None,
        }
        if seen.contains(&word) {
            return None;
        }
        seen.push(word);
    }
    let both = options.partial && options.reserve.is_some();
    (!both).then_some(Call { limit, cost, options })
}

fn call(algorithm: Algorithm, args: &[&[u8]], log_limit_max: u64) -> Option<Call> {
    if args.len() < 2 {
        return None;
    }
    let limit = match algorithm {
        Algorithm::TokenBucket => Limit::TokenBucket(bucket(args)?),
        Algorithm::Gcra => Limit::Gcra(bucket(args)?),
        Algorithm::Fixed => Limit::Fixed(window(args, CAPACITY.max)?, Opening::FirstCall),
        Algorithm::SlidingLog => Limit::SlidingLog(window(args, log_limit_max)?),
        Algorithm::SlidingCounter => Limit::SlidingCounter(window(args, CAPACITY.max)?),
    };
    let (cost, rest) = cost_first(&args[2..])?;
    options(limit, cost, rest)
}

fn peek(args: &[&[u8]], log_limit_max: u64) -> Option<Peek> {
    let Some((first, rest)) = args.split_first() else { return Some(Peek::Stored { cost: 1 }) };
    let mut algorithms = Algorithm::ALL.into_iter();
    match algorithms.find(|algorithm| first.eq_ignore_ascii_case(algorithm.name().as_bytes())) {
        Some(algorithm) => call(algorithm, rest, log_limit_max).map(Peek::Call),
        None if rest.is_empty() => cost(first).map(|cost| Peek::Stored { cost }),
        None => None,
    }
}

/// Reads the arguments of a call by the crate and by the grammar.
pub fn check_call(algorithm: Algorithm, args: &[&[u8]], log_limit_max: u64) -> Said {
    let expected = call(algorithm, args, log_limit_max);
    let what = || format!("{algorithm:?} {}", shown(args));
    match request::call(algorithm, &mut args.iter().copied(), log_limit_max) {
        Ok(call) => same(&Some(call), &expected, what),
        Err(RequestError::Arity) => same(&None, &expected, what),
        Err(RequestError::Argument(error)) => {
            same(&None, &expected, what)?;
            check_error(&error)
        }
    }
}

/// Reads the same arguments for every algorithm, each time with the memory of the times before.
pub fn check_remembered(args: &[&[u8]], log_limits: [u64; 2]) -> Said {
    let mut memo = Memo::new();
    for log_limit_max in log_limits {
        for algorithm in Algorithm::ALL {
            let alone = request::call(algorithm, &mut args.iter().copied(), log_limit_max);
            let plain = alone.ok().filter(|call| call.options.is_none());
            let again = plain::call(algorithm, &mut args.iter().copied(), log_limit_max, &mut memo);
            same(&again.map(|(limit, cost)| Call::plain(limit, cost)), &plain, || {
                format!("{algorithm:?} {} again", shown(args))
            })?;
        }
    }
    Ok(())
}

/// The same for what `RL.PEEK` is asked.
pub fn check_peek(args: &[&[u8]], log_limit_max: u64) -> Said {
    let expected = peek(args, log_limit_max);
    let what = || format!("peek {}", shown(args));
    match request::peek(&mut args.iter().copied(), log_limit_max) {
        Ok(peek) => same(&Some(peek), &expected, what),
        Err(RequestError::Arity) => same(&None, &expected, what),
        Err(RequestError::Argument(error)) => {
            same(&None, &expected, what)?;
            check_error(&error)
        }
    }
}

fn check_error(error: &ArgumentError<'_>) -> Said {
    const NAMES: [&str; 11] =
        ["capacity", "burst", "rate", "limit", "window", "cost", "offset", "option", "max_wait", "block", "algorithm"];
    let text = error.to_string();
    let printable = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let named =
        text.split_once(": got '").is_some_and(|(name, rest)| NAMES.contains(&name) && rest.contains(", expected "));
    holds(text.len() <= 480 && printable && named, || format!("the error {text:?}"))
}

fn shown(args: &[&[u8]]) -> String {
    let args: Vec<String> = args.iter().map(|arg| format!("'{}'", arg.escape_ascii())).collect();
    args.join(" ")
}
