//! The stored bytes of a limiter: a versioned, self-describing, little-endian record.
//!
//! Every record starts with the same four bytes: the letters `RL`, the format's version, and a byte whose low four bits
//! are the algorithm and whose fifth tells the form. Ordinary limits take the compact form of 36 bytes or less; limits
//! in the corners of the range take the wide one. A record is of the least version that can say what it says: a blocked
//! one of version 2, every other of version 1. docs/design.md lists every field.

mod fields;
mod forms;

pub use fields::Small;
pub(crate) use fields::{Fields, expiry_in_range};
pub(crate) use forms::{decode_bucket, decode_counter, decode_fixed};
pub use forms::{encode_bucket, encode_counter, encode_fixed};

use crate::block::Block;
use crate::bucket::Bucket;
use crate::fixed_window::FixedWindow;
use crate::sliding_counter::SlidingCounter;
use crate::sliding_log::Log;

/// The newest format that this version reads.
pub const VERSION: u8 = 2;

/// The format of plain records.
const VERSION_PLAIN: u8 = 1;

/// The format of blocked records.
pub(crate) const VERSION_BLOCKED: u8 = 2;

/// The first two bytes of every record.
const MAGIC: [u8; 2] = *b"RL";

/// Set in the fourth byte when the record has the wide form (a log: entries with weights).
const WIDE: u8 = 0x10;

/// Set in the fourth byte when a block follows it.
pub(crate) const BLOCKED: u8 = 0x20;
/// In place of an algorithm in the fourth byte: a list of limiters, whose layout [`compound`](crate::compound) tells.
pub(crate) const COMPOUND: u8 = 6;

/// The kind of limiter a record belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Algorithm {
    /// `RL.TOKENBUCKET`
    TokenBucket = 1,
    /// `RL.GCRA`
    Gcra = 2,
    /// `RL.FIXED`
    Fixed = 3,
    /// `RL.SLIDINGLOG`
    SlidingLog = 4,
    /// `RL.SLIDINGCOUNTER`
    SlidingCounter = 5,
}

impl Algorithm {
    /// Every algorithm, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::TokenBucket, Self::Gcra, Self::Fixed, Self::SlidingLog, Self::SlidingCounter];

    /// The name as users write it, in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TokenBucket => "tokenbucket",
            Self::Gcra => "gcra",
            Self::Fixed => "fixed",
            Self::SlidingLog => "slidinglog",
            Self::SlidingCounter => "slidingcounter",
        }
    }

    #[inline]
    const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::TokenBucket),
            2 => Some(Self::Gcra),
            3 => Some(Self::Fixed),
            4 => Some(Self::SlidingLog),
            5 => Some(Self::SlidingCounter),
            _ => None,
        }
    }
}

/// Why bytes are not the state that a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// Not limiter state, or damaged.
    Foreign,
    /// Written by a newer version of this module, with the format version given.
    Newer(u8),
    /// State of several limiters, where one is wanted.
    List,
    /// State of another algorithm.
    Other {
        /// The algorithm of the stored state.
        found: Algorithm,
        /// The algorithm of the call.
        wanted: Algorithm,
    },
    /// State of the right algorithm that is more than the plain record of it; [`general`](crate::general) reads it.
    Extended,
}

/// A record in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A bucket, in either vocabulary.
    Bucket(Stored<Bucket>),
    /// A fixed window.
    Fixed(Stored<FixedWindow>),
    /// A sliding log, read in place.
    Log(Log<'a>),
    /// A sliding-window counter.
    Counter(Stored<SlidingCounter>),
}

/// State with the absolute expiry of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored<S> {
    /// The state.
    pub state: S,
    /// The key's expiry in milliseconds since the epoch, as this module last set it.
    pub expiry_ms: u64,
}

/// Reads any record: its algorithm and its contents.
///
/// # Errors
///
/// [`RecordError::Foreign`] or [`RecordError::Newer`]; never a panic, whatever the bytes.
pub fn decode(bytes: &[u8]) -> Result<(Algorithm, Record<'_>), RecordError> {
    let Opened { algorithm, wide, fields, .. } = open(bytes)?;
    let record = match algorithm {
        Algorithm::TokenBucket | Algorithm::Gcra => decode_bucket(wide, fields).map(Record::Bucket),
        Algorithm::Fixed => decode_fixed(wide, fields).map(Record::Fixed),
        Algorithm::SlidingLog => Log::decode(wide, fields).map(Record::Log),
        Algorithm::SlidingCounter => decode_counter(wide, fields).map(Record::Counter),
    };
    record.map(|record| (algorithm, record)).ok_or(RecordError::Foreign)
}

