//! The client: what it sends and reads, and how it fares with real servers.

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

mod batched;
mod cluster;
mod commands;
mod decoding;
mod encoding;
mod errors;
mod faults;
mod keys;
mod limits;
mod measure;
mod reconnection;
// The servers that the module's own tests run on.
#[allow(dead_code, unused_imports, reason = "an interface for every suite, whichever of them are there")]
#[path = "../../../../tests/integration/harness/mod.rs"]
mod harness;
mod http;
mod local;
mod pacer;
mod policy;
mod proxy;
mod slow;
