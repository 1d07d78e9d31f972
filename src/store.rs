//! Limiter state in a Redis string: replicated as its effect, then written in place.

use std::ffi::CStr;

use limiter_core::block::{BLOCK_LEN, Block};
use limiter_core::bucket::Bucket;
use limiter_core::call::{self, Change, Limit, Outcome};
use limiter_core::decision::Decision;
use limiter_core::expiry::Expiry;
use limiter_core::fixed_window::{FixedLimit, FixedWindow};
use limiter_core::general::{self, Extra};
use limiter_core::meter::{self, Meter, Then};
use limiter_core::record::{RecordError, Small};
use limiter_core::request::Call;
use limiter_core::sliding_counter::SlidingCounter;
use limiter_core::sliding_log::{Event, Rewrite};
use limiter_core::throttle::{self, Throttle};
use limiter_core::time::Timestamp;

use crate::error::Error;
use crate::ffi::{Command, Context, Field, Growth, KeyName, SharedString, Value, WriteKey};

/// The native commands that carry our effects to replicas, to the append-only file and to migrating slots. The module
/// does not load where one is renamed or disabled.
pub const COMMANDS: [Command; 4] = [SET, APPEND, SETRANGE, PEXPIREAT];

const SET: Command = Command(c"SET");
const APPEND: Command = Command(c"APPEND");
const SETRANGE: Command = Command(c"SETRANGE");
const PEXPIREAT: Command = Command(c"PEXPIREAT");

static KEEPTTL: SharedString = SharedString::new();
static PXAT: SharedString = SharedString::new();
static ZERO: SharedString = SharedString::new();

/// Makes the strings that every propagation shares.
pub fn prepare() {
    KEEPTTL.make(b"KEEPTTL");
    PXAT.make(b"PXAT");
    ZERO.make(b"0");
}

/// Gives them back.
pub fn release() {
    for shared in [&KEEPTTL, &PXAT, &ZERO] {
        shared.release();
    }
}

/// Takes one decision on a key: reads its state, replicates the effect, and only if that was accepted writes it.
///
/// An admitted call announces `event` to those who listen to the event class `module`.
#[inline(always)]
pub fn update(
    ctx: Context,
    name: KeyName<'_>,
    call: &Call,
    now: Timestamp,
    event: &'static CStr,
) -> Result<Decision, Error<'static>> {
    let key = WriteKey::open(ctx, name);
    match call.limit {
        Limit::TokenBucket(limit) => small::<Bucket>(ctx, key, name, call, &limit, now, event),
        Limit::Gcra(limit) => small::<Bucket>(ctx, key, name, call, &limit, now, event),
        Limit::Fixed(limit, opening) => {
            small::<FixedWindow>(ctx, key, name, call, &FixedLimit { limit, opening }, now, event)
        }
        Limit::SlidingCounter(limit) => small::<SlidingCounter>(ctx, key, name, call, &limit, now, event),
        Limit::SlidingLog(_) => update_log(ctx, key, name, call, now, event),
    }
}

#[inline(always)]
fn small<'a, M: Meter>(
    ctx: Context,
    mut key: WriteKey<'a>,
    name: KeyName<'a>,
    call: &Call,
    limit: &M::Limit,
    now: Timestamp,
    event: &'static CStr,
) -> Result<Decision, Error<'static>> {
    let algorithm = call.limit.algorithm();
    let wanted = Some(algorithm);
    let record = match key.value() {
        Value::String(bytes) => Some(bytes),
        Value::Missing => None,
        Value::Other(kind) => return Err(Error::Type(kind, wanted)),
    };
    let stored = match meter::read::<M>(record, algorithm) {
        Ok(stored) => stored,
        Err(RecordError::Extended) => {
            return decide_in_general(ctx, &mut key, name, call, now, event).map(|(decision, _)| decision);
        }
        Err(error) => return Err(Error::Record(error, wanted)),
    };
    meter::call(stored, algorithm, limit, now, call.cost, Write { ctx, key: &mut key, name, cost: call.cost, event })
}

/// Replicates and stores what a call has changed.
struct Write<'k, 'a> {
    ctx: Context,
    key: &'k mut WriteKey<'a>,
    name: KeyName<'a>,
    cost: u64,
    event: &'static CStr,
}

impl Then<(Small, Expiry)> for Write<'_, '_> {
    type Output = Result<Decision, Error<'static>>;

    #[inline(always)]
    fn unchanged(self, decision: Decision) -> Self::Output {
        Ok(decision)
    }

    #[inline(always)]
    fn changed(self, decision: Decision, (record, expiry): (Small, Expiry)) -> Self::Output {
        replace(self.ctx, self.key, self.name, record.as_bytes(), expiry)?;
        made(self.ctx, self.name, self.cost, &decision, self.event);
        Ok(decision)
    }
}

