//! Limiter state in a Redis string: replicated as its effect, then written in place.

mod adjust;
mod effect;
mod list;

use std::ffi::CStr;

use limiter_core::block::{BLOCK_LEN, Block};
use limiter_core::bucket::Bucket;
use limiter_core::call::{self, Change, Limit, Outcome};
use limiter_core::decision::Decision;
use limiter_core::expiry::Expiry;
use limiter_core::fixed_window::{FixedLimit, FixedWindow};
use limiter_core::general::{self, Extra};
use limiter_core::limit::WindowLimit;
use limiter_core::meter::{self, Meter, Then};
use limiter_core::record::{Algorithm, Small};
use limiter_core::request::Call;
use limiter_core::sliding_counter::SlidingCounter;
use limiter_core::sliding_log::{self, Rewrite, steady};
use limiter_core::steady::Steady;
use limiter_core::throttle::{self, Throttle};
use limiter_core::time::Timestamp;

pub use adjust::adjust;
use effect::{Room, carry_out, effect};
pub use list::{update_keys, update_list};

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

/// Takes the decision of a call without options on a key that holds a plain record, or nothing: reads its state,
/// replicates the effect, and only if that was accepted writes it.
///
/// `None` is any other key, or an effect that was not accepted: nothing has changed, and [`update_in_general`] has the
/// decision or the error. An admitted call announces `event` to those who listen to the event class `module`.
#[inline(always)]
pub fn update(
    ctx: Context,
    name: KeyName<'_>,
    limit: &Limit,
    cost: u64,
    now: Timestamp,
    event: &'static CStr,
) -> Option<Decision> {
    let key = WriteKey::open(ctx, name);
    let write = Write { ctx, key, name, cost, event };
    match limit {
        Limit::TokenBucket(limit) => write.small::<Bucket>(Algorithm::TokenBucket, limit, now),
        Limit::Gcra(limit) => write.small::<Bucket>(Algorithm::Gcra, limit, now),
        Limit::Fixed(limit, opening) => {
            write.small::<FixedWindow>(Algorithm::Fixed, &FixedLimit { limit: *limit, opening: *opening }, now)
        }
        Limit::SlidingCounter(limit) => write.small::<SlidingCounter>(Algorithm::SlidingCounter, limit, now),
        Limit::SlidingLog(limit) => write.log(limit, now),
    }
}

/// How a log gets its room, by whether it is filling.
#[inline(always)]
const fn growth(filling: bool) -> Growth {
    if filling { Growth::Tight } else { Growth::Doubled }
}

/// What an admitted call writes to, and whom it tells.
struct Write<'a> {
    ctx: Context,
    key: WriteKey<'a>,
    name: KeyName<'a>,
    cost: u64,
    event: &'static CStr,
}

impl Write<'_> {
    /// State of bounded size: it is copied out of its record, and the new record is put in its place.
    #[inline(always)]
    fn small<M: Meter>(mut self, algorithm: Algorithm, limit: &M::Limit, now: Timestamp) -> Option<Decision> {
        if let Value::String(bytes) = self.key.value()
            && let Some(Steady { decision, record }) = M::steady(bytes, algorithm, limit, now, self.cost)
        {
            if let Some(record) = record {
                keep(self.ctx, &mut self.key, self.name, record.as_ref())?;
                self.tell(&decision);
            }
            return Some(decision);
        }
        self.small_in_full::<M>(algorithm, limit, now)
    }

    #[inline(never)]
    fn small_in_full<M: Meter>(self, algorithm: Algorithm, limit: &M::Limit, now: Timestamp) -> Option<Decision> {
        let record = match self.key.value() {
            Value::String(bytes) => Some(bytes),
            Value::Missing => None,
            Value::Other(_) => return None,
        };
        let stored = meter::read::<M>(record, algorithm).ok()?;
        let cost = self.cost;
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
        let record = match self.key.value() {
            Value::String(bytes) => Some(bytes),
            Value::Missing => None,
            Value::Other(_) => return None,
        };
        let Outcome { decision, change } = call::decide(record, &Limit::SlidingLog(limit), now, self.cost).ok()?;
        match change {
            Change::None => return Some(decision),
            Change::Replace { record, expiry } => {
                replace(self.ctx, &mut self.key, self.name, record.as_bytes(), expiry).ok()?;
            }
            Change::Append { event, header, expiry_ms, filling } => {
                let header: &[u8] = header.as_ref().map_or(&[], <[u8; _]>::as_slice);
                append(self.ctx, &mut self.key, self.name, event.as_bytes(), header, expiry_ms, growth(filling))
                    .ok()?;
            }
            Change::Rewrite { rewrite, expiry } => {
                let mut small = [0; ON_STACK];
                let mut large = Vec::new();
                let record = render(&rewrite, None, &mut small, &mut large).ok()?;
                replace(self.ctx, &mut self.key, self.name, record, expiry).ok()?;
            }
        }
        self.tell(&decision);
        Some(decision)
    }

    /// Tells those who want to know that the call has changed its key.
    #[inline(always)]
    fn tell(&self, decision: &Decision) {
        self.ctx.changed(self.name);
        // The clock rule also stores for calls that take nothing: those are a change, but no event.
        if decision.allowed() && self.cost != 0 {
            self.ctx.announce(self.name, self.event);
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
    event: &'static CStr,
) -> Result<(Decision, Option<Extra>), Error<'static>> {
    let mut key = WriteKey::open(ctx, name);
    let wanted = Some(call.limit.algorithm());
    let record = match key.value() {
        Value::String(bytes) => Some(bytes),
        Value::Missing => None,
        Value::Other(kind) => return Err(Error::Type(kind, wanted)),
    };
    let outcome = general::decide(record, &call.limit, now, call.cost, &call.options);
    let general::Outcome { decision, extra, change, block, .. } =
        outcome.map_err(|error| Error::Record(error, wanted))?;
    let mut room = Room::new();
    let Some(effect) = effect(&change, block, &mut room)? else { return Ok((decision, extra)) };
    carry_out(ctx, &mut key, name, &effect)?;
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
    match update(ctx, name, &Limit::Gcra(call.limit), call.quantity, now, event) {
        Some(decision) => Ok(decision),
        None => throttle_in_general(ctx, name, call, now, event),
    }
}

