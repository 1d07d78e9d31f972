//! A block: a time within which every call on a key is refused, whatever its limits have to give.
//!
//! A blocked record is the plain one of its limiter with the block between the first four bytes and the rest, and of
//! version 2, so that a module which knows no blocks does not take it for free.

use crate::record::{BLOCKED, Fields, Small, VERSION_BLOCKED};
use crate::time::{Interval, Span, Timestamp};

/// The bytes that a block adds to a record.
pub const BLOCK_LEN: usize = 16;

/// The first four bytes of a blocked record, and the block.
pub const HEAD_LEN: usize = 4 + BLOCK_LEN;

/// A key is blocked from `since` on, for `length`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    since: Timestamp,
    /// Whole milliseconds.
    length: Span,
}

impl Block {
    /// No block any more, in a record that has the room for one: a log leaves it there until it is written anew.
    pub const OVER: Self = Self { since: Timestamp::from_micros(0), length: Span::ZERO };

    /// A block that the refusal of a call at `since` begins.
    #[must_use]
    pub const fn new(since: Timestamp, length: Interval) -> Self {
        Self { since, length: length.span() }
    }

    /// When the call that began it was refused.
    #[must_use]
    pub const fn since(&self) -> Timestamp {
        self.since
    }

    /// How long it lasts.
    #[must_use]
    pub const fn length(&self) -> Span {
        self.length
    }

    /// The first moment that is not blocked any more.
    #[must_use]
    pub const fn ends(&self) -> Timestamp {
        self.since.after(self.length)
    }

    /// How long the block lasts yet; zero once it is over.
    #[must_use]
    pub const fn left(&self, now: Timestamp) -> Span {
        self.ends().since(now)
    }

    /// The clock rule: a block that began further ahead of the clock than it is long was begun under a wrong clock, and
    /// is taken to begin now.
    #[must_use]
    pub fn corrected(&self, now: Timestamp) -> Self {
        if self.since.since(now) > self.length { Self { since: now, ..*self } } else { *self }
    }

    /// Reads the fields of a block.
    pub(crate) fn decode(fields: &mut Fields<'_>) -> Option<Self> {
        let (since, length_ms) = (fields.timestamp()?, fields.u64()?);
        if (since, length_ms) == (Timestamp::default(), 0) {
            return Some(Self::OVER);
        }
        Some(Self::new(since, Interval::from_millis(length_ms)?))
    }

    /// The first bytes of the blocked form of a record that starts with `plain`.
    fn head(&self, plain: [u8; 4]) -> [u8; HEAD_LEN] {
        let [m0, m1, _, kind] = plain;
        let [a, b, c, d, e, f, g, h] = self.since.micros().to_le_bytes();
        let [i, j, k, l, m, n, o, p] = self.length.ceil_ms().to_le_bytes();
        [m0, m1, VERSION_BLOCKED, kind | BLOCKED, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
    }

    /// Makes a blocked record of a plain one that lies in `space` from the [`BLOCK_LEN`]th byte on.
    pub fn put(&self, space: &mut [u8]) {
        let plain = space.get(BLOCK_LEN..).and_then(|plain| plain.first_chunk::<4>()).copied();
        if let (Some(plain), Some(head)) = (plain, space.first_chunk_mut::<HEAD_LEN>()) {
            *head = self.head(plain);
        }
    }

    /// The blocked form of a small record, or of the first bytes of a long one.
    #[must_use]
    pub fn wrap(&self, plain: &[u8]) -> Blocked {
        let mut bytes = [0; Blocked::CAPACITY];
        let len = plain.len().saturating_add(BLOCK_LEN).min(Blocked::CAPACITY);
        if let Some(space) = bytes.get_mut(BLOCK_LEN..len) {
            for (space, byte) in space.iter_mut().zip(plain) {
                *space = *byte;
            }
        }
        self.put(&mut bytes);
        Blocked { bytes, len }
    }
}

/// A blocked record of bounded size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    bytes: [u8; Blocked::CAPACITY],
    len: usize,
}

impl Blocked {
    /// The largest plain record, and a block.
    pub const CAPACITY: usize = Small::CAPACITY + BLOCK_LEN;

    /// The record.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&self.bytes)
    }
}
