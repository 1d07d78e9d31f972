//! Several limits decided together: in one key, or each in a key of its own.

use limiter_core::all::{self, ListChange, Spared, Tail, Verdict};
use limiter_core::compound::{Head, LIMITS_MAX};
use limiter_core::general::Outcome;
use limiter_core::matching;
use limiter_core::request::Call;
use limiter_core::time::Timestamp;

use super::effect::{Room, carry_out, effect, effect_of_list};
use super::event;
use super::send::{keep, replace};
use crate::error::Error;
use crate::ffi::{Context, KeyName, Value, WriteKey};

/// Takes one decision on several limits in one key. An admitted call announces `rl.all`.
#[inline(always)]
pub fn update_list<const N: usize>(
    ctx: Context,
    name: KeyName<'_>,
    calls: &[Call],
    now: Timestamp,
) -> Result<Verdict<N>, Error<'static>> {
    let mut key = WriteKey::open(ctx, name);
    let mut head = Head::<N>::new();
    if let Value::String(bytes) = key.value()
        && let Some(verdict) = all::steady(bytes, calls, now, &mut head)
        && keep(ctx, &mut key, name, head.as_bytes()).is_some()
    {
        ctx.changed(name);
        ctx.announce(name, c"rl.all");
        return Ok(verdict);
    }
    match attempt::<N, false>(ctx, &mut key, name, calls, now)? {
        Some(verdict) => Ok(verdict),
        None => update_changed(ctx, &mut key, name, calls, now),
    }
}

/// The same where the key holds another list of limits than the call.
#[cold]
#[inline(never)]
fn update_changed<const N: usize>(
    ctx: Context,
    key: &mut WriteKey<'_>,
    name: KeyName<'_>,
    calls: &[Call],
    now: Timestamp,
) -> Result<Verdict<N>, Error<'static>> {
    let verdict = attempt::<LIMITS_MAX, true>(ctx, key, name, calls, now)?;
    Ok(verdict.unwrap_or_default().resized())
}

/// `None` if the key holds another list of limits than the call and `CHANGED` does not say so.
#[inline(always)]
fn attempt<const N: usize, const CHANGED: bool>(
    ctx: Context,
    key: &mut WriteKey<'_>,
    name: KeyName<'_>,
    calls: &[Call],
    now: Timestamp,
) -> Result<Option<Verdict<N>>, Error<'static>> {
    let wrong = |error| Error::Record(error, None);
    let record = key.value().string().map_err(|kind| Error::Type(kind, None))?;
    let states = if CHANGED {
        matching::changed::<N>(record, calls).map_err(wrong)?
    } else {
        let Some(states) = matching::same::<N>(record, calls) else { return Ok(None) };
        states
    };
    let mut head = Head::<N>::new();
    let (verdict, change) = match all::one_key(record, calls, &states, !CHANGED, now, &mut head) {
        Ok(decided) => decided,
        Err(error) => return Err(wrong(error)),
    };
    let head = head.as_bytes();
    match change {
        ListChange::None => return Ok(Some(verdict)),
        ListChange::Replace { tail: Tail::Nothing, expiry } => replace(ctx, key, name, head, expiry)?,
        change => {
            let mut room = Room::new();
            if let Some(effect) = effect_of_list(head, &change, &mut room)? {
                carry_out(ctx, key, name, &effect)?;
            }
        }
    }
    ctx.changed(name);
    if verdict.allowed() && calls.iter().any(|call| call.cost != 0) {
        ctx.announce(name, c"rl.all");
    }
    Ok(Some(verdict))
}

/// Whether the whole is refused: what a call of several keys does with each depends on it.
#[derive(Clone, Copy)]
enum Whole {
    Open,
    Refused,
}

/// Takes one decision on several limits, each in the key of the same place. An admitted call announces in each key that it
/// takes from what the limit's own command would.
///
/// Every effect is sent before the first is written. The server takes all of them or none: it refuses to replicate only
/// what it does not know as a command, and that those are known was found at load.
pub fn update_keys(
    ctx: Context,
    names: &[KeyName<'_>],
    calls: &[Call],
    now: Timestamp,
) -> Result<Verdict<LIMITS_MAX>, Error<'static>> {
    let mut keys: [Option<WriteKey<'_>>; LIMITS_MAX] = [const { None }; LIMITS_MAX];
    for (key, name) in keys.iter_mut().zip(names) {
        *key = Some(WriteKey::open(ctx, *name));
    }
    let mut whole = Whole::Open;
    let mut verdict = judge(&keys, calls, now, whole)?;
    if !verdict.allowed() {
        whole = Whole::Refused;
        verdict = judge(&keys, calls, now, whole)?;
    }
    // A decision is taken anew wherever it is needed: the same bytes give the same, and it keeps no key from being written.
    let mut changed = false;
    for ((key, name), call) in keys.iter().flatten().zip(names).zip(calls) {
        let Outcome { change, block, .. } = decide(key, call, now, whole)?.outcome;
        let mut room = Room::new();
        if let Some(effect) = effect(&change, block, &mut room)? {
            changed = true;
            effect.send(ctx, *name).then_some(()).ok_or(Error::NotPropagated)?;
        }
    }
    if changed {
        for ((key, name), call) in keys.iter_mut().flatten().zip(names).zip(calls) {
            let Outcome { change, block, .. } = decide(key, call, now, whole)?.outcome;
            let mut room = Room::new();
            if let Some(effect) = effect(&change, block, &mut room)? {
                effect.put(key);
                ctx.changed(*name);
                if verdict.allowed() && call.cost != 0 {
                    ctx.announce(*name, event(call.limit.algorithm()));
                }
            }
        }
    }
    Ok(verdict)
}

fn judge(
    keys: &[Option<WriteKey<'_>>],
    calls: &[Call],
    now: Timestamp,
    whole: Whole,
) -> Result<Verdict<LIMITS_MAX>, Error<'static>> {
    let mut verdict = Verdict::new();
    for (key, call) in keys.iter().flatten().zip(calls) {
        let Spared { outcome, passes } = decide(key, call, now, whole)?;
        verdict.add_spared(outcome.decision, call.cost, outcome.extra, passes);
    }
    Ok(verdict)
}

fn decide<'k>(key: &'k WriteKey<'_>, call: &Call, now: Timestamp, whole: Whole) -> Result<Spared<'k>, Error<'static>> {
    let wanted = Some(call.limit.algorithm());
    let record = key.value().string().map_err(|kind| Error::Type(kind, wanted))?;
    let decided = match whole {
        Whole::Open => {
            all::charge(record, call, now).map(|outcome| Spared { outcome, passes: outcome.decision.allowed() })
        }
        Whole::Refused => all::spare(record, call, now),
    };
    decided.map_err(|error| Error::Record(error, wanted))
}