/// Tells those who want to know that a call has changed its key.
#[inline(always)]
fn made(ctx: Context, name: KeyName<'_>, cost: u64, decision: &Decision, event: &'static CStr) {
    ctx.changed(name);
    // The clock rule also stores for calls that take nothing: those are a change, but no event.
    if decision.allowed() && cost != 0 {
        ctx.announce(name, event);
    }
}

/// [`update`] for the one limiter whose state has no bound: it is read, lengthened and written where it lies.
#[inline(always)]
fn update_log(
    ctx: Context,
    mut key: WriteKey<'_>,
    name: KeyName<'_>,
    call: &Call,
    now: Timestamp,
    event: &'static CStr,
) -> Result<Decision, Error<'static>> {
    let wanted = Some(call.limit.algorithm());
    let record = match key.value() {
        Value::String(bytes) => Some(bytes),
        Value::Missing => None,
        Value::Other(kind) => return Err(Error::Type(kind, wanted)),
    };
    let Outcome { decision, change } = match call::decide(record, &call.limit, now, call.cost) {
        Ok(outcome) => outcome,
        Err(RecordError::Extended) => {
            return decide_in_general(ctx, &mut key, name, call, now, event).map(|(decision, _)| decision);
        }
        Err(error) => return Err(Error::Record(error, wanted)),
    };
    match change {
        Change::None => return Ok(decision),
        Change::Replace { record, expiry } => replace(ctx, &mut key, name, record.as_bytes(), expiry)?,
        Change::Append { event, header, expiry_ms, filling } => {
            let growth = if filling { Growth::Tight } else { Growth::Doubled };
            let header: &[u8] = header.as_ref().map_or(&[], <[u8; _]>::as_slice);
            append(ctx, &mut key, name, &event, header, expiry_ms, growth)?;
        }
        Change::Rewrite { rewrite, expiry } => {
            let mut small = [0; ON_STACK];
            let mut large = Vec::new();
            let record = render(&rewrite, None, &mut small, &mut large)?;
            replace(ctx, &mut key, name, record, expiry)?;
        }
    }
    made(ctx, name, call.cost, &decision, event);
    Ok(decision)
}

/// The same with options, or on a record that is more than a plain one; answers also the sixth element of the reply.
#[cold]
pub fn update_in_general(
    ctx: Context,
    name: KeyName<'_>,
    call: &Call,
    now: Timestamp,
    event: &'static CStr,
) -> Result<(Decision, Option<Extra>), Error<'static>> {
    let mut key = WriteKey::open(ctx, name);
    decide_in_general(ctx, &mut key, name, call, now, event)
}

#[cold]
fn decide_in_general(
    ctx: Context,
    key: &mut WriteKey<'_>,
    name: KeyName<'_>,
    call: &Call,
    now: Timestamp,
    event: &'static CStr,
) -> Result<(Decision, Option<Extra>), Error<'static>> {
    let wanted = Some(call.limit.algorithm());
    let record = match key.value() {
        Value::String(bytes) => Some(bytes),
        Value::Missing => None,
        Value::Other(kind) => return Err(Error::Type(kind, wanted)),
    };
    let outcome = general::decide(record, &call.limit, now, call.cost, &call.options);
    let general::Outcome { decision, extra, change, block, .. } =
        outcome.map_err(|error| Error::Record(error, wanted))?;
    match change {
        Change::None => return Ok((decision, extra)),
        Change::Replace { record, expiry } => match block {
            None => replace(ctx, key, name, record.as_bytes(), expiry)?,
            Some(block) => replace(ctx, key, name, block.wrap(record.as_bytes()).as_bytes(), expiry)?,
        },
        Change::Append { event, header, expiry_ms, filling } => {
            let growth = if filling { Growth::Tight } else { Growth::Doubled };
            let blocked = header.zip(block).map(|(header, block)| block.wrap(&header));
            let header: &[u8] = match (&header, &blocked) {
                (_, Some(blocked)) => blocked.as_bytes(),
                (Some(plain), None) => plain,
                (None, None) => &[],
            };
            append(ctx, key, name, &event, header, expiry_ms, growth)?;
        }
        Change::Rewrite { rewrite, expiry } => {
            let mut small = [0; ON_STACK];
            let mut large = Vec::new();
            let record = render(&rewrite, block.as_ref(), &mut small, &mut large)?;
            replace(ctx, key, name, record, expiry)?;
        }
    }
    ctx.changed(name);
    // A refused call that counts or blocks is a change, but no event.
    if decision.allowed() && call.cost != 0 {
        ctx.announce(name, event);
    }
    Ok((decision, extra))
}

/// As [`update`] for a call in redis-cell's words, which also understands what redis-cell has left in a key.
#[inline(always)]
pub fn throttle(
    ctx: Context,
    name: KeyName<'_>,
    call: &Throttle,
    now: Timestamp,
    event: &'static CStr,
) -> Result<Decision, Error<'static>> {
    match update(ctx, name, &call.as_gcra(), now, event) {
        Err(Error::Record(RecordError::Foreign, wanted)) => {
            let adopted = adopt(ctx, name, call, now, event);
            adopted.unwrap_or(Err(Error::Record(RecordError::Foreign, wanted)))
        }
        decided => decided,
    }
}

