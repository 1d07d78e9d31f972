//! Sequences of calls and adjustments: the core says what the model says, to the microsecond.
#![no_main]

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use limiter_core::record::Algorithm;

#[path = "../../crates/core/tests/suite/adjusting.rs"]
mod adjusting;
#[path = "../../crates/core/tests/suite/agreement.rs"]
#[allow(dead_code)]
mod agreement;
mod decoded;
mod decoded_steps;
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
    let steps = decoded_steps::steps(&mut bytes, 48);
    adjusting::agree(algorithm, &steps).unwrap();
});
