//! Whoever decides: a server, or a script in tests.

#[cfg(any(feature = "connection-manager", feature = "cluster", feature = "sentinel"))]
mod connect;
mod redis;

use std::{future::Future, pin::Pin};

pub use limiter_core::compound::LIMITS_MAX;
use limiter_core::limit::{COST, DELTA};

pub use self::redis::RedisBackend;
use crate::{
    decision::{AllDecision, Decision},
    error::{ArgumentError, Result},
    key::Key,
    limit::{Algorithm, Limit},
    options::Options,
};

/// A future that a trait object can return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One of several limits of a call, with what the call costs under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// The limit.
    pub limit: Limit,
    /// What the call costs under this limit, 0 to 10^12.
    pub cost: u64,
    /// What is asked beyond a plain verdict.
    pub options: Options,
}

impl Charge {
    /// A plain call of `cost` under `limit`.
    #[must_use]
    pub const fn new(limit: Limit, cost: u64) -> Self {
        Self { limit, cost, options: Options::NONE }
    }
}

/// Whoever decides. Times out, retries and falls back on nothing: that is for who asks.
///
/// Dropping a future is safe at any time; whether the call was charged is unknown then.
///
/// ```no_run
/// use std::{sync::Arc, time::Duration};
/// use limiter_client::{Backend, Charge, Key, Limit, Options, Rate, RedisBackend};
///
/// # async fn example() -> limiter_client::Result<()> {
/// let backend: Arc<dyn Backend> = Arc::new(RedisBackend::connect("redis://127.0.0.1/").await?);
/// let (key, tokens) = (Key::raw("tokens:42"), Limit::token_bucket(100_000, Rate::per(100_000, Duration::from_secs(60))?)?);
///
/// // An estimate, and what it turned out to be.
/// if backend.decide(&key, &tokens, 800, Options::NONE).await?.allowed {
///     let used: u32 = 300;
///     backend.adjust(&key, i64::from(used) - 800, None).await?;
/// }
///
/// // A second and a day, all or nothing, in one key.
/// let day = Limit::fixed(1_000_000, Duration::from_secs(86_400))?;
/// let decision = backend.decide_all(&[Key::raw("both:42")], &[Charge::new(tokens, 1), Charge::new(day, 1)]).await?;
/// println!("limit {} of {} binds", decision.binding, decision.each.len());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Of every method: [`Error::Argument`] if [`check_call`], [`check_all`] or [`check_delta`] says so, and then nothing is sent; whatever
/// else [`Error`] has, from whoever is asked.
///
/// [`Error`]: crate::Error
/// [`Error::Argument`]: crate::Error::Argument
pub trait Backend: Send + Sync + 'static {
    /// Decides one call, and charges it if it is allowed.
    fn decide<'a>(
        &'a self,
        key: &'a Key,
        limit: &'a Limit,
        cost: u64,
        options: Options,
    ) -> BoxFuture<'a, Result<Decision>>;

    /// Decides one call under several limits, and charges all of them or none: as many keys as charges, or one key for all of
    /// them.
    fn decide_all<'a>(&'a self, keys: &'a [Key], charges: &'a [Charge]) -> BoxFuture<'a, Result<AllDecision>>;

    /// Charges `delta` tokens or events without asking, or gives them back if it is negative, under the limits that the key has; `None`
    /// if nothing is in use there. In a key that holds several limits, `nth` is the one that is meant, counted from 0; without it
    /// all are, of which anything is in use.
    fn adjust<'a>(&'a self, key: &'a Key, delta: i64, nth: Option<usize>) -> BoxFuture<'a, Result<Option<Decision>>>;

    /// What a call would be answered, without charging it.
    fn peek<'a>(
        &'a self,
        key: &'a Key,
        limit: &'a Limit,
        cost: u64,
        options: Options,
    ) -> BoxFuture<'a, Result<Decision>>;
}

/// Whether a call can be answered at all.
///
/// # Errors
///
/// A cost outside 0 to 10^12; options that the limit does not have.
pub fn check_call(limit: &Limit, cost: u64, options: &Options) -> Result<(), ArgumentError> {
    if !COST.holds(cost) {
        return Err(ArgumentError::outside("cost", cost, COST));
    }
    options.check(limit)
}

/// Whether a call under several limits can be answered at all.
///
/// # Errors
///
/// No limit or more than [`LIMITS_MAX`]; neither one key nor as many keys as limits, or one key twice; two sliding logs in one key;
/// `PARTIAL`; what [`check_call`] says of each.
pub fn check_all(keys: &[Key], charges: &[Charge]) -> Result<(), ArgumentError> {
    if charges.is_empty() || charges.len() > LIMITS_MAX {
        return Err(ArgumentError::new("limits", charges.len(), format_args!("1 to {LIMITS_MAX} of them")));
    }
    if keys.len() != 1 && keys.len() != charges.len() {
        return Err(ArgumentError::new(
            "keys",
            keys.len(),
            format_args!("one, or {} as there are limits", charges.len()),
        ));
    }
    let mut rest = keys;
    while let [key, others @ ..] = rest {
        if others.contains(key) {
            return Err(ArgumentError::expecting("keys", "each at most once"));
        }
        rest = others;
    }
    let logs = charges.iter().filter(|charge| charge.limit.algorithm() == Algorithm::SlidingLog);
    if keys.len() == 1 && logs.count() > 1 {
        return Err(ArgumentError::expecting("limits", "at most one sliding log in one key"));
    }
    for charge in charges {
        if charge.options.core().partial {
            return Err(ArgumentError::new("options", "PARTIAL", "it with one limit only"));
        }
        check_call(&charge.limit, charge.cost, &charge.options)?;
    }
    Ok(())
}

/// Whether an adjustment can be made at all.
///
/// # Errors
///
/// A delta outside -10^12 to 10^12.
pub fn check_delta(delta: i64) -> Result<(), ArgumentError> {
    if DELTA.holds(delta.unsigned_abs()) {
        return Ok(());
    }
    Err(ArgumentError::new("delta", delta, format_args!("an integer from -{0} to {0}", DELTA.max)))
}
