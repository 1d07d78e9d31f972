//! A list in steady use: the very limits that the key holds, none of them a log, each in [steady use](crate::steady) and
//! admitted. Its parts change where they lie.

use crate::bucket::Bucket;
use crate::call::Limit;
use crate::compound::{Compound, Head};
use crate::fixed_window::{FixedLimit, FixedWindow};
use crate::meter::Meter;
use crate::record::Algorithm;
use crate::request::Call;
use crate::sliding_counter::SlidingCounter;
use crate::time::Timestamp;

use super::Verdict;

/// Decides `calls` on their `record` where all are admitted and only bytes change: `head` gets the new record, which is as
/// long as the old one and whose key expires when it did. `None` is for [`one_key`](super::one_key).
#[inline(always)]
pub fn steady<const N: usize>(record: &[u8], calls: &[Call], now: Timestamp, head: &mut Head<N>) -> Option<Verdict<N>> {
    let list = Compound::open(record).ok()?;
    if list.len() != calls.len() {
        return None;
    }
    let mut verdict = Verdict::new();
    head.begin(calls.len());
    for (call, part) in calls.iter().zip(list.parts()) {
        if part.window != call.limit.interval() || !call.options.is_none() {
            return None;
        }
        let (algorithm, cost) = (call.limit.algorithm(), call.cost);
        let decision = match &call.limit {
            Limit::TokenBucket(limit) | Limit::Gcra(limit) => {
                let steady = Bucket::steady(part.record, algorithm, limit, now, cost)?;
                head.add(part.window, &steady.record?);
                steady.decision
            }
            Limit::Fixed(limit, opening) => {
                let limit = FixedLimit { limit: *limit, opening: *opening };
                let steady = FixedWindow::steady(part.record, Algorithm::Fixed, &limit, now, cost)?;
                head.add(part.window, &steady.record?);
                steady.decision
            }
            Limit::SlidingCounter(limit) => {
                let steady = SlidingCounter::steady(part.record, Algorithm::SlidingCounter, limit, now, cost)?;
                head.add(part.window, &steady.record?);
                steady.decision
            }
            Limit::SlidingLog(_) => return None,
        };
        verdict.add(decision, cost, None);
    }
    (verdict.each().len() == calls.len() && head.as_bytes().len() == record.len()).then_some(verdict)
}
