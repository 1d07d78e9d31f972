//! The flow of any call on any record: options, blocks, and everything that [`call`](crate::call) leaves aside to stay
//! short.
//!
//! A plain call on a plain record gets the same verdict and leaves the same bytes by either flow.

mod ruling;

use crate::block::Block;
use crate::bucket::Bucket;
use crate::call::{Change, Limit};
use crate::decision::Decision;
use crate::expiry::Expiry;
use crate::fixed_window::{FixedLimit, FixedWindow};
use crate::meter::{Meter, SideBySide};
use crate::options::Options;
use crate::record::{Algorithm, Opened, RecordError, Stored, open};
use crate::sliding_counter::SlidingCounter;
use crate::sliding_log::Revised;
use crate::time::{Span, Timestamp};

pub(crate) use ruling::under;
use ruling::{Request, Ruling, ruling};

/// The sixth element of a reply, with the options that have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    /// With PARTIAL: how much of the cost was taken.
    Granted(u64),
    /// With RESERVE: how long the caller has to wait before it proceeds.
    Wait(Span),
}

impl Extra {
    /// The integer of the reply: the wait in milliseconds rounded up.
    #[must_use]
    pub fn reply(&self) -> i64 {
        let number = match self {
            Self::Granted(granted) => *granted,
            Self::Wait(wait) => wait.ceil_ms(),
        };
        i64::try_from(number).unwrap_or(i64::MAX)
    }
}

/// The verdict of a call and its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome<'a> {
    /// The verdict. While the key is blocked, everything is in use.
    pub decision: Decision,
    /// What is in use, whether or not the key is blocked.
    pub used: u64,
    /// The sixth element of the reply.
    pub extra: Option<Extra>,
    /// The effect on the plain record.
    pub change: Change<'a>,
    /// What stands between the first four bytes and the rest of the record that [`Outcome::change`] makes; without
    /// meaning where nothing changes.
    pub block: Option<Block>,
}

/// Decides a call of `cost` under `limit` with `options` at `now` against the stored `record`; `None` is a key that does
/// not exist.
///
/// Of a call on several limits, this is what one of them says: its outcome if all of them pass, and also, where this one
/// is among those that refuse, its outcome then. `decide` with cost 0 is the outcome of one that passes while another
/// refuses; with STRICT, [`refuse`] is.
///
/// # Errors
///
/// A record that is not limiter state, is of another algorithm, or was written by a newer version.
#[cold]
pub fn decide<'a>(
    record: Option<&'a [u8]>,
    limit: &Limit,
    now: Timestamp,
    cost: u64,
    options: &Options,
) -> Result<Outcome<'a>, RecordError> {
    rule(record, limit, &Request { now, cost, options, forced: false })
}

/// The outcome of a call that others refuse, whatever this limit says: nothing is taken, but a STRICT one counts. It
/// starts no block where this limit has no reason to.
///
/// # Errors
///
/// As [`decide`].
#[cold]
pub fn refuse<'a>(
    record: Option<&'a [u8]>,
    limit: &Limit,
    now: Timestamp,
    cost: u64,
    options: &Options,
) -> Result<Outcome<'a>, RecordError> {
    rule(record, limit, &Request { now, cost, options, forced: true })
}

/// The block that a key is under at `now`, if it is: how long it lasts yet.
#[must_use]
pub fn blocked(record: &[u8], now: Timestamp) -> Option<Span> {
    let left = crate::record::block(record)?.corrected(now).left(now);
    (left > Span::ZERO).then_some(left)
}

fn rule<'a>(record: Option<&'a [u8]>, limit: &Limit, request: &Request<'_>) -> Result<Outcome<'a>, RecordError> {
    let algorithm = limit.algorithm();
    match limit {
        Limit::TokenBucket(limit) | Limit::Gcra(limit) => call::<Bucket>(record, algorithm, limit, request),
        Limit::Fixed(limit, opening) => {
            let limit = FixedLimit { limit: *limit, opening: *opening };
            call::<FixedWindow>(record, algorithm, &limit, request)
        }
        Limit::SlidingLog(limit) => call::<Revised<'a>>(record, algorithm, limit, request),
        Limit::SlidingCounter(limit) => call::<SlidingCounter>(record, algorithm, limit, request),
    }
}

