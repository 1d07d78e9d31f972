//! What the limiters promise, each promise a property of its own that needs no model.

mod adjust;
mod arguments;
mod clock;
mod either_flow;
mod expiry;
mod memo;
mod options;
mod records;
mod throughput;
mod verdicts;

use limiter_core::call::Limit;
use limiter_core::decision::Decision;
use limiter_core::general::Extra;
use limiter_core::options::Options;
use limiter_core::record::Algorithm;
use proptest::prelude::*;
use proptest::sample::select;

use crate::key::{Key, told};
use crate::scenario::{Call, Scenario, Told};

fn algorithm() -> impl Strategy<Value = Algorithm> {
    select(Algorithm::ALL.to_vec())
}

/// A call whose time and cost are known.
#[derive(Clone, Copy, Debug)]
struct Now {
    call: Call,
    at: u64,
    cost: u64,
}

/// A call with options and what it was answered.
#[derive(Clone, Copy, Debug)]
struct Asked {
    limit: Limit,
    at: u64,
    cost: u64,
    options: Options,
    decision: Decision,
    extra: Option<Extra>,
}

/// Makes the calls of a scenario with their options, and shows each to `look` with the key before and after it.
fn follow_asking(
    algorithm: Algorithm,
    scenario: &Scenario,
    mut look: impl FnMut(&Asked, &Key, &Key) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let mut key = Key::new(algorithm);
    let mut last = Told::default();
    let mut at = scenario.start;
    for call in &scenario.calls {
        at = call.pause.resolve(at, &last);
        let cost = call.cost.resolve(&last);
        let options = call.asks.resolve(&last, key.is_bucket());
        let (before, limit) = (key.clone(), key.limit(&call.numbers));
        let (decision, extra) = key.ask(&limit, at, cost, &options).unwrap();
        look(&Asked { limit, at, cost, options, decision, extra }, &before, &key)?;
        last = told(&decision, &call.numbers, key.is_bucket());
    }
    Ok(())
}

/// Makes the calls of a scenario on a new key, and shows each to `look` with the key before and after it.
fn follow(
    algorithm: Algorithm,
    scenario: &Scenario,
    mut look: impl FnMut(&Now, &Key, &Key, &Decision) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let mut key = Key::new(algorithm);
    let mut last = Told::default();
    let mut at = scenario.start;
    for call in &scenario.calls {
        at = call.pause.resolve(at, &last);
        let cost = call.cost.resolve(&last);
        let before = key.clone();
        let decision = key.call(&call.numbers, at, cost);
        look(&Now { call: *call, at, cost }, &before, &key, &decision)?;
        last = told(&decision, &call.numbers, key.is_bucket());
    }
    Ok(())
}
