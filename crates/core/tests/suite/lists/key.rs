//! A key that holds a list of limiters, changed by nothing but what a call says.

use limiter_core::all::{self, ListChange, Verdict};
use limiter_core::compound::{Head, LIMITS_MAX};
use limiter_core::matching;
use limiter_core::record::{self, Record, RecordError};
use limiter_core::request::Call;
use limiter_core::time::Timestamp;

/// As many limits as a test's list has at most, unless it tries the most that there may be.
pub const FEW: usize = 6;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListKey {
    pub record: Option<Vec<u8>>,
    pub expiry_ms: Option<u64>,
    /// The bytes that the last call replicated, and whether it sent the whole record.
    pub sent: usize,
    pub whole: bool,
    /// How many calls took the short way.
    pub short: u64,
}

impl ListKey {
    /// Calls, and does to the bytes and the expiry what a server is told to.
    pub fn call(&mut self, calls: &[Call], now: u64) -> Result<Verdict<LIMITS_MAX>, RecordError> {
        let now = Timestamp::from_micros(now);
        let stored = self.record.clone();
        let record = stored.as_deref();
        match matching::same::<FEW>(record, calls).filter(|_| calls.len() <= FEW) {
            Some(states) => {
                let mut head = Head::<FEW>::new();
                let (verdict, change) = all::one_key(record, calls, &states, true, now, &mut head)?;
                let (expiry_ms, mut short) = (self.expiry_ms, Head::<FEW>::new());
                self.change(head.as_bytes(), change);
                // The short way, where it is one, leads to the same place.
                if let Some(again) = record.and_then(|record| all::steady(record, calls, now, &mut short)) {
                    assert_eq!(again, verdict);
                    assert_eq!(Some(short.as_bytes()), self.record.as_deref());
                    assert_eq!(expiry_ms, self.expiry_ms);
                    self.short += 1;
                }
                Ok(verdict.resized())
            }
            None => {
                let mut head = Head::<LIMITS_MAX>::new();
                let states = matching::changed(record, calls)?;
                let (verdict, change) = all::one_key(record, calls, &states, false, now, &mut head)?;
                self.change(head.as_bytes(), change);
                Ok(verdict)
            }
        }
    }

    fn change(&mut self, head: &[u8], change: ListChange<'_>) {
        (self.sent, self.whole) = (0, false);
        match change {
            ListChange::None => {}
            ListChange::Replace { tail, expiry } => {
                let mut rest = vec![0xAA; tail.len()];
                tail.write(&mut rest);
                let record = [head, &rest].concat();
                (self.sent, self.whole) = (record.len(), true);
                self.record = Some(record);
                if expiry.moved {
                    assert_ne!(self.expiry_ms, Some(expiry.at_ms), "an expiry that has moved is another");
                    self.expiry_ms = Some(expiry.at_ms);
                }
                assert_eq!(self.expiry_ms, Some(expiry.at_ms));
            }
            ListChange::Extend { event, expiry_ms, .. } => {
                let bytes = self.record.as_mut().expect("only what is there is extended");
                bytes[..head.len()].copy_from_slice(head);
                self.sent = head.len();
                if let Some(event) = event {
                    bytes.extend_from_slice(event.as_bytes());
                    self.sent += event.as_bytes().len();
                }
                if let Some(at_ms) = expiry_ms {
                    assert_ne!(self.expiry_ms, Some(at_ms), "an expiry that has moved is another");
                    self.expiry_ms = Some(at_ms);
                }
            }
        }
    }

    /// The expiry that the bytes tell: that of the limiter that matters longest.
    pub fn told_expiry_ms(&self) -> Option<u64> {
        let stored = matching::Stored::read(self.record.as_deref()).expect("a record written by a call can be read");
        let expiry = |bytes| match record::decode(bytes).expect("a part can be read").1 {
            Record::Bucket(stored) => stored.expiry_ms,
            Record::Fixed(stored) => stored.expiry_ms,
            Record::Counter(stored) => stored.expiry_ms,
            Record::Log(log) => log.expiry_ms(),
        };
        stored.parts().map(|part| expiry(part.record)).max()
    }
}
