//! Arguments: every byte string is either exactly what the grammar says, or an error that can be shown.

use limiter_core::call::Limit;
use limiter_core::fixed_window::Opening;
use limiter_core::limit::{
    Bound, BucketLimit, CAPACITY, COST, FILL_MAX_US, INTERVAL_MS, LOG_LIMIT, LOG_LIMIT_DEFAULT, RATE, Rate, WindowLimit,
};
use limiter_core::record::Algorithm;
use limiter_core::request::{self, Call, Peek, RequestError};
use limiter_core::time::{Interval, Span};
use num_traits::ToPrimitive;
use proptest::prelude::*;
use proptest::sample::select;

use super::algorithm;
use crate::generate::{Numbers, numbers};
use crate::key;
use crate::model::Int;
use crate::runs;

/// The grammar once more, slow and on integers without a bound.
mod grammar {
    use super::*;

    pub fn integer(text: &[u8]) -> Option<Int> {
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

    pub fn within(value: Option<Int>, Bound { min, max }: Bound) -> Option<u64> {
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

    pub fn cost(text: &[u8]) -> Option<u64> {
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

    pub fn call(algorithm: Algorithm, args: &[&[u8]], log_limit_max: u64) -> Option<Call> {
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
    pub fn right_number(algorithm: Algorithm, args: &[&[u8]]) -> bool {
        let cost = args.len() > 2 && !args[2].eq_ignore_ascii_case(b"aligned");
        match algorithm {
            Algorithm::Fixed => (2..=4 + usize::from(cost)).contains(&args.len()),
            _ => (2..=3).contains(&args.len()),
        }
    }
}

fn parse<'a>(algorithm: Algorithm, args: &[&'a [u8]], log_limit_max: u64) -> Result<Call, RequestError<'a>> {
    request::call(algorithm, &mut args.iter().copied(), log_limit_max)
}

fn number_text() -> impl Strategy<Value = String> {
    let ends = |bound: Bound| vec![bound.min, bound.min + 1, bound.max - 1, bound.max, bound.max + 1];
    let corners: Vec<u64> = [CAPACITY, RATE, INTERVAL_MS, LOG_LIMIT].into_iter().flat_map(ends).collect();
    let odd = [
        "",
        "00",
        "01",
        "007",
        "+1",
        "-1",
        "-0",
        " 1",
        "1 ",
        "1.0",
        "1,000",
        "1e3",
        "0x10",
        "1_000",
        "\u{663}",
        "1\0",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "18446744073709551626",
        "340282366920938463463374607431768211456",
        "NaN",
        "inf",
        "one",
    ];
    prop_oneof![
        4 => (0..200_u64).prop_map(|n| n.to_string()),
        2 => select(corners).prop_map(|n| n.to_string()),
        2 => any::<u64>().prop_map(|n| n.to_string()),
        1 => (20..420_usize).prop_map(|zeros| format!("1{}", "0".repeat(zeros))),
        2 => select(odd.to_vec()).prop_map(str::to_owned),
    ]
}

fn unit_text() -> impl Strategy<Value = String> {
    let units = ["ms", "s", "m", "h", "d", "MS", "Ms", "mS", "S", "M", "H", "D"];
    let odd = ["", "us", "w", "y", "sec", "min", "mss", " s", "s ", "ss", "\u{17f}", "s\0", "/s", "m/s"];
    prop_oneof![6 => select(units.to_vec()), 1 => select(odd.to_vec())].prop_map(str::to_owned)
}

fn duration_text() -> impl Strategy<Value = String> {
    let longest = select(vec!["3650d", "3651d", "87600h", "87601h", "315360000000ms", "315360000001ms", "0ms", "0d"]);
    prop_oneof![
        5 => (number_text(), unit_text()).prop_map(|(number, unit)| number + &unit),
        1 => longest.prop_map(str::to_owned),
    ]
}

fn argument() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        4 => number_text(),
        4 => duration_text(),
        3 => (number_text(), duration_text()).prop_map(|(number, period)| format!("{number}/{period}")),
        2 => (number_text(), unit_text()).prop_map(|(number, unit)| format!("{number}/{unit}")),
        2 => select(vec!["ALIGNED", "aligned", "Aligned", "ALIGN", "ALIGNED ", "offset"]).prop_map(str::to_owned),
    ];
    prop_oneof![
        8 => text.prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..100),
    ]
}

/// Arguments in the right places more often than not.
fn arguments() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let bytes = |text: String| text.into_bytes();
    let second = prop_oneof![
        duration_text(),
        number_text(),
        (number_text(), unit_text()).prop_map(|(number, unit)| format!("{number}/{unit}")),
    ];
    let meant = (number_text().prop_map(bytes), second.prop_map(bytes), prop::collection::vec(argument(), 0..5))
        .prop_map(|(first, second, rest)| [vec![first, second], rest].concat());
    prop_oneof![3 => meant, 1 => prop::collection::vec(argument(), 0..7)]
}

fn check_error(error: &request::ArgumentError<'_>) -> Result<(), TestCaseError> {
    let text = error.to_string();
    prop_assert!(text.len() <= 480, "{} bytes: {text}", text.len());
    prop_assert!(text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()), "{text}");
    let names = ["capacity", "burst", "rate", "limit", "window", "cost", "offset", "option", "algorithm"];
    let (name, rest) = text.split_once(": got '").expect("an error names its argument");
    prop_assert!(names.contains(&name), "{text}");
    prop_assert!(rest.contains(", expected "), "{text}");
    Ok(())
}

