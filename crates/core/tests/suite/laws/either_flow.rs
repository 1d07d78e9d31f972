//! The short flow and the general one are one limiter.

use limiter_core::call::Limit;
use limiter_core::limit::WindowLimit;
use limiter_core::options::Options;
use limiter_core::record::Algorithm;
use limiter_core::sliding_log::steady;
use limiter_core::time::{Interval, Timestamp};
use proptest::prelude::*;

use super::{algorithm, follow};
use crate::generate::{busy_scenario, scenario};
use crate::key::Key;
use crate::runs;

proptest! {
    #![proptest_config(runs(4_000))]

    #[test]
    fn a_plain_call_gets_the_same_verdict_and_leaves_the_same_bytes_by_either_flow(
        algorithm in algorithm(),
        scenario in prop_oneof![scenario(60), busy_scenario(60)],
    ) {
        follow(algorithm, &scenario, |now, before, after, decision| {
            let mut general = before.clone();
            let limit = general.limit(&now.call.numbers);
            let (again, extra) = general.ask(&limit, now.at, now.cost, &Options::NONE).unwrap();
            prop_assert_eq!(&again, decision);
            prop_assert_eq!(extra, None);
            prop_assert_eq!(&general, after);
            Ok(())
        })?;
    }

    #[test]
    fn a_log_in_steady_use_gets_the_same_verdict_and_leaves_the_same_bytes_by_the_short_way(
        scenario in prop_oneof![scenario(60), busy_scenario(60)],
    ) {
        follow(Algorithm::SlidingLog, &scenario, |now, before, after, decision| {
            let Limit::SlidingLog(limit) = before.limit(&now.call.numbers) else { unreachable!() };
            let Some(steady) = before.record.as_ref().and_then(|bytes| steady(bytes, &limit, Timestamp::from_micros(now.at))).filter(|_| now.cost == 1) else {
                return Ok(());
            };
            prop_assert_eq!(&steady.decision, decision);
            let mut bytes = before.record.clone().unwrap();
            bytes.extend(steady.event.iter().flatten());
            prop_assert_eq!(Some(&bytes), after.record.as_ref());
            Ok(())
        })?;
    }
}

/// The short way is taken, not only right: all but a few calls of a steady stream.
#[test]
fn a_steady_stream_takes_the_short_way() {
    let limit = WindowLimit::new(1_000, Interval::from_millis(60_000).unwrap()).unwrap();
    let mut key = Key::new(Algorithm::SlidingLog);
    let (mut short, calls) = (0, 10_000);
    for call in 0..calls {
        let now = 1_800_000_000_000_000 + call * 50_000;
        short += u64::from(
            key.record.as_ref().is_some_and(|bytes| steady(bytes, &limit, Timestamp::from_micros(now)).is_some()),
        );
        key.call_under(&Limit::SlidingLog(limit), now, 1).unwrap();
    }
    assert!(short > calls - calls / 100, "{short}");
}
