//! One call against the stored bytes: the verdict, and how the bytes change.

use crate::bucket::Bucket;
use crate::decision::Decision;
use crate::expiry::Expiry;
use crate::fixed_window::{FixedLimit, FixedWindow, Opening};
use crate::general;
use crate::limit::{BucketLimit, WindowLimit};
use crate::meter::{self, Meter, SideBySide};
use crate::options::Options;
use crate::record::{self, Algorithm, Record, RecordError, Small};
use crate::sliding_counter::SlidingCounter;
use crate::sliding_log::{self, Event, HEADER_LEN, Rewrite};
use crate::time::{Interval, Span, Timestamp};

/// The limits of one call, and with them its algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `RL.TOKENBUCKET`
    TokenBucket(BucketLimit),
    /// `RL.GCRA`
    Gcra(BucketLimit),
    /// `RL.FIXED`
    Fixed(WindowLimit, Opening),
    /// `RL.SLIDINGLOG`
    SlidingLog(WindowLimit),
    /// `RL.SLIDINGCOUNTER`
    SlidingCounter(WindowLimit),
}

impl Limit {
    /// The algorithm that these limits belong to.
    #[inline]
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        match self {
            Self::TokenBucket(_) => Algorithm::TokenBucket,
            Self::Gcra(_) => Algorithm::Gcra,
            Self::Fixed(..) => Algorithm::Fixed,
            Self::SlidingLog(_) => Algorithm::SlidingLog,
            Self::SlidingCounter(_) => Algorithm::SlidingCounter,
        }
    }
}

impl Limit {
    /// The window, or the period of the rate.
    #[inline(always)]
    #[must_use]
    pub const fn interval(&self) -> Interval {
        match self {
            Self::TokenBucket(limit) | Self::Gcra(limit) => limit.rate().period,
            Self::Fixed(limit, _) | Self::SlidingLog(limit) | Self::SlidingCounter(limit) => limit.window(),
        }
    }
}

/// How the stored bytes change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// Not at all: the call was refused, or cost nothing.
    None,
    /// The record is replaced.
    Replace {
        /// The new record.
        record: Small,
        /// The key's expiry.
        expiry: Expiry,
    },
    /// One event is added at the end of a log; its header is replaced if it changed.
    Append {
        /// The event.
        event: Event,
        /// The new header, if it changed.
        header: Option<[u8; HEADER_LEN]>,
        /// The key's new expiry in milliseconds since the epoch, if it moved.
        expiry_ms: Option<u64>,
        /// Whether every event in the record counts: the log is filling, and has not yet anything to drop.
        filling: bool,
    },
    /// A log is written anew.
    Rewrite {
        /// What to write.
        rewrite: Rewrite<'a>,
        /// The key's expiry.
        expiry: Expiry,
    },
}

/// The verdict and its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome<'a> {
    /// The verdict.
    pub decision: Decision,
    /// The effect on the stored bytes.
    pub change: Change<'a>,
}

/// Decides a call of `cost` under `limit` at `now` against the stored `record`; `None` is a key that does not exist.
///
/// # Errors
///
/// A record that is not limiter state, is of another algorithm, or was written by a newer version;
/// [`RecordError::Extended`] if [`general::decide`] has the verdict.
#[inline(always)]
pub fn decide<'a>(
    record: Option<&'a [u8]>,
    limit: &Limit,
    now: Timestamp,
    cost: u64,
) -> Result<Outcome<'a>, RecordError> {
    match limit {
        Limit::TokenBucket(limit) => collected::<Bucket>(record, Algorithm::TokenBucket, limit, now, cost),
        Limit::Gcra(limit) => collected::<Bucket>(record, Algorithm::Gcra, limit, now, cost),
        Limit::Fixed(limit, opening) => {
            let limit = FixedLimit { limit: *limit, opening: *opening };
            collected::<FixedWindow>(record, Algorithm::Fixed, &limit, now, cost)
        }
        Limit::SlidingLog(limit) => sliding_log::call(record, limit, now, cost),
        Limit::SlidingCounter(limit) => {
            collected::<SlidingCounter>(record, Algorithm::SlidingCounter, limit, now, cost)
        }
    }
}

#[inline(always)]
fn collected<'a, M: Meter>(
    record: Option<&'a [u8]>,
    algorithm: Algorithm,
    limit: &M::Limit,
    now: Timestamp,
    cost: u64,
) -> Result<Outcome<'a>, RecordError> {
    let stored = meter::read::<M>(record, algorithm)?;
    let (decision, change) = meter::call(stored, algorithm, limit, now, cost, SideBySide);
    let change = change.map_or(Change::None, |(record, expiry)| Change::Replace { record, expiry });
    Ok(Outcome { decision, change })
}

/// What a record tells of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The limits of the last admitted call.
    pub limit: Limit,
    /// What a call of cost 0 would be answered now under those limits; while the key is blocked, everything is in use.
    pub decision: Decision,
    /// What is in use, whether or not the key is blocked.
    pub used: u64,
    /// When the last admitted call was.
    pub updated: Timestamp,
    /// The events of a sliding log that count now.
    pub events: Option<u64>,
    /// How long the key is blocked yet, if it is.
    pub blocked: Option<Span>,
}

/// The limits of the last admitted call, as the record holds them.
///
/// # Errors
///
/// A record that is not limiter state, or was written by a newer version.
pub fn stored_limit(record: &[u8]) -> Result<Limit, RecordError> {
    let (algorithm, record) = record::decode(record)?;
    Ok(match record {
        Record::Bucket(stored) if algorithm == Algorithm::Gcra => Limit::Gcra(stored.state.limit()),
        Record::Bucket(stored) => Limit::TokenBucket(stored.state.limit()),
        // An open window ends as it would have, wherever a new one would start.
        Record::Fixed(stored) => Limit::Fixed(stored.state.limit(), Opening::FirstCall),
        Record::Log(log) => Limit::SlidingLog(log.limit()),
        Record::Counter(stored) => Limit::SlidingCounter(stored.state.limit()),
    })
}

/// Reads a record as an operator would: its limits, usage and age at `now`.
///
/// # Errors
///
/// A record that is not limiter state, or was written by a newer version.
pub fn report(record: &[u8], now: Timestamp) -> Result<Report, RecordError> {
    let limit = stored_limit(record)?;
    let general::Outcome { decision, used, .. } = general::decide(Some(record), &limit, now, 0, &Options::NONE)?;
    let (_, decoded) = record::decode(record)?;
    let (updated, events) = match decoded {
        Record::Bucket(stored) => (stored.state.updated(), None),
        Record::Fixed(stored) => (stored.state.updated(), None),
        Record::Counter(stored) => (stored.state.updated(), None),
        Record::Log(log) => (log.newest().unwrap_or_default(), Some(log.living(now))),
    };
    Ok(Report { limit, decision, used, updated, events, blocked: general::blocked(record, now) })
}