/// Decides on a key of redis-cell; `None` on anything else.
#[cold]
fn adopt(
    ctx: Context,
    name: KeyName<'_>,
    call: &Throttle,
    now: Timestamp,
    event: &'static CStr,
) -> Option<Result<Decision, Error<'static>>> {
    let mut key = WriteKey::open(ctx, name);
    let Value::String(bytes) = key.value() else { return None };
    let (decision, adopted) = throttle::adopt(bytes, call, now)?;
    if let Some((record, expiry)) = adopted {
        if let Err(error) = replace(ctx, &mut key, name, record.as_bytes(), expiry) {
            return Some(Err(error));
        }
        ctx.changed(name);
        ctx.announce(name, event);
    }
    Some(Ok(decision))
}

/// One command: `SET key record KEEPTTL`, or `SET key record PXAT ms` when the expiry moves.
#[inline(always)]
fn replace(
    ctx: Context,
    key: &mut WriteKey<'_>,
    name: KeyName<'_>,
    record: &[u8],
    expiry: Expiry,
) -> Result<(), Error<'static>> {
    let sent = if expiry.moved {
        let ms = Decimal::new(expiry.at_ms);
        ctx.replicate(SET, [Field::Key(name), Field::Bytes(record), Field::Shared(&PXAT), Field::Bytes(ms.as_bytes())])
    } else {
        ctx.replicate(SET, [Field::Key(name), Field::Bytes(record), Field::Shared(&KEEPTTL)])
    };
    sent.then_some(()).ok_or(Error::NotPropagated)?;
    key.put(record);
    if expiry.moved {
        key.expire_at(expiry.at_ms);
    }
    Ok(())
}

/// One command, `APPEND key event`; with a new header `SETRANGE key 0 header`, with a new expiry `PEXPIREAT key ms`.
#[inline(always)]
fn append(
    ctx: Context,
    key: &mut WriteKey<'_>,
    name: KeyName<'_>,
    event: &Event,
    header: &[u8],
    expiry_ms: Option<u64>,
    growth: Growth,
) -> Result<(), Error<'static>> {
    let mut sent = ctx.replicate(APPEND, [Field::Key(name), Field::Bytes(event.as_bytes())]);
    if !header.is_empty() {
        sent = sent && ctx.replicate(SETRANGE, [Field::Key(name), Field::Shared(&ZERO), Field::Bytes(header)]);
    }
    if let Some(at_ms) = expiry_ms {
        let ms = Decimal::new(at_ms);
        sent = sent && ctx.replicate(PEXPIREAT, [Field::Key(name), Field::Bytes(ms.as_bytes())]);
    }
    sent.then_some(()).ok_or(Error::NotPropagated)?;
    key.append(event.as_bytes(), header, growth);
    if let Some(at_ms) = expiry_ms {
        key.expire_at(at_ms);
    }
    Ok(())
}

/// Most logs are rewritten when they are small: within this many bytes without a heap allocation.
const ON_STACK: usize = 512;

/// The bytes of a rewritten log, in whichever buffer has the room; with a block, its blocked form.
fn render<'b>(
    rewrite: &Rewrite<'_>,
    block: Option<&Block>,
    small: &'b mut [u8; ON_STACK],
    large: &'b mut Vec<u8>,
) -> Result<&'b [u8], Error<'static>> {
    let room = if block.is_some() { BLOCK_LEN } else { 0 };
    let len = rewrite.len().saturating_add(room);
    let record = match small.get_mut(..len) {
        Some(small) => small,
        None => {
            large.try_reserve_exact(len).map_err(|_| Error::NoMemory)?;
            large.resize(len, 0);
            large
        }
    };
    rewrite.write(record.get_mut(room..).unwrap_or_default());
    if let Some(block) = block {
        block.put(record);
    }
    Ok(record)
}

/// A number in decimal digits, without an allocation.
struct Decimal {
    digits: [u8; 20],
    start: usize,
}

impl Decimal {
    fn new(mut number: u64) -> Self {
        let mut decimal = Self { digits: [b'0'; 20], start: 20 };
        for (at, digit) in decimal.digits.iter_mut().enumerate().rev() {
            *digit = b'0'.wrapping_add((number % 10) as u8);
            number /= 10;
            decimal.start = at;
            if number == 0 {
                break;
            }
        }
        decimal
    }

    fn as_bytes(&self) -> &[u8] {
        self.digits.get(self.start..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    #[test]
    fn a_number_is_written_in_its_decimal_digits() {
        for number in [0, 7, 10, 99, 100, 1_700_000_000_000, u64::MAX] {
            assert_eq!(Decimal::new(number).as_bytes(), number.to_string().as_bytes());
        }
    }
}
