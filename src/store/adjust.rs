//! A key whose usage is put right after the fact.

use limiter_core::adjust::{self, AdjustError, Delta};
use limiter_core::decision::Decision;
use limiter_core::general;
use limiter_core::request;
use limiter_core::time::Timestamp;

use super::effect::{Room, carry_out, effect};
use crate::error::Error;
use crate::ffi::{Context, KeyName, Value, WriteKey};

/// Puts the usage of a key right: as [`update`](super::update), but for a key that is there. `None` if there is none, or nothing in use.
///
/// `given` is the delta as it came.
#[cold]
pub fn adjust<'a>(
    ctx: Context,
    name: KeyName<'_>,
    delta: Delta,
    given: &'a [u8],
    now: Timestamp,
    log_limit_max: u64,
) -> Result<Option<Decision>, Error<'a>> {
    let mut key = WriteKey::open(ctx, name);
    let record = match key.value() {
        Value::String(bytes) => bytes,
        Value::Missing => return Ok(None),
        Value::Other(kind) => return Err(Error::Type(kind, None)),
    };
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
