//! A key as a server would hold it: bytes and an expiry, changed by nothing but what a call says.

use limiter_core::adjust::{self, AdjustError, Delta};
use limiter_core::block::{BLOCK_LEN, Block};
use limiter_core::call::{self, Change, Limit};
use limiter_core::decision::{Decision, Retry};
use limiter_core::fixed_window::Opening;
use limiter_core::general::{self, Extra};
use limiter_core::limit::{BucketLimit, LOG_LIMIT, Rate, WindowLimit};
use limiter_core::options::Options;
use limiter_core::record::{self, Algorithm, Record, RecordError};
use limiter_core::time::{Interval, Span, Timestamp};

use crate::scenario::{Numbers, Told};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub algorithm: Algorithm,
    pub record: Option<Vec<u8>>,
    pub expiry_ms: Option<u64>,
    /// How often a log was written anew.
    pub rewrites: u64,
}

impl Key {
    pub fn new(algorithm: Algorithm) -> Self {
        Self { algorithm, record: None, expiry_ms: None, rewrites: 0 }
    }

    pub fn is_bucket(&self) -> bool {
        matches!(self.algorithm, Algorithm::TokenBucket | Algorithm::Gcra)
    }

    /// The limits of a call with these numbers.
    pub fn limit(&self, numbers: &Numbers) -> Limit {
        limit(self.algorithm, numbers)
    }

    pub fn call(&mut self, numbers: &Numbers, now: u64, cost: u64) -> Decision {
        self.call_under(&self.limit(numbers), now, cost).expect("a record written by a call can be read")
    }

    /// Calls with options, or on a record that the plain flow leaves to the general one.
    pub fn ask(
        &mut self,
        limit: &Limit,
        now: u64,
        cost: u64,
        options: &Options,
    ) -> Result<(Decision, Option<Extra>), RecordError> {
        let now = Timestamp::from_micros(now);
        let record = self.record.clone();
        let outcome = general::decide(record.as_deref(), limit, now, cost, options)?;
        self.apply(&outcome.change, outcome.block);
        Ok((outcome.decision, outcome.extra))
    }

    /// Calls, and does to the bytes and the expiry what a server is told to.
    pub fn call_under(&mut self, limit: &Limit, now: u64, cost: u64) -> Result<Decision, RecordError> {
        let now = Timestamp::from_micros(now);
        let record = self.record.clone();
        match call::decide(record.as_deref(), limit, now, cost) {
            Err(RecordError::Extended) => {
                let outcome = general::decide(record.as_deref(), limit, now, cost, &Options::NONE)?;
                self.apply(&outcome.change, outcome.block);
                Ok(outcome.decision)
            }
            outcome => {
                let outcome = outcome?;
                self.apply(&outcome.change, None);
                Ok(outcome.decision)
            }
        }
    }

    /// Adjusts the usage; `None` if there is no key or nothing in use.
    pub fn adjust(&mut self, delta: Delta, now: u64, log_limit_max: u64) -> Result<Option<Decision>, AdjustError> {
        let Some(record) = self.record.clone() else { return Ok(None) };
        let outcome = adjust::adjust(&record, delta, Timestamp::from_micros(now), log_limit_max)?;
        Ok(outcome.map(|outcome| {
            self.apply(&outcome.change, outcome.block);
            outcome.decision
        }))
    }

    pub fn apply(&mut self, change: &Change<'_>, block: Option<Block>) {
        match change {
            Change::None => {}
            Change::Replace { record, expiry } => {
                let plain = record.as_bytes();
                self.record = Some(block.map_or(plain.to_vec(), |block| block.wrap(plain).as_bytes().to_vec()));
                self.expire(expiry.at_ms, expiry.moved);
            }
            Change::Append { event, header, expiry_ms, .. } => {
                let bytes = self.record.as_mut().expect("only a log that is there is appended to");
                if let Some(header) = header {
                    let header = block.map_or(header.to_vec(), |block| block.wrap(header).as_bytes().to_vec());
                    bytes[..header.len()].copy_from_slice(&header);
                }
                bytes.extend_from_slice(event.as_bytes());
                if let Some(at_ms) = *expiry_ms {
                    assert!(header.is_some(), "the header holds the expiry");
                    self.expire(at_ms, true);
                }
            }
            Change::Rewrite { rewrite, expiry } => {
                let room = if block.is_some() { BLOCK_LEN } else { 0 };
                let mut bytes = vec![0xAA; room + rewrite.len()];
                rewrite.write(&mut bytes[room..]);
                if let Some(block) = block {
                    block.put(&mut bytes);
                }
                self.record = Some(bytes);
                self.rewrites += 1;
                self.expire(expiry.at_ms, expiry.moved);
            }
        }
    }

