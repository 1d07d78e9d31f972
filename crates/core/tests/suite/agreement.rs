//! The core and the model get the same calls and must say the same, to the microsecond.

use limiter_core::call::{self, Report};
use limiter_core::decision::{Decision, Retry};
use limiter_core::limit::LOG_LIMIT;
use limiter_core::record::{self, Algorithm, Record};
use limiter_core::time::Timestamp;
use num_traits::ToPrimitive;
use proptest::prelude::*;

use crate::generate::{Numbers, Scenario, Told, scenario};
use crate::key::{Key, told};
use crate::model::bucket::{self, Bucket};
use crate::model::fixed_window::{self, FixedWindow};
use crate::model::sliding_counter::{self, SlidingCounter};
use crate::model::sliding_log::{self, SlidingLog};
use crate::model::{Int, Verdict, Wait, int};
use crate::runs;

enum Model {
    Bucket(Bucket),
    Fixed(FixedWindow),
    Log(SlidingLog),
    Counter(SlidingCounter),
}

impl Model {
    fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::TokenBucket | Algorithm::Gcra => Self::Bucket(Bucket::default()),
            Algorithm::Fixed => Self::Fixed(FixedWindow::default()),
            Algorithm::SlidingLog => Self::Log(SlidingLog::default()),
            Algorithm::SlidingCounter => Self::Counter(SlidingCounter::default()),
        }
    }

    fn call(&mut self, numbers: &Numbers, now: &Int, cost: &Int) -> Verdict {
        let window = int(numbers.interval_us());
        match self {
            Self::Bucket(bucket) => {
                let capacity = int(numbers.amount);
                let limit = bucket::Limit { capacity, tokens: int(numbers.filling_tokens()), period: window };
                bucket.call(&limit, now, cost)
            }
            Self::Fixed(fixed) => {
                let aligned = numbers.offset_ms().map(|ms| int(ms) * 1_000);
                fixed.call(&fixed_window::Limit { limit: int(numbers.amount), window, aligned }, now, cost)
            }
            Self::Log(log) => {
                let limit = int(numbers.amount.min(LOG_LIMIT.max));
                log.call(&sliding_log::Limit { limit, window }, now, cost)
            }
            Self::Counter(counter) => {
                counter.call(&sliding_counter::Limit { limit: int(numbers.amount), window }, now, cost)
            }
        }
    }

    fn peek(&self, now: &Int, cost: &Int) -> Option<Verdict> {
        match self {
            Self::Bucket(bucket) => bucket.peek(now, cost),
            Self::Fixed(fixed) => fixed.peek(now, cost),
            Self::Log(log) => log.peek(now, cost),
            Self::Counter(counter) => counter.peek(now, cost),
        }
    }

    fn useful_until(&self) -> Option<Int> {
        match self {
            Self::Bucket(bucket) => bucket.stored.as_ref().map(bucket::Stored::useful_until),
            Self::Fixed(fixed) => fixed.stored.as_ref().map(fixed_window::Stored::useful_until),
            Self::Log(log) => log.stored.as_ref().map(sliding_log::Stored::useful_until),
            Self::Counter(counter) => counter.stored.as_ref().map(sliding_counter::Stored::useful_until),
        }
    }

    fn is_idle(&self, now: &Int) -> bool {
        match self {
            Self::Bucket(bucket) => bucket.is_idle(now),
            Self::Fixed(fixed) => fixed.is_idle(now),
            Self::Log(log) => log.is_idle(now),
            Self::Counter(counter) => counter.is_idle(now),
        }
    }
}

fn exact(decision: &Decision) -> Verdict {
    Verdict {
        allowed: decision.allowed(),
        limit: int(decision.limit),
        remaining: int(decision.remaining()),
        retry: match decision.retry {
            Retry::Now => Wait::Now,
            Retry::After(wait) => Wait::After(int(wait.micros())),
            Retry::Never => Wait::Never,
        },
        reset: int(decision.reset.micros()),
    }
}

/// The five integers as a reply has them: waits in milliseconds, rounded up.
fn reply(verdict: &Verdict) -> [i64; 5] {
    let ms = |wait: &Int| {
        let thousand = int(1_000);
        let up: Int = (wait + &thousand - 1) / thousand;
        up.to_i64().expect("a wait fits 64 bits")
    };
    let integer = |n: &Int| n.to_i64().expect("a count fits 64 bits");
    let retry = match &verdict.retry {
        Wait::Now => 0,
        Wait::After(wait) => ms(wait),
        Wait::Never => -1,
    };
    [i64::from(verdict.allowed), integer(&verdict.limit), integer(&verdict.remaining), retry, ms(&verdict.reset)]
}

