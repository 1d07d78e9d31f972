//! A key whose usage is put right after the fact.

use limiter_core::adjust::{self, AdjustError};
use limiter_core::all;
use limiter_core::compound::{Compound, Head, is_compound};
use limiter_core::decision::Decision;
use limiter_core::general;
use limiter_core::request::{self, Adjustment};
use limiter_core::time::Timestamp;

use super::effect::{Room, carry_out, effect, effect_of_list};
use crate::error::Error;
use crate::ffi::{Context, KeyName, Value, WriteKey};

/// Puts the usage of a key right: as [`update`](super::update), but for a key that is there. `None` if there is none, or nothing in use.
///
/// In a list it is the usage of one limit or of all.
#[cold]
pub fn adjust<'a>(
    ctx: Context,
    name: KeyName<'_>,
    asked: &Adjustment<'a>,
    now: Timestamp,
    log_limit_max: u64,
) -> Result<Option<Decision>, Error<'a>> {
    let mut key = WriteKey::open(ctx, name);
    let record = match key.value() {
        Value::String(bytes) => bytes,
        Value::Missing => return Ok(None),
        Value::Other(kind) => return Err(Error::Type(kind, None)),
    };
    if is_compound(record) {
        return adjust_list(ctx, &mut key, name, asked, now, log_limit_max);
    }
    let &Adjustment { delta, given, limit } = asked;
    if let Some((number, given)) = limit
        && number != 1
    {
        return Err(Error::Argument(request::no_limit(given, 1)));
    }
    let general::Outcome { decision, change, block, .. } = match adjust::adjust(record, delta, now, log_limit_max) {
        Ok(Some(outcome)) => outcome,
        Ok(None) => return Ok(None),
        Err(AdjustError::Record(error)) => return Err(Error::Record(error, None)),
        Err(AdjustError::Excess(excess)) => return Err(Error::Argument(request::excessive(given, excess))),
    };
    let mut room = Room::new();
    let Some(effect) = effect(&change, block, &mut room)? else { return Ok(Some(decision)) };
    carry_out(ctx, &mut key, name, &effect)?;
    ctx.changed(name);
    // The clock rule alone is a change, but no event.
    if !delta.is_nothing() {
        ctx.announce(name, c"rl.adjust");
    }
    Ok(Some(decision))
}

/// The same in a list of limits.
fn adjust_list<'a>(
    ctx: Context,
    key: &mut WriteKey<'_>,
    name: KeyName<'_>,
    asked: &Adjustment<'a>,
    now: Timestamp,
    log_limit_max: u64,
) -> Result<Option<Decision>, Error<'a>> {
    let &Adjustment { delta, given, limit } = asked;
    let Value::String(record) = key.value() else { return Ok(None) };
    let count = Compound::open(record).map_err(|error| Error::Record(error, None))?.len();
    let place = match limit {
        Some((number, given)) if number > count => return Err(Error::Argument(request::no_limit(given, count))),
        limit => limit.map(|(number, _)| number.saturating_sub(1)),
    };
    let mut head = Head::new();
    let (decision, change) = match all::adjust(record, delta, place, now, log_limit_max, &mut head) {
        Ok(Some(adjusted)) => adjusted,
        Ok(None) => return Ok(None),
        Err(AdjustError::Record(error)) => return Err(Error::Record(error, None)),
        Err(AdjustError::Excess(excess)) => return Err(Error::Argument(request::excessive(given, excess))),
    };
    let mut room = Room::new();
    let Some(effect) = effect_of_list(head.as_bytes(), &change, &mut room)? else { return Ok(Some(decision)) };
    carry_out(ctx, key, name, &effect)?;
    ctx.changed(name);
    if !delta.is_nothing() {
        ctx.announce(name, c"rl.adjust");
    }
    Ok(Some(decision))
}