    fn expire(&mut self, at_ms: u64, moved: bool) {
        if moved {
            self.expiry_ms = Some(at_ms);
        } else {
            assert_eq!(self.expiry_ms, Some(at_ms), "an expiry that has not moved is the one the key has");
        }
    }

    /// What a call of `cost` under the limits of the last admitted call would get; `None` if missing or idle.
    pub fn peek(&self, now: u64, cost: u64) -> Option<Decision> {
        let record = self.record.as_deref()?;
        let limit = call::stored_limit(record).expect("a record written by a call can be read");
        let decide = |cost| {
            let outcome = general::decide(Some(record), &limit, Timestamp::from_micros(now), cost, &Options::NONE);
            outcome.expect("a record is of its own algorithm").decision
        };
        (decide(0).reset != Span::ZERO).then(|| decide(cost))
    }

    /// Whether the state has stopped mattering.
    pub fn is_idle(&self, now: u64) -> bool {
        self.peek(now, 0).is_none()
    }

    /// The time from which waits count, and the span of the clock rule, rounded down; both as stored.
    pub fn stored_time_and_span(&self) -> Option<(u64, u64)> {
        let (_, record) = record::decode(self.record.as_deref()?).expect("a record written by a call can be read");
        Some(match record {
            Record::Bucket(stored) => {
                let (capacity, rate) = (stored.state.limit().capacity(), stored.state.limit().rate());
                let full = u128::from(capacity) * u128::from(rate.period.micros());
                let span = full / u128::from(rate.tokens.get());
                (stored.state.updated().micros(), u64::try_from(span).unwrap())
            }
            Record::Fixed(stored) => {
                let span = stored.state.limit().window().micros();
                // An aligned window may open before the epoch.
                (stored.state.ends().micros().saturating_sub(span), span)
            }
            Record::Counter(stored) => (stored.state.start().micros(), stored.state.limit().window().micros()),
            Record::Log(log) => (log.newest()?.micros(), log.limit().window().micros()),
        })
    }

    /// Whether the stored time is so far ahead of the clock that it was written under a wrong one.
    pub fn has_wrong_time(&self, now: u64) -> bool {
        self.stored_time_and_span().is_some_and(|(time, span)| time.saturating_sub(now) > span)
    }

    /// The expiry that the bytes tell.
    pub fn told_expiry_ms(&self) -> Option<u64> {
        let (_, record) = record::decode(self.record.as_deref()?).expect("a record written by a call can be read");
        Some(match record {
            Record::Bucket(stored) => stored.expiry_ms,
            Record::Fixed(stored) => stored.expiry_ms,
            Record::Counter(stored) => stored.expiry_ms,
            Record::Log(log) => log.expiry_ms(),
        })
    }
}

/// The limits of a call with these numbers.
pub fn limit(algorithm: Algorithm, numbers: &Numbers) -> Limit {
    let interval = Interval::from_millis(numbers.interval_ms).expect("a generated interval is in range");
    let window = |amount| WindowLimit::new(amount, interval).expect("a generated limit is in range");
    let bucket = || {
        let rate = Rate::new(numbers.filling_tokens(), interval).expect("a generated rate is in range");
        BucketLimit::new(numbers.amount, rate).expect("a generated bucket fills in time")
    };
    match algorithm {
        Algorithm::TokenBucket => Limit::TokenBucket(bucket()),
        Algorithm::Gcra => Limit::Gcra(bucket()),
        Algorithm::Fixed => {
            let opening = numbers.offset_ms().map_or(Opening::FirstCall, |ms| {
                let offset = Span::from_millis(ms);
                Opening::Aligned { offset }
            });
            Limit::Fixed(window(numbers.amount), opening)
        }
        Algorithm::SlidingLog => Limit::SlidingLog(window(numbers.amount.min(LOG_LIMIT.max))),
        Algorithm::SlidingCounter => Limit::SlidingCounter(window(numbers.amount)),
    }
}

/// What a decision tells the calls that come after it.
pub fn told(decision: &Decision, numbers: &Numbers, bucket: bool) -> Told {
    Told {
        limit: decision.limit,
        remaining: decision.remaining(),
        retry_us: match decision.retry {
            Retry::After(wait) => wait.micros(),
            Retry::Now | Retry::Never => 0,
        },
        reset_us: decision.reset.micros(),
        span_us: numbers.span_us(bucket),
        interval_us: numbers.interval_us(),
    }
}
