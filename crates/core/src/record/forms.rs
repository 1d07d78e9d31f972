//! Each state of bounded size as the fields that follow a record's header, in the compact and in the wide form.

use super::{Algorithm, Fields, Small, Stored, header};
use crate::bucket::Bucket;
use crate::fixed_window::FixedWindow;
use crate::limit::{BucketLimit, CAPACITY, Rate};
use crate::sliding_counter::SlidingCounter;
use crate::time::Timestamp;

/// Reads the fields of a bucket, which follow the header.
#[inline(always)]
pub(crate) fn decode_bucket(wide: bool, fields: &[u8]) -> Option<Stored<Bucket>> {
    let mut fields = Fields(fields);
    let updated = fields.timestamp()?;
    let debt = if wide { fields.u128()? } else { u128::from(fields.u64()?) };
    let capacity = fields.number(wide)?;
    let tokens = fields.number(wide)?;
    let rate = Rate::new(tokens, fields.interval(wide)?)?;
    let expiry_ms = fields.expiry(wide, updated)?;
    let state = Bucket::new(debt, updated, BucketLimit::new(capacity, rate)?)?;
    fields.end(state, expiry_ms)
}

/// Writes a bucket; `algorithm` is its vocabulary.
#[inline(always)]
#[must_use]
pub fn encode_bucket(algorithm: Algorithm, stored: &Stored<Bucket>) -> Small {
    let Stored { state, expiry_ms } = stored;
    let rate = state.limit.rate();
    let (debt, wide_debt) = halves(state.debt);
    let numbers = [state.limit.capacity(), rate.tokens.get(), rate.period.millis()];
    let compact = compact(numbers, *expiry_ms, state.updated).filter(|_| wide_debt == 0);
    let mut record = Small::new(header(algorithm, compact.is_none()));
    record.put(state.updated.micros().to_le_bytes());
    record.put(debt.to_le_bytes());
    match compact {
        Some((numbers, expiry)) => record.put_compact(numbers, expiry),
        None => {
            record.put(wide_debt.to_le_bytes());
            record.put_wide(numbers, *expiry_ms);
        }
    }
    record
}

/// The low and the high half.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "each half is what is meant")]
const fn halves(n: u128) -> (u64, u64) {
    (n as u64, (n >> 64) as u64)
}

/// Reads the fields of a fixed window, which follow the header.
#[inline(always)]
pub(crate) fn decode_fixed(wide: bool, fields: &[u8]) -> Option<Stored<FixedWindow>> {
    let mut fields = Fields(fields);
    let start = fields.i64()?;
    let updated = fields.timestamp()?;
    let used = fields.number(wide)?;
    let limit = fields.window_limit(wide)?;
    let expiry_ms = fields.expiry(wide, updated)?;
    let earliest = 0_i64.saturating_sub_unsigned(limit.window().micros());
    let latest = i64::try_from(updated.micros()).ok()?;
    let in_range = CAPACITY.holds(used) && earliest <= start && start <= latest;
    in_range.then_some(())?;
    fields.end(FixedWindow { start, updated, used, limit }, expiry_ms)
}

/// Writes a fixed window.
#[inline(always)]
#[must_use]
pub fn encode_fixed(stored: &Stored<FixedWindow>) -> Small {
    let Stored { state, expiry_ms } = stored;
    let numbers = [state.used, state.limit.limit(), state.limit.window().millis()];
    let compact = compact(numbers, *expiry_ms, state.updated);
    let mut record = Small::new(header(Algorithm::Fixed, compact.is_none()));
    record.put(state.start.to_le_bytes());
    record.put(state.updated.micros().to_le_bytes());
    match compact {
        Some((numbers, expiry)) => record.put_compact(numbers, expiry),
        None => record.put_wide(numbers, *expiry_ms),
    }
    record
}

/// Reads the fields of a sliding-window counter, which follow the header.
#[inline(always)]
pub(crate) fn decode_counter(wide: bool, fields: &[u8]) -> Option<Stored<SlidingCounter>> {
    let mut fields = Fields(fields);
    let updated = fields.timestamp()?;
    let current = fields.number(wide)?;
    let previous = fields.number(wide)?;
    let limit = fields.window_limit(wide)?;
    let expiry_ms = fields.expiry(wide, updated)?;
    (CAPACITY.holds(current) && CAPACITY.holds(previous)).then_some(())?;
    fields.end(SlidingCounter { updated, current, previous, limit }, expiry_ms)
}

/// Writes a sliding-window counter.
#[inline(always)]
#[must_use]
pub fn encode_counter(stored: &Stored<SlidingCounter>) -> Small {
    let Stored { state, expiry_ms } = stored;
    let numbers = [state.current, state.previous, state.limit.limit(), state.limit.window().millis()];
    let compact = compact(numbers, *expiry_ms, state.updated);
    let mut record = Small::new(header(Algorithm::SlidingCounter, compact.is_none()));
    record.put(state.updated.micros().to_le_bytes());
    match compact {
        Some((numbers, expiry)) => record.put_compact(numbers, expiry),
        None => record.put_wide(numbers, *expiry_ms),
    }
    record
}

/// The numbers and the expiry, counted from the state's own time, as the compact form holds them; `None` if one does
/// not fit.
#[inline(always)]
fn compact<const N: usize>(numbers: [u64; N], expiry_ms: u64, from: Timestamp) -> Option<([u32; N], u32)> {
    let expiry = u32::try_from(expiry_ms.wrapping_sub(from.floor_ms())).ok()?;
    let mut narrow = [0; N];
    for (narrow, number) in narrow.iter_mut().zip(numbers) {
        *narrow = u32::try_from(number).ok()?;
    }
    Some((narrow, expiry))
}
