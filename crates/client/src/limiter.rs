//! One limit, asked with a subject and a cost, that always has an answer.

mod answer;
mod builder;
mod several;

use std::{fmt, sync::Arc, time::Duration};

use self::answer::{CLOSED_WAIT_MAX, CLOSED_WAIT_MIN, Failure, Fallback};
pub use self::{
    builder::{LimiterBuilder, NoPolicy},
    several::Limiters,
};
use crate::{
    backend::{Backend, check_call, check_delta},
    breaker::Breaker,
    decision::{Decision, Source},
    error::Result,
    key::{Key, KeySpace, Subject},
    limit::Limit,
    measure::Meters,
    options::Options,
    policy::{self, FailurePolicy},
};

/// One limit: which keys it has, who decides, and what happens when nobody does. Cheap to clone.
///
/// A call is answered by the server within the timeout (50 ms unless set), or else by the [`FailurePolicy`]; it is never sent
/// twice. While the server does not answer at all, a [`Breaker`] turns calls to the policy in microseconds, and one at a time
/// finds out whether it is back. [`Decision::source`] says who has decided.
///
/// ```
/// use std::{num::NonZeroU32, time::Duration};
/// use limiter_client::{FailurePolicy, KeySpace, Limit, Limiter, Rate, Secret, Source, Subject};
/// # use limiter_client::Local;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> limiter_client::Result<()> {
/// // A server: RedisBackend::new(client.get_connection_manager().await?)
/// let backend = Local::new();
/// let secret = Secret::new("thirty-two random bytes, not this")?;
/// let limiter = Limiter::builder("login")
///     .limit(Limit::gcra(5, Rate::per(5, Duration::from_secs(60))?)?)
///     .key_space(KeySpace::new("prod", "accounts", &secret)?)
///     .on_failure(FailurePolicy::Closed)
///     .build(backend)?;
///
/// let decision = limiter.check(&Subject::hashed("email", "ada@example.org"), 1).await?;
/// assert!(decision.allowed);
/// # Ok(())
/// # }
/// ```
///
/// Without a failure policy there is no limiter:
///
/// ```compile_fail
/// # fn example(limit: limiter_client::Limit, keys: limiter_client::KeySpace) {
/// let limiter = limiter_client::Limiter::builder("login")
///     .limit(limit)
///     .key_space(keys)
///     .build(limiter_client::Local::new());
/// # }
/// ```
///
/// Dropping a future of a limiter is safe at any time; whether the call was charged is unknown then.
///
/// # Metrics
///
/// Through the `metrics` facade, with the labels `limit` (the name) and `action`:
///
/// | name | kind | |
/// |---|---|---|
/// | `rate_limiter_allowed_total` | counter | calls that were let in, by whomever |
/// | `rate_limiter_rejected_total` | counter | calls that were refused, by whomever |
/// | `rate_limiter_error_total` | counter | calls that the server did not decide; `kind`: see [`Error::kind`](crate::Error::kind) |
/// | `rate_limiter_fallback_total` | counter | calls that the policy decided; `mode`: `open`, `closed`, `local` |
/// | `rate_limiter_redis_latency` | histogram, s | from question to answer, or to giving up |
/// | `rate_limiter_retry_after` | histogram, s | what refused callers were told |
///
/// # Logs
///
/// Through `tracing`: one line when the breaker opens (warn) and one when it closes (info); each refusal and each fallback at
/// debug. None has a subject or a key.
#[derive(Clone)]
pub struct Limiter(Arc<Inner>);

struct Inner {
    name: String,
    limit: Limit,
    options: Options,
    keys: KeySpace,
    backend: Arc<dyn Backend>,
    policy: FailurePolicy,
    timeout: Duration,
    breaker: Breaker,
    meters: Meters,
}

impl Limiter {
    /// Starts to describe a limiter. The name is part of its keys, and the label `limit` of its metrics.
    #[must_use]
    pub fn builder(name: &str) -> LimiterBuilder<NoPolicy> {
        LimiterBuilder::new(name)
    }

    /// Decides a call of `cost` by `subject`, and charges it if it is allowed.
    ///
    /// # Errors
    ///
    /// Only where the call itself is wrong: [`Argument`](crate::Error::Argument) (a cost above 10^12, a subject that no key can hold),
    /// [`WrongType`](crate::Error::WrongType) (the key is in use with another algorithm), [`CrossSlot`](crate::Error::CrossSlot).
    /// Everything else the failure policy answers.
    pub async fn check(&self, subject: &Subject<'_>, cost: u64) -> Result<Decision> {
        self.check_with(subject, cost, self.0.options).await
    }

