//! The record of a list as a call leaves it, and how the stored bytes come to it.

use crate::block::{BLOCK_LEN, Block};
use crate::bucket::Bucket;
use crate::call::{Change, Limit};
use crate::compound::{Compound, Head};
use crate::expiry::Expiry;
use crate::fixed_window::FixedWindow;
use crate::record::{self, Algorithm, Small};
use crate::sliding_counter::SlidingCounter;
use crate::sliding_log::{self, Event, HEADER_LEN, Rewrite};
use crate::time::{Interval, Timestamp};

/// How the stored bytes change. What it does not hold itself is in the [`Head`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListChange<'a> {
    /// Not at all.
    None,
    /// The record is replaced, by the head and what follows it.
    Replace {
        /// What follows the head.
        tail: Tail<'a>,
        /// The key's expiry.
        expiry: Expiry,
    },
    /// The head, unless it is empty, is put over the first bytes; then the event, if there is one, is added at the end.
    Extend {
        /// The event.
        event: Option<Event>,
        /// The key's new expiry in milliseconds since the epoch, if it moved.
        expiry_ms: Option<u64>,
        /// Whether every event in the log counts: it is filling, and has not yet anything to drop.
        filling: bool,
    },
}

/// What follows the head of a record that is replaced: the log, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail<'a> {
    /// No log, or nothing of one but what the head holds.
    Nothing,
    /// Bytes that were stored before, then an event.
    Kept(&'a [u8], Option<Event>),
    /// A log that is written anew, with its block.
    Anew(Rewrite<'a>, Option<Block>),
}

impl Tail<'_> {
    /// The length in bytes.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Kept(bytes, event) => {
                bytes.len().saturating_add(event.as_ref().map_or(0, |event| event.as_bytes().len()))
            }
            Self::Anew(rewrite, block) => rewrite.len().saturating_add(block.map_or(0, |_| BLOCK_LEN)),
        }
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes it into `out`, which is [`Tail::len`] bytes long.
    pub fn write(&self, out: &mut [u8]) {
        match self {
            Self::Nothing => {}
            Self::Kept(bytes, event) => {
                let event = event.as_ref().map_or(&[][..], Event::as_bytes);
                for (space, &byte) in out.iter_mut().zip(bytes.iter().chain(event)) {
                    *space = byte;
                }
            }
            Self::Anew(rewrite, None) => rewrite.write(out),
            Self::Anew(rewrite, Some(block)) => {
                rewrite.write(out.get_mut(BLOCK_LEN..).unwrap_or_default());
                block.put(out);
            }
        }
    }
}

/// A record in the making.
pub(super) struct Made<'a, 'h, const N: usize> {
    head: &'h mut Head<N>,
    log: MadeLog<'a>,
    /// The latest expiry of the parts so far, in milliseconds since the epoch.
    until_ms: u64,
    moved: bool,
}

/// The log of a record in the making.
enum MadeLog<'a> {
    Nothing,
    Fresh([u8; HEADER_LEN]),
    Stored(&'a [u8], Change<'a>, Option<Block>),
}

impl<'a, 'h, const N: usize> Made<'a, 'h, N> {
    #[inline(always)]
    pub(super) fn begin(head: &'h mut Head<N>, count: usize) -> Self {
        head.begin(count);
        Self { head, log: MadeLog::Nothing, until_ms: 0, moved: false }
    }

    /// Adds the next limit: its stored state as it changes, or what stands for one without.
    #[inline(always)]
    pub(super) fn add(
        &mut self,
        window: Interval,
        state: Option<&'a [u8]>,
        change: Change<'a>,
        block: Option<Block>,
        unused: impl FnOnce() -> Unused,
    ) {
        if let Change::Replace { record, expiry } = change {
            match block {
                None => self.put(window, record.as_bytes(), expiry),
                Some(block) => self.put(window, block.wrap(record.as_bytes()).as_bytes(), expiry),
            }
            return;
        }
        self.add_other(window, state, change, block, unused);
    }

    /// Adds the next limit as this record.
    #[inline(always)]
    pub(super) fn put(&mut self, window: Interval, record: &[u8], expiry: Expiry) {
        self.head.add(window, record);
        self.lasts(expiry.at_ms, expiry.moved);
    }

    /// Adds the next limit as it is stored, or what stands for one without.
    #[cold]
    pub(super) fn keep(&mut self, window: Interval, state: Option<&'a [u8]>, unused: impl FnOnce() -> Unused) {
        self.add_other(window, state, Change::None, None, unused);
    }

