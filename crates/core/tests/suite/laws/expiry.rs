//! Expiry is garbage collection, and nothing else.

use limiter_core::time::Timestamp;
use proptest::prelude::*;

use super::{algorithm, follow};
use crate::generate::{forward_scenario, scenario};
use crate::key::Key;
use crate::runs;

/// When the state stops mattering under the limits it was stored with.
fn needed(key: &Key, now: u64) -> u64 {
    let now = key.stored_time_and_span().map_or(now, |(time, _)| time.max(now));
    now + key.peek(now, 0).map_or(0, |decision| decision.reset.micros())
}

/// The latest expiry of a key that is needed until then.
fn latest(needed: u64, now: u64) -> u64 {
    (2 * needed - now).max(needed + 2_000_000)
}

proptest! {
    #![proptest_config(runs(4_000))]

    #[test]
    fn a_verdict_never_depends_on_whether_an_idle_key_was_deleted(
        algorithm in algorithm(),
        scenario in scenario(40),
    ) {
        follow(algorithm, &scenario, |now, before, after, decision| {
            if before.is_idle(now.at) {
                let mut new = Key::new(algorithm);
                prop_assert_eq!(&new.call(&now.call.numbers, now.at, now.cost), decision);
                // From here on both are the same limiter.
                if decision.allowed() && now.cost > 0 {
                    for cost in [0, 1, decision.remaining(), decision.limit] {
                        let kept = after.clone().call(&now.call.numbers, now.at, cost);
                        prop_assert_eq!(new.clone().call(&now.call.numbers, now.at, cost), kept);
                    }
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn calls_get_the_same_whether_keys_are_swept_at_once_at_their_expiry_or_never(
        algorithm in algorithm(),
        scenario in forward_scenario(60),
    ) {
        let (mut swept, mut expiring) = (Key::new(algorithm), Key::new(algorithm));
        follow(algorithm, &scenario, |now, _, _, decision| {
            if swept.is_idle(now.at) {
                swept = Key::new(algorithm);
            }
            if expiring.expiry_ms.is_some_and(|at_ms| at_ms <= now.at / 1_000) {
                expiring = Key::new(algorithm);
            }
            prop_assert_eq!(&swept.call(&now.call.numbers, now.at, now.cost), decision);
            prop_assert_eq!(&expiring.call(&now.call.numbers, now.at, now.cost), decision);
            Ok(())
        })?;
    }

    #[test]
    fn a_key_expires_neither_before_its_state_stops_mattering_nor_long_after(
        algorithm in algorithm(),
        scenario in scenario(40),
    ) {
        follow(algorithm, &scenario, |now, before, after, _| {
            if before == after {
                return Ok(());
            }
            let expiry = after.expiry_ms.expect("every key that is written has an expiry") * 1_000;
            let needed = needed(after, now.at);
            prop_assert!(needed <= expiry && expiry <= latest(needed, now.at));
            if needed <= Timestamp::MAX.micros() {
                prop_assert!(after.is_idle(needed));
                prop_assert!(!after.is_idle(needed - 1));
            }
            Ok(())
        })?;
    }

    #[test]
    fn an_expiry_that_still_fits_is_left_alone(algorithm in algorithm(), scenario in forward_scenario(40)) {
        follow(algorithm, &scenario, |now, before, after, _| {
            let (Some(old), Some(new)) = (before.expiry_ms, after.expiry_ms) else { return Ok(()) };
            let needed = needed(after, now.at);
            if needed <= old * 1_000 && old * 1_000 <= latest(needed, now.at) {
                prop_assert_eq!(old, new);
            }
            Ok(())
        })?;
    }
}
