//! Limiters of bounded size in steady use: the compact record, the limits it was stored with, a clock that goes on and an
//! expiry that still does. Nearly every call is one of these, and takes the short way: all fields lie at fixed places and
//! all numbers fit 64 bits. What does not is left to [`meter::call`](crate::meter::call); a law holds both to the same
//! verdicts and bytes.

use crate::decision::{Decision, Retry};
use crate::exact::up;
use crate::expiry::fits;
use crate::fixed_window::FixedLimit;
use crate::limit::{BucketLimit, WindowLimit};
use crate::record::{Algorithm, header};
use crate::sliding_counter::Weighed;
use crate::time::{Span, Timestamp};

/// What a call comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steady<R> {
    /// The verdict.
    pub decision: Decision,
    /// The new record, if the call is admitted; it is as long as the old one, and the expiry stays.
    pub record: Option<R>,
}

/// A call on a bucket.
#[inline(always)]
pub(crate) fn bucket(
    record: &[u8],
    algorithm: Algorithm,
    limit: &BucketLimit,
    now: Timestamp,
    cost: u64,
) -> Option<Steady<[u8; 36]>> {
    let [form, t0, t1, d0, d1, capacity, tokens, period_ms, expiry] = words::<36, 9>(record)?;
    let (rate, updated, debt) = (limit.rate(), past(t0, t1, now)?, wide(d0, d1));
    let period = u64::from(period_ms).wrapping_mul(1_000);
    let same = u64::from(capacity) == limit.capacity()
        && u64::from(tokens) == rate.tokens.get()
        && period == rate.period.micros();
    // A cost of nothing, or of more than can ever pass, is rare.
    let ordinary = cost != 0 && cost <= limit.capacity();
    if form != plain(algorithm) || !same || !ordinary {
        return None;
    }
    let full = u64::from(capacity).checked_mul(period)?;
    if debt > full {
        return None;
    }
    let flowed = u64::from(tokens).saturating_mul(now.since(updated).micros());
    let debt = debt.saturating_sub(flowed);
    // At most twice the full bucket.
    let wanted = debt.checked_add(cost.checked_mul(period)?)?;
    let decision = |debt: u64, retry: Retry, reset: Span| Decision {
        limit: limit.capacity(),
        used: up(debt, rate.period.get()),
        retry,
        reset,
    };
    let flows_back = |units: u64| Span::from_micros(up(units, rate.tokens));
    if wanted > full {
        let wait = flows_back(wanted.wrapping_sub(full));
        return Some(Steady { decision: decision(debt, Retry::After(wait), flows_back(debt)), record: None });
    }
    let reset = flows_back(wanted);
    let expiry = moved(expiry, updated, now.after(reset), now)?;
    let ([t0, t1], [d0, d1]) = (narrow(now.micros()), narrow(wanted));
    let record = [form, t0, t1, d0, d1, capacity, tokens, period_ms, expiry];
    Some(Steady { decision: decision(wanted, Retry::Now, reset), record: Some(bytes(record)) })
}

/// A call on a fixed window that is open.
#[inline(always)]
pub(crate) fn fixed(record: &[u8], limit: &FixedLimit, now: Timestamp, cost: u64) -> Option<Steady<[u8; 36]>> {
    let [form, s0, s1, t0, t1, used, stored_limit, window_ms, expiry] = words::<36, 9>(record)?;
    let limit = limit.limit;
    let updated = past(t0, t1, now)?;
    // A window that holds the epoch seems to start beyond all clocks.
    let start = past(s0, s1, updated)?;
    let open = now.since(start) < limit.window().span();
    // A window from which everything was given back is not open any more.
    let ordinary = cost != 0 && cost <= limit.limit() && used != 0;
    if form != plain(Algorithm::Fixed) || !same_window(stored_limit, window_ms, &limit) || !ordinary || !open {
        return None;
    }
    let end = start.after(limit.window().span());
    let reset = end.since(now);
    let wanted = u64::from(used).saturating_add(cost);
    if wanted > limit.limit() {
        let decision = Decision { limit: limit.limit(), used: u64::from(used), retry: Retry::After(reset), reset };
        return Some(Steady { decision, record: None });
    }
    let expiry = moved(expiry, updated, end, now)?;
    let ([t0, t1], used) = (narrow(now.micros()), u32::try_from(wanted).ok()?);
    let record = [form, s0, s1, t0, t1, used, stored_limit, window_ms, expiry];
    let decision = Decision { limit: limit.limit(), used: wanted, retry: Retry::Now, reset };
    Some(Steady { decision, record: Some(bytes(record)) })
}

