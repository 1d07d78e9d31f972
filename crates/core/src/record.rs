//! The stored bytes of a limiter: a versioned, self-describing, little-endian record.
//!
//! Every record starts with the same four bytes: the letters `RL`, the format's version, and a byte whose low four bits
//! are the algorithm and whose fifth tells the form. Ordinary limits take the compact form of 36 bytes or less; limits
//! in the corners of the range take the wide one. A record is of the least version that can say what it says: a blocked
//! one of version 2, every other of version 1. docs/design.md lists every field.

use crate::block::Block;
use crate::bucket::Bucket;
use crate::fixed_window::FixedWindow;
use crate::limit::{BucketLimit, CAPACITY, Rate, WindowLimit};
use crate::sliding_counter::SlidingCounter;
use crate::sliding_log::Log;
use crate::time::{Interval, Timestamp};

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

/// A record of bounded size: every one but a log of many events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Small {
    bytes: [u8; Small::CAPACITY],
    len: usize,
}

impl Small {
    /// The wide bucket and the log of two weighted events are the largest.
    pub const CAPACITY: usize = 60;

    #[inline]
    pub(crate) fn new(head: [u8; 4]) -> Self {
        let mut small = Self { bytes: [0; Self::CAPACITY], len: 0 };
        small.put(head);
        small
    }

    #[inline(always)]
    pub(crate) fn put<const N: usize>(&mut self, field: [u8; N]) {
        let space = self.bytes.get_mut(self.len..).and_then(|free| free.first_chunk_mut::<N>());
        debug_assert!(space.is_some(), "every record that is built here fits");
        if let Some(space) = space {
            *space = field;
            self.len = self.len.saturating_add(N);
        }
    }

    /// The end of a record of the compact form.
    #[inline(always)]
    fn put_compact<const N: usize>(&mut self, numbers: [u32; N], expiry: u32) {
        numbers.into_iter().for_each(|number| self.put(number.to_le_bytes()));
        self.put(expiry.to_le_bytes());
    }

    /// The end of a record of the wide form.
    #[inline(always)]
    fn put_wide<const N: usize>(&mut self, numbers: [u64; N], expiry_ms: u64) {
        numbers.into_iter().for_each(|number| self.put(number.to_le_bytes()));
        self.put(expiry_ms.to_le_bytes());
    }

    /// The record.
    #[inline(always)]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&self.bytes)
    }
}

/// Reads fields from the front; `None` once they have run out.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl Fields<'_> {
    #[inline]
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*field)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Option<u64> {
        self.take().map(|field| u64::from(u32::from_le_bytes(field)))
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    #[inline]
    fn u128(&mut self) -> Option<u128> {
        self.take().map(u128::from_le_bytes)
    }

    #[inline]
    fn i64(&mut self) -> Option<i64> {
        self.take().map(i64::from_le_bytes)
    }

    /// A number of the record's form: 4 bytes, or 8 in the wide one.
    #[inline]
    fn number(&mut self, wide: bool) -> Option<u64> {
        if wide { self.u64() } else { self.u32() }
    }

    #[inline]
    pub(crate) fn timestamp(&mut self) -> Option<Timestamp> {
        let us = self.u64()?;
        let at = Timestamp::from_micros(us);
        (at.micros() == us).then_some(at)
    }

    #[inline]
    fn interval(&mut self, wide: bool) -> Option<Interval> {
        self.number(wide).and_then(Interval::from_millis)
    }

    #[inline]
    fn window_limit(&mut self, wide: bool) -> Option<WindowLimit> {
        let limit = self.number(wide)?;
        WindowLimit::new(limit, self.interval(wide)?)
    }

    /// The expiry: absolute, or in the compact form counted from the state's own time.
    #[inline]
    fn expiry(&mut self, wide: bool, from: Timestamp) -> Option<u64> {
        let ms = self.number(wide)?;
        let at_ms = if wide { ms } else { ms.saturating_add(from.floor_ms()) };
        expiry_in_range(at_ms)
    }

    /// Nothing may be left over.
    #[inline]
    fn end<S>(self, state: S, expiry_ms: u64) -> Option<Stored<S>> {
        self.0.is_empty().then_some(Stored { state, expiry_ms })
    }
}

/// An expiry no record of this version exceeds: the latest instant, the longest wait, and the room beyond it.
#[inline]
pub(crate) fn expiry_in_range(at_ms: u64) -> Option<u64> {
    (at_ms <= Timestamp::MAX.micros() / 500).then_some(at_ms)
}

/// Reads the fields of a bucket, which follow the header.
#[inline(always)]
pub(crate) fn decode_bucket(wide: bool, fields: &[u8]) -> Option<Stored<Bucket>> {
    let mut fields = Fields(fields);
    let updated = fields.timestamp()?;
    let debt = if wide { fields.u128()? } else { u128::from(fields.u64()?) };
    let capacity = fields.number(wide)?;
    let tokens = fields.number(wide)?;
    let rate = Rate::new(tokens, fields.interval(wide)?)?;
    let expiry_ms = fields.expiry(wide, updated)?;
    let state = Bucket::new(debt, updated, BucketLimit::new(capacity, rate)?)?;
    fields.end(state, expiry_ms)
}

