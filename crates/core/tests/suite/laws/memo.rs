//! Remembered limits: a call that is read with the help of those before it is read as if it were the first.

use limiter_core::limit::{LOG_LIMIT, LOG_LIMIT_DEFAULT};
use limiter_core::memo::Memo;
use limiter_core::plain;
use limiter_core::record::Algorithm;
use limiter_core::request::{Call, call};
use proptest::prelude::*;
use proptest::sample::select;

use super::algorithm;
use crate::runs;

/// Arguments of every length around those at which they are kept in another way, which differ in single digits only.
fn similar() -> impl Strategy<Value = (String, String)> {
    let number = || {
        (1..=9_u8, 0..=18_usize, 0..=9_u8)
            .prop_map(|(first, zeros, last)| format!("{first}{}{last}", "0".repeat(zeros)))
    };
    let short = || (0..=12_u64).prop_map(|number| number.to_string());
    let unit = select(vec!["ms", "s", "S", "m", "h", "d", "", "/s", "/10s", "/1h", "x"]);
    let first = prop_oneof![number(), short()];
    (first, prop_oneof![number(), short()], unit).prop_map(|(first, second, unit)| (first, second + unit))
}

proptest! {
    #![proptest_config(runs(2_000))]

    #[test]
    fn a_call_is_read_the_same_whatever_was_read_before(
        calls in prop::collection::vec((algorithm(), similar(), select(vec!["", "0", "1", "x"])), 1..60),
        log_limits in select(vec![[LOG_LIMIT_DEFAULT, LOG_LIMIT_DEFAULT], [LOG_LIMIT.max, 5], [5, LOG_LIMIT.max]]),
    ) {
        let mut memo = Memo::new();
        for log_limit_max in log_limits {
            for (algorithm, (first, second), cost) in &calls {
                let mut args = vec![first.as_bytes(), second.as_bytes()];
                args.extend((!cost.is_empty()).then_some(cost.as_bytes()));
                let alone = call(*algorithm, &mut args.iter().copied(), log_limit_max);
                let again = plain::call(*algorithm, &mut args.iter().copied(), log_limit_max, &mut memo);
                prop_assert_eq!(again.map(|(limit, cost)| Call::plain(limit, cost)), alone.ok());
            }
        }
    }
}

#[test]
fn arguments_that_differ_in_one_byte_are_different_limits() {
    let mut memo = Memo::new();
    let texts: Vec<String> = (0..=12_usize)
        .flat_map(|zeros| {
            let plain = format!("1{}", "0".repeat(zeros));
            (0..plain.len()).map(move |at| {
                let mut text = plain.clone().into_bytes();
                text[at] += 1;
                String::from_utf8(text).unwrap()
            })
        })
        .collect();
    // Twice, and in pairs, so that each is met after the other.
    for one in &texts {
        for other in &texts {
            for text in [one, other, one] {
                let args = [text.as_bytes(), b"1s"];
                let alone = call(Algorithm::SlidingCounter, &mut args.iter().copied(), LOG_LIMIT_DEFAULT);
                let again =
                    plain::call(Algorithm::SlidingCounter, &mut args.iter().copied(), LOG_LIMIT_DEFAULT, &mut memo);
                assert_eq!(again.map(|(limit, cost)| Call::plain(limit, cost)), alone.ok(), "{text}");
            }
        }
    }
}
