//! Lists of limits on stored bytes: whatever they are, a call of several limits gets an answer, and what it makes of them
//! can be read again.
//!
//! An input is a record, and after it the calls that are made on it, four limits each.
#![no_main]

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use limiter_core::matching::Stored;
use limiter_core::options::Options;
use limiter_core::record::Algorithm;
use limiter_core::request::Call;

mod decoded;
#[path = "../../crates/core/tests/suite/key.rs"]
#[allow(dead_code)]
mod key;
#[path = "../../crates/core/tests/suite/lists/key.rs"]
#[allow(dead_code)]
mod list_key;
#[path = "../../crates/core/tests/suite/scenario.rs"]
#[allow(dead_code)]
mod scenario;

/// Where the calls begin: after this, which no record of use contains.
const END: &[u8] = b"\xffEND";

fuzz_target!(|bytes: &[u8]| {
    let at = bytes.windows(END.len()).position(|window| window == END);
    let (record, calls) = match at {
        Some(at) => (&bytes[..at], &bytes[at + END.len()..]),
        None => (bytes, bytes),
    };
    let scenario = decoded::scenario(&mut Unstructured::new(calls), 16);
    let mut list = list_key::ListKey { record: Some(record.to_vec()), ..Default::default() };
    if Stored::read(Some(record)).is_ok() {
        list.expiry_ms = list.told_expiry_ms();
    }
    let (mut now, mut last) = (scenario.start, scenario::Told::default());
    for four in scenario.calls.chunks(4) {
        now = four[0].pause.resolve(now, &last);
        let calls: Vec<Call> = four
            .iter()
            .zip(Algorithm::ALL.into_iter().cycle().skip(four[0].numbers.interval_ms as usize % 5))
            .map(|(call, algorithm)| {
                let bucket = matches!(algorithm, Algorithm::TokenBucket | Algorithm::Gcra);
                let options = Options { partial: false, ..call.asks.resolve(&last, bucket) };
                Call { limit: key::limit(algorithm, &call.numbers), cost: call.cost.resolve(&last), options }
            })
            .collect();
        let before = list.record.clone();
        match list.call(&calls, now) {
            Ok(verdict) => {
                assert!(Stored::read(list.record.as_deref()).is_ok());
                assert!(verdict.whole().reply().iter().all(|&integer| integer >= -1));
                last = key::told(&verdict.each()[0], &four[0].numbers, false);
            }
            Err(_) => {
                assert_eq!(list.record, before);
                return;
            }
        }
    }
});
