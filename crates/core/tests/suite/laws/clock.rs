//! What a clock may do to a limiter: little.

use limiter_core::call;
use limiter_core::decision::Retry;
use limiter_core::record::Algorithm;
use limiter_core::time::Timestamp;
use proptest::prelude::*;

use super::{algorithm, follow};
use crate::generate::scenario;
use crate::key::Key;
use crate::runs;

fn updated(key: &Key, at: u64) -> Option<u64> {
    let report = call::report(key.record.as_deref()?, Timestamp::from_micros(at));
    Some(report.expect("a record written by a call can be read").updated.micros())
}

fn wait(retry: Retry) -> u64 {
    match retry {
        Retry::Now | Retry::Never => 0,
        Retry::After(wait) => wait.micros(),
    }
}

proptest! {
    #![proptest_config(runs(4_000))]

    #[test]
    fn an_admitted_call_is_never_stored_as_earlier_than_the_state_it_found(
        algorithm in algorithm(),
        scenario in scenario(40),
    ) {
        follow(algorithm, &scenario, |now, before, after, _| {
            let Some(new) = updated(after, now.at) else { return Ok(()) };
            let (old, _) = before.stored_time_and_span().unwrap_or_default();
            if before.has_wrong_time(now.at) {
                prop_assert_eq!(new, now.at);
            } else if before == after {
                prop_assert_eq!(Some(new), updated(before, now.at));
            } else {
                prop_assert_eq!(new, old.max(now.at));
            }
            Ok(())
        })?;
    }

    #[test]
    fn state_of_a_wrong_clock_is_rewritten_by_any_call_and_by_nothing_else(
        algorithm in algorithm(),
        scenario in scenario(40),
    ) {
        follow(algorithm, &scenario, |now, before, after, decision| {
            let admitted = decision.allowed() && now.cost > 0;
            prop_assert_eq!(before != after, admitted || before.has_wrong_time(now.at));
            // An admitted call may shorten the span, and leave the next one to find the time too far ahead.
            prop_assert!(admitted || !after.has_wrong_time(now.at));
            Ok(())
        })?;
    }

    #[test]
    fn a_wait_is_at_most_one_span_longer_than_with_a_right_clock(algorithm in algorithm(), scenario in scenario(40)) {
        follow(algorithm, &scenario, |now, before, after, decision| {
            // A refusal: what is stored, after the clock rule, is what the wait was told from.
            let (Some((time, span)), false) = (after.stored_time_and_span(), decision.allowed()) else { return Ok(()) };
            let behind = time.saturating_sub(now.at);
            prop_assert!(behind <= span);
            let right = before.clone().call(&now.call.numbers, now.at.max(before.stored_time_and_span().unwrap_or_default().0), now.cost);
            if !before.has_wrong_time(now.at) {
                prop_assert_eq!(wait(decision.retry), wait(right.retry) + behind * u64::from(wait(right.retry) > 0));
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_clock_that_steps_back_grants_nothing(
        algorithm in algorithm(),
        scenario in scenario(30),
        back in 0..=62_u32,
        size in any::<u64>(),
    ) {
        follow(algorithm, &scenario, |now, _, key, decision| {
            let earlier = now.at.saturating_sub(size >> (63 - back));
            // A counter's counts move to now's window as they are, so that the older may weigh less there.
            if key.record.is_none() || (algorithm == Algorithm::SlidingCounter && key.has_wrong_time(earlier)) {
                return Ok(());
            }
            let then = key.clone().call(&now.call.numbers, earlier, 0);
            prop_assert!(then.remaining() <= decision.remaining());
            Ok(())
        })?;
    }
}
