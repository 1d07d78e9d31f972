//! What each option promises.

use limiter_core::call::Limit;
use limiter_core::decision::{Decision, Retry};
use limiter_core::general::{self, Extra};
use limiter_core::options::Options;
use limiter_core::record::{self, Algorithm};
use limiter_core::time::{Interval, Span, Timestamp};
use proptest::prelude::*;
use proptest::sample::select;

use super::{algorithm, follow_asking};
use crate::generate::{asking, busy_scenario, forward_scenario, scenario, steady_scenario};
use crate::key::Key;
use crate::runs;

fn ask(key: &Key, limit: &Limit, at: u64, cost: u64, options: &Options) -> (Decision, Option<Extra>, Key) {
    let mut key = key.clone();
    let (decision, extra) = key.ask(limit, at, cost, options).unwrap();
    (decision, extra, key)
}

fn plain(key: &Key, limit: &Limit, at: u64, cost: u64) -> Decision {
    key.clone().call_under(limit, at, cost).unwrap()
}

proptest! {
    #![proptest_config(runs(4_000))]

    #[test]
    fn a_refused_caller_is_admitted_after_exactly_its_wait_whatever_it_asks(
        algorithm in algorithm(),
        scenario in asking(prop_oneof![scenario(30), busy_scenario(30)]),
    ) {
        follow_asking(algorithm, &scenario, |asked, _, key| {
            let again = |at| ask(key, &asked.limit, at, asked.cost, &asked.options).0;
            match asked.decision.retry {
                Retry::Now => prop_assert!(asked.decision.allowed()),
                Retry::Never if asked.options.partial => prop_assert_eq!(asked.decision.limit, 0),
                Retry::Never => prop_assert!(asked.cost > asked.decision.limit),
                Retry::After(wait) => {
                    prop_assert!(!asked.decision.allowed() && wait > Span::ZERO);
                    let wait = wait.micros();
                    if asked.at + wait > Timestamp::MAX.micros() {
                        return Ok(());
                    }
                    prop_assert!(again(asked.at + wait).allowed());
                    prop_assert!(again(asked.at + wait.div_ceil(1_000) * 1_000).allowed(), "the wait as a reply has it");
                    // What could be booked but for the call itself, on a clock that was set right by it, waits for 1 us.
                    let booked_at_once = wait == 1 && asked.options.strict && asked.options.reserve.is_some();
                    prop_assert!(booked_at_once || !again(asked.at + wait - 1).allowed());
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn what_an_option_does_not_touch_is_as_without_it(algorithm in algorithm(), scenario in asking(scenario(40))) {
        follow_asking(algorithm, &scenario, |asked, before, after| {
            let (alone, _, left) = ask(before, &asked.limit, asked.at, asked.cost, &Options::NONE);
            if alone.allowed() {
                prop_assert_eq!(asked.decision, alone);
                prop_assert_eq!(after, &left);
            }
            let bites = asked.options.strict || asked.options.block.is_some();
            if !asked.decision.allowed() && !bites {
                prop_assert_eq!(after, &left);
                prop_assert_eq!((asked.decision.used, asked.decision.reset), (alone.used, alone.reset));
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_partial_call_takes_what_is_left_and_not_more_than_it_wants(
        algorithm in algorithm(),
        scenario in asking(scenario(40)),
    ) {
        follow_asking(algorithm, &scenario, |asked, before, _| {
            if !asked.options.partial {
                return Ok(());
            }
            let left = plain(before, &asked.limit, asked.at, 0).remaining();
            prop_assert_eq!(asked.extra, Some(Extra::Granted(left.min(asked.cost))));
            prop_assert_eq!(asked.decision.allowed(), asked.cost == 0 || left > 0);
            if asked.cost > 0 && left > 0 {
                prop_assert_eq!(asked.decision.remaining(), left - left.min(asked.cost));
            }
            Ok(())
        })?;
    }

    #[test]
    fn counting_what_is_refused_never_uses_more_than_the_limit_and_never_less_than_before(
        algorithm in algorithm(),
        scenario in asking(prop_oneof![scenario(40), busy_scenario(40)]),
    ) {
        follow_asking(algorithm, &scenario, |asked, before, after| {
            if !asked.options.strict || asked.decision.allowed() || asked.decision.limit == 0 {
                return Ok(());
            }
            // Past any block, so that usage alone is seen.
            let bare = |key: &Key| {
                let mut key = key.clone();
                let bytes = key.record.as_mut()?;
                if bytes[3] & 0x20 != 0 {
                    (bytes[2], bytes[3]) = (1, bytes[3] & !0x20);
                    bytes.drain(4..20);
                }
                Some(key)
            };
            let used = |key: &Key| bare(key).map_or(0, |key| plain(&key, &asked.limit, asked.at, 0).used);
            let (was, is) = (used(before), used(after));
            let wanted = was.saturating_add(asked.cost).min(asked.decision.limit);
            prop_assert_eq!(is, was.max(wanted));
            Ok(())
        })?;
    }

    #[test]
    fn a_caller_that_hammers_strictly_stays_limited(
        algorithm in select(vec![Algorithm::TokenBucket, Algorithm::Gcra, Algorithm::SlidingLog]),
        scenario in steady_scenario(10),
        part in 1..=255_u8,
        calls in 2..20_u64,
    ) {
        let mut key = Key::new(algorithm);
        let numbers = scenario.calls[0].numbers;
        let limit = key.limit(&numbers);
        let strict = Options { strict: true, ..Options::NONE };
        let all = plain(&key, &limit, scenario.start, 0).remaining();
        if all == 0 || scenario.start > Timestamp::MAX.micros() / 2 {
            return Ok(());
        }
        key.ask(&limit, scenario.start, all, &strict).unwrap();
        // The whole limit at once, again and again before it has come back: never.
        let span = numbers.span_us(key.is_bucket());
        let pause = u64::try_from(u128::from(span) * u128::from(part) / 256).unwrap();
        for call in 1..calls {
            let (decision, _) = key.ask(&limit, scenario.start + call * pause, all, &strict).unwrap();
            prop_assert!(!decision.allowed() || pause == 0 && span == 0);
        }
    }

    #[test]
    fn a_block_refuses_everything_until_it_ends_and_then_leaves_the_limiter_as_it_was(
        algorithm in algorithm(),
        scenario in forward_scenario(30),
        length in prop_oneof![1..=20_u64, 1..=limiter_core::limit::INTERVAL_MS.max],
        part in any::<u8>(),
    ) {
        let length = Interval::from_millis(length).unwrap();
        let blocking = Options { block: Some(length), ..Options::NONE };
        follow_asking(algorithm, &scenario, |asked, before, after| {
            let (_, _, blocked) = ask(before, &asked.limit, asked.at, asked.cost, &blocking);
            let ends = asked.at + length.micros();
            let begins = matches!(asked.decision.retry, Retry::After(_));
            prop_assert_eq!(&blocked != after, begins);
            if !begins || ends > Timestamp::MAX.micros() {
                return Ok(());
            }
            let within = u64::try_from(u128::from(length.micros()) * u128::from(part) / 256).unwrap();
            for at in [asked.at, asked.at + within, ends - 1] {
                for cost in [1, asked.cost, asked.decision.limit] {
                    let (decision, _, again) = ask(&blocked, &asked.limit, at, cost, &blocking);
                    let own = match plain(after, &asked.limit, at, cost).retry {
                        Retry::After(wait) => wait.micros(),
                        Retry::Now | Retry::Never => 0,
                    };
                    prop_assert_eq!(decision.retry, Retry::After(Span::from_micros(own.max(ends - at))));
                    prop_assert_eq!(decision.remaining(), 0);
                    prop_assert!(decision.reset.micros() >= ends - at);
                    prop_assert_eq!(&again, &blocked, "a repeat does not extend it");
                }
                let never = plain(&blocked, &asked.limit, at, asked.decision.limit + 1);
                prop_assert_eq!(never.retry, Retry::Never);
                let free = plain(&blocked, &asked.limit, at, 0);
                prop_assert!(free.allowed() && free.remaining() == 0);
            }
            prop_assert!(blocked.expiry_ms.unwrap() * 1_000 >= ends);
            for cost in [0, 1, asked.cost, asked.decision.limit] {
                prop_assert_eq!(plain(&blocked, &asked.limit, ends, cost), plain(after, &asked.limit, ends, cost));
            }
            Ok(())
        })?;
    }

    #[test]
    fn booked_calls_proceed_in_their_order_within_their_wait_and_never_exceed_the_bucket(
        algorithm in select(vec![Algorithm::TokenBucket, Algorithm::Gcra]),
        scenario in asking(steady_scenario(60)),
        most in prop_oneof![0..=50_u64, 0..=1_000_000_u64],
    ) {
        let numbers = scenario.calls[0].numbers;
        let (tokens, period) = (u128::from(numbers.filling_tokens()), u128::from(numbers.interval_us()));
        let mut proceed: Vec<(u128, u128)> = Vec::new();
        let reserve = Options { reserve: Some(Span::from_millis(most)), ..Options::NONE };
        let mut key = Key::new(algorithm);
        follow_asking(algorithm, &scenario, |asked, _, _| {
            let (decision, extra) = key.ask(&asked.limit, asked.at, asked.cost, &reserve).unwrap();
            let Some(Extra::Wait(wait)) = extra else { panic!("RESERVE tells a wait") };
            prop_assert!(wait <= Span::from_millis(most));
            prop_assert!(decision.allowed() || wait == Span::ZERO);
            if decision.allowed() && asked.cost > 0 {
                proceed.push(((asked.at + wait.micros()).into(), asked.cost.into()));
            }
            Ok(())
        })?;
        prop_assert!(proceed.is_sorted_by_key(|(at, _)| *at));
        for (index, (first, _)) in proceed.iter().enumerate() {
            let mut passed = 0;
            for (at, cost) in &proceed[index..] {
                passed += cost;
                // The queue is exact, and each wait is told in whole microseconds, rounded up.
                prop_assert!(passed <= u128::from(numbers.amount) + tokens * (at - first + 1) / period);
            }
        }
    }

    #[test]
    fn a_booked_call_leaves_what_a_call_at_the_end_of_its_wait_would_to_the_microsecond(
        algorithm in select(vec![Algorithm::TokenBucket, Algorithm::Gcra]),
        scenario in asking(forward_scenario(40)),
    ) {
        follow_asking(algorithm, &scenario, |asked, before, after| {
            let Some(Extra::Wait(wait)) = asked.extra else { return Ok(()) };
            let then = asked.at + wait.micros();
            if !asked.decision.allowed() || asked.cost == 0 || then > Timestamp::MAX.micros() {
                return Ok(());
            }
            let (waited, _, late) = ask(before, &asked.limit, then, asked.cost, &Options::NONE);
            prop_assert!(waited.allowed());
            // What flows in between the exact end of the wait and the microsecond that is told is not lost.
            let (Limit::TokenBucket(limit) | Limit::Gcra(limit)) = &asked.limit else { panic!("a bucket") };
            let flows = limit.rate().tokens.get().div_ceil(limit.rate().period.micros());
            let used = |key: &Key| plain(key, &asked.limit, then, 0).used;
            prop_assert!(used(after) <= used(&late) && used(&late) <= used(after) + flows);
            Ok(())
        })?;
    }

    #[test]
    fn calls_get_the_same_whether_keys_are_swept_at_once_at_their_expiry_or_never(
        algorithm in algorithm(),
        scenario in asking(prop_oneof![forward_scenario(40), busy_scenario(40)]),
    ) {
        let (mut swept, mut expiring) = (Key::new(algorithm), Key::new(algorithm));
        let mut latest = 0;
        follow_asking(algorithm, &scenario, |asked, _, _| {
            // What was swept does not come back with a clock that steps back.
            if asked.at < latest {
                latest = u64::MAX;
                return Ok(());
            }
            latest = asked.at;
            if swept.is_idle(asked.at) {
                swept = Key::new(algorithm);
            }
            if expiring.expiry_ms.is_some_and(|at_ms| at_ms <= asked.at / 1_000) {
                expiring = Key::new(algorithm);
            }
            for key in [&mut swept, &mut expiring] {
                let (decision, extra) = key.ask(&asked.limit, asked.at, asked.cost, &asked.options).unwrap();
                prop_assert_eq!((decision, extra), (asked.decision, asked.extra));
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_clock_that_steps_back_does_not_end_a_block_and_makes_it_longer_by_its_own_length_at_most(
        algorithm in algorithm(),
        scenario in asking(scenario(30)),
        back in 0..=62_u32,
        size in any::<u64>(),
    ) {
        follow_asking(algorithm, &scenario, |asked, _, key| {
            let Some(record) = key.record.as_deref() else { return Ok(()) };
            let (Some(block), now) = (record::block(record), Timestamp::from_micros(asked.at)) else { return Ok(()) };
            let earlier = Timestamp::from_micros(asked.at.saturating_sub(size >> (63 - back)));
            if general::blocked(record, now).is_some() {
                let left = general::blocked(record, earlier);
                prop_assert!(left.is_some());
                let longest = block.length().micros() * 2;
                prop_assert!(left.is_some_and(|left| left.micros() <= longest));
            }
            Ok(())
        })?;
    }
}