/// State that this flow decides on: a meter, or a log.
pub(crate) trait State<'a>: Copy {
    /// What a call enforces.
    type Limit;

    /// Reads the fields of the plain record: the state and the key's expiry.
    fn read(wide: bool, fields: &'a [u8]) -> Option<Stored<Self>>;

    /// As [`Meter::decide`].
    fn decide(stored: Option<Self>, limit: &Self::Limit, now: Timestamp, cost: u64) -> (Decision, Option<Self>);

    /// As [`Meter::count`].
    fn count(stored: Option<Self>, limit: &Self::Limit, now: Timestamp, cost: u64) -> Option<Self>;

    /// As [`Meter::book`].
    fn book(stored: Option<Self>, limit: &Self::Limit, now: Timestamp, cost: u64) -> Option<(Decision, Self)>;

    /// As [`Meter::expires`].
    fn expires(&self, now: Timestamp) -> (Timestamp, Span);

    /// Whether the key's present expiry is no reason to keep it.
    fn expires_anew(&self) -> bool {
        false
    }

    /// How the bytes change for this state to be stored, and what block they then carry: `wanted`, or the room of a block
    /// that is over. `found` is what they carry now.
    fn change(
        &self,
        algorithm: Algorithm,
        expiry: Expiry,
        found: Option<Block>,
        wanted: Option<Block>,
    ) -> (Change<'a>, Option<Block>);
}

impl<'a, M: Meter> State<'a> for M {
    type Limit = <M as Meter>::Limit;

    fn read(wide: bool, fields: &'a [u8]) -> Option<Stored<Self>> {
        M::decode(wide, fields)
    }

    #[inline(never)]
    fn decide(stored: Option<Self>, limit: &Self::Limit, now: Timestamp, cost: u64) -> (Decision, Option<Self>) {
        <M as Meter>::decide(stored, limit, now, cost, SideBySide)
    }

    fn count(stored: Option<Self>, limit: &Self::Limit, now: Timestamp, cost: u64) -> Option<Self> {
        <M as Meter>::count(stored, limit, now, cost)
    }

    fn book(stored: Option<Self>, limit: &Self::Limit, now: Timestamp, cost: u64) -> Option<(Decision, Self)> {
        <M as Meter>::book(stored, limit, now, cost)
    }

    fn expires(&self, now: Timestamp) -> (Timestamp, Span) {
        <M as Meter>::expires(self, now)
    }

    fn change(
        &self,
        algorithm: Algorithm,
        expiry: Expiry,
        _found: Option<Block>,
        wanted: Option<Block>,
    ) -> (Change<'a>, Option<Block>) {
        (
            Change::Replace { record: M::encode(&Stored { state: *self, expiry_ms: expiry.at_ms }, algorithm), expiry },
            wanted,
        )
    }
}

/// A record that was read: what it holds, and the block it carries.
pub(crate) struct Found<S> {
    pub(crate) state: Option<S>,
    pub(crate) expiry_ms: Option<u64>,
    pub(crate) block: Option<Block>,
}

pub(crate) fn read<'a, S: State<'a>>(record: Option<&'a [u8]>, wanted: Algorithm) -> Result<Found<S>, RecordError> {
    let Some(bytes) = record else { return Ok(Found { state: None, expiry_ms: None, block: None }) };
    let Opened { algorithm, wide, block, fields } = open(bytes)?;
    if algorithm != wanted {
        // Damaged state of another algorithm is foreign, as the plain flow has it.
        crate::record::decode(bytes)?;
        return Err(RecordError::Other { found: algorithm, wanted });
    }
    let Stored { state, expiry_ms } = S::read(wide, fields).ok_or(RecordError::Foreign)?;
    Ok(Found { state: Some(state), expiry_ms: Some(expiry_ms), block })
}

fn call<'a, S: State<'a>>(
    record: Option<&'a [u8]>,
    algorithm: Algorithm,
    limit: &S::Limit,
    request: &Request<'_>,
) -> Result<Outcome<'a>, RecordError> {
    let now = request.now;
    let found = read::<S>(record, algorithm)?;
    let block = found.block.map(|block| block.corrected(now));
    let present = block.filter(|block| block.left(now) > Span::ZERO);
    let Ruling { decision, used, extra, state, block: next } = ruling(found.state, present, limit, request);

    // A block that is over is no reason to write: it goes with the next change.
    let unchanged = state.is_none() && (next.is_none() || next == found.block);
    let (change, block) = match state.or(found.state) {
        Some(state) if !unchanged => store(&state, algorithm, &found, next, state.expires(now), now),
        _ => (Change::None, found.block),
    };
    Ok(Outcome { decision, used, extra, change, block })
}

/// How the bytes that were found change for `state` to be stored, which matters until `needed`, and with it the block
/// that the key is under from now on.
pub(crate) fn store<'a, S: State<'a>>(
    state: &S,
    algorithm: Algorithm,
    found: &Found<S>,
    block: Option<Block>,
    (mut needed, mut slack): (Timestamp, Span),
    now: Timestamp,
) -> (Change<'a>, Option<Block>) {
    if let Some(block) = block {
        needed = needed.max(block.ends());
        // The state may be an old one, which the block alone writes anew.
        slack = Span::from_micros(needed.since(now).micros() / 2);
    }
    let stored_ms = found.expiry_ms.filter(|_| !state.expires_anew());
    let expiry = Expiry::plan(stored_ms, needed, now, slack);
    state.change(algorithm, expiry, found.block, block)
}
