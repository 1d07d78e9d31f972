//! The grammar of arguments once more, slow and on integers without a bound.

use limiter_core::call::Limit;
use limiter_core::fixed_window::Opening;
use limiter_core::limit::{Bound, BucketLimit, CAPACITY, COST, FILL_MAX_US, INTERVAL_MS, RATE, Rate, WindowLimit};
use limiter_core::memo::Memo;
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

fn last_cost(args: &[&[u8]]) -> Option<u64> {
    match args {
        [_, _] => Some(1),
        [_, _, given] => cost(given),
        _ => None,
    }
}

fn fixed(args: &[&[u8]]) -> Option<Call> {
    let limit = window(args, CAPACITY.max)?;
    let (cost, option) = match &args[2..] {
        [given, option @ ..] if !given.eq_ignore_ascii_case(b"aligned") => (cost(given)?, option),
        option => (1, option),
    };
    let opening = match option {
        [] => Opening::FirstCall,
        [aligned, offset @ ..] if aligned.eq_ignore_ascii_case(b"aligned") && offset.len() <= 1 => {
            let ms = offset.first().map_or(Some(Int::from(0)), |given| milliseconds(given));
            let range = Bound { min: 0, max: limit.window().millis() - 1 };
            Opening::Aligned { offset: Span::from_millis(within(ms, range)?) }
        }
        _ => return None,
    };
    Some(Call { limit: Limit::Fixed(limit, opening), cost })
}

fn call(algorithm: Algorithm, args: &[&[u8]], log_limit_max: u64) -> Option<Call> {
    if args.len() < 2 {
        return None;
    }
    let limit = match algorithm {
        Algorithm::TokenBucket => Limit::TokenBucket(bucket(args)?),
        Algorithm::Gcra => Limit::Gcra(bucket(args)?),
        Algorithm::Fixed => return fixed(args),
        Algorithm::SlidingLog => Limit::SlidingLog(window(args, log_limit_max)?),
        Algorithm::SlidingCounter => Limit::SlidingCounter(window(args, CAPACITY.max)?),
    };
    Some(Call { limit, cost: last_cost(args)? })
}

/// Whether as many arguments may follow the key.
fn right_number(algorithm: Algorithm, args: &[&[u8]]) -> bool {
    let cost = args.len() > 2 && !args[2].eq_ignore_ascii_case(b"aligned");
    match algorithm {
        Algorithm::Fixed => (2..=4 + usize::from(cost)).contains(&args.len()),
        _ => (2..=3).contains(&args.len()),
    }
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
        Err(RequestError::Arity) => holds(!right_number(algorithm, args), what),
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
            let again = request::call_again(algorithm, &mut args.iter().copied(), log_limit_max, &mut memo);
            same(&again, &alone, || format!("{algorithm:?} {} again", shown(args)))?;
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
    const NAMES: [&str; 9] = ["capacity", "burst", "rate", "limit", "window", "cost", "offset", "option", "algorithm"];
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
