//! The core against an exact model and against the laws it promises.
//!
//! `PROPTEST_CASES` sets how many random sequences each property is tried on.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

use proptest::test_runner::Config;

mod adjusting;
mod agreement;
mod any_bytes;
mod frozen;
mod frozen_blocked;
mod generate;
mod grammar;
mod key;
mod laws;
mod lists;
mod model;
mod model_cases;
mod oracle;
mod says;
mod scenario;
mod throttle;

/// How often a property is tried: `usually`, unless the environment says otherwise. What fails is printed in full and
/// becomes a test of its own, so no file of seeds is kept.
fn runs(usually: u32) -> Config {
    let cases = match std::env::var("PROPTEST_CASES") {
        Ok(_) => Config::default().cases,
        Err(_) => usually,
    };
    Config { cases, failure_persistence: None, max_shrink_time: 10_000, max_shrink_iters: 20_000, ..Config::default() }
}