proptest! {
    #![proptest_config(runs(20_000))]

    #[test]
    fn arguments_mean_what_the_grammar_says_and_nothing_else_is_accepted(
        algorithm in algorithm(),
        args in arguments(),
        log_limit_max in select(vec![LOG_LIMIT.min, LOG_LIMIT_DEFAULT, LOG_LIMIT.max]),
    ) {
        let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        let expected = grammar::call(algorithm, &args, log_limit_max);
        match parse(algorithm, &args, log_limit_max) {
            Ok(call) => prop_assert_eq!(Some(call), expected),
            Err(RequestError::Arity) => prop_assert!(!grammar::right_number(algorithm, &args)),
            Err(RequestError::Argument(error)) => {
                prop_assert_eq!(expected, None);
                check_error(&error)?;
            }
        }
    }

    #[test]
    fn peek_takes_a_cost_or_the_arguments_of_a_call(
        name in prop_oneof![
            select(vec!["TOKENBUCKET", "gcra", "Fixed", "SLIDINGLOG", "slidingCounter"]).prop_map(String::from),
            number_text(),
        ],
        args in arguments(),
    ) {
        let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        let all: Vec<&[u8]> = std::iter::once(name.as_bytes()).chain(args.iter().copied()).collect();
        let named = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name().eq_ignore_ascii_case(&name));
        let expected = match named {
            Some(algorithm) => grammar::call(algorithm, &args, LOG_LIMIT_DEFAULT).map(Peek::Call),
            None if args.is_empty() => grammar::cost(name.as_bytes()).map(|cost| Peek::Stored { cost }),
            None => None,
        };
        match request::peek(&mut all.iter().copied(), LOG_LIMIT_DEFAULT) {
            Ok(peek) => prop_assert_eq!(Some(peek), expected),
            Err(RequestError::Arity) => prop_assert_eq!(expected, None),
            Err(RequestError::Argument(error)) => {
                prop_assert_eq!(expected, None);
                check_error(&error)?;
            }
        }
    }

    #[test]
    fn arguments_of_any_bytes_are_a_call_or_an_error(
        algorithm in algorithm(),
        args in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8),
    ) {
        let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        if let Err(RequestError::Argument(error)) = parse(algorithm, &args, LOG_LIMIT_DEFAULT) {
            check_error(&error)?;
        }
        if let Err(RequestError::Argument(error)) = request::peek(&mut args.iter().copied(), LOG_LIMIT_DEFAULT) {
            check_error(&error)?;
        }
    }

    #[test]
    fn limits_written_as_arguments_are_read_back(
        algorithm in algorithm(),
        numbers in numbers(),
        cost in COST.min..=COST.max,
    ) {
        let limit = key::limit(algorithm, &numbers);
        let args = written(&limit, &numbers, cost);
        let args: Vec<&[u8]> = args.iter().map(String::as_bytes).collect();
        prop_assert_eq!(parse(algorithm, &args, LOG_LIMIT.max), Ok(Call { limit, cost }));
    }
}

fn written(limit: &Limit, numbers: &Numbers, cost: u64) -> Vec<String> {
    let window = format!("{}ms", numbers.interval_ms);
    let cost = cost.to_string();
    match limit {
        Limit::TokenBucket(limit) | Limit::Gcra(limit) => {
            vec![limit.capacity().to_string(), format!("{}/{window}", limit.rate().tokens), cost]
        }
        Limit::Fixed(limit, opening) => {
            let mut args = vec![limit.limit().to_string(), window, cost];
            if let Opening::Aligned { .. } = opening {
                args.extend(["ALIGNED".to_owned(), format!("{}ms", numbers.offset_ms().unwrap())]);
            }
            args
        }
        Limit::SlidingLog(limit) | Limit::SlidingCounter(limit) => vec![limit.limit().to_string(), window, cost],
    }
}

#[test]
fn an_error_repeats_at_most_64_bytes_and_escapes_what_cannot_be_shown() {
    let long = [b"%s%n\x00\xff\n\x7f".as_slice(), &[b'x'; 100]].concat();
    let Err(RequestError::Argument(error)) = parse(Algorithm::Fixed, &[&long, b"1s"], LOG_LIMIT_DEFAULT) else {
        panic!("bytes are no limit");
    };
    let shown = format!("limit: got '%s%n\\x00\\xff\\x0a\\x7f{}'..., expected an integer from 0 to", "x".repeat(56));
    assert!(error.to_string().starts_with(&shown), "{error}");
}

#[test]
fn a_number_without_a_unit_is_an_error_that_asks_for_one() {
    for args in [[b"10".as_slice(), b"60"], [b"10", b"30/60"]] {
        let algorithm = if args[1] == b"60" { Algorithm::Fixed } else { Algorithm::TokenBucket };
        let Err(RequestError::Argument(error)) = parse(algorithm, &args, LOG_LIMIT_DEFAULT) else {
            panic!("a unit is missing");
        };
        assert!(error.to_string().contains("unit"), "{error}");
    }
}
