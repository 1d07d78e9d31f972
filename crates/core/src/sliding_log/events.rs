//! The events of a log, as they lie in its bytes.

use super::{UNIT, WEIGHTED, widen};
use crate::time::{Interval, Timestamp};

/// Events in the order of their times. Damaged bytes read as some times and some weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Events<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) weighted: bool,
}

impl Events<'_> {
    #[inline]
    pub(super) const fn stride(&self) -> usize {
        if self.weighted { WEIGHTED } else { UNIT }
    }

    #[inline]
    pub(super) const fn len(&self) -> usize {
        if self.weighted { self.bytes.len() / WEIGHTED } else { self.bytes.len() / UNIT }
    }

    #[inline]
    pub(super) fn word(&self, at: usize) -> u64 {
        let word = self.bytes.get(at..).and_then(|rest| rest.first_chunk::<8>());
        word.map_or(0, |word| u64::from_le_bytes(*word))
    }

    #[inline]
    pub(super) fn time(&self, index: usize) -> Timestamp {
        Timestamp::from_micros(self.word(index.wrapping_mul(self.stride())))
    }

    /// The weight of all events before `index`.
    #[inline]
    pub(super) fn weight_before(&self, index: usize) -> u64 {
        match index.checked_sub(1) {
            None => 0,
            Some(last) if self.weighted => self.word(last.wrapping_mul(WEIGHTED).wrapping_add(UNIT)),
            Some(_) => widen(index),
        }
    }

    /// The weight of the events from `first` to the end.
    #[inline]
    pub(super) fn weight_from(&self, first: usize) -> u64 {
        self.weight_before(self.len()).wrapping_sub(self.weight_before(first))
    }

    /// The first event of `range` for which `dead` is false, where it is true up to some point; a bounded search,
    /// whatever the bytes.
    #[inline]
    pub(super) fn search(mut low: usize, mut high: usize, dead: impl Fn(usize) -> bool) -> usize {
        while low < high {
            let middle = low.midpoint(high);
            if dead(middle) {
                low = middle.saturating_add(1);
            } else {
                high = middle;
            }
        }
        low
    }

    /// The first event from `first` on that still counts at `now` in a window of length `window`.
    #[inline(always)]
    pub(super) fn first_living(&self, first: usize, window: Interval, now: Timestamp) -> usize {
        let dead = |time: Timestamp| time.after(window.span()) <= now;
        if first >= self.len() || !dead(self.time(first)) {
            return first;
        }
        // As arrays the events are searched without a multiplication or a bounds check a step.
        if self.weighted {
            let (events, _) = self.bytes.as_chunks::<WEIGHTED>();
            let from = events.get(first..).unwrap_or_default();
            first.saturating_add(from.partition_point(|event| dead(time_of(event))))
        } else {
            let (events, _) = self.bytes.as_chunks::<UNIT>();
            let from = events.get(first..).unwrap_or_default();
            first.saturating_add(from.partition_point(|event| dead(time_of(event))))
        }
    }

    /// When enough events have left, in order from `first`, to take `weight` with them.
    #[inline]
    pub(super) fn leaves(&self, first: usize, weight: u64, window: Interval) -> Timestamp {
        let last = self.len().saturating_sub(1);
        let index = if self.weighted {
            let base = self.weight_before(first);
            Self::search(first, last, |index| self.weight_before(index.saturating_add(1)).wrapping_sub(base) < weight)
        } else {
            first.saturating_add(usize::try_from(weight.saturating_sub(1)).unwrap_or(last)).min(last)
        };
        self.time(index).after(window.span())
    }
}

/// The time that an event begins with.
#[inline(always)]
pub(super) fn time_of<const N: usize>(event: &[u8; N]) -> Timestamp {
    event.first_chunk::<8>().map_or(Timestamp::default(), |time| Timestamp::from_micros(u64::from_le_bytes(*time)))
}

/// The bytes of one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    bytes: [u8; WEIGHTED],
    len: usize,
}

impl Event {
    #[inline]
    pub(super) fn new(time: Timestamp, weight_through: Option<u64>) -> Self {
        let mut bytes = [0; WEIGHTED];
        let (first, second) = bytes.split_at_mut(UNIT);
        first.copy_from_slice(&time.micros().to_le_bytes());
        second.copy_from_slice(&weight_through.unwrap_or(0).to_le_bytes());
        Self { bytes, len: if weight_through.is_some() { WEIGHTED } else { UNIT } }
    }

    /// The bytes to append.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&self.bytes)
    }
}
