//! Effects on their way: replicated as native commands, and written in place.

use limiter_core::block::{BLOCK_LEN, Block};
use limiter_core::expiry::Expiry;
use limiter_core::sliding_log::Rewrite;

use crate::error::Error;
use crate::ffi::{Command, Context, Field, Growth, KeyName, SharedString, WriteKey};

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

/// One command, `SET key record KEEPTTL`; `None` if the server refused to replicate it.
#[inline(always)]
pub(super) fn keep(ctx: Context, key: &mut WriteKey<'_>, name: KeyName<'_>, record: &[u8]) -> Option<()> {
    ctx.replicate(SET, [Field::Key(name), Field::Bytes(record), Field::Shared(&KEEPTTL)]).then_some(())?;
    key.put(record);
    Some(())
}

/// One command: `SET key record KEEPTTL`, or `SET key record PXAT ms` when the expiry moves.
#[inline(always)]
pub(super) fn replace(
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
pub(super) fn send_record(ctx: Context, name: KeyName<'_>, record: &[u8], expiry: Expiry) -> bool {
    if expiry.moved {
        let ms = Decimal::new(expiry.at_ms);
        ctx.replicate(SET, [Field::Key(name), Field::Bytes(record), Field::Shared(&PXAT), Field::Bytes(ms.as_bytes())])
    } else {
        ctx.replicate(SET, [Field::Key(name), Field::Bytes(record), Field::Shared(&KEEPTTL)])
    }
}

#[inline(always)]
pub(super) fn put_record(key: &mut WriteKey<'_>, record: &[u8], expiry: Expiry) {
    key.put(record);
    if expiry.moved {
        key.expire_at(expiry.at_ms);
    }
}

/// One command, `APPEND key event`; with a new header `SETRANGE key 0 header`, with a new expiry `PEXPIREAT key ms`.
#[inline(always)]
pub(super) fn append(
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
pub(super) fn send_event(ctx: Context, name: KeyName<'_>, event: &[u8], header: &[u8], expiry_ms: Option<u64>) -> bool {
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
pub(super) fn put_event(key: &mut WriteKey<'_>, event: &[u8], header: &[u8], expiry_ms: Option<u64>, growth: Growth) {
    key.append(event, header, growth);
    if let Some(at_ms) = expiry_ms {
        key.expire_at(at_ms);
    }
}

/// How a log gets its room, by whether it is filling.
#[inline(always)]
pub(super) const fn growth(filling: bool) -> Growth {
    if filling { Growth::Tight } else { Growth::Doubled }
}

/// Most logs are rewritten when they are small: within this many bytes without a heap allocation.
pub(super) const ON_STACK: usize = 512;

/// The bytes of a rewritten log, in whichever buffer has the room; with a block, its blocked form.
pub(super) fn render<'b>(
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
pub(super) fn space<'b>(
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
