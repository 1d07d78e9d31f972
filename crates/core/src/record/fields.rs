//! The fields of a record, one after the other: written into a record of bounded size, and read from the front of any.

use super::Stored;
use crate::limit::WindowLimit;
use crate::time::{Interval, Timestamp};

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
    pub(super) fn put_compact<const N: usize>(&mut self, numbers: [u32; N], expiry: u32) {
        numbers.into_iter().for_each(|number| self.put(number.to_le_bytes()));
        self.put(expiry.to_le_bytes());
    }

    /// The end of a record of the wide form.
    #[inline(always)]
    pub(super) fn put_wide<const N: usize>(&mut self, numbers: [u64; N], expiry_ms: u64) {
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
    pub(super) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
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
    pub(super) fn u128(&mut self) -> Option<u128> {
        self.take().map(u128::from_le_bytes)
    }

    #[inline]
    pub(super) fn i64(&mut self) -> Option<i64> {
        self.take().map(i64::from_le_bytes)
    }

    /// A number of the record's form: 4 bytes, or 8 in the wide one.
    #[inline]
    pub(super) fn number(&mut self, wide: bool) -> Option<u64> {
        if wide { self.u64() } else { self.u32() }
    }

    #[inline]
    pub(crate) fn timestamp(&mut self) -> Option<Timestamp> {
        let us = self.u64()?;
        let at = Timestamp::from_micros(us);
        (at.micros() == us).then_some(at)
    }

    #[inline]
    pub(super) fn interval(&mut self, wide: bool) -> Option<Interval> {
        self.number(wide).and_then(Interval::from_millis)
    }

    #[inline]
    pub(super) fn window_limit(&mut self, wide: bool) -> Option<WindowLimit> {
        let limit = self.number(wide)?;
        WindowLimit::new(limit, self.interval(wide)?)
    }

    /// The expiry: absolute, or in the compact form counted from the state's own time.
    #[inline]
    pub(super) fn expiry(&mut self, wide: bool, from: Timestamp) -> Option<u64> {
        let ms = self.number(wide)?;
        let at_ms = if wide { ms } else { ms.saturating_add(from.floor_ms()) };
        expiry_in_range(at_ms)
    }

    /// Nothing may be left over.
    #[inline]
    pub(super) fn end<S>(self, state: S, expiry_ms: u64) -> Option<Stored<S>> {
        self.0.is_empty().then_some(Stored { state, expiry_ms })
    }
}

/// An expiry no record of this version exceeds: the latest instant, the longest wait, and the room beyond it.
#[inline]
pub(crate) fn expiry_in_range(at_ms: u64) -> Option<u64> {
    (at_ms <= Timestamp::MAX.micros() / 500).then_some(at_ms)
}
