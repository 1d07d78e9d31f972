//! Which stored state belongs to which limit of a call.
//!
//! A list of limits that is the stored one finds each state at its own place. Where it has changed, limits find states
//! of their algorithm and window (a bucket: its rate's period) first, in order; then the limits that are left the states
//! that are left of their algorithm, in order. What then has no limit is dropped when the next call is admitted, and a
//! limit without a state starts new.

use crate::all::States;
use crate::call;
use crate::compound::{Compound, LIMITS_MAX, Part, is_compound};
use crate::record::{self, Algorithm, RecordError};
use crate::request::Call;

/// What a key holds, as a list.
#[derive(Clone, Copy, Debug)]
pub enum Stored<'a> {
    /// A key that does not exist.
    Nothing,
    /// A single limiter, which counts as a list of one.
    One(Part<'a>),
    /// A list.
    Many(Compound<'a>),
}

impl<'a> Stored<'a> {
    /// Reads and checks a record.
    ///
    /// # Errors
    ///
    /// A record that is not limiter state, or was written by a newer version.
    pub fn read(record: Option<&'a [u8]>) -> Result<Self, RecordError> {
        let Some(bytes) = record else { return Ok(Self::Nothing) };
        if is_compound(bytes) {
            let compound = Compound::open(bytes)?;
            compound.check()?;
            return Ok(Self::Many(compound));
        }
        let limit = call::stored_limit(bytes)?;
        Ok(Self::One(Part::alone(limit.interval(), bytes, limit.algorithm())))
    }

    /// The number of limiters.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::One(_) => 1,
            Self::Many(compound) => compound.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The limiters, in order.
    pub fn parts(&self) -> impl Iterator<Item = Part<'a>> + use<'a> {
        let (one, many) = match self {
            Self::Nothing => (None, None),
            Self::One(part) => (Some(*part), None),
            Self::Many(compound) => (None, Some(compound.parts())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}

/// The states of `calls`, if they are the very list that `record` holds, or there is no record.
///
/// The records of the parts are not checked further.
#[inline(always)]
#[must_use]
pub fn same<'a, const N: usize>(record: Option<&'a [u8]>, calls: &[Call]) -> Option<States<'a, N>> {
    let mut states = [None; N];
    let Some(bytes) = record else { return Some(states) };
    if let [call] = calls {
        let alone = record::algorithm_of(bytes) == Some(call.limit.algorithm());
        *states.first_mut()? = Some(bytes);
        return alone.then_some(states);
    }
    if !is_compound(bytes) {
        return None;
    }
    let compound = Compound::open(bytes).ok().filter(|compound| compound.len() == calls.len())?;
    let mut found = 0_usize;
    for ((place, call), part) in states.iter_mut().zip(calls).zip(compound.parts()) {
        if part.window != call.limit.interval() || part.algorithm() != Some(call.limit.algorithm()) {
            return None;
        }
        *place = Some(part.record);
        found = found.wrapping_add(1);
    }
    (found == calls.len()).then_some(states)
}

/// The states of `calls` in any record.
///
/// # Errors
///
/// A record that is not limiter state, or was written by a newer version.
pub fn changed<'a, const N: usize>(record: Option<&'a [u8]>, calls: &[Call]) -> Result<States<'a, N>, RecordError> {
    let stored = Stored::read(record)?;
    let mut states = [None; N];
    let mut taken = [false; LIMITS_MAX];
    for window_too in [true, false] {
        for (call, state) in calls.iter().zip(&mut states).filter(|(_, state)| state.is_none()) {
            let fits = |part: &Part<'a>| {
                let algorithm: Option<Algorithm> = part.algorithm();
                algorithm == Some(call.limit.algorithm()) && (!window_too || part.window == call.limit.interval())
            };
            if let Some((part, taken)) = stored.parts().zip(&mut taken).find(|(part, taken)| !**taken && fits(part)) {
                *taken = true;
                *state = Some(part.record);
            }
        }
    }
    Ok(states)
}
