//! Calls on stored bytes that may be anything.

use limiter_core::adjust::{AdjustError, Delta};
use limiter_core::call;
use limiter_core::decision::Retry;
use limiter_core::limit::LOG_LIMIT;
use limiter_core::record::{self, Algorithm, RecordError};
use limiter_core::time::Timestamp;

use crate::key::{Key, limit, told};
use crate::says::{Said, holds, same};
use crate::scenario::{Scenario, Told};

/// Makes the calls of a scenario on these bytes as if they were stored, once for each algorithm.
pub fn check(bytes: &[u8], scenario: &Scenario) -> Said {
    let whole = record::decode(bytes);
    let report = call::report(bytes, Timestamp::from_micros(scenario.start));
    same(&report.map(|_| ()), &whole.map(|_| ()), || "a report".to_owned())?;
    same(&call::stored_limit(bytes).map(|_| ()), &whole.map(|_| ()), || "the stored limits".to_owned())?;
    for algorithm in Algorithm::ALL {
        let mut key = Key { record: Some(bytes.to_vec()), ..Key::new(algorithm) };
        let first = match whole {
            Ok((found, _)) if found == algorithm => {
                key.expiry_ms = key.told_expiry_ms();
                Ok(())
            }
            Ok((found, _)) => Err(RecordError::Other { found, wanted: algorithm }),
            Err(error) => Err(error),
        };
        if first.is_ok() {
            check_adjustments(&key, scenario)?;
        }
        check_calls(key, first, scenario)?;
    }
    Ok(())
}

/// Usage can be put right whatever the bytes, and what is left can be read.
fn check_adjustments(key: &Key, scenario: &Scenario) -> Said {
    let most = 1_000_000_000_000;
    for delta in [Delta::Charge(0), Delta::Charge(1), Delta::Charge(most), Delta::GiveBack(1), Delta::GiveBack(most)] {
        let what = || format!("{delta:?} at {} us", scenario.start);
        let mut adjusted = key.clone();
        let idle = adjusted.is_idle(scenario.start);
        match adjusted.adjust(delta, scenario.start, LOG_LIMIT.max) {
            Err(AdjustError::Record(error)) => return Err(format!("{}: {error:?}", what())),
            Err(AdjustError::Excess(_)) => same(&adjusted, key, what)?,
            Ok(None) => {
                same(&adjusted, key, what)?;
                holds(idle, || format!("{}: null, and not idle", what()))?;
            }
            Ok(Some(decision)) => {
                holds(decision.allowed() && !idle, what)?;
                holds(decision.reply().iter().all(|&integer| integer >= 0), what)?;
                let bytes = adjusted.record.as_deref().unwrap_or_default();
                same(&record::decode(bytes).map(|(found, _)| found), &Ok(key.algorithm), what)?;
            }
        }
    }
    Ok(())
}

/// `first` is what the first call must be answered: an error, or some verdict.
fn check_calls(mut key: Key, first: Result<(), RecordError>, scenario: &Scenario) -> Said {
    let mut now = scenario.start;
    let mut last = Told::default();
    for (index, call) in scenario.calls.iter().enumerate() {
        let what = || format!("call {index} of {:?} on {}", key.algorithm, scenario.start);
        now = call.pause.resolve(now, &last);
        let limit = limit(key.algorithm, &call.numbers);
        let (cost, options) = (call.cost.resolve(&last), call.asks.resolve(&last, key.is_bucket()));
        let ask = |mut key: Key| {
            if options.is_none() {
                let got = key.call_under(&limit, now, cost).map(|decision| (decision, None));
                return (key, got);
            }
            let got = key.ask(&limit, now, cost, &options);
            (key, got)
        };
        let (after, got) = ask(key.clone());
        same(&got.map(|_| ()), &first, what)?;
        let Ok((decision, extra)) = got else { return Ok(()) };
        holds(extra.is_none_or(|extra| extra.reply() >= 0), what)?;
        holds(decision.remaining() <= decision.limit, what)?;
        holds(decision.reply().iter().all(|&integer| integer >= -1), what)?;
        // A refusal never says 0.
        holds(!matches!(decision.retry, Retry::After(wait) if wait.micros() == 0), what)?;
        let (key_again, again) = ask(key);
        same(&(&key_again, again), &(&after, got), || "the same call on the same bytes".to_owned())?;
        key = after;
        last = told(&decision, &call.numbers, key.is_bucket());
    }
    Ok(())
}
