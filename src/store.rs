//! Limiter state in a Redis string: replicated as its effect, then written in place.

mod adjust;
mod effect;
mod list;
mod send;

use std::ffi::CStr;

use limiter_core::bucket::Bucket;
use limiter_core::call::{self, Limit, Outcome};
use limiter_core::decision::Decision;
use limiter_core::expiry::Expiry;
use limiter_core::fixed_window::{FixedLimit, FixedWindow};
use limiter_core::general::{self, Extra};
use limiter_core::limit::WindowLimit;
use limiter_core::meter::{self, Meter, Then};
use limiter_core::record::{Algorithm, Small};
use limiter_core::request::Call;
use limiter_core::sliding_counter::SlidingCounter;
use limiter_core::sliding_log::{self, steady};
use limiter_core::steady::Steady;
use limiter_core::throttle::{self, Throttle};
use limiter_core::time::Timestamp;

pub use adjust::adjust;
use effect::{Room, carry_out, effect};
pub use list::{update_keys, update_list};
pub use send::{COMMANDS, prepare, release};
use send::{append, growth, keep, replace};

use crate::error::Error;
use crate::ffi::{Context, KeyName, Value, WriteKey};

/// Takes the decision of a call without options on a key that holds a plain record, or nothing: reads its state,
/// replicates the effect, and only if that was accepted writes it.
///
/// `None` is any other key, or an effect that was not accepted: nothing has changed, and [`update_in_general`] has the
/// decision or the error. An admitted call announces the [`event`] of its
/// algorithm to those who listen to the event class `module`.
#[inline(always)]
pub fn update(ctx: Context, name: KeyName<'_>, limit: &Limit, cost: u64, now: Timestamp) -> Option<Decision> {
    let key = WriteKey::open(ctx, name);
    let write = Write { ctx, key, name, algorithm: limit.algorithm(), cost };
    match limit {
        Limit::TokenBucket(limit) | Limit::Gcra(limit) => write.small::<Bucket>(limit, now),
        Limit::Fixed(limit, opening) => {
            write.small::<FixedWindow>(&FixedLimit { limit: *limit, opening: *opening }, now)
        }
        Limit::SlidingCounter(limit) => write.small::<SlidingCounter>(limit, now),
        Limit::SlidingLog(limit) => write.log(limit, now),
    }
}

/// What an admitted call writes to, and whom it tells.
struct Write<'a> {
    ctx: Context,
    key: WriteKey<'a>,
    name: KeyName<'a>,
    algorithm: Algorithm,
    cost: u64,
}

impl Write<'_> {
    /// State of bounded size: it is copied out of its record, and the new record is put in its place.
    #[inline(always)]
    fn small<M: Meter>(mut self, limit: &M::Limit, now: Timestamp) -> Option<Decision> {
        if let Value::String(bytes) = self.key.value()
            && let Some(Steady { decision, record }) = M::steady(bytes, self.algorithm, limit, now, self.cost)
        {
            if let Some(record) = record {
                keep(self.ctx, &mut self.key, self.name, record.as_ref())?;
                self.tell(&decision);
            }
            return Some(decision);
        }
        self.small_in_full::<M>(limit, now)
    }

    #[inline(never)]
    fn small_in_full<M: Meter>(self, limit: &M::Limit, now: Timestamp) -> Option<Decision> {
        let (algorithm, cost) = (self.algorithm, self.cost);
        let stored = meter::read::<M>(self.key.value().string().ok()?, algorithm).ok()?;
        meter::call(stored, algorithm, limit, now, cost, self)
    }

    /// The one limiter whose state has no bound: it is read, lengthened and written where it lies.
    #[inline(always)]
    fn log(mut self, limit: &WindowLimit, now: Timestamp) -> Option<Decision> {
        if self.cost == 1
            && let Value::String(bytes) = self.key.value()
            && let Some(sliding_log::Steady { decision, event, filling }) = steady(bytes, limit, now)
        {
            if let Some(event) = event {
                append(self.ctx, &mut self.key, self.name, &event, &[], None, growth(filling)).ok()?;
                self.tell(&decision);
            }
            return Some(decision);
        }
        self.log_in_full(*limit, now)
    }

    #[inline(never)]
    fn log_in_full(mut self, limit: WindowLimit, now: Timestamp) -> Option<Decision> {
        let record = self.key.value().string().ok()?;
        let Outcome { decision, change } = call::decide(record, &Limit::SlidingLog(limit), now, self.cost).ok()?;
        let mut room = Room::new();
        if let Some(effect) = effect(&change, None, &mut room).ok()? {
            carry_out(self.ctx, &mut self.key, self.name, &effect).ok()?;
            self.tell(&decision);
        }
        Some(decision)
    }

    /// Tells those who want to know that the call has changed its key.
    #[inline(always)]
    fn tell(&self, decision: &Decision) {
        self.ctx.changed(self.name);
        // The clock rule also stores for calls that take nothing: those are a change, but no event.
        if decision.allowed() && self.cost != 0 {
            self.ctx.announce(self.name, event(self.algorithm));
        }
    }
}

