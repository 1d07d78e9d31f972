//! GCRA in the words of redis-cell: `max_burst` calls beyond the first, `count` a `period`, everything in seconds.
//!
//! The state is that of [`crate::record::Algorithm::Gcra`], so a limiter may be called in either vocabulary. What
//! redis-cell itself has left in a key is understood too: a theoretical arrival time, which is a debt once it is known
//! at what rate it flows back.

use core::num::NonZeroU64;

use crate::bucket::Bucket;
use crate::call::{self, Change, Limit, Outcome};
use crate::decision::{Decision, Retry};
use crate::exact::{narrow, product, quotient_up};
use crate::expiry::Expiry;
use crate::limit::{Bound, BucketLimit, COST, MAX_BURST, PERIOD_S, RATE, Rate};
use crate::meter::Meter;
use crate::record::{Algorithm, RecordError, Stored};
use crate::request::{RequestError, integer, unfillable};
use crate::time::{Interval, Timestamp};

/// A call in redis-cell's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttle {
    /// A burst of `max_burst` + 1, at `count` a `period`.
    pub limit: BucketLimit,
    /// The cost; 1 where the call names none, and a look at 0.
    pub quantity: u64,
}

/// Reads the arguments that follow the key: `max_burst count period [quantity]`.
///
/// # Errors
///
/// Names the argument, what was got and the accepted range.
pub fn request<'a>(args: &mut impl Iterator<Item = &'a [u8]>) -> Result<Throttle, RequestError<'a>> {
    let mut required = |name, bound: Bound| match args.next() {
        Some(given) => Ok((integer(name, given, bound)?, given)),
        None => Err(RequestError::Arity),
    };
    let (max_burst, _) = required("max_burst", MAX_BURST)?;
    let (count, count_given) = required("count", RATE)?;
    let (period_s, _) = required("period", PERIOD_S)?;
    let quantity = match args.next() {
        None => 1,
        Some(given) => integer("quantity", given, COST)?,
    };
    if args.next().is_some() {
        return Err(RequestError::Arity);
    }
    let rate = Interval::from_millis(period_s.saturating_mul(1_000)).and_then(|period| Rate::new(count, period));
    match rate.and_then(|rate| BucketLimit::new(max_burst.saturating_add(1), rate)) {
        Some(limit) => Ok(Throttle { limit, quantity }),
        None => Err(unfillable("count", count_given).into()),
    }
}

/// Decides a call at `now` against the stored `record`, which is GCRA's or redis-cell's; `None` is a missing key.
///
/// # Errors
///
/// A record that is neither, or was written by a newer version.
#[inline(always)]
pub fn decide<'a>(record: Option<&'a [u8]>, call: &Throttle, now: Timestamp) -> Result<Outcome<'a>, RecordError> {
    match record.and_then(Arrival::read) {
        None => call::decide(record, &Limit::Gcra(call.limit), now, call.quantity),
        Some(arrival) => Ok(decide_after(arrival, call, now)),
    }
}

/// A call on a key of redis-cell. An admitted one leaves a record, with an expiry of its own.
#[cold]
#[inline(never)]
fn decide_after<'a>(arrival: Arrival, call: &Throttle, now: Timestamp) -> Outcome<'a> {
    let debt = arrival.debt(&call.limit, now);
    let stored = (debt > 0).then_some(Bucket { debt, updated: now, limit: call.limit });
    let (decision, state) = Bucket::decide(stored, &call.limit, now, call.quantity);
    let change = state.map_or(Change::None, |state| {
        let (needed, slack) = state.expires(now);
        let expiry = Expiry::plan(None, needed, now, slack);
        let record = Bucket::encode(&Stored { state, expiry_ms: expiry.at_ms }, Algorithm::Gcra);
        Change::Replace { record, expiry }
    });
    Outcome { decision, change }
}

/// The five integers of redis-cell: limited (0 or 1), limit, remaining, retry_after and reset_after, the waits in seconds
/// rounded up. retry_after is -1 if the call was allowed, and if it never can be.
#[inline]
#[must_use]
pub fn reply(decision: &Decision) -> [i64; 5] {
    let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let retry = match decision.retry {
        Retry::Now | Retry::Never => -1,
        Retry::After(wait) => signed(wait.ceil_s()),
    };
    let limited = i64::from(!decision.allowed());
    [limited, signed(decision.limit), signed(decision.remaining()), retry, signed(decision.reset.ceil_s())]
}

/// A theoretical arrival time as redis-cell stores it: nanoseconds since the epoch, in decimal digits.
#[derive(Clone, Copy)]
struct Arrival(u64);

impl Arrival {
    /// How many digits such a time has, from the year 2001 to the last that redis-cell can store, 2262. Shorter numbers
    /// are somebody's counter.
    const DIGITS: usize = 19;

    #[inline(always)]
    fn read(record: &[u8]) -> Option<Self> {
        if record.len() == Self::DIGITS { Self::read_digits(record) } else { None }
    }

    #[cold]
    fn read_digits(record: &[u8]) -> Option<Self> {
        let leads = record.first().is_some_and(|first| (b'1'..=b'9').contains(first));
        let ns = record.iter().try_fold(0_u64, |number, byte| {
            let digit = byte.is_ascii_digit().then(|| u64::from(byte.wrapping_sub(b'0')))?;
            number.checked_mul(10)?.checked_add(digit)
        })?;
        (leads && i64::try_from(ns).is_ok()).then_some(Self(ns))
    }

    /// What is owed under `limit` until then, in units of which one token is the period in microseconds, rounded up.
    ///
    /// It may be more than an empty bucket owes: redis-cell keeps the time, and not the limits it came from.
    fn debt(self, limit: &BucketLimit, now: Timestamp) -> u128 {
        /// Nanoseconds in a microsecond.
        const NS: NonZeroU64 = match NonZeroU64::new(1_000) {
            Some(thousand) => thousand,
            None => NonZeroU64::MIN,
        };
        let until_ns = narrow(u128::from(self.0).saturating_sub(product(now.micros(), NS.get())));
        quotient_up(product(until_ns, limit.rate().tokens.get()), NS)
    }
}
