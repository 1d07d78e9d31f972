//! The core against the model, on random sequences of lists.

use limiter_core::all::Verdict;
use limiter_core::call;
use limiter_core::compound::LIMITS_MAX;
use limiter_core::options::Options;
use limiter_core::record::Algorithm;
use limiter_core::request::Call;
use proptest::prelude::*;

use super::generate::{self, Scenario};
use super::key::ListKey;
use super::model::{Limit, List, Whole};
use crate::agreement::{exact, reply};
use crate::key::{Key, limit, told};
use crate::model::{Wait, int};
use crate::runs;
use crate::says::{Said, holds, same};
use crate::scenario::Told;

pub fn call_of(of: &Limit) -> Call {
    Call { limit: limit(of.algorithm, &of.numbers), cost: of.cost, options: Options::NONE }
}

fn exact_whole(verdict: &Verdict<LIMITS_MAX>) -> Whole {
    let each = verdict.each().iter().map(exact).collect();
    Whole { whole: exact(&verdict.whole()), binding: verdict.binding(), each }
}

/// The limits of a call with their costs resolved.
fn resolve(call: &generate::Call, last: &[Told]) -> Vec<Limit> {
    let limit = |(at, of): (usize, &generate::Limit)| {
        let told = last.get(at).copied().unwrap_or_default();
        Limit { algorithm: of.algorithm, numbers: of.numbers, cost: of.cost.resolve(&told) }
    };
    call.limits.iter().enumerate().map(limit).collect()
}

fn agree(scenario: &Scenario) -> Said {
    let mut key = ListKey::default();
    let mut model = List::default();
    let mut now = scenario.start;
    let mut last: Vec<Told> = Vec::new();
    for (index, call) in scenario.calls.iter().enumerate() {
        let of = if last.is_empty() { Told::default() } else { last[call.of.index(last.len())] };
        now = call.pause.resolve(now, &of);
        let limits = resolve(call, &last);
        let calls: Vec<Call> = limits.iter().map(call_of).collect();
        let calling = |what| format!("{what} call {index} at {now} us, {limits:?}");

        let before = key.clone();
        let decided = key.call(&calls, now).map_err(|error| format!("{error:?} of {}", calling("")))?;
        let (corrected, expected) = model.call(&limits, &int(now));
        same(&exact_whole(&decided), &expected, || calling("the verdict of"))?;
        same(&decided.whole().reply(), &reply(&expected.whole), || calling("the reply to"))?;

        let admitted = expected.whole.allowed && limits.iter().any(|limit| limit.cost > 0);
        same(&(key.record != before.record), &(admitted || corrected), || calling("bytes changed by"))?;
        if key.record != before.record {
            same(&key.told_expiry_ms(), &key.expiry_ms, || calling("the expiry in the record after"))?;
            let (at, needed) = (int(key.expiry_ms.unwrap_or_default()) * 1_000, model.useful_until());
            holds(at >= needed, || calling("an expiry too early after"))?;
            again(&key, &calls, now)?;
        }
        last = limits
            .iter()
            .zip(decided.each())
            .map(|(limit, decision)| {
                let bucket = matches!(limit.algorithm, Algorithm::TokenBucket | Algorithm::Gcra);
                told(decision, &limit.numbers, bucket)
            })
            .collect();
        if let Wait::After(_) = expected.whole.retry {
            minimal(&key, &calls, now, &decided)?;
        }
    }
    Ok(())
}

/// The wait of a refused whole is one after which it passes, and the shortest.
fn minimal(key: &ListKey, calls: &[Call], now: u64, decided: &Verdict<LIMITS_MAX>) -> Said {
    let limiter_core::decision::Retry::After(wait) = decided.whole().retry else { return Ok(()) };
    let then = |now| key.clone().call(calls, now).expect("the record is still one").allowed();
    let after = now.saturating_add(wait.micros());
    if after <= limiter_core::time::Timestamp::MAX.micros() {
        holds(then(after), || format!("refused again after {wait:?}, {calls:?} at {now}"))?;
        holds(!then(after - 1), || format!("let in before {wait:?}, {calls:?} at {now}"))?;
    }
    Ok(())
}

/// A list of one is the plain record of its command, to the byte.
fn again(key: &ListKey, calls: &[Call], now: u64) -> Said {
    let ([call], Some(record)) = (calls, key.record.as_deref()) else { return Ok(()) };
    if call::stored_limit(record).is_err() {
        return Ok(());
    }
    let mut plain = Key { record: key.record.clone(), expiry_ms: key.expiry_ms, ..Key::new(call.limit.algorithm()) };
    let mut list = key.clone();
    let by_command = plain.call_under(&call.limit, now, call.cost).map_err(|error| format!("{error:?}"))?;
    let by_list = list.call(calls, now).map_err(|error| format!("{error:?}"))?;
    same(&by_list.each(), &[by_command].as_slice(), || "a list of one".to_owned())?;
    same(&(list.record, list.expiry_ms), &(plain.record, plain.expiry_ms), || "a list of one leaves".to_owned())
}

proptest! {
    #![proptest_config(runs(6_000))]

    #[test]
    fn a_list_of_limits_agrees_with_the_model(scenario in generate::scenario(25)) {
        agree(&scenario).map_err(TestCaseError::fail)?;
    }
}
