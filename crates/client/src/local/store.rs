//! Records in memory, and no more of them than there may be.

use std::collections::{HashMap, VecDeque};

use limiter_core::{call::Change, general::Outcome, sliding_log::Event, time::Timestamp};

use crate::key::Key;

/// So many keys are looked at for one to give way.
const CANDIDATES: usize = 8;
/// So many keys are looked at for each that is added, so that what has expired goes faster than it comes.
const SWEPT: usize = 2;

/// A part of the keys.
pub(super) struct Shard {
    entries: HashMap<Key, Entry>,
    /// Every key of `entries` once, in the order in which they are looked at.
    queue: VecDeque<Key>,
    most: usize,
}

struct Entry {
    record: Vec<u8>,
    expires_ms: u64,
}

/// How a record changes, without what it was before.
pub(super) enum Write {
    Nothing,
    Replace { record: Vec<u8>, expires_ms: u64 },
    Append { event: Event, head: Vec<u8>, expires_ms: Option<u64> },
}

impl Write {
    pub(super) fn of(outcome: &Outcome<'_>) -> Self {
        let wrapped = |plain: &[u8]| match outcome.block {
            Some(block) => block.wrap(plain).as_bytes().to_vec(),
            None => plain.to_vec(),
        };
        match &outcome.change {
            Change::None => Self::Nothing,
            Change::Replace { record, expiry } => {
                Self::Replace { record: wrapped(record.as_bytes()), expires_ms: expiry.at_ms }
            }
            Change::Append { event, header, expiry_ms, .. } => Self::Append {
                event: *event,
                head: header.as_ref().map(|header| wrapped(header)).unwrap_or_default(),
                expires_ms: *expiry_ms,
            },
            Change::Rewrite { rewrite, expiry } => {
                let before = outcome.block.map_or(0, |_| limiter_core::block::BLOCK_LEN);
                let mut record = vec![0; rewrite.len().saturating_add(before)];
                rewrite.write(record.get_mut(before..).unwrap_or_default());
                if let Some(block) = outcome.block {
                    block.put(&mut record);
                }
                Self::Replace { record, expires_ms: expiry.at_ms }
            }
        }
    }
}

impl Shard {
    pub(super) fn new(most: usize) -> Self {
        Self { entries: HashMap::new(), queue: VecDeque::new(), most }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// What is stored, unless it has expired.
    pub(super) fn record(&self, key: &Key, now: Timestamp) -> Option<&[u8]> {
        self.entries.get(key).filter(|entry| entry.expires_ms > now.floor_ms()).map(|entry| entry.record.as_slice())
    }

    pub(super) fn write(&mut self, key: &Key, write: Write, now: Timestamp) {
        match write {
            Write::Nothing => {}
            Write::Replace { record, expires_ms } => {
                let entry = Entry { record, expires_ms };
                match self.entries.get_mut(key) {
                    Some(place) => *place = entry,
                    None => self.insert(key, entry, now),
                }
            }
            Write::Append { event, head, expires_ms } => {
                let Some(entry) = self.entries.get_mut(key) else { return };
                for (place, byte) in entry.record.iter_mut().zip(head) {
                    *place = byte;
                }
                entry.record.extend_from_slice(event.as_bytes());
                entry.expires_ms = expires_ms.unwrap_or(entry.expires_ms);
            }
        }
    }

    fn insert(&mut self, key: &Key, entry: Entry, now: Timestamp) {
        self.sweep(now);
        while self.entries.len() >= self.most && self.make_way(now) {}
        self.queue.push_back(key.clone());
        self.entries.insert(key.clone(), entry);
    }

    /// Removes what has expired among the next few keys.
    fn sweep(&mut self, now: Timestamp) {
        for _ in 0..SWEPT {
            let Some(key) = self.queue.pop_front() else { return };
            match self.entries.get(&key) {
                Some(entry) if entry.expires_ms > now.floor_ms() => self.queue.push_back(key),
                _ => drop(self.entries.remove(&key)),
            }
        }
    }

    /// Removes the key that is the soonest to expire among the next few; whether there was one.
    fn make_way(&mut self, now: Timestamp) -> bool {
        let mut soonest: Option<(u64, Key)> = None;
        for _ in 0..CANDIDATES {
            let Some(key) = self.queue.pop_front() else { break };
            let expires_ms = self.entries.get(&key).map_or(0, |entry| entry.expires_ms);
            match &mut soonest {
                Some((least, held)) if expires_ms < *least => {
                    self.queue.push_back(std::mem::replace(held, key));
                    *least = expires_ms;
                }
                Some(_) => self.queue.push_back(key),
                None => soonest = Some((expires_ms, key)),
            }
            if expires_ms <= now.floor_ms() {
                break;
            }
        }
        let Some((_, key)) = soonest else { return false };
        self.entries.remove(&key);
        true
    }
}