/// Writes a bucket; `algorithm` is its vocabulary.
#[inline(always)]
#[must_use]
pub fn encode_bucket(algorithm: Algorithm, stored: &Stored<Bucket>) -> Small {
    let Stored { state, expiry_ms } = stored;
    let rate = state.limit.rate();
    let (debt, wide_debt) = halves(state.debt);
    let numbers = [state.limit.capacity(), rate.tokens.get(), rate.period.millis()];
    let compact = compact(numbers, *expiry_ms, state.updated).filter(|_| wide_debt == 0);
    let mut record = Small::new(header(algorithm, compact.is_none()));
    record.put(state.updated.micros().to_le_bytes());
    record.put(debt.to_le_bytes());
    match compact {
        Some((numbers, expiry)) => record.put_compact(numbers, expiry),
        None => {
            record.put(wide_debt.to_le_bytes());
            record.put_wide(numbers, *expiry_ms);
        }
    }
    record
}

/// The low and the high half.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "each half is what is meant")]
const fn halves(n: u128) -> (u64, u64) {
    (n as u64, (n >> 64) as u64)
}

/// Reads the fields of a fixed window, which follow the header.
#[inline(always)]
pub(crate) fn decode_fixed(wide: bool, fields: &[u8]) -> Option<Stored<FixedWindow>> {
    let mut fields = Fields(fields);
    let start = fields.i64()?;
    let updated = fields.timestamp()?;
    let used = fields.number(wide)?;
    let limit = fields.window_limit(wide)?;
    let expiry_ms = fields.expiry(wide, updated)?;
    let earliest = 0_i64.saturating_sub_unsigned(limit.window().micros());
    let latest = i64::try_from(updated.micros()).ok()?;
    let in_range = CAPACITY.holds(used) && earliest <= start && start <= latest;
    in_range.then_some(())?;
    fields.end(FixedWindow { start, updated, used, limit }, expiry_ms)
}

/// Writes a fixed window.
#[inline(always)]
#[must_use]
pub fn encode_fixed(stored: &Stored<FixedWindow>) -> Small {
    let Stored { state, expiry_ms } = stored;
    let numbers = [state.used, state.limit.limit(), state.limit.window().millis()];
    let compact = compact(numbers, *expiry_ms, state.updated);
    let mut record = Small::new(header(Algorithm::Fixed, compact.is_none()));
    record.put(state.start.to_le_bytes());
    record.put(state.updated.micros().to_le_bytes());
    match compact {
        Some((numbers, expiry)) => record.put_compact(numbers, expiry),
        None => record.put_wide(numbers, *expiry_ms),
    }
    record
}

/// Reads the fields of a sliding-window counter, which follow the header.
#[inline(always)]
pub(crate) fn decode_counter(wide: bool, fields: &[u8]) -> Option<Stored<SlidingCounter>> {
    let mut fields = Fields(fields);
    let updated = fields.timestamp()?;
    let current = fields.number(wide)?;
    let previous = fields.number(wide)?;
    let limit = fields.window_limit(wide)?;
    let expiry_ms = fields.expiry(wide, updated)?;
    (CAPACITY.holds(current) && CAPACITY.holds(previous)).then_some(())?;
    fields.end(SlidingCounter { updated, current, previous, limit }, expiry_ms)
}

/// Writes a sliding-window counter.
#[inline(always)]
#[must_use]
pub fn encode_counter(stored: &Stored<SlidingCounter>) -> Small {
    let Stored { state, expiry_ms } = stored;
    let numbers = [state.current, state.previous, state.limit.limit(), state.limit.window().millis()];
    let compact = compact(numbers, *expiry_ms, state.updated);
    let mut record = Small::new(header(Algorithm::SlidingCounter, compact.is_none()));
    record.put(state.updated.micros().to_le_bytes());
    match compact {
        Some((numbers, expiry)) => record.put_compact(numbers, expiry),
        None => record.put_wide(numbers, *expiry_ms),
    }
    record
}

/// The numbers and the expiry, counted from the state's own time, as the compact form holds them; `None` if one does
/// not fit.
#[inline(always)]
fn compact<const N: usize>(numbers: [u64; N], expiry_ms: u64, from: Timestamp) -> Option<([u32; N], u32)> {
    let expiry = u32::try_from(expiry_ms.wrapping_sub(from.floor_ms())).ok()?;
    let mut narrow = [0; N];
    for (narrow, number) in narrow.iter_mut().zip(numbers) {
        *narrow = u32::try_from(number).ok()?;
    }
    Some((narrow, expiry))
}