impl Then<(Small, Expiry)> for Write<'_> {
    type Output = Option<Decision>;

    #[inline(always)]
    fn unchanged(self, decision: Decision) -> Self::Output {
        Some(decision)
    }

    #[inline(always)]
    fn changed(mut self, decision: Decision, (record, expiry): (Small, Expiry)) -> Self::Output {
        replace(self.ctx, &mut self.key, self.name, record.as_bytes(), expiry).ok()?;
        self.tell(&decision);
        Some(decision)
    }
}

/// Takes any decision on any key; answers also the sixth element of the reply.
#[cold]
pub fn update_in_general(
    ctx: Context,
    name: KeyName<'_>,
    call: &Call,
    now: Timestamp,
) -> Result<(Decision, Option<Extra>), Error<'static>> {
    let mut key = WriteKey::open(ctx, name);
    let wanted = Some(call.limit.algorithm());
    let record = key.value().string().map_err(|kind| Error::Type(kind, wanted))?;
    let outcome = general::decide(record, &call.limit, now, call.cost, &call.options);
    let general::Outcome { decision, extra, change, block, .. } =
        outcome.map_err(|error| Error::Record(error, wanted))?;
    let mut room = Room::new();
    let Some(effect) = effect(&change, block, &mut room)? else { return Ok((decision, extra)) };
    carry_out(ctx, &mut key, name, &effect)?;
    ctx.changed(name);
    // A refused call that counts or blocks is a change, but no event.
    if decision.allowed() && call.cost != 0 {
        ctx.announce(name, event(call.limit.algorithm()));
    }
    Ok((decision, extra))
}

/// As [`update`] for a call in redis-cell's words, which also understands what redis-cell has left in a key.
#[inline(always)]
pub fn throttle(ctx: Context, name: KeyName<'_>, call: &Throttle, now: Timestamp) -> Result<Decision, Error<'static>> {
    match update(ctx, name, &Limit::Gcra(call.limit), call.quantity, now) {
        Some(decision) => Ok(decision),
        None => throttle_in_general(ctx, name, call, now),
    }
}

#[cold]
fn throttle_in_general(
    ctx: Context,
    name: KeyName<'_>,
    call: &Throttle,
    now: Timestamp,
) -> Result<Decision, Error<'static>> {
    match adopt(ctx, name, call, now) {
        Some(adopted) => adopted,
        None => update_in_general(ctx, name, &call.as_gcra(), now).map(|(decision, _)| decision),
    }
}

/// Decides on a key of redis-cell; `None` on anything else.
fn adopt(ctx: Context, name: KeyName<'_>, call: &Throttle, now: Timestamp) -> Option<Result<Decision, Error<'static>>> {
    let mut key = WriteKey::open(ctx, name);
    let Value::String(bytes) = key.value() else { return None };
    let (decision, adopted) = throttle::adopt(bytes, call, now)?;
    if let Some((record, expiry)) = adopted {
        if let Err(error) = replace(ctx, &mut key, name, record.as_bytes(), expiry) {
            return Some(Err(error));
        }
        ctx.changed(name);
        ctx.announce(name, event(Algorithm::Gcra));
    }
    Some(Ok(decision))
}

/// What an admitted call announces.
#[inline(always)]
const fn event(algorithm: Algorithm) -> &'static CStr {
    match algorithm {
        Algorithm::TokenBucket => c"rl.tokenbucket",
        Algorithm::Gcra => c"rl.gcra",
        Algorithm::Fixed => c"rl.fixed",
        Algorithm::SlidingLog => c"rl.slidinglog",
        Algorithm::SlidingCounter => c"rl.slidingcounter",
    }
}
