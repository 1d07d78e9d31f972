//! A log that is written anew.

use super::events::{Event, Events};
use super::{HEADER_LEN, UNIT, WEIGHTED};
use crate::time::Timestamp;

/// A record written anew: a header, the living events, and the one just admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewrite<'a> {
    pub(super) head: [u8; HEADER_LEN],
    pub(super) kept: Kept<'a>,
    /// The weight that the first event kept has lost; 0 unless all are written with weights.
    pub(super) cut: u64,
    pub(super) event: Option<(Timestamp, u64)>,
    pub(super) weighted: bool,
}

/// What a rewrite keeps of the log before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept<'a> {
    /// The events from an index on.
    From(Events<'a>, usize),
    /// All usage as a single event.
    One(Timestamp, u64),
}

impl Kept<'_> {
    #[inline]
    pub(super) const fn len(&self) -> usize {
        match self {
            Self::From(events, first) => events.len().saturating_sub(*first),
            Self::One(..) => 1,
        }
    }
}

impl Rewrite<'_> {
    /// The length of the new record in bytes.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        let kept = self.kept.len();
        let stride = if self.weighted { WEIGHTED } else { UNIT };
        kept.saturating_add(usize::from(self.event.is_some())).saturating_mul(stride).saturating_add(HEADER_LEN)
    }

    /// Never: a record holds at least its header.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Writes the record into `out`, which is [`Rewrite::len`] bytes long.
    pub fn write(&self, out: &mut [u8]) {
        let Some((head, space)) = out.split_first_chunk_mut::<HEADER_LEN>() else { return };
        *head = self.head;
        let mut out = Writer { space, weighted: self.weighted, total: 0 };
        match self.kept {
            Kept::One(time, weight) => out.event(time, weight),
            Kept::From(events, first) if !events.weighted && !self.weighted => {
                out.bytes(events.bytes.get(first.saturating_mul(UNIT)..).unwrap_or_default());
            }
            Kept::From(events, first) => {
                let mut cut = self.cut;
                for index in first..events.len() {
                    let through = events.weight_before(index.saturating_add(1));
                    let weight = through.wrapping_sub(events.weight_before(index));
                    out.event(events.time(index), weight.wrapping_sub(cut));
                    cut = 0;
                }
            }
        }
        if let Some((time, weight)) = self.event {
            out.event(time, weight);
        }
    }
}

/// Fills the space after a header with events.
struct Writer<'a> {
    space: &'a mut [u8],
    weighted: bool,
    /// The weight of the events so far.
    total: u64,
}

impl Writer<'_> {
    fn event(&mut self, time: Timestamp, weight: u64) {
        self.total = self.total.wrapping_add(weight);
        let event = Event::new(time, self.weighted.then_some(self.total));
        self.bytes(event.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        if let Some((here, rest)) = core::mem::take(&mut self.space).split_at_mut_checked(bytes.len()) {
            here.copy_from_slice(bytes);
            self.space = rest;
        }
    }
}
