//! A list in one key, next to the same limiters in keys of their own: they come to the same bytes, options included.

use limiter_core::call;
use limiter_core::decision::{Decision, Retry};
use limiter_core::general::{self, Extra};
use limiter_core::matching::Stored;
use limiter_core::options::Options;
use limiter_core::record::Algorithm;
use limiter_core::request::Call;
use limiter_core::time::{Span, Timestamp};
use proptest::prelude::*;

use super::generate::{self, Scenario};
use super::key::ListKey;
use crate::key::{Key, limit, told};
use crate::runs;
use crate::says::{Said, holds, same};
use crate::scenario::Told;

/// The limiters of one list, each in a key of its own.
#[derive(Clone, Default)]
struct Apart {
    states: Vec<State>,
}

#[derive(Clone)]
struct State {
    algorithm: Algorithm,
    /// What the call named as window, in milliseconds.
    window_ms: u64,
    key: Key,
}

/// What one limit says.
struct One {
    decision: Decision,
    extra: Option<Extra>,
    /// The wait of the same call after this one.
    next: Retry,
}

impl Apart {
    fn window(&self, state: &State) -> u64 {
        match (&state.key.record, self.states.len()) {
            (Some(record), 1) => call::stored_limit(record).unwrap().interval().millis(),
            _ => state.window_ms,
        }
    }

    fn places(&self, calls: &[Call]) -> Vec<Option<usize>> {
        let mut places: Vec<Option<usize>> = vec![None; calls.len()];
        for by_window in [true, false] {
            for (at, call) in calls.iter().enumerate() {
                if places[at].is_none() {
                    places[at] = (0..self.states.len()).find(|place| {
                        let state = &self.states[*place];
                        let window = self.window(state) == call.limit.interval().millis();
                        !places.contains(&Some(*place))
                            && state.algorithm == call.limit.algorithm()
                            && (!by_window || window)
                    });
                }
            }
        }
        places
    }

    fn call(&mut self, calls: &[Call], now: u64) -> Vec<One> {
        let places = self.places(calls);
        for index in 0..self.states.len() {
            self.states[index].window_ms = self.window(&self.states[index]);
        }
        let new = |call: &Call| State {
            algorithm: call.limit.algorithm(),
            window_ms: call.limit.interval().millis(),
            key: Key::new(call.limit.algorithm()),
        };
        let found: Vec<State> = calls
            .iter()
            .zip(&places)
            .map(|(call, place)| place.map_or_else(|| new(call), |place| self.states[place].clone()))
            .collect();
        let mut after = found.clone();
        let ask = |state: &mut State, call: &Call| {
            let (decision, extra) = state.key.ask(&call.limit, now, call.cost, &call.options).unwrap();
            One { decision, extra, next: decision.retry }
        };
        let mut said: Vec<One> = calls.iter().zip(&mut after).map(|(call, state)| ask(state, call)).collect();
        let allowed = said.iter().all(|one| one.decision.allowed());
        if !allowed {
            for (((call, one), before), after) in calls.iter().zip(&mut said).zip(&found).zip(&mut after) {
                if one.decision.allowed() && call.cost > 0 {
                    *after = before.clone();
                    *one = spared(after, call, now);
                }
            }
        }
        if allowed && calls.iter().any(|call| call.cost > 0) {
            for (state, call) in after.iter_mut().zip(calls) {
                state.window_ms = call.limit.interval().millis();
            }
            self.states = after;
        } else {
            // The first call that leaves something behind stores its whole list.
            let begins = found.iter().zip(&after).any(|(before, after)| before.key.record != after.key.record);
            let begins = self.states.is_empty() && begins;
            for ((place, before), after) in places.iter().zip(found).zip(after) {
                match place {
                    Some(place) => self.states[*place].key = after.key,
                    None if begins || after.key.record != before.key.record => self.states.push(after),
                    None => {}
                }
            }
        }
        said
    }
}

/// A limit that would pass, of a whole that does not: it takes nothing, or counts what was refused.
fn spared(state: &mut State, call: &Call, now: u64) -> One {
    let at = Timestamp::from_micros(now);
    if !call.options.strict {
        let (decision, extra) = state.key.ask(&call.limit, now, 0, &call.options).unwrap();
        return One { decision, extra, next: Retry::Now };
    }
    // What it counts is what a call with its cost would take, at most the limit; it asks nobody to wait for a block.
    let record = state.key.record.clone();
    let options = Options { block: None, ..call.options };
    let outcome = general::refuse(record.as_deref(), &call.limit, at, call.cost, &options).unwrap();
    state.key.apply(&outcome.change, outcome.block);
    let usage = state.key.clone().ask(&call.limit, now, 0, &Options::NONE).unwrap().0;
    let (again, _) = state.key.clone().ask(&call.limit, now, call.cost, &Options { strict: false, ..options }).unwrap();
    let decision = Decision { retry: Retry::Now, ..usage };
    One { decision, extra: call.options.reserve.map(|_| Extra::Wait(Span::ZERO)), next: again.retry }
}