/// The expiry is not before the state stops mattering, and not past the slack.
fn check_expiry(key: &Key, now: &Int, needed: &Int) -> Result<(), TestCaseError> {
    let at = int(key.expiry_ms.expect("a key that was written has an expiry")) * 1_000;
    let twice: Int = needed * 2 - now;
    let latest = twice.max(needed + 2_000_000);
    prop_assert!(*needed <= at && at <= latest, "expiry {at} us, needed until {needed}, at the latest {latest}");
    prop_assert_eq!(key.told_expiry_ms(), key.expiry_ms, "the record tells the key's expiry");
    Ok(())
}

/// Writing what was read gives the same bytes.
fn check_round_trip(key: &Key) -> Result<(), TestCaseError> {
    let bytes = key.record.as_deref().expect("the key is there");
    let (algorithm, record) = record::decode(bytes).expect("what was written can be read");
    prop_assert_eq!(algorithm, key.algorithm);
    let again = match &record {
        Record::Bucket(stored) => record::encode_bucket(algorithm, stored),
        Record::Fixed(stored) => record::encode_fixed(stored),
        Record::Counter(stored) => record::encode_counter(stored),
        Record::Log(_) => return Ok(()),
    };
    prop_assert_eq!(again.as_bytes(), bytes);
    Ok(())
}

/// What the record says of itself is what the model has.
fn check_report(key: &Key, model: &Model, now: u64) -> Result<(), TestCaseError> {
    let bytes = key.record.as_deref().expect("the key is there");
    let Report { decision, updated, events, .. } =
        call::report(bytes, Timestamp::from_micros(now)).expect("what was written can be read");
    if let Some(peeked) = model.peek(&int(now), &int(0)) {
        prop_assert_eq!(exact(&decision), peeked);
    }
    match model {
        Model::Bucket(bucket) => {
            let stored = bucket.stored.as_ref().expect("a record has a model");
            prop_assert_eq!(int(updated.micros()), stored.time.clone());
        }
        Model::Log(log) => {
            let stored = log.stored.as_ref().expect("a record has a model");
            prop_assert_eq!(int(updated.micros()), stored.newest().clone());
            let mut corrected = log.clone();
            corrected.correct_the_clock(&int(now));
            let living = corrected.counted(&stored.limit.window, &int(now)).len();
            prop_assert_eq!(events, Some(u64::try_from(living).unwrap()));
        }
        Model::Fixed(_) | Model::Counter(_) => {}
    }
    Ok(())
}

fn agree(algorithm: Algorithm, scenario: &Scenario) -> Result<(), TestCaseError> {
    let mut key = Key::new(algorithm);
    let mut model = Model::new(algorithm);
    let mut now = scenario.start;
    let mut last = Told::default();
    for (index, call) in scenario.calls.iter().enumerate() {
        now = call.pause.resolve(now, &last);
        let cost = call.cost.resolve(&last);
        let (at, weight) = (int(now), int(cost));
        let context = || format!("call {index}: {:?} at {now} us, cost {cost}", call.numbers);

        let expected = model.peek(&at, &weight);
        let peeked = key.peek(now, cost);
        prop_assert_eq!(peeked.map(|decision| exact(&decision)), expected, "peek before {}", context());
        prop_assert_eq!(key.is_idle(now), model.is_idle(&at), "idle before {}", context());

        let before = key.clone();
        let decision = key.call(&call.numbers, now, cost);
        let expected = model.call(&call.numbers, &at, &weight);
        prop_assert_eq!(&exact(&decision), &expected, "{}", context());
        prop_assert_eq!(decision.reply(), reply(&expected), "{}", context());

        if key != before {
            check_expiry(&key, &at, &model.useful_until().expect("what changed is stored"))?;
            check_round_trip(&key)?;
        }
        if key.record.is_some() {
            check_report(&key, &model, now)?;
        }
        last = told(&decision, &call.numbers, key.is_bucket());
    }
    Ok(())
}

proptest! {
    #![proptest_config(runs(10_000))]

    #[test]
    fn a_token_bucket_agrees_with_the_model(scenario in scenario(40)) {
        agree(Algorithm::TokenBucket, &scenario)?;
    }

    #[test]
    fn gcra_agrees_with_the_model(scenario in scenario(40)) {
        agree(Algorithm::Gcra, &scenario)?;
    }

    #[test]
    fn a_fixed_window_agrees_with_the_model(scenario in scenario(40)) {
        agree(Algorithm::Fixed, &scenario)?;
    }

    #[test]
    fn a_sliding_log_agrees_with_the_model(scenario in scenario(100)) {
        agree(Algorithm::SlidingLog, &scenario)?;
    }

    #[test]
    fn a_sliding_counter_agrees_with_the_model(scenario in scenario(40)) {
        agree(Algorithm::SlidingCounter, &scenario)?;
    }
}
