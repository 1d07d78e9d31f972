//! Sequences of calls: the core says what the model says, to the microsecond.
#![no_main]

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use limiter_core::record::Algorithm;

#[path = "../../crates/core/tests/suite/agreement.rs"]
mod agreement;
mod decoded;
#[path = "../../crates/core/tests/suite/key.rs"]
#[allow(dead_code)]
mod key;
#[path = "../../crates/core/tests/suite/model/mod.rs"]
#[allow(dead_code)]
mod model;
#[path = "../../crates/core/tests/suite/says.rs"]
mod says;
#[path = "../../crates/core/tests/suite/scenario.rs"]
#[allow(dead_code)]
mod scenario;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = Unstructured::new(bytes);
    let algorithm = bytes.choose(&Algorithm::ALL).copied().unwrap_or(Algorithm::TokenBucket);
    let scenario = decoded::scenario(&mut bytes, 48);
    agreement::agree(algorithm, &scenario).unwrap();
});