#[cold]
fn throttle_in_general(
    ctx: Context,
    name: KeyName<'_>,
    call: &Throttle,
    now: Timestamp,
    event: &'static CStr,
) -> Result<Decision, Error<'static>> {
    match adopt(ctx, name, call, now, event) {
        Some(adopted) => adopted,
        None => update_in_general(ctx, name, &call.as_gcra(), now, event).map(|(decision, _)| decision),
    }
}

/// Decides on a key of redis-cell; `None` on anything else.
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

/// One command, `SET key record KEEPTTL`; `None` if the server refused to replicate it.
#[inline(always)]
fn keep(ctx: Context, key: &mut WriteKey<'_>, name: KeyName<'_>, record: &[u8]) -> Option<()> {
    ctx.replicate(SET, [Field::Key(name), Field::Bytes(record), Field::Shared(&KEEPTTL)]).then_some(())?;
    key.put(record);
    Some(())
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
    send_record(ctx, name, record, expiry).then_some(()).ok_or(Error::NotPropagated)?;
    put_record(key, record, expiry);
    Ok(())
}

#[inline(always)]
fn send_record(ctx: Context, name: KeyName<'_>, record: &[u8], expiry: Expiry) -> bool {
    if expiry.moved {
        let ms = Decimal::new(expiry.at_ms);
        ctx.replicate(SET, [Field::Key(name), Field::Bytes(record), Field::Shared(&PXAT), Field::Bytes(ms.as_bytes())])
    } else {
        ctx.replicate(SET, [Field::Key(name), Field::Bytes(record), Field::Shared(&KEEPTTL)])
    }
}

#[inline(always)]
fn put_record(key: &mut WriteKey<'_>, record: &[u8], expiry: Expiry) {
    key.put(record);
    if expiry.moved {
        key.expire_at(expiry.at_ms);
    }
}

/// One command, `APPEND key event`; with a new header `SETRANGE key 0 header`, with a new expiry `PEXPIREAT key ms`.
#[inline(always)]
fn append(
    ctx: Context,
    key: &mut WriteKey<'_>,
    name: KeyName<'_>,
    event: &[u8],
    header: &[u8],
    expiry_ms: Option<u64>,
    growth: Growth,
) -> Result<(), Error<'static>> {
    send_event(ctx, name, event, header, expiry_ms).then_some(()).ok_or(Error::NotPropagated)?;
    put_event(key, event, header, expiry_ms, growth);
    Ok(())
}

/// What is empty is not sent.
#[inline(always)]
fn send_event(ctx: Context, name: KeyName<'_>, event: &[u8], header: &[u8], expiry_ms: Option<u64>) -> bool {
    let mut sent = event.is_empty() || ctx.replicate(APPEND, [Field::Key(name), Field::Bytes(event)]);
    if !header.is_empty() {
        sent = sent && ctx.replicate(SETRANGE, [Field::Key(name), Field::Shared(&ZERO), Field::Bytes(header)]);
    }
    if let Some(at_ms) = expiry_ms {
        let ms = Decimal::new(at_ms);
        sent = sent && ctx.replicate(PEXPIREAT, [Field::Key(name), Field::Bytes(ms.as_bytes())]);
    }
    sent
}

#[inline(always)]
fn put_event(key: &mut WriteKey<'_>, event: &[u8], header: &[u8], expiry_ms: Option<u64>, growth: Growth) {
    key.append(event, header, growth);
    if let Some(at_ms) = expiry_ms {
        key.expire_at(at_ms);
    }
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
    let before = if block.is_some() { BLOCK_LEN } else { 0 };
    let record = space(rewrite.len().saturating_add(before), small, large)?;
    rewrite.write(record.get_mut(before..).unwrap_or_default());
    if let Some(block) = block {
        block.put(record);
    }
    Ok(record)
}

/// Space for `len` bytes.
fn space<'b>(
    len: usize,
    small: &'b mut [u8; ON_STACK],
    large: &'b mut Vec<u8>,
) -> Result<&'b mut [u8], Error<'static>> {
    match small.get_mut(..len) {
        Some(small) => Ok(small),
        None => {
            large.try_reserve_exact(len).map_err(|_| Error::NoMemory)?;
            large.resize(len, 0);
            Ok(large)
        }
    }
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
