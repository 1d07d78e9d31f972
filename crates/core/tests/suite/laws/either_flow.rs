//! The short flow and the general one are one limiter.

use limiter_core::bucket::Bucket;
use limiter_core::call::Limit;
use limiter_core::decision::Decision;
use limiter_core::fixed_window::{FixedLimit, FixedWindow};
use limiter_core::meter::Meter;
use limiter_core::options::Options;
use limiter_core::record::Algorithm;
use limiter_core::sliding_counter::SlidingCounter;
use limiter_core::sliding_log::steady;
use limiter_core::steady::Steady;
use limiter_core::time::Timestamp;
use proptest::prelude::*;

use super::{algorithm, follow};
use crate::generate::{busy_scenario, scenario};
use crate::key::Key;
use crate::runs;
use crate::scenario::Numbers;

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
    fn a_limiter_in_steady_use_gets_the_same_verdict_and_leaves_the_same_bytes_by_the_short_way(
        algorithm in algorithm(),
        scenario in prop_oneof![scenario(60), busy_scenario(60)],
    ) {
        follow(algorithm, &scenario, |now, before, after, decision| {
            let Some((again, record)) = short_way(before, &before.limit(&now.call.numbers), now.at, now.cost) else {
                return Ok(());
            };
            prop_assert_eq!(&again, decision);
            prop_assert_eq!(Some(&record), after.record.as_ref());
            prop_assert_eq!(before.expiry_ms, after.expiry_ms);
            Ok(())
        })?;
    }
}

/// The verdict and the record after a call that the short way decides.
pub(super) fn short_way(key: &Key, limit: &Limit, now: u64, cost: u64) -> Option<(Decision, Vec<u8>)> {
    let bytes = key.record.as_deref()?;
    let now = Timestamp::from_micros(now);
    match limit {
        Limit::TokenBucket(limit) => kept(bytes, Bucket::steady(bytes, Algorithm::TokenBucket, limit, now, cost)),
        Limit::Gcra(limit) => kept(bytes, Bucket::steady(bytes, Algorithm::Gcra, limit, now, cost)),
        Limit::Fixed(limit, opening) => {
            let limit = FixedLimit { limit: *limit, opening: *opening };
            kept(bytes, FixedWindow::steady(bytes, Algorithm::Fixed, &limit, now, cost))
        }
        Limit::SlidingCounter(limit) => {
            kept(bytes, SlidingCounter::steady(bytes, Algorithm::SlidingCounter, limit, now, cost))
        }
        Limit::SlidingLog(limit) if cost == 1 => {
            let steady = steady(bytes, limit, now)?;
            let event = steady.event.into_iter().flatten();
            Some((steady.decision, bytes.iter().copied().chain(event).collect()))
        }
        Limit::SlidingLog(_) => None,
    }
}

fn kept<R: AsRef<[u8]>>(before: &[u8], steady: Option<Steady<R>>) -> Option<(Decision, Vec<u8>)> {
    let Steady { decision, record } = steady?;
    Some((decision, record.as_ref().map_or(before, R::as_ref).to_vec()))
}

/// The short way is taken, not only right: by all but a few calls of a steady stream, admitted and refused.
#[test]
fn a_steady_stream_takes_the_short_way() {
    for algorithm in Algorithm::ALL {
        let mut key = Key::new(algorithm);
        // A thousand a minute, and a tenth more are asked.
        let limit = key.limit(&Numbers { amount: 1_000, tokens: 1_000, interval_ms: 60_000, alignment: None });
        let (mut short, mut refused, calls) = (0, 0, 20_000);
        for call in 0..calls {
            let now = 1_800_000_000_000_000 + call * 54_000;
            short += u64::from(short_way(&key, &limit, now, 1).is_some());
            refused += u64::from(!key.call_under(&limit, now, 1).unwrap().allowed());
        }
        assert!(short > calls - calls / 50, "{algorithm:?}: {short}");
        assert!(refused > calls / 20, "{algorithm:?}: {refused}");
    }
}
