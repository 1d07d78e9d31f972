//! An exact model of the five limiters, slow and plain on purpose.
//!
//! It works on unbounded integers and rationals, shares no code and no type with the crate, and was
//! written from the prose that says what the limiters do. Where it and the crate differ, one of them
//! is wrong.
//!
//! Times are microseconds since the epoch, waits are microseconds.

use num_bigint::BigInt;
use num_traits::Zero;

pub mod adjust;
pub mod asked;
pub mod bucket;
pub mod fixed_window;
pub mod sliding_counter;
pub mod sliding_log;

pub type Int = BigInt;

pub fn int(n: u64) -> Int {
    Int::from(n)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The call was allowed.
    Now,
    /// The same call succeeds after this many microseconds, and not earlier.
    After(Int),
    /// The cost is above the limit.
    Never,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub allowed: bool,
    pub limit: Int,
    pub remaining: Int,
    pub retry: Wait,
    pub reset: Int,
}

impl Verdict {
    fn allowed(limit: &Int, left: Int, reset: Int) -> Self {
        Self { allowed: true, limit: limit.clone(), remaining: at_least_zero(left), retry: Wait::Now, reset }
    }

    fn refused(limit: &Int, left: Int, retry: Wait, reset: Int) -> Self {
        Self { allowed: false, limit: limit.clone(), remaining: at_least_zero(left), retry, reset }
    }
}

fn at_least_zero(n: Int) -> Int {
    n.max(Int::zero())
}