fn rank(retry: &Retry) -> (u8, Span) {
    match retry {
        Retry::Now => (0, Span::ZERO),
        Retry::After(wait) => (1, *wait),
        Retry::Never => (2, Span::ZERO),
    }
}

fn agree(scenario: &Scenario) -> Said {
    let mut key = ListKey::default();
    let mut apart = Apart::default();
    let mut now = scenario.start;
    let mut last: Vec<Told> = Vec::new();
    for (index, call) in scenario.calls.iter().enumerate() {
        let of = if last.is_empty() { Told::default() } else { last[call.of.index(last.len())] };
        now = call.pause.resolve(now, &of);
        let calls: Vec<Call> = (0..)
            .zip(&call.limits)
            .map(|(at, of): (usize, &generate::Limit)| {
                let told = last.get(at).copied().unwrap_or_default();
                let bucket = matches!(of.algorithm, Algorithm::TokenBucket | Algorithm::Gcra);
                Call {
                    limit: limit(of.algorithm, &of.numbers),
                    cost: of.cost.resolve(&told),
                    options: of.asks.resolve(&told, bucket),
                }
            })
            .collect();
        let calling = |what: &str| format!("{what} call {index} at {now} us, {calls:?}");

        let got = key.call(&calls, now).map_err(|error| format!("{error:?} of {}", calling("")))?;
        let said = apart.call(&calls, now);
        let each: Vec<_> = said.iter().map(|one| one.decision).collect();
        same(&got.each(), &each.as_slice(), || calling("the limits of"))?;
        let longest = said.iter().map(|one| rank(&one.next)).max().unwrap();
        same(&rank(&got.whole().retry), &longest, || calling("the wait of"))?;
        if !got.allowed() {
            let at = said.iter().position(|one| rank(&one.next) == longest).unwrap();
            same(&got.binding(), &(at + 1), || calling("the binding limit of"))?;
        }
        let waits = said.iter().filter_map(|one| match one.extra {
            Some(Extra::Wait(wait)) => Some(wait),
            _ => None,
        });
        let wait = waits.max().map(|wait| if got.allowed() { wait } else { Span::ZERO });
        same(&got.wait(), &wait, || calling("the eighth element for"))?;

        let stored = Stored::read(key.record.as_deref()).map_err(|error| format!("{error:?} after {}", calling("")))?;
        same(&stored.len(), &apart.states.len(), || calling("the states after"))?;
        let mut latest = None;
        for (part, state) in stored.parts().zip(&apart.states) {
            latest = latest.max(state.key.expiry_ms);
            let Some(record) = &state.key.record else {
                // It keeps its place with a record in which nothing is used.
                let looked = general::decide(
                    Some(part.record),
                    &limit_of(part.record),
                    Timestamp::from_micros(now),
                    0,
                    &Options::NONE,
                );
                let used = looked.map_err(|error| format!("{error:?} of {}", calling("")))?.decision.used;
                holds(used == 0, || calling("usage where there is none after"))?;
                continue;
            };
            same(&part.record, &record.as_slice(), || calling("a part after"))?;
            if stored.len() > 1 {
                same(&part.window.millis(), &state.window_ms, || calling("a window after"))?;
            }
        }
        same(&key.expiry_ms, &latest, || calling("the expiry after"))?;
        last = call
            .limits
            .iter()
            .zip(got.each())
            .map(|(limit, decision)| {
                let bucket = matches!(limit.algorithm, Algorithm::TokenBucket | Algorithm::Gcra);
                told(decision, &limit.numbers, bucket)
            })
            .collect();
    }
    Ok(())
}

fn limit_of(record: &[u8]) -> call::Limit {
    call::stored_limit(record).expect("it can be read")
}

proptest! {
    #![proptest_config(runs(4_000))]

    #[test]
    fn a_list_comes_to_the_same_bytes_as_limiters_in_keys_of_their_own(scenario in generate::asking(20)) {
        agree(&scenario).map_err(TestCaseError::fail)?;
    }
}
