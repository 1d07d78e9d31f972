//! Several limits decided together: either every one is charged, or none is.
//!
//! [`one_key`] decides limits that share a key, whose record is a [`Compound`]; limits in keys of their own are decided
//! by [`charge`] and [`spare`], key by key.

mod adjust;
mod made;
mod steady;
mod verdict;

pub use adjust::adjust;
pub use made::{ListChange, Tail};
pub use steady::steady;
pub use verdict::Verdict;

use made::{Made, Unused, unused};

use crate::bucket::Bucket;
use crate::call::{self, Change, Limit};
use crate::compound::{Compound, Head, LIMITS_MAX, Part};
use crate::decision::Decision;
use crate::expiry::Expiry;
use crate::fixed_window::{FixedLimit, FixedWindow};
use crate::general::{self, Outcome};
use crate::matching::{self, Stored};
use crate::meter::{self, Meter, SideBySide, Then};
use crate::options::Options;
use crate::record::{Algorithm, RecordError, Small};
use crate::request::Call;
use crate::sliding_counter::SlidingCounter;
use crate::time::Timestamp;

/// Decides one limit of several as if it were alone.
///
/// # Errors
///
/// As [`call::decide`].
#[inline(always)]
pub fn charge<'a>(record: Option<&'a [u8]>, call: &Call, now: Timestamp) -> Result<Outcome<'a>, RecordError> {
    if call.options.is_none() {
        match call::decide(record, &call.limit, now, call.cost) {
            Ok(call::Outcome { decision, change }) => {
                return Ok(Outcome { decision, used: decision.used, extra: None, change, block: None });
            }
            Err(RecordError::Extended) => {}
            Err(error) => return Err(error),
        }
    }
    general::decide(record, &call.limit, now, call.cost, &call.options)
}

/// Decides one limit of a whole that is refused: one that would pass takes nothing, unless it counts what is refused.
/// Then the wait it tells is that of the next call.
///
/// # Errors
///
/// As [`call::decide`].
#[inline(never)]
pub fn spare<'a>(record: Option<&'a [u8]>, call: &Call, now: Timestamp) -> Result<Spared<'a>, RecordError> {
    let outcome = charge(record, call, now)?;
    let passes = outcome.decision.allowed();
    let outcome = match call.options.strict {
        _ if !passes || call.cost == 0 => outcome,
        // It has not refused, and so starts no block.
        true => general::refuse(record, &call.limit, now, call.cost, &Options { block: None, ..call.options })?,
        false => charge(record, &Call { cost: 0, ..*call }, now)?,
    };
    Ok(Spared { outcome, passes })
}

/// What one limit of a refused whole says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spared<'a> {
    /// What it comes to.
    pub outcome: Outcome<'a>,
    /// Whether this limit lets the call in.
    pub passes: bool,
}

/// The stored state of each limit of a call; `None` for one that has none yet.
pub type States<'a, const N: usize> = [Option<&'a [u8]>; N];

/// Decides `calls`, whose limits share a key, at `now` against its stored `record`; `None` is a key that does not exist.
///
/// `states` is what [`matching`] found for them in the record, and `same` whether they are the very list
/// that it holds. `head` gets what the change needs of the new record. At most one of the limits is a log; `N` is at
/// least their number, and [`LIMITS_MAX`] where the list is not the same.
///
/// # Errors
///
/// A record that is not limiter state, or was written by a newer version.
#[inline(always)]
pub fn one_key<'a, const N: usize>(
    record: Option<&'a [u8]>,
    calls: &[Call],
    states: &States<'a, N>,
    same: bool,
    now: Timestamp,
    head: &mut Head<N>,
) -> Result<(Verdict<N>, ListChange<'a>), RecordError> {
    let mut verdict = Verdict::new();
    let mut taken = false;
    let mut made = Made::begin(head, calls.len());
    for (call, state) in calls.iter().zip(states) {
        if !take(&mut verdict, &mut made, call, *state, now)? {
            return refuse(record, calls, states, now, head);
        }
        taken |= call.cost != 0;
    }
    if !taken {
        return refuse(record, calls, states, now, head);
    }
    Ok((verdict, made.finish(record, same)))
}

/// What `calls`, whose limits share a key, would be answered.
///
/// # Errors
///
/// As [`one_key`].
pub fn look(record: Option<&[u8]>, calls: &[Call], now: Timestamp) -> Result<Verdict<LIMITS_MAX>, RecordError> {
    let states = matching::changed(record, calls)?;
    let mut head = Head::new();
    one_key(record, calls, &states, false, now, &mut head).map(|(verdict, _)| verdict)
}