    /// What is not a new record of bounded size.
    #[inline(never)]
    fn add_other(
        &mut self,
        window: Interval,
        state: Option<&'a [u8]>,
        change: Change<'a>,
        block: Option<Block>,
        unused: impl FnOnce() -> Unused,
    ) {
        match (change, state) {
            (Change::None, None) => match unused() {
                Unused::Nothing => {}
                Unused::Record(record) => self.head.add(window, record.as_bytes()),
                Unused::Log(header) => {
                    self.head.add_log(window);
                    self.log = MadeLog::Fresh(header);
                }
            },
            (Change::None, Some(state)) if record::algorithm_of(state) != Some(Algorithm::SlidingLog) => {
                self.head.add(window, state);
                self.lasts(record::expiry_of(state), false);
            }
            (change, state) => {
                self.head.add_log(window);
                let state = state.unwrap_or_default();
                match change {
                    Change::Rewrite { expiry, .. } => self.lasts(expiry.at_ms, expiry.moved),
                    Change::Append { expiry_ms: Some(at_ms), .. } => self.lasts(at_ms, true),
                    _ => self.lasts(record::expiry_of(state), false),
                }
                self.log = MadeLog::Stored(state, change, block);
            }
        }
    }

    #[inline(always)]
    fn lasts(&mut self, at_ms: u64, moved: bool) {
        self.until_ms = self.until_ms.max(at_ms);
        self.moved |= moved;
    }

    /// The change from the stored `record`; `same` tells that its list is this one.
    #[inline(always)]
    pub(super) fn finish(self, record: Option<&'a [u8]>, same: bool) -> ListChange<'a> {
        let Self { head, log, until_ms: at_ms, moved } = self;
        let moved = (moved || !same) && stored_expiry(record) != Some(at_ms);
        let expiry = Expiry { at_ms, moved };
        match log {
            MadeLog::Nothing => ListChange::Replace { tail: Tail::Nothing, expiry },
            log => finish_log(head, log, record.unwrap_or_default(), expiry),
        }
    }
}

/// The change of a list that has a log.
#[inline(never)]
fn finish_log<'a, const N: usize>(
    head: &mut Head<N>,
    log: MadeLog<'a>,
    record: &'a [u8],
    expiry: Expiry,
) -> ListChange<'a> {
    let (state, event, header, block, filling) = match log {
        MadeLog::Nothing => return ListChange::Replace { tail: Tail::Nothing, expiry },
        MadeLog::Fresh(header) => {
            head.put(&header);
            return ListChange::Replace { tail: Tail::Nothing, expiry };
        }
        MadeLog::Stored(_, Change::Rewrite { rewrite, .. }, block) => {
            return ListChange::Replace { tail: Tail::Anew(rewrite, block), expiry };
        }
        MadeLog::Stored(state, Change::Append { event, header, filling, .. }, block) => {
            (state, Some(event), header, block, filling)
        }
        MadeLog::Stored(state, ..) => (state, None, None, None, false),
    };
    // The log is the end of the record, so that it stays where it is if what comes before keeps its length.
    let before = record.len().checked_sub(state.len()).and_then(|before| record.get(..before));
    let stays = before.is_some_and(|before| before.len() == head.as_bytes().len());
    if stays && header.is_none() && before == Some(head.as_bytes()) {
        head.clear();
    }
    let stored_len = HEADER_LEN.saturating_add(record::block(state).map_or(0, |_| BLOCK_LEN));
    match header {
        Some(header) => match block {
            None => head.put(&header),
            Some(block) => head.put(block.wrap(&header).as_bytes()),
        },
        None if stays => {}
        None => head.put(state.get(..stored_len).unwrap_or_default()),
    }
    if stays {
        return ListChange::Extend { event, expiry_ms: expiry.moved.then_some(expiry.at_ms), filling };
    }
    ListChange::Replace { tail: Tail::Kept(state.get(stored_len..).unwrap_or_default(), event), expiry }
}

/// The expiry of a key, as its record holds it: that of the limiter that matters longest.
#[cold]
fn stored_expiry(record: Option<&[u8]>) -> Option<u64> {
    let bytes = record?;
    match Compound::open(bytes) {
        Ok(compound) => compound.parts().map(|part| record::expiry_of(part.record)).max(),
        Err(_) => Some(record::expiry_of(bytes)),
    }
}

/// The state of a limit that has taken nothing yet: it keeps the limit's place in the list.
pub(super) enum Unused {
    Nothing,
    Record(Small),
    Log([u8; HEADER_LEN]),
}

/// Of the epoch, so that no clock is so far behind it that the clock rule applies.
#[cold]
pub(super) fn unused(limit: &Limit) -> Unused {
    let (updated, expiry_ms) = (Timestamp::default(), 0);
    match limit {
        Limit::TokenBucket(bucket) | Limit::Gcra(bucket) => {
            let state = Bucket { debt: 0, updated, limit: *bucket };
            Unused::Record(record::encode_bucket(limit.algorithm(), &record::Stored { state, expiry_ms }))
        }
        Limit::Fixed(window, _) => {
            let state = FixedWindow::over(*window);
            Unused::Record(record::encode_fixed(&record::Stored { state, expiry_ms }))
        }
        Limit::SlidingCounter(window) => {
            let state = SlidingCounter { updated, current: 0, previous: 0, limit: *window };
            Unused::Record(record::encode_counter(&record::Stored { state, expiry_ms }))
        }
        Limit::SlidingLog(window) => Unused::Log(sliding_log::head(window, 0, expiry_ms, false)),
    }
}
