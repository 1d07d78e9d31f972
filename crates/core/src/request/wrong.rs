//! What a wrong argument is told.

use core::fmt;

use crate::adjust::Excess;
use crate::compound::LIMITS_MAX;
use crate::limit::{Bound, CAPACITY, DELTA, FILL_MAX_US, INTERVAL_MS, RATE, USED_MAX};
use crate::record::Algorithm;

/// A wrong argument: its name, what was got, and what is expected. `Display` is one line of printable ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgumentError<'a> {
    /// The number of the limit it belongs to, in a list of several; else 0.
    limit: usize,
    argument: &'static str,
    got: &'a [u8],
    expected: Expected,
}

impl ArgumentError<'_> {
    /// The same, in the limit of this number.
    pub(crate) fn of_limit(self, number: usize) -> Self {
        Self { limit: number, ..self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Integer(Bound),
    /// At most the setting `rl.sliding-log-max-limit`.
    LogLimit(u64),
    Duration(Bound),
    /// A number came without its unit.
    Unit(Bound),
    /// Shorter than the window, which is this many milliseconds long.
    Offset(u64),
    Rate,
    RateUnit,
    Fill,
    /// One of the options that the algorithm has.
    Option(Algorithm),
    /// An option that was not given before.
    Once,
    /// An option that windows have too.
    Bucket,
    /// Either PARTIAL or RESERVE.
    NotBoth,
    Algorithm,
    Delta,
    /// Less than would leave too much behind.
    Less(Excess),
    /// What a limit of a list consists of.
    Arguments(Algorithm),
    /// As many keys as limits, of which there are this many, or one.
    Keys(usize),
    /// At most as many limits as a call may have.
    Limits,
    /// A second log in one key.
    OneLog,
    /// `LIMIT n`, and nothing else.
    Limit,
    /// An option that limits of a list do not have.
    NotInList,
    /// A key that is not named before.
    Distinct,
}

/// The most bytes of a wrong argument that its error repeats.
const GOT_MAX: usize = 64;

impl fmt::Display for ArgumentError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.limit != 0 {
            write!(f, "limit {}: ", self.limit)?;
        }
        write!(f, "{}: got '", self.argument)?;
        for &byte in self.got.iter().take(GOT_MAX) {
            if byte == b' ' || byte.is_ascii_graphic() {
                write!(f, "{}", char::from(byte))?;
            } else {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        let cut = if self.got.len() > GOT_MAX { "..." } else { "" };
        write!(f, "'{cut}, expected {}", self.expected)
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: &str = "with its unit (ms, s, m, h or d)";
        let days = |ms: u64| ms / 86_400_000;
        match self {
            Self::Integer(Bound { min, max }) => write!(f, "an integer from {min} to {max}"),
            Self::LogLimit(max) => {
                let min = CAPACITY.min;
                write!(f, "an integer from {min} to {max} (the setting rl.sliding-log-max-limit)")
            }
            Self::Duration(Bound { min, max }) => {
                write!(f, "a duration from {min}ms to {}d {UNITS}, such as 60s", days(*max))
            }
            Self::Unit(Bound { min, max }) => {
                write!(f, "a number with a unit: a duration from {min}ms to {}d {UNITS}, such as 60s", days(*max))
            }
            Self::Offset(window) => {
                write!(f, "a duration from 0ms to less than the window of {window}ms, {UNITS}, such as 22h")
            }
            Self::Rate | Self::RateUnit => {
                let unit = if matches!(self, Self::RateUnit) { "a unit after the period's number: " } else { "" };
                let (Bound { min, max }, Bound { min: shortest, max: longest }) = (RATE, INTERVAL_MS);
                let longest = days(longest);
                write!(f, "{unit}n or n/duration, n an integer from {min} to {max}, ")?;
                write!(f, "the duration from {shortest}ms to {longest}d {UNITS}, such as 10 or 30/60s")
            }
            Self::Fill => {
                write!(f, "a rate that fills the bucket within {}d", days(FILL_MAX_US / 1_000))
            }
            Self::Option(algorithm) => match algorithm {
                Algorithm::TokenBucket | Algorithm::Gcra => {
                    write!(f, "PARTIAL, RESERVE max_wait, STRICT or BLOCK duration")
                }
                Algorithm::Fixed => write!(f, "ALIGNED [offset], PARTIAL, STRICT or BLOCK duration"),
                Algorithm::SlidingLog | Algorithm::SlidingCounter => write!(f, "PARTIAL, STRICT or BLOCK duration"),
            },
            Self::Once => write!(f, "each option at most once"),
            Self::Bucket => write!(f, "it with TOKENBUCKET or GCRA only: a window cannot be booked ahead"),
            Self::NotBoth => write!(f, "PARTIAL or RESERVE, not both"),
            Self::Algorithm => write!(f, "TOKENBUCKET, GCRA, FIXED, SLIDINGLOG or SLIDINGCOUNTER"),
            Self::Delta => write!(f, "an integer from -{0} to {0}", DELTA.max),
            Self::Less(Excess::Used) => write!(f, "one that leaves at most {USED_MAX} in use"),
            Self::Less(Excess::Drain) => {
                write!(f, "one that leaves a debt that flows back within {}d", days(FILL_MAX_US / 1_000))
            }
            Self::Less(Excess::Events(max)) => {
                write!(f, "one that leaves at most {max} events in the log (the setting rl.sliding-log-max-limit)")
            }
            Self::Arguments(algorithm) => {
                let parameters = match algorithm {
                    Algorithm::TokenBucket => "capacity rate [cost] [options]",
                    Algorithm::Gcra => "burst rate [cost] [options]",
                    _ => "limit window [cost] [options]",
                };
                write!(f, "{parameters} after it")
            }
            Self::Keys(1) => write!(f, "1, as there is one limit"),
            Self::Keys(limits) => write!(f, "1, or {limits} as there are {limits} limits"),
            Self::Limits => write!(f, "at most {LIMITS_MAX} limits"),
            Self::OneLog => write!(f, "at most one SLIDINGLOG in a key"),
            Self::Limit => write!(f, "LIMIT n"),
            Self::NotInList => write!(f, "it with a single limit only"),
            Self::Distinct => write!(f, "each key once"),
        }
    }
}

/// A rate that fills its bucket too slowly; `argument` is the one to raise.
#[cold]
pub(crate) fn unfillable<'a>(argument: &'static str, given: &'a [u8]) -> ArgumentError<'a> {
    wrong(argument, given, Expected::Fill)
}

#[cold]
pub(crate) fn wrong<'a>(argument: &'static str, got: &'a [u8], expected: Expected) -> ArgumentError<'a> {
    ArgumentError { limit: 0, argument, got, expected }
}