/// What a call of `cost` for every limit of a stored list would be answered under the limits of the last admitted call.
///
/// # Errors
///
/// As [`one_key`].
pub fn look_again(list: &Compound<'_>, now: Timestamp, cost: u64) -> Result<Verdict<LIMITS_MAX>, RecordError> {
    list.check()?;
    let call =
        |part: Part<'_>| call::stored_limit(part.record).map(|limit| Call { limit, cost, options: Options::NONE });
    let mut verdict = Verdict::new();
    let mut allowed = true;
    for part in list.parts() {
        allowed &= charge(Some(part.record), &call(part)?, now)?.decision.allowed();
    }
    for part in list.parts() {
        let (record, call) = (Some(part.record), call(part)?);
        let outcome = if allowed { charge(record, &call, now)? } else { spare(record, &call, now)?.outcome };
        verdict.add(outcome.decision, cost, None);
    }
    Ok(verdict)
}

/// Takes the cost of one limit, or answers that it does not pass.
#[inline(always)]
fn take<'a, const N: usize>(
    verdict: &mut Verdict<N>,
    made: &mut Made<'a, '_, N>,
    call: &Call,
    state: Option<&'a [u8]>,
    now: Timestamp,
) -> Result<bool, RecordError> {
    if call.options.is_none() {
        let (algorithm, cost) = (call.limit.algorithm(), call.cost);
        let then = Take { verdict, made, call, state };
        let taken = match &call.limit {
            Limit::TokenBucket(limit) | Limit::Gcra(limit) => meter::read::<Bucket>(state, algorithm)
                .map(|stored| meter::call(stored, algorithm, limit, now, cost, then)),
            Limit::Fixed(limit, opening) => {
                let limit = FixedLimit { limit: *limit, opening: *opening };
                meter::read::<FixedWindow>(state, algorithm)
                    .map(|stored| meter::call(stored, algorithm, &limit, now, cost, then))
            }
            Limit::SlidingCounter(limit) => meter::read::<SlidingCounter>(state, algorithm)
                .map(|stored| meter::call(stored, algorithm, limit, now, cost, then)),
            Limit::SlidingLog(_) => Err(RecordError::Extended),
        };
        match taken {
            Err(RecordError::Extended) => {}
            taken => return taken,
        }
    }
    take_in_general(verdict, made, call, state, now)
}

/// The same for logs, for options, and for records that are more than plain ones.
#[inline(never)]
fn take_in_general<'a, const N: usize>(
    verdict: &mut Verdict<N>,
    made: &mut Made<'a, '_, N>,
    call: &Call,
    state: Option<&'a [u8]>,
    now: Timestamp,
) -> Result<bool, RecordError> {
    let Outcome { decision, extra, change, block, .. } = charge(state, call, now)?;
    if decision.allowed() {
        verdict.add(decision, call.cost, extra);
        made.add(call.limit.interval(), state, change, block, || unused(&call.limit));
    }
    Ok(decision.allowed())
}

/// Adds what one limit comes to; false if it does not pass.
struct Take<'t, 'a, 'h, const N: usize> {
    verdict: &'t mut Verdict<N>,
    made: &'t mut Made<'a, 'h, N>,
    call: &'t Call,
    state: Option<&'a [u8]>,
}

impl<const N: usize> Then<(Small, Expiry)> for Take<'_, '_, '_, N> {
    type Output = bool;

    #[inline(always)]
    fn unchanged(self, decision: Decision) -> bool {
        if decision.allowed() {
            let Self { verdict, made, call, state } = self;
            verdict.add(decision, call.cost, None);
            made.keep(call.limit.interval(), state, || unused(&call.limit));
        }
        decision.allowed()
    }

    #[inline(always)]
    fn changed(self, decision: Decision, (record, expiry): (Small, Expiry)) -> bool {
        if decision.allowed() {
            self.verdict.add(decision, self.call.cost, None);
            self.made.put(self.call.limit.interval(), record.as_bytes(), expiry);
        }
        decision.allowed()
    }
}

