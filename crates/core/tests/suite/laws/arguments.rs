//! Arguments: every byte string is either exactly what the grammar says, or an error that can be shown.

use limiter_core::call::Limit;
use limiter_core::fixed_window::Opening;
use limiter_core::limit::{Bound, CAPACITY, COST, INTERVAL_MS, LOG_LIMIT, LOG_LIMIT_DEFAULT, RATE};
use limiter_core::record::Algorithm;
use limiter_core::request::{self, Call, RequestError};
use proptest::prelude::*;
use proptest::sample::select;

use super::algorithm;
use crate::generate::numbers;
use crate::scenario::Numbers;
use crate::{grammar, key, runs};

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

proptest! {
    #![proptest_config(runs(20_000))]

    #[test]
    fn arguments_mean_what_the_grammar_says_and_nothing_else_is_accepted(
        algorithm in algorithm(),
        args in arguments(),
        log_limit_max in select(vec![LOG_LIMIT.min, LOG_LIMIT_DEFAULT, LOG_LIMIT.max]),
    ) {
        let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        grammar::check_call(algorithm, &args, log_limit_max).map_err(TestCaseError::fail)?;
        grammar::check_remembered(&args, [log_limit_max, LOG_LIMIT_DEFAULT]).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn peek_takes_a_cost_or_the_arguments_of_a_call(
        name in prop_oneof![
            select(vec!["TOKENBUCKET", "gcra", "Fixed", "SLIDINGLOG", "slidingCounter"]).prop_map(String::from),
            number_text(),
        ],
        args in arguments(),
    ) {
        let args: Vec<&[u8]> = [name.as_bytes()].into_iter().chain(args.iter().map(Vec::as_slice)).collect();
        grammar::check_peek(&args, LOG_LIMIT_DEFAULT).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn arguments_of_any_bytes_are_a_call_or_an_error(
        algorithm in algorithm(),
        args in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8),
    ) {
        let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        grammar::check_call(algorithm, &args, LOG_LIMIT_DEFAULT).map_err(TestCaseError::fail)?;
        grammar::check_peek(&args, LOG_LIMIT_DEFAULT).map_err(TestCaseError::fail)?;
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
        prop_assert_eq!(parse(algorithm, &args, LOG_LIMIT.max), Ok(Call::plain(limit, cost)));
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
