//! The module on real servers.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail, and says where"
)]

mod acl;
mod adjust;
mod all;
mod cases;
mod client_snippets;
mod cluster;
mod copies;
mod diskless_load;
mod documents;
mod failover;
mod fuzz;
#[allow(dead_code, reason = "an interface for every suite, whichever of them are there")]
mod harness;
mod harness_works;
mod memory_limit;
mod options;
mod redis_cell;
mod restart;
mod rules;
mod stream;
mod surroundings;
mod upgrade;