/// The block in a record, whether or not it is over; `None` in one without, and in bytes that are no record.
#[must_use]
pub fn block(bytes: &[u8]) -> Option<Block> {
    open(bytes).ok()?.block
}

/// The format version of a record: the oldest module that reads it knows this one.
#[must_use]
pub fn version(bytes: &[u8]) -> u8 {
    bytes.get(2).copied().unwrap_or(VERSION)
}

/// Reads the header, and checks that the record belongs to `wanted`.
#[inline(always)]
pub(crate) fn open_as(bytes: &[u8], wanted: Algorithm) -> Result<(bool, &[u8]), RecordError> {
    // The usual case in one comparison: the very header that this version writes.
    if let Some((head, fields)) = bytes.split_first_chunk::<4>() {
        let form = u32::from_le_bytes(*head) ^ u32::from_le_bytes(header(wanted, false));
        if form & !(u32::from(WIDE) << 24) == 0 {
            return Ok((form != 0, fields));
        }
    }
    Err(mismatch(bytes, wanted))
}

/// The algorithm in the header of a record, of whatever version.
#[inline(always)]
pub(crate) fn algorithm_of(bytes: &[u8]) -> Option<Algorithm> {
    let [_, _, _, kind] = bytes.first_chunk()?;
    Algorithm::from_number(kind & 0x0f)
}

/// The expiry that a record of one limiter holds, in milliseconds since the epoch; any number for other bytes.
pub(crate) fn expiry_of(bytes: &[u8]) -> u64 {
    match decode(bytes) {
        Ok((_, Record::Bucket(stored))) => stored.expiry_ms,
        Ok((_, Record::Fixed(stored))) => stored.expiry_ms,
        Ok((_, Record::Counter(stored))) => stored.expiry_ms,
        Ok((_, Record::Log(log))) => log.expiry_ms(),
        Err(_) => 0,
    }
}

#[cold]
fn mismatch(bytes: &[u8], wanted: Algorithm) -> RecordError {
    match decode(bytes) {
        Ok((found, _)) if found == wanted => RecordError::Extended,
        Ok((found, _)) => RecordError::Other { found, wanted },
        Err(error) => error,
    }
}

/// A record whose first bytes are read.
pub(crate) struct Opened<'a> {
    pub(crate) algorithm: Algorithm,
    pub(crate) wide: bool,
    pub(crate) block: Option<Block>,
    /// The fields of the plain record.
    pub(crate) fields: &'a [u8],
}

/// Reads the first bytes of any record.
pub(crate) fn open(bytes: &[u8]) -> Result<Opened<'_>, RecordError> {
    let Some((&[m0, m1, version, kind], fields)) = bytes.split_first_chunk::<4>() else {
        return Err(RecordError::Foreign);
    };
    if [m0, m1] != MAGIC || version == 0 {
        return Err(RecordError::Foreign);
    }
    if version > VERSION {
        return Err(RecordError::Newer(version));
    }
    if (version, kind) == (VERSION_BLOCKED, COMPOUND) {
        return Err(RecordError::List);
    }
    let algorithm = Algorithm::from_number(kind & !(WIDE | BLOCKED)).ok_or(RecordError::Foreign)?;
    let mut fields = Fields(fields);
    let block = match (version, kind & BLOCKED != 0) {
        (VERSION_PLAIN, false) => None,
        (VERSION_BLOCKED, true) => Some(Block::decode(&mut fields).ok_or(RecordError::Foreign)?),
        _ => return Err(RecordError::Foreign),
    };
    Ok(Opened { algorithm, wide: kind & WIDE != 0, block, fields: fields.0 })
}

/// The four bytes that every plain record of this kind starts with.
#[inline]
pub(crate) const fn header(algorithm: Algorithm, wide: bool) -> [u8; 4] {
    let [m0, m1] = MAGIC;
    [m0, m1, VERSION_PLAIN, algorithm as u8 | if wide { WIDE } else { 0 }]
}

/// The four bytes that a record of this version and kind starts with.
pub(crate) const fn header_of(version: u8, kind: u8) -> [u8; 4] {
    let [m0, m1] = MAGIC;
    [m0, m1, version, kind]
}
