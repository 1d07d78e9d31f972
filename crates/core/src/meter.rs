//! The limiters whose state has a bounded size, and the one flow of a call on them: decode, decide, encode.

use crate::decision::Decision;
use crate::expiry::Expiry;
use crate::record::{Algorithm, RecordError, Small, Stored, open_as};
use crate::steady::Steady;
use crate::time::{Span, Timestamp};

/// State of bounded size.
pub trait Meter: Copy {
    /// What a call enforces.
    type Limit;
    /// Its record in the compact form.
    type Compact: AsRef<[u8]> + Copy;

    /// Decides a call on a record in steady use; `None` is for [`Meter::decide`]. See [`steady`](crate::steady).
    fn steady(
        record: &[u8],
        algorithm: Algorithm,
        limit: &Self::Limit,
        now: Timestamp,
        cost: u64,
    ) -> Option<Steady<Self::Compact>>;

    /// Decides a call of `cost` at `now`, and answers the state to store, if it is to change.
    ///
    /// State changes when a cost above 0 is admitted, or by the clock rule; nothing else tells a change.
    fn decide<T: Then<Self>>(
        stored: Option<Self>,
        limit: &Self::Limit,
        now: Timestamp,
        cost: u64,
        then: T,
    ) -> T::Output;

    /// The state after a refused call that counts: usage is what it would be had the call been admitted, at most the
    /// limit, and never less than it was. `None` if that is no change. The clock rule has been applied.
    #[inline(never)]
    fn count(stored: Option<Self>, limit: &Self::Limit, now: Timestamp, cost: u64) -> Option<Self> {
        let (decision, _) = Self::decide(stored, limit, now, 0, SideBySide);
        let counted = cost.min(decision.remaining());
        if counted == 0 { None } else { Self::decide(stored, limit, now, counted, SideBySide).1 }
    }

    /// The state after a call that is refused now, but admitted as of the end of its wait, and the decision that tells it.
    /// `None` for state that cannot be booked ahead. The clock rule has been applied.
    #[inline(never)]
    fn book(_stored: Option<Self>, _limit: &Self::Limit, _now: Timestamp, _cost: u64) -> Option<(Decision, Self)> {
        None
    }

    /// When this state, stored at `now`, stops mattering, and how much later its key may expire.
    fn expires(&self, now: Timestamp) -> (Timestamp, Span);

    /// Reads the fields that follow a record's header.
    fn decode(wide: bool, fields: &[u8]) -> Option<Stored<Self>>;

    /// Writes the record.
    fn encode(stored: &Stored<Self>, algorithm: Algorithm) -> Small;
}

/// Reads the record of a state, and checks that it belongs to `algorithm`.
#[inline(always)]
pub fn read<M: Meter>(record: Option<&[u8]>, algorithm: Algorithm) -> Result<Option<Stored<M>>, RecordError> {
    let Some(record) = record else { return Ok(None) };
    let (wide, fields) = open_as(record, algorithm)?;
    match M::decode(wide, fields) {
        Some(stored) => Ok(Some(stored)),
        None => Err(RecordError::Foreign),
    }
}

/// What follows a verdict. It is compiled into each place that comes to one, so that no change is carried about in memory,
/// and a refusal has nothing of it.
pub trait Then<C> {
    /// What it comes to.
    type Output;

    /// The state stays as it is.
    fn unchanged(self, decision: Decision) -> Self::Output;

    /// The state becomes `change`.
    fn changed(self, decision: Decision, change: C) -> Self::Output;
}

/// Nothing follows: verdict and change are answered side by side.
pub struct SideBySide;

impl<C> Then<C> for SideBySide {
    type Output = (Decision, Option<C>);

    #[inline(always)]
    fn unchanged(self, decision: Decision) -> Self::Output {
        (decision, None)
    }

    #[inline(always)]
    fn changed(self, decision: Decision, change: C) -> Self::Output {
        (decision, Some(change))
    }
}

/// A call on state of bounded size: `then` is given the verdict, and the record to store with its expiry, if it is to
/// change. Inlined with all it calls: in one function per command, nothing is copied between the steps.
#[inline(always)]
pub fn call<M: Meter, T: Then<(Small, Expiry)>>(
    stored: Option<Stored<M>>,
    algorithm: Algorithm,
    limit: &M::Limit,
    now: Timestamp,
    cost: u64,
    then: T,
) -> T::Output {
    let (state, expiry_ms) = match stored {
        None => (None, None),
        Some(Stored { state, expiry_ms }) => (Some(state), Some(expiry_ms)),
    };
    M::decide(state, limit, now, cost, Encoded { algorithm, expiry_ms, now, then })
}

/// Writes the record of a state that has changed.
struct Encoded<T> {
    algorithm: Algorithm,
    expiry_ms: Option<u64>,
    now: Timestamp,
    then: T,
}

impl<M: Meter, T: Then<(Small, Expiry)>> Then<M> for Encoded<T> {
    type Output = T::Output;

    #[inline(always)]
    fn unchanged(self, decision: Decision) -> T::Output {
        self.then.unchanged(decision)
    }

    #[inline(always)]
    fn changed(self, decision: Decision, state: M) -> T::Output {
        let (needed, slack) = state.expires(self.now);
        let expiry = Expiry::plan(self.expiry_ms, needed, self.now, slack);
        self.then.changed(decision, (M::encode(&Stored { state, expiry_ms: expiry.at_ms }, self.algorithm), expiry))
    }
}
