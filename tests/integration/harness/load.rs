//! Callers that never pause, and an exact account of what they were told.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

use redis::Value;

use super::{client::five, room::wait_until};

/// What the callers were told: for each call, in the order given, how often it was admitted and how often refused;
/// and each reply that was neither.
#[derive(Debug)]
pub struct Tally {
    pub admitted: Vec<u64>,
    pub refused: Vec<u64>,
    pub errors: Vec<String>,
}

/// Makes `calls`, over and over and from `callers` connections at once, while `work` runs; each connection is opened by
/// `connect`, which answers how to send a call over it. The work begins once every call has been answered, and the
/// callers go on until every call has been answered again after its end.
pub fn under_load<T, C>(
    callers: usize,
    calls: &[String],
    connect: impl Fn() -> C + Sync,
    work: impl FnOnce() -> T,
) -> (T, Tally)
where
    C: FnMut(&str) -> Result<Value, String>,
{
    let stop = AtomicBool::new(false);
    let rounds: Vec<AtomicU64> = (0..callers).map(|_| AtomicU64::new(0)).collect();
    let all_past = |start: &[u64]| {
        wait_until("every caller has made every call", || {
            rounds.iter().zip(start).all(|(round, start)| round.load(Ordering::Relaxed) > *start)
        });
    };
    thread::scope(|scope| {
        let caller = |round: &AtomicU64| {
            let mut send = connect();
            let mut counts = BTreeMap::new();
            let mut errors = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                for (index, call) in calls.iter().enumerate() {
                    match send(call).map(five) {
                        Ok(Ok([allowed, ..])) => *counts.entry((index, allowed == 1)).or_insert(0) += 1,
                        Ok(Err(reply)) => errors.push(format!("{call}: {reply:?}")),
                        Err(error) => errors.push(format!("{call}: {error}")),
                    }
                }
                round.fetch_add(1, Ordering::Relaxed);
            }
            (counts, errors)
        };
        let handles: Vec<_> = rounds.iter().map(|round| scope.spawn(move || caller(round))).collect();
        // Whatever fails in here, the callers have to stop, or the scope would wait for them for ever.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            all_past(&vec![0; callers]);
            let result = work();
            let now: Vec<u64> = rounds.iter().map(|round| round.load(Ordering::Relaxed) + 1).collect();
            all_past(&now);
            result
        }));
        stop.store(true, Ordering::Relaxed);
        let mut tally = Tally { admitted: vec![0; calls.len()], refused: vec![0; calls.len()], errors: Vec::new() };
        for handle in handles {
            let (counts, errors) = handle.join().unwrap();
            for ((index, allowed), count) in counts {
                let list = if allowed { &mut tally.admitted } else { &mut tally.refused };
                list[index] += count;
            }
            tally.errors.extend(errors);
        }
        match result {
            Ok(result) => (result, tally),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
