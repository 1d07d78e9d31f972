//! Random lists of limits, which change from call to call.

use limiter_core::record::Algorithm;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::fmt;

use crate::generate::{asks, cost, numbers, pause, related, start};
use crate::scenario::{Asks, Cost, Numbers, Pause};

/// One limit of a call, its cost in terms of what the limit at its place was told before.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub algorithm: Algorithm,
    pub numbers: Numbers,
    pub cost: Cost,
    pub asks: Asks,
}

#[derive(Clone, Debug)]
pub struct Call {
    pub limits: Vec<Limit>,
    pub pause: Pause,
    /// Which limit of the call before the pause refers to.
    pub of: Index,
}

#[derive(Clone)]
pub struct Scenario {
    pub start: u64,
    pub calls: Vec<Call>,
}

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "from {} us:", self.start)?;
        for call in &self.calls {
            writeln!(f, "{:?} of {:?}", call.pause, call.of)?;
            call.limits.iter().try_for_each(|limit| writeln!(f, "    {}", format_args!("{limit:?}")))?;
        }
        Ok(())
    }
}

/// At most one log.
fn one_log(mut limits: Vec<(Algorithm, Numbers)>) -> Vec<(Algorithm, Numbers)> {
    let mut logs = 0;
    limits.retain(|(algorithm, _)| {
        logs += usize::from(*algorithm == Algorithm::SlidingLog);
        *algorithm != Algorithm::SlidingLog || logs == 1
    });
    limits
}

/// Some limits, of which two often share their algorithm.
fn palette() -> impl Strategy<Value = Vec<(Algorithm, Numbers)>> {
    let algorithms = || select(Algorithm::ALL.to_vec());
    (numbers(), prop::collection::vec(algorithms(), 2..=3)).prop_flat_map(|(first, kinds)| {
        let numbers = prop_oneof![2 => related(first), 1 => Just(first), 1 => numbers()].boxed();
        prop::collection::vec((select(kinds), numbers), 2..=7)
    })
}

fn list(palette: Vec<(Algorithm, Numbers)>) -> impl Strategy<Value = Vec<(Algorithm, Numbers)>> {
    let base: Vec<_> = one_log(palette.iter().copied().take(3).collect());
    prop_oneof![
        6 => Just(base),
        1 => select(palette.clone()).prop_map(|one| vec![one]),
        2 => prop::collection::vec(select(palette), 1..=6).prop_map(one_log),
    ]
}

/// Calls under lists that change, on a clock that steps both ways.
pub fn scenario(length: usize) -> impl Strategy<Value = Scenario> {
    (palette().boxed(), start())
        .prop_flat_map(move |(palette, start)| {
            let limits = list(palette).prop_flat_map(|limits| {
                let costs = prop::collection::vec(cost().boxed(), limits.len());
                (Just(limits), costs).prop_map(|(limits, costs)| {
                    let limit =
                        |((algorithm, numbers), cost)| Limit { algorithm, numbers, cost, asks: Asks::default() };
                    limits.into_iter().zip(costs).map(limit).collect()
                })
            });
            let call = (limits, pause(), any::<Index>()).prop_map(|(limits, pause, of)| Call { limits, pause, of });
            prop::collection::vec(call.boxed(), 1..=length).prop_map(move |calls| Scenario { start, calls })
        })
        .boxed()
}

/// The same, where many limits are asked for more than a verdict.
pub fn asking(length: usize) -> impl Strategy<Value = Scenario> {
    scenario(length)
        .prop_flat_map(|scenario| {
            let count: usize = scenario.calls.iter().map(|call| call.limits.len()).sum();
            let some = prop_oneof![1 => Just(Asks::default()), 1 => asks()].boxed();
            (Just(scenario), prop::collection::vec(some, count))
        })
        .prop_map(|(mut scenario, asks)| {
            let limits = scenario.calls.iter_mut().flat_map(|call| &mut call.limits);
            for (limit, asks) in limits.zip(asks) {
                limit.asks = Asks { partial: false, ..asks };
            }
            scenario
        })
        .boxed()
}