/// The verdict on a whole that takes nothing, since a limit refuses or every cost is 0.
#[inline(never)]
fn refuse<'a, const N: usize>(
    record: Option<&'a [u8]>,
    calls: &[Call],
    states: &States<'a, N>,
    now: Timestamp,
    head: &mut Head<N>,
) -> Result<(Verdict<N>, ListChange<'a>), RecordError> {
    let mut verdict = Verdict::new();
    let (mut changes, mut begun) = (0_usize, 0_usize);
    for (call, state) in calls.iter().zip(states) {
        let changed = match glance(call, *state, now) {
            Some((decision, passes, changed)) => {
                verdict.add_spared(decision, call.cost, None, passes);
                changed
            }
            None => {
                let Spared { outcome: Outcome { decision, extra, change, .. }, passes } = spare(*state, call, now)?;
                verdict.add_spared(decision, call.cost, extra, passes);
                change != Change::None
            }
        };
        if changed {
            changes = changes.wrapping_add(1);
            begun = begun.wrapping_add(usize::from(state.is_none()));
        }
    }
    let change = match changes {
        0 => ListChange::None,
        _ => restate(record, calls, states, begun, now, head)?,
    };
    Ok((verdict, change))
}

/// What [`spare`] comes to for a plain call on a plain record of bounded size: the decision, whether the limit lets the
/// call in, and whether its state changes. `None` for any other.
#[inline(always)]
fn glance(call: &Call, state: Option<&[u8]>, now: Timestamp) -> Option<(Decision, bool, bool)> {
    if !call.options.is_none() {
        return None;
    }
    let (algorithm, cost) = (call.limit.algorithm(), call.cost);
    match &call.limit {
        Limit::TokenBucket(limit) | Limit::Gcra(limit) => glance_at::<Bucket>(state, algorithm, limit, now, cost),
        Limit::Fixed(limit, opening) => {
            let limit = FixedLimit { limit: *limit, opening: *opening };
            glance_at::<FixedWindow>(state, algorithm, &limit, now, cost)
        }
        Limit::SlidingCounter(limit) => glance_at::<SlidingCounter>(state, algorithm, limit, now, cost),
        Limit::SlidingLog(_) => None,
    }
}

#[inline(always)]
fn glance_at<M: Meter>(
    state: Option<&[u8]>,
    algorithm: Algorithm,
    limit: &M::Limit,
    now: Timestamp,
    cost: u64,
) -> Option<(Decision, bool, bool)> {
    let stored = meter::read::<M>(state, algorithm).ok()?.map(|stored| stored.state);
    let (decision, changed) = M::decide(stored, limit, now, cost, SideBySide);
    if !decision.allowed() {
        return Some((decision, false, changed.is_some()));
    }
    let (decision, changed) = M::decide(stored, limit, now, 0, SideBySide);
    Some((decision, true, changed.is_some()))
}

/// The change by a whole that takes nothing: the stored list stays as it is, but for the states that change and `begun`
/// that come to be. Where there is none, it is that of the call, so that limits have their numbers from the start. Where
/// they are too many for one record, the last without a limit in the call give way.
#[cold]
#[inline(never)]
fn restate<'a, const N: usize>(
    record: Option<&'a [u8]>,
    calls: &[Call],
    states: &States<'a, N>,
    begun: usize,
    now: Timestamp,
    head: &mut Head<N>,
) -> Result<ListChange<'a>, RecordError> {
    let stored = Stored::read(record)?;
    let limit_of = |part: &Part<'a>| {
        let state = Some(part.record);
        calls.iter().zip(states).find(|(_, of)| of.is_some_and(|of| core::ptr::eq(of, part.record)) && **of == state)
    };
    let matched = stored.parts().filter(|part| limit_of(part).is_some()).count();
    let mut loose = N.min(LIMITS_MAX).saturating_sub(begun).saturating_sub(matched);
    let kept = stored.len().saturating_sub(matched).min(loose).saturating_add(matched);
    let new = stored.is_empty();
    let mut made = Made::begin(head, if new { calls.len() } else { kept.saturating_add(begun) });
    for part in stored.parts() {
        let (change, block) = match limit_of(&part) {
            Some((call, state)) => {
                let Outcome { change, block, .. } = spare(*state, call, now)?.outcome;
                (change, block)
            }
            None if loose == 0 => continue,
            None => {
                loose = loose.saturating_sub(1);
                (Change::None, None)
            }
        };
        made.add(part.window, Some(part.record), change, block, || Unused::Nothing);
    }
    for (call, state) in calls.iter().zip(states) {
        if state.is_none() {
            let Outcome { change, block, .. } = spare(None, call, now)?.outcome;
            if new || change != Change::None {
                made.add(call.limit.interval(), None, change, block, || unused(&call.limit));
            }
        }
    }
    let same = begun == 0 && kept == stored.len();
    Ok(made.finish(record, same))
}
