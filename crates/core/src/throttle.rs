//! GCRA in the words of redis-cell: `max_burst` calls beyond the first, `count` a `period`, everything in seconds.
//!
//! The state is that of [`crate::record::Algorithm::Gcra`], so a limiter may be called in either vocabulary. What
//! redis-cell itself has left in a key is understood too: a theoretical arrival time, which is a debt once it is known
//! at what rate it flows back.

use core::num::NonZeroU64;

use crate::bucket::Bucket;
use crate::call::Limit;
use crate::decision::{Decision, Retry};
use crate::exact::{narrow, product, quotient_up};
use crate::expiry::Expiry;
use crate::limit::{Bound, BucketLimit, COST, MAX_BURST, PERIOD_S, RATE, Rate};
use crate::meter::{Meter, SideBySide};
use crate::options::Options;
use crate::record::{Algorithm, Small, Stored};
use crate::request::{Call, RequestError, integer, unfillable};
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

impl Throttle {
    /// The same call in GCRA's words.
    #[inline]
    #[must_use]
    pub const fn as_gcra(&self) -> Call {
        Call { limit: Limit::Gcra(self.limit), cost: self.quantity, options: Options::NONE }
    }
}

/// Decides a call on what redis-cell has left in a key; `None` if that is anything else. With the verdict comes the
/// record that takes the key's place, and the key's expiry, if the call is admitted and costs something.
#[must_use]
pub fn adopt(bytes: &[u8], call: &Throttle, now: Timestamp) -> Option<(Decision, Option<(Small, Expiry)>)> {
    let debt = Arrival::read(bytes)?.debt(&call.limit, now);
    let stored = (debt > 0).then_some(Bucket { debt, updated: now, limit: call.limit });
    let (decision, state) = <Bucket as Meter>::decide(stored, &call.limit, now, call.quantity, SideBySide);
    let adopted = state.map(|state| {
        let (needed, slack) = Meter::expires(&state, now);
        let expiry = Expiry::plan(None, needed, now, slack);
        (<Bucket as Meter>::encode(&Stored { state, expiry_ms: expiry.at_ms }, Algorithm::Gcra), expiry)
    });
    Some((decision, adopted))
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

    fn read(bytes: &[u8]) -> Option<Self> {
        let ns = integer("arrival", bytes, Bound { min: 0, max: i64::MAX.unsigned_abs() }).ok()?;
        (bytes.len() == Self::DIGITS).then_some(Self(ns))
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
