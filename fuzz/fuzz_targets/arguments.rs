//! Arguments as bytes: what the crate reads is what the grammar says, and an error can be shown.
//!
//! An input is a line an argument. The first is an algorithm's name for the arguments of a call; anything else is what
//! `RL.PEEK` is asked.
#![no_main]

use libfuzzer_sys::fuzz_target;
use limiter_core::limit::{LOG_LIMIT, LOG_LIMIT_DEFAULT};
use limiter_core::record::Algorithm;

#[path = "../../crates/core/tests/suite/grammar.rs"]
mod grammar;
#[path = "../../crates/core/tests/suite/model/mod.rs"]
#[allow(dead_code)]
mod model;
#[path = "../../crates/core/tests/suite/says.rs"]
mod says;

fuzz_target!(|bytes: &[u8]| {
    let args: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    grammar::check_peek(&args, LOG_LIMIT_DEFAULT).unwrap();
    if let Some((name, args)) = args.split_first() {
        let named = |algorithm: &Algorithm| name.eq_ignore_ascii_case(algorithm.name().as_bytes());
        if let Some(algorithm) = Algorithm::ALL.into_iter().find(named) {
            grammar::check_call(algorithm, args, LOG_LIMIT_DEFAULT).unwrap();
            grammar::check_remembered(args, [LOG_LIMIT_DEFAULT, LOG_LIMIT.min]).unwrap();
        }
    }
});
