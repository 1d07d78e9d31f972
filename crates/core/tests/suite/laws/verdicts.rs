//! What a caller may rely on in a reply.

use limiter_core::decision::Retry;
use limiter_core::record::Algorithm;
use limiter_core::time::{Span, Timestamp};
use proptest::prelude::*;

use super::{algorithm, follow};
use crate::generate::{forward_scenario, scenario};
use crate::key::Key;
use crate::runs;

proptest! {
    #![proptest_config(runs(4_000))]

    #[test]
    fn a_refused_caller_is_admitted_after_exactly_its_wait(
        algorithm in algorithm(),
        scenario in scenario(30),
        part in any::<u8>(),
    ) {
        follow(algorithm, &scenario, |now, _, key, decision| {
            match decision.retry {
                Retry::Now => prop_assert!(decision.allowed()),
                Retry::Never => prop_assert!(now.cost > decision.limit),
                Retry::After(wait) => {
                    prop_assert!(!decision.allowed() && now.cost <= decision.limit);
                    let wait = wait.micros();
                    prop_assert!(wait >= 1, "a refusal never says 0");
                    if now.at + wait > Timestamp::MAX.micros() {
                        return Ok(());
                    }
                    let again = |after: u64| key.clone().call(&now.call.numbers, now.at + after, now.cost);
                    prop_assert!(again(wait).allowed());
                    prop_assert!(again(wait.div_ceil(1_000) * 1_000).allowed(), "the wait as a reply has it");
                    // On the way there the wait counts down, and never ends early.
                    let early = u64::try_from(u128::from(wait) * u128::from(part) / 256).unwrap();
                    for after in [0, early, wait - 1] {
                        prop_assert_eq!(again(after).retry, Retry::After(Span::from_micros(wait - after)));
                    }
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn what_remains_can_be_had_and_one_more_cannot(algorithm in algorithm(), scenario in scenario(30)) {
        follow(algorithm, &scenario, |now, _, key, decision| {
            let remaining = decision.remaining();
            prop_assert!(remaining <= decision.limit);
            let take = |cost| key.clone().call(&now.call.numbers, now.at, cost);
            let all = take(remaining);
            prop_assert!(all.allowed());
            prop_assert!(remaining == 0 || all.remaining() == 0);
            prop_assert!(!take(remaining + 1).allowed());
            Ok(())
        })?;
    }

    #[test]
    fn after_its_reset_a_limiter_is_as_good_as_new_and_not_earlier(algorithm in algorithm(), scenario in scenario(30)) {
        follow(algorithm, &scenario, |now, _, key, decision| {
            let reset = decision.reset.micros();
            if now.at + reset > Timestamp::MAX.micros() {
                return Ok(());
            }
            let numbers = &now.call.numbers;
            for cost in [0, 1, decision.limit, decision.limit + 1] {
                let used = key.clone().call(numbers, now.at + reset, cost);
                let new = Key::new(algorithm).call(numbers, now.at + reset, cost);
                prop_assert_eq!(used, new);
            }
            if reset > 0 {
                let early = key.clone().call(numbers, now.at + reset - 1, 0);
                prop_assert_eq!(early.reset, Span::from_micros(1));
                prop_assert!(early.remaining() < decision.limit || decision.limit == 0);
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_free_call_is_always_allowed(algorithm in algorithm(), scenario in scenario(30)) {
        follow(algorithm, &scenario, |now, before, _, _| {
            prop_assert_eq!(before.clone().call(&now.call.numbers, now.at, 0).retry, Retry::Now);
            Ok(())
        })?;
    }

    #[test]
    fn a_refusal_and_a_free_call_change_no_byte(algorithm in algorithm(), scenario in forward_scenario(40)) {
        follow(algorithm, &scenario, |now, before, after, decision| {
            let admitted = decision.allowed() && now.cost > 0;
            prop_assert_eq!(admitted, before != after);
            let mut free = after.clone();
            free.call(&now.call.numbers, now.at, 0);
            prop_assert_eq!(&free, after);
            Ok(())
        })?;
    }

    #[test]
    fn a_raised_limit_never_refuses_what_the_lower_one_admits(
        algorithm in algorithm(),
        scenario in scenario(30),
        raise in 0..1_000_u64,
    ) {
        follow(algorithm, &scenario, |now, before, _, decision| {
            let mut numbers = now.call.numbers;
            // The same rate, whatever the higher capacity takes to fill.
            numbers.tokens = numbers.filling_tokens();
            numbers.amount = (numbers.amount + raise).min(limiter_core::limit::CAPACITY.max);
            let raised = before.clone().call(&numbers, now.at, now.cost);
            prop_assert!(raised.allowed() || !decision.allowed());
            Ok(())
        })?;
    }

    #[test]
    fn token_bucket_and_gcra_take_the_same_decisions(scenario in scenario(40)) {
        let mut gcra = Key::new(Algorithm::Gcra);
        follow(Algorithm::TokenBucket, &scenario, |now, _, bucket, decision| {
            prop_assert_eq!(&gcra.call(&now.call.numbers, now.at, now.cost), decision);
            prop_assert_eq!(gcra.expiry_ms, bucket.expiry_ms);
            let without_kind = |key: &Key| key.record.clone().map(|bytes| [bytes[..3].to_vec(), bytes[4..].to_vec()]);
            prop_assert_eq!(without_kind(&gcra), without_kind(bucket));
            Ok(())
        })?;
    }
}
