//! The core against the model, on random sequences of calls.

use limiter_core::record::Algorithm;
use proptest::prelude::*;
use proptest::sample::select;

use crate::adjusting;
use crate::agreement::agree;
use crate::generate::{asking, asking_steps, busy_scenario, busy_steps, scenario, steps};
use crate::runs;

proptest! {
    #![proptest_config(runs(10_000))]

    #[test]
    fn a_token_bucket_agrees_with_the_model(scenario in scenario(40)) {
        agree(Algorithm::TokenBucket, &scenario).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn gcra_agrees_with_the_model(scenario in scenario(40)) {
        agree(Algorithm::Gcra, &scenario).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn a_fixed_window_agrees_with_the_model(scenario in scenario(40)) {
        agree(Algorithm::Fixed, &scenario).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn a_sliding_log_agrees_with_the_model(scenario in scenario(100)) {
        agree(Algorithm::SlidingLog, &scenario).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn a_sliding_counter_agrees_with_the_model(scenario in scenario(40)) {
        agree(Algorithm::SlidingCounter, &scenario).map_err(TestCaseError::fail)?;
    }
}

proptest! {
    #![proptest_config(runs(3_000))]

    #[test]
    fn a_busy_sliding_log_agrees_with_the_model(scenario in busy_scenario(120)) {
        agree(Algorithm::SlidingLog, &scenario).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn any_busy_limiter_agrees_with_the_model(algorithm in select(Algorithm::ALL.to_vec()), scenario in busy_scenario(40)) {
        agree(algorithm, &scenario).map_err(TestCaseError::fail)?;
    }
}

proptest! {
    #![proptest_config(runs(4_000))]

    #[test]
    fn any_limiter_that_is_asked_more_agrees_with_the_model(
        algorithm in select(Algorithm::ALL.to_vec()),
        scenario in asking(scenario(40)),
    ) {
        agree(algorithm, &scenario).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn any_busy_limiter_that_is_asked_more_agrees_with_the_model(
        algorithm in select(Algorithm::ALL.to_vec()),
        scenario in asking(busy_scenario(60)),
    ) {
        agree(algorithm, &scenario).map_err(TestCaseError::fail)?;
    }
}

proptest! {
    #![proptest_config(runs(6_000))]

    #[test]
    fn an_adjusted_token_bucket_agrees_with_the_model(steps in steps(40)) {
        adjusting::agree(Algorithm::TokenBucket, &steps).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn an_adjusted_fixed_window_agrees_with_the_model(steps in steps(40)) {
        adjusting::agree(Algorithm::Fixed, &steps).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn an_adjusted_sliding_log_agrees_with_the_model(steps in steps(100)) {
        adjusting::agree(Algorithm::SlidingLog, &steps).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn an_adjusted_sliding_counter_agrees_with_the_model(steps in steps(40)) {
        adjusting::agree(Algorithm::SlidingCounter, &steps).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn any_busy_limiter_that_is_adjusted_agrees_with_the_model(
        algorithm in select(Algorithm::ALL.to_vec()),
        steps in prop_oneof![busy_steps(60), asking_steps(40)],
    ) {
        adjusting::agree(algorithm, &steps).map_err(TestCaseError::fail)?;
    }
}
