//! Several limiters in one key: the record that `RL.ALL` writes for a list of two limits or more.
//!
//! After the four bytes of every record come the number of limits and a table, eight bytes a limit in the order of the
//! call: the length of the limit's part in the low 16 bits, and above them the window or the rate's period that the call
//! named, in milliseconds. Then the parts, each the whole record that its own command would write. A sliding log has no
//! length in the table: it is the last part whatever its place in the list, so that an event is added at the end.

use crate::record::{self, Algorithm, RecordError};
use crate::time::Interval;

/// The most limits in one call, and in one record.
pub const LIMITS_MAX: usize = 32;

/// The first four bytes.
const HEADER: [u8; 4] = record::header_of(2, record::COMPOUND);

/// What comes before the table: the header and the number of limits.
const LEAD: usize = 5;

/// Bytes a limit in the table.
const ENTRY: usize = 8;

/// Stands for a length: all bytes that the others leave.
const REST: u16 = u16::MAX;

/// The most bytes that a limit takes in a record, its log's events aside: its entry in the table, and the largest record
/// of bounded size with a block.
const LIMIT_BYTES: usize = 88;

/// One limiter of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// The window or the rate's period that the call named. A fixed window's own may be shorter while it is open.
    pub window: Interval,
    /// The limiter's own record.
    pub record: &'a [u8],
    /// Whether it is the part that reaches to the end: the log.
    last: bool,
}

impl<'a> Part<'a> {
    /// A limiter that has its key for itself.
    #[inline]
    pub(crate) fn alone(window: Interval, record: &'a [u8], algorithm: Algorithm) -> Self {
        Self { window, record, last: algorithm == Algorithm::SlidingLog }
    }

    /// The algorithm, if the record is one of a single limiter.
    #[inline(always)]
    pub(crate) fn algorithm(&self) -> Option<Algorithm> {
        let algorithm = record::algorithm_of(self.record)?;
        ((algorithm == Algorithm::SlidingLog) == self.last).then_some(algorithm)
    }
}

/// The parts of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compound<'a> {
    table: &'a [[u8; ENTRY]],
    parts: &'a [u8],
    /// The log's bytes; empty if there is none.
    rest: &'a [u8],
}

/// Whether the bytes claim to be a list of limiters.
#[inline(always)]
#[must_use]
pub fn is_compound(bytes: &[u8]) -> bool {
    bytes.first_chunk() == Some(&HEADER)
}

impl<'a> Compound<'a> {
    /// Reads the table; the parts are checked by who reads them, or by [`Compound::check`].
    ///
    /// # Errors
    ///
    /// [`RecordError::Foreign`] for anything but such a record.
    #[inline(always)]
    pub fn open(bytes: &'a [u8]) -> Result<Self, RecordError> {
        Self::read(bytes).ok_or(RecordError::Foreign)
    }

    #[inline(always)]
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (header, rest) = bytes.split_first_chunk::<4>()?;
        let (&count, rest) = rest.split_first()?;
        let count = usize::from(count);
        if *header != HEADER || !(2..=LIMITS_MAX).contains(&count) {
            return None;
        }
        let (table, parts) = rest.split_at_checked(count.wrapping_mul(ENTRY))?;
        let (table, _) = table.as_chunks::<ENTRY>();
        let (mut sum, mut logs) = (0_usize, 0_usize);
        for entry in table {
            match length(entry) {
                REST => logs = logs.wrapping_add(1),
                length => sum = sum.wrapping_add(usize::from(length)),
            }
        }
        let (parts, rest) = parts.split_at_checked(sum)?;
        let whole = if logs == 0 { rest.is_empty() } else { logs == 1 };
        whole.then_some(Self { table, parts, rest })
    }

    /// Checks every part.
    ///
    /// # Errors
    ///
    /// [`RecordError::Foreign`] if one is no record of a single limiter, [`RecordError::Newer`] if it is a newer one.
    pub fn check(&self) -> Result<(), RecordError> {
        let mut seen = 0_usize;
        for part in self.parts() {
            record::decode(part.record)?;
            if part.algorithm().is_none() {
                return Err(RecordError::Foreign);
            }
            seen = seen.wrapping_add(1);
        }
        if seen == self.len() { Ok(()) } else { Err(RecordError::Foreign) }
    }

    /// The number of limits.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.table.len()
    }

    /// Never: a list of none is no record.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// The parts in the order of the list; ends early where a window is out of range.
    #[inline(always)]
    pub fn parts(&self) -> impl Iterator<Item = Part<'a>> + use<'a> {
        let (mut parts, rest) = (self.parts, self.rest);
        self.table.iter().map_while(move |entry| {
            let window = Interval::from_millis(u64::from_le_bytes(*entry) >> 16)?;
            if length(entry) == REST {
                return Some(Part { window, record: rest, last: true });
            }
            let (record, after) = parts.split_at_checked(usize::from(length(entry)))?;
            parts = after;
            Some(Part { window, record, last: false })
        })
    }
}

#[inline(always)]
const fn length(entry: &[u8; ENTRY]) -> u16 {
    let [low, high, ..] = *entry;
    u16::from_le_bytes([low, high])
}

/// A record in the making: all of it but the log. A list of one is that limiter's own record, without a table.
///
/// `N` is the most limits it has room for.
#[derive(Clone, Copy, Debug)]
pub struct Head<const N: usize> {
    bytes: [[u8; LIMIT_BYTES]; N],
    len: usize,
    /// Where the next limit's entry goes, where the list has a table.
    entry: Option<usize>,
}

impl<const N: usize> Head<N> {
    /// Empty.
    #[inline(always)]
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: [[0; LIMIT_BYTES]; N], len: 0, entry: None }
    }

    /// Starts again, for a list of `count` limits, at most `N`.
    #[inline(always)]
    pub(crate) fn begin(&mut self, count: usize) {
        (self.len, self.entry) = (0, None);
        if count != 1 {
            self.put(&HEADER);
            self.put(&[u8::try_from(count).unwrap_or(u8::MAX)]);
            self.entry = Some(LEAD);
            self.len = LEAD.saturating_add(count.saturating_mul(ENTRY));
        }
    }

    /// Adds the next limit: what its call named as window, and its record.
    #[inline(always)]
    pub fn add(&mut self, window: Interval, record: &[u8]) {
        self.enter(window, u16::try_from(record.len()).unwrap_or(0));
        self.put(record);
    }

    /// Adds the next limit, a log, whose bytes come after the head.
    #[inline]
    pub fn add_log(&mut self, window: Interval) {
        self.enter(window, REST);
    }

    #[inline(always)]
    fn enter(&mut self, window: Interval, length: u16) {
        let Some(at) = self.entry else { return };
        let entry = u64::from(length) | window.millis() << 16;
        let free = self.bytes.as_flattened_mut().get_mut(at..).and_then(|free| free.first_chunk_mut::<ENTRY>());
        if let Some(free) = free {
            *free = entry.to_le_bytes();
        }
        self.entry = Some(at.wrapping_add(ENTRY));
    }

    /// Adds bytes at the end.
    #[inline(always)]
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        let end = self.len.saturating_add(bytes.len());
        let free = self.bytes.as_flattened_mut().get_mut(self.len..end);
        debug_assert!(free.is_some(), "the parts of a record fit");
        if let Some(free) = free {
            free.copy_from_slice(bytes);
            self.len = end;
        }
    }

    /// Takes all bytes away.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// The bytes so far.
    #[inline(always)]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_flattened().get(..self.len).unwrap_or_default()
    }
}

impl<const N: usize> Default for Head<N> {
    fn default() -> Self {
        Self::new()
    }
}