    /// The same with these options in place of the limiter's own.
    ///
    /// # Errors
    ///
    /// As [`Limiter::check`], and for options that the limit does not have.
    pub async fn check_with(&self, subject: &Subject<'_>, cost: u64, options: Options) -> Result<Decision> {
        let key = self.key(subject)?;
        self.decide(&key, cost, options).await
    }

    pub(crate) async fn decide(&self, key: &Key, cost: u64, options: Options) -> Result<Decision> {
        let Inner { limit, backend, meters, .. } = &*self.0;
        let decision = match check_call(limit, cost, &options) {
            Ok(()) => self.ask(backend.decide(key, limit, cost, options), |decision| decision.source).await,
            Err(error) => Err(Failure::Wrong(error.into())),
        };
        let decision = match decision {
            Ok(decision) => decision,
            Err(Failure::Wrong(error)) => {
                meters.erred(&error);
                return Err(error);
            }
            Err(Failure::Fallback(fallback)) => self.fall_back(key, cost, options, &fallback)?,
        };
        meters.decided(&decision);
        Ok(decision)
    }

    /// Charges `subject` more without asking, or gives back if `delta` is negative: for a cost that is known only after the
    /// response. `None` if nothing is in use, or the server did not answer: then nothing is put right, and it is counted as an error.
    ///
    /// # Errors
    ///
    /// Only where the call itself is wrong, as [`Limiter::check`].
    pub async fn adjust(&self, subject: &Subject<'_>, delta: i64) -> Result<Option<Decision>> {
        let key = self.key(subject)?;
        self.put_right(&key, delta).await
    }

    pub(crate) async fn put_right(&self, key: &Key, delta: i64) -> Result<Option<Decision>> {
        let Inner { backend, meters, .. } = &*self.0;
        let answer = match check_delta(delta) {
            Ok(()) => self.ask(backend.adjust(key, delta, None), |_| Source::Server).await,
            Err(error) => Err(Failure::Wrong(error.into())),
        };
        match answer {
            Ok(decision) => Ok(decision),
            Err(Failure::Fallback(_)) => Ok(None),
            Err(Failure::Wrong(error)) => {
                meters.erred(&error);
                Err(error)
            }
        }
    }

    /// Gives back what a decision of `source` has charged.
    pub(crate) async fn give_back(&self, key: &Key, cost: u64, source: Source) {
        let Some(delta) = i64::try_from(cost).ok().and_then(i64::checked_neg) else { return };
        match &self.0.policy {
            FailurePolicy::Local(share) if source == Source::Local => {
                let _ = share.engine().put_right(key, delta, None);
            }
            // What goes wrong has been counted.
            _ => drop(self.put_right(key, delta).await),
        }
    }

    /// What a call of `cost` would be answered, without charging it. Neither counted nor logged as a call.
    ///
    /// # Errors
    ///
    /// As [`Limiter::check`].
    pub async fn peek(&self, subject: &Subject<'_>, cost: u64) -> Result<Decision> {
        let Inner { limit, options, backend, .. } = &*self.0;
        let key = self.key(subject)?;
        check_call(limit, cost, options)?;
        match self.ask(backend.peek(&key, limit, cost, *options), |decision| decision.source).await {
            Ok(decision) => Ok(decision),
            Err(Failure::Wrong(error)) => Err(error),
            Err(Failure::Fallback(Fallback { wait, .. })) => match &self.0.policy {
                FailurePolicy::Open => Ok(policy::open(limit, cost, options)),
                FailurePolicy::Closed => {
                    Ok(policy::closed(limit, cost, options, wait.clamp(CLOSED_WAIT_MIN, CLOSED_WAIT_MAX)))
                }
                FailurePolicy::Local(share) => {
                    share.engine().call(&key, &share.share(limit), cost, self.local_options(share, *options), false)
                }
            },
        }
    }

    /// The key of `subject`.
    ///
    /// # Errors
    ///
    /// A subject that no key can hold; see [`KeySpace::key`].
    pub fn key(&self, subject: &Subject<'_>) -> Result<Key> {
        Ok(self.0.keys.key(&self.0.name, subject)?)
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The limit.
    #[must_use]
    pub fn limit(&self) -> &Limit {
        &self.0.limit
    }

    /// The failure policy.
    #[must_use]
    pub fn policy(&self) -> &FailurePolicy {
        &self.0.policy
    }

    /// The breaker.
    #[must_use]
    pub fn breaker(&self) -> &Breaker {
        &self.0.breaker
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { name, limit, policy, timeout, breaker, .. } = &*self.0;
        write!(f, "Limiter({name}: {limit}, {policy:?}, {timeout:?}, {breaker:?})")
    }
}
