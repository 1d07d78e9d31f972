//! Findings as text, for random tests and fuzz targets alike.

use std::fmt::Debug;

/// What is wrong, if something is.
pub type Said = Result<(), String>;

pub fn holds(true_of_it: bool, what: impl FnOnce() -> String) -> Said {
    if true_of_it { Ok(()) } else { Err(what()) }
}

pub fn same<T: PartialEq + Debug>(got: &T, expected: &T, what: impl FnOnce() -> String) -> Said {
    holds(got == expected, || format!("{}: got {got:?}, expected {expected:?}", what()))
}