/// A call on a sliding-window counter in the window of the last admitted call, or in the next one.
#[inline(always)]
pub(crate) fn counter(record: &[u8], limit: &WindowLimit, now: Timestamp, cost: u64) -> Option<Steady<[u8; 32]>> {
    let [form, t0, t1, current, previous, stored_limit, window_ms, expiry] = words::<32, 8>(record)?;
    let updated = past(t0, t1, now)?;
    let ordinary = cost != 0 && cost <= limit.limit();
    let same = same_window(stored_limit, window_ms, limit);
    if form != plain(Algorithm::SlidingCounter) || !same || !ordinary {
        return None;
    }
    let counts = Weighed::of(u64::from(current), u64::from(previous), updated, limit.window(), now)?;
    let used = counts.used()?;
    let wanted = used.saturating_add(cost);
    if wanted > limit.limit() {
        let (retry, reset) = counts.waits(limit.limit().wrapping_sub(cost), now);
        return Some(Steady { decision: Decision { limit: limit.limit(), used, retry, reset }, record: None });
    }
    let window = limit.window().span();
    let ends = counts.start().after(window).after(window);
    let expiry = moved(expiry, updated, ends, now)?;
    let [current, previous] = counts.counts();
    let current = u32::try_from(current.saturating_add(cost)).ok()?;
    let ([t0, t1], previous) = (narrow(now.micros()), u32::try_from(previous).ok()?);
    let record = [form, t0, t1, current, previous, stored_limit, window_ms, expiry];
    let decision = Decision { limit: limit.limit(), used: wanted, retry: Retry::Now, reset: ends.since(now) };
    Some(Steady { decision, record: Some(bytes(record)) })
}

#[inline(always)]
fn same_window(stored_limit: u32, window_ms: u32, limit: &WindowLimit) -> bool {
    u64::from(stored_limit) == limit.limit() && u64::from(window_ms).wrapping_mul(1_000) == limit.window().micros()
}

/// The expiry that a compact record counts from `updated`, counted from `now`; `None` if it has to move.
#[inline(always)]
fn moved(expiry: u32, updated: Timestamp, needed: Timestamp, now: Timestamp) -> Option<u32> {
    let at_ms = updated.floor_ms().saturating_add(u64::from(expiry));
    if !fits(at_ms, needed, now) {
        return None;
    }
    u32::try_from(at_ms.wrapping_sub(now.floor_ms())).ok()
}

/// The first four bytes of a plain, compact record.
#[inline(always)]
pub(crate) const fn plain(algorithm: Algorithm) -> u32 {
    u32::from_le_bytes(header(algorithm, false))
}

/// A record, or the head of one, of `LEN` bytes as `LEN / 4` words.
#[inline(always)]
pub(crate) fn words<const LEN: usize, const WORDS: usize>(record: &[u8]) -> Option<[u32; WORDS]> {
    let record = <&[u8; LEN]>::try_from(record).ok()?;
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(record.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    Some(words)
}

/// The record of these words.
#[inline(always)]
fn bytes<const LEN: usize, const WORDS: usize>(words: [u32; WORDS]) -> [u8; LEN] {
    let mut record = [0; LEN];
    for (bytes, word) in record.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    record
}

/// A time that is not after `now`.
#[inline(always)]
fn past(low: u32, high: u32, now: Timestamp) -> Option<Timestamp> {
    let us = wide(low, high);
    (us <= now.micros()).then_some(Timestamp::from_micros(us))
}

#[inline(always)]
pub(crate) fn wide(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// The low and the high half.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "each half is what is meant")]
const fn narrow(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}
