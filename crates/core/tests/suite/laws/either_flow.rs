//! The short flow and the general one are one limiter.

use limiter_core::options::Options;
use proptest::prelude::*;

use super::{algorithm, follow};
use crate::generate::{busy_scenario, scenario};
use crate::runs;

proptest! {
    #![proptest_config(runs(4_000))]

    #[test]
    fn a_plain_call_gets_the_same_verdict_and_leaves_the_same_bytes_by_either_flow(
        algorithm in algorithm(),
        scenario in prop_oneof![scenario(60), busy_scenario(60)],
    ) {
        follow(algorithm, &scenario, |now, before, after, decision| {
            let mut general = before.clone();
            let limit = general.limit(&now.call.numbers);
            let (again, extra) = general.ask(&limit, now.at, now.cost, &Options::NONE).unwrap();
            prop_assert_eq!(&again, decision);
            prop_assert_eq!(extra, None);
            prop_assert_eq!(&general, after);
            Ok(())
        })?;
    }
}
