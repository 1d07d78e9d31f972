//! What a caller may ask of a decision beyond its limits and its cost.
//!
//! | option | meaning |
//! |---|---|
//! | `PARTIAL` | if the whole cost does not fit, take what does |
//! | `RESERVE max_wait` | a bucket: take now what is there within `max_wait`, and be told when |
//! | `STRICT` | a refused call counts too |
//! | `BLOCK duration` | once refused, refuse everything on the key for that long |

use crate::limit::RESERVE_MS;
use crate::record::Algorithm;
use crate::request::{ArgumentError, Expected, RequestError, duration, interval, required, wrong};
use crate::time::{Interval, Span};

/// The options of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// If the whole cost does not fit, what does is taken, at least 1. Never together with `reserve`.
    pub partial: bool,
    /// A refused call counts: usage becomes what it would be had the call been admitted, at most the limit.
    pub strict: bool,
    /// What is not there now, but within this wait, is taken now. Buckets alone can be asked that.
    pub reserve: Option<Span>,
    /// A refused call starts a block of this length, within which every call on the key is refused.
    pub block: Option<Interval>,
}

impl Options {
    /// No option at all: a plain call.
    pub const NONE: Self = Self { partial: false, strict: false, reserve: None, block: None };

    /// Whether no option is given.
    #[inline(always)]
    #[must_use]
    pub const fn is_none(&self) -> bool {
        !self.partial && !self.strict && self.reserve.is_none() && self.block.is_none()
    }
}

/// Reads options one after another, in any order and each at most once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reader {
    /// What was read so far.
    pub(crate) options: Options,
}

impl Reader {
    /// Reads the option that `word` begins, and what belongs to it from `args`; false if `word` is no option.
    ///
    /// # Errors
    ///
    /// An option that was given before, that the algorithm does not have, or that lacks its duration.
    pub(crate) fn read<'a>(
        &mut self,
        word: &'a [u8],
        algorithm: Algorithm,
        args: &mut impl Iterator<Item = &'a [u8]>,
    ) -> Result<bool, RequestError<'a>> {
        let Some(keyword) = Keyword::of(word) else { return Ok(false) };
        let Options { partial, strict, reserve, block } = &mut self.options;
        let given_before = match keyword {
            Keyword::Partial => *partial,
            Keyword::Strict => *strict,
            Keyword::Reserve => reserve.is_some(),
            Keyword::Block => block.is_some(),
        };
        if given_before {
            return Err(wrong("option", word, Expected::Once).into());
        }
        let is_bucket = matches!(algorithm, Algorithm::TokenBucket | Algorithm::Gcra);
        match keyword {
            Keyword::Reserve if !is_bucket => return Err(wrong("option", word, Expected::Bucket).into()),
            Keyword::Reserve if *partial => return Err(wrong("option", word, Expected::NotBoth).into()),
            Keyword::Partial if reserve.is_some() => return Err(wrong("option", word, Expected::NotBoth).into()),
            Keyword::Partial => *partial = true,
            Keyword::Strict => *strict = true,
            Keyword::Reserve => *reserve = Some(max_wait(required(args)?)?),
            Keyword::Block => *block = Some(interval("block", required(args)?)?),
        }
        Ok(true)
    }
}

fn max_wait(given: &[u8]) -> Result<Span, ArgumentError<'_>> {
    duration("max_wait", given, RESERVE_MS).map(Span::from_millis)
}

/// Whether `word` is the name of an option.
#[inline]
pub(crate) fn is_option(word: &[u8]) -> bool {
    Keyword::of(word).is_some()
}

#[derive(Clone, Copy)]
enum Keyword {
    Partial,
    Reserve,
    Strict,
    Block,
}

impl Keyword {
    fn of(word: &[u8]) -> Option<Self> {
        let named = |name: &[u8]| word.eq_ignore_ascii_case(name);
        match word.len() {
            5 if named(b"BLOCK") => Some(Self::Block),
            6 if named(b"STRICT") => Some(Self::Strict),
            7 if named(b"PARTIAL") => Some(Self::Partial),
            7 if named(b"RESERVE") => Some(Self::Reserve),
            _ => None,
        }
    }
}
