//! The decisions of five rate limiters, exact and deterministic.
//!
//! A caller hands over the stored bytes, the limits of this call, the time and the cost; [`call::decide`] answers the
//! verdict and what must be stored. Nothing in here reads a clock, allocates on the way to a verdict, uses a float or
//! panics: every input, stored bytes included, has an answer.
//!
//! | module | algorithm |
//! |---|---|
//! | [`bucket`] | token bucket and GCRA: the same meter in two vocabularies |
//! | [`fixed_window`] | fixed window, opened by a call or aligned to the epoch |
//! | [`sliding_log`] | sliding log: exact, one entry an event |
//! | [`sliding_counter`] | sliding-window counter: two counts, approximate |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod adjust;
pub mod all;
pub mod block;
pub mod bucket;
pub mod call;
pub mod compound;
pub mod decision;
mod exact;
pub mod expiry;
pub mod fixed_window;
pub mod general;
pub mod limit;
pub mod list;
pub mod matching;
pub mod memo;
pub mod meter;
pub mod options;
pub mod plain;
pub mod record;
pub mod request;
pub mod sliding_counter;
pub mod sliding_log;
pub mod steady;
pub mod throttle;
pub mod time;
