//! The limits of recent calls, by the bytes they were given in.
//!
//! A service calls with the same few limits again and again. Reading two short arguments as numbers costs more than
//! finding that they are those of a call before, byte for byte.

use crate::limit::{BucketLimit, WindowLimit};

/// A power of two: a slot is chosen by the highest bits of a hash.
const SLOTS: usize = 16;

/// The longest argument that is remembered, in bytes.
const LONGEST: usize = 16;

/// Remembers the limits of a few recent calls.
#[derive(Clone, Debug)]
pub struct Memo {
    slots: [Slot; SLOTS],
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    given: Given,
    parsed: Parsed,
}

/// What two arguments were read as.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Parsed {
    Nothing,
    Bucket(BucketLimit),
    Window(WindowLimit),
}

/// The bytes of two arguments, and their lengths: as much as tells them from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    words: [u64; 4],
    lengths: u32,
}

impl Given {
    const NOTHING: Self = Self { words: [0; 4], lengths: 0 };

    /// `None` for arguments that are not remembered: empty ones and long ones. `kind` tells apart what the same bytes
    /// may mean.
    #[inline(always)]
    pub(crate) fn new(first: &[u8], second: &[u8], kind: u8) -> Option<Self> {
        let ([a, b], [c, d]) = (words(first)?, words(second)?);
        #[expect(clippy::cast_possible_truncation, reason = "both lengths are at most 16")]
        let lengths = u32::from_le_bytes([kind, first.len() as u8, second.len() as u8, 1]);
        Some(Self { words: [a, b, c, d], lengths })
    }

    #[inline(always)]
    fn slot(&self) -> usize {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let [a, b, c, d] = self.words;
        let mixed = (a ^ c.rotate_left(21) ^ u64::from(self.lengths)).wrapping_mul(ODD) ^ b ^ d.rotate_left(43);
        // Four bits are left.
        (mixed.wrapping_mul(ODD) >> 60) as usize
    }
}

/// A short string as two words that overlap: with its length they tell every byte.
#[inline(always)]
fn words(bytes: &[u8]) -> Option<[u64; 2]> {
    if bytes.len() > LONGEST {
        return None;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        return Some([u64::from_le_bytes(*first), u64::from_le_bytes(*last)]);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        return Some([u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last))]);
    }
    match bytes {
        [one] => Some([u64::from(*one), 0]),
        [one, two] => Some([u64::from(*one), u64::from(*two)]),
        [one, two, three] => Some([u64::from(*one), u64::from(u16::from_le_bytes([*two, *three]))]),
        _ => None,
    }
}

impl Memo {
    /// Remembers nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { slots: [Slot { given: Given::NOTHING, parsed: Parsed::Nothing }; SLOTS] }
    }

    #[inline(always)]
    pub(crate) fn recall(&self, given: &Given) -> Parsed {
        match self.slots.get(given.slot()) {
            Some(slot) if slot.given == *given => slot.parsed,
            _ => Parsed::Nothing,
        }
    }

    #[cold]
    pub(crate) fn learn(&mut self, given: Given, parsed: Parsed) {
        if let Some(slot) = self.slots.get_mut(given.slot()) {
            *slot = Slot { given, parsed };
        }
    }
}

impl Default for Memo {
    fn default() -> Self {
        Self::new()
    }
}
