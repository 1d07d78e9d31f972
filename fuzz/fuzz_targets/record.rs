//! Stored bytes: whatever they are, calls on them get an answer, and what they make of them can be read again.
//!
//! An input is a record, and after it the calls that are made on it.
#![no_main]

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/core/tests/suite/any_bytes.rs"]
mod any_bytes;
mod decoded;
#[path = "../../crates/core/tests/suite/key.rs"]
#[allow(dead_code)]
mod key;
#[path = "../../crates/core/tests/suite/says.rs"]
mod says;
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
    let scenario = decoded::scenario(&mut Unstructured::new(calls), 8);
    any_bytes::check(record, &scenario).unwrap();
});
