//! The limiters whose state has a bounded size, and the one flow of a call on them: decode, decide, encode.

use crate::call::{Change, Outcome};
use crate::decision::Decision;
use crate::expiry::Expiry;
use crate::record::{Algorithm, RecordError, Small, Stored, open_as};
use crate::time::{Span, Timestamp};

/// State of bounded size.
pub(crate) trait Meter: Copy {
    /// What a call enforces.
    type Limit;

    /// Decides a call of `cost` at `now`, and answers the state to store, if it is to change.
    ///
    /// State changes when a cost above 0 is admitted, or by the clock rule; nothing else tells a change.
    fn decide(stored: Option<Self>, limit: &Self::Limit, now: Timestamp, cost: u64) -> (Decision, Option<Self>);

    /// The state after a refused call that counts: usage is what it would be had the call been admitted, at most the
    /// limit, and never less than it was. `None` if that is no change. The clock rule has been applied.
    #[inline(never)]
    fn count(stored: Option<Self>, limit: &Self::Limit, now: Timestamp, cost: u64) -> Option<Self> {
        let (decision, _) = Self::decide(stored, limit, now, 0);
        let counted = cost.min(decision.remaining());
        if counted == 0 { None } else { Self::decide(stored, limit, now, counted).1 }
    }

    /// The state after a call that was refused now, but is admitted as of the end of its wait. `None` for state that cannot
    /// be booked ahead.
    #[inline(never)]
    fn book(_stored: Option<Self>, _limit: &Self::Limit, _now: Timestamp, _cost: u64) -> Option<Self> {
        None
    }

    /// When this state, stored at `now`, stops mattering, and how much later its key may expire.
    fn expires(&self, now: Timestamp) -> (Timestamp, Span);

    /// Reads the fields that follow a record's header.
    fn decode(wide: bool, fields: &[u8]) -> Option<Stored<Self>>;

    /// Writes the record.
    fn encode(stored: &Stored<Self>, algorithm: Algorithm) -> Small;
}

/// A call on state of bounded size. Inlined with all it calls: in one function per command, nothing is copied between
/// the steps.
#[inline(always)]
pub(crate) fn call<'a, M: Meter>(
    record: Option<&'a [u8]>,
    algorithm: Algorithm,
    limit: &M::Limit,
    now: Timestamp,
    cost: u64,
) -> Result<Outcome<'a>, RecordError> {
    let (stored, expiry_ms) = match record {
        None => (None, None),
        Some(bytes) => {
            let (wide, fields) = open_as(bytes, algorithm)?;
            match M::decode(wide, fields) {
                Some(Stored { state, expiry_ms }) => (Some(state), Some(expiry_ms)),
                None => return Err(RecordError::Foreign),
            }
        }
    };
    let (decision, state) = M::decide(stored, limit, now, cost);
    let change = match state {
        None => Change::None,
        Some(state) => {
            let (needed, slack) = state.expires(now);
            let expiry = Expiry::plan(expiry_ms, needed, now, slack);
            Change::Replace { record: M::encode(&Stored { state, expiry_ms: expiry.at_ms }, algorithm), expiry }
        }
    };
    Ok(Outcome { decision, change })
}
