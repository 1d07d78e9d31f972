//! For who waits: workers and consumers of queues, which pause instead of being refused.

mod stream;

use std::{fmt, time::Duration};

use tokio::{
    runtime::Handle,
    sync::oneshot,
    time::{Instant, sleep, sleep_until},
};

pub use self::stream::{ChargeFn, Paced, Unpaced};
use crate::{
    decision::{Decision, Retry, Source},
    error::{ArgumentError, Error, Result},
    key::{Key, Subject},
    limiter::Limiter,
    options::Options,
};

/// The least that a refused caller waits before it asks again.
const AGAIN_MIN: Duration = Duration::from_millis(1);

/// Books the next free moment on the server (`RESERVE`), and waits until it has come: each caller once, in the order in which they
/// asked, with one round trip.
///
/// Waiting is bounded: what would have to wait longer than `max_wait` is refused. A wait that is dropped gives its booking back
/// (`RL.ADJUST`), in the background, also if it is dropped before the server has answered; so a pacer may stand in a
/// `select!` or under a timeout. Who booked behind it keeps the moment that it was told.
///
/// When the server does not answer, the limiter's policy decides: `Open` does not wait, `Closed` refuses, `Local` paces by this
/// process's share.
///
/// ```
/// use std::time::Duration;
/// use limiter_client::{FailurePolicy, KeySpace, Limit, Limiter, Pacer, Rate, Secret, Subject};
/// # use limiter_client::Local;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() -> limiter_client::Result<()> {
/// # let (backend, secret) = (Local::new(), Secret::new("thirty-two random bytes, not this")?);
/// let limiter = Limiter::builder("downstream")
///     .limit(Limit::gcra(1, Rate::per_second(10)?)?)
///     .key_space(KeySpace::new("prod", "mailer", &secret)?)
///     .on_failure(FailurePolicy::Closed)
///     .build(backend)?;
/// let pacer = Pacer::new(limiter, Duration::from_secs(30))?;
/// let start = tokio::time::Instant::now();
/// for _ in 0..3 {
///     let decision = pacer.pace(&Subject::constant("host", "smtp"), 1).await?;
///     assert!(decision.allowed);
///     // Send one.
/// }
/// assert!(start.elapsed() >= Duration::from_millis(200));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Pacer {
    limiter: Limiter,
    max_wait: Duration,
    options: Options,
}

impl Pacer {
    /// Paces by this limiter, whose limit is a bucket, and lets nobody wait longer than `max_wait` for a booking.
    ///
    /// # Errors
    ///
    /// A limit that is no bucket, or a wait above 3650 days.
    pub fn new(limiter: Limiter, max_wait: Duration) -> Result<Self, ArgumentError> {
        let options = Options::NONE.reserve(max_wait)?;
        options.check(limiter.limit())?;
        Ok(Self { limiter, max_wait, options })
    }

    /// The limiter.
    #[must_use]
    pub const fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    /// The longest wait.
    #[must_use]
    pub const fn max_wait(&self) -> Duration {
        self.max_wait
    }

    /// Waits until `subject` may take `cost`, for `max_wait` at most. A decision that is allowed has been waited for; one that is not
    /// says when a booking can be made.
    ///
    /// # Errors
    ///
    /// As [`Limiter::check`].
    pub async fn pace(&self, subject: &Subject<'_>, cost: u64) -> Result<Decision> {
        let key = self.limiter.key(subject)?;
        self.pace_key(key, cost).await
    }

    /// Waits until `subject` may take `cost`, however long it takes: while the bookings reach too far ahead, or the server does not
    /// answer and the policy is closed, it asks again when it was told to. A decision that is not allowed is one that never
    /// can be: the cost exceeds the limit.
    ///
    /// # Errors
    ///
    /// As [`Limiter::check`].
    pub async fn pace_patiently(&self, subject: &Subject<'_>, cost: u64) -> Result<Decision> {
        let key = self.limiter.key(subject)?;
        self.clone().pace_key_patiently(key, cost).await
    }

    async fn pace_key_patiently(self, key: Key, cost: u64) -> Result<Decision> {
        loop {
            let decision = self.pace_key(key.clone(), cost).await?;
            match decision.retry_after {
                Retry::After(wait) => sleep(wait.max(AGAIN_MIN)).await,
                Retry::Now | Retry::Never => return Ok(decision),
            }
        }
    }

    async fn pace_key(&self, key: Key, cost: u64) -> Result<Decision> {
        let booking = self.book(key, cost).await?;
        let decision = booking.decision;
        if let Some(until) = booking.until {
            sleep_until(until).await;
        }
        booking.kept();
        Ok(decision)
    }

    /// Books in a task of its own, which gives back what nobody waits for any more.
    async fn book(&self, key: Key, cost: u64) -> Result<Booking> {
        let (answer, answered) = oneshot::channel();
        let Self { limiter, options, .. } = self.clone();
        tokio::spawn(async move {
            let booking = limiter.decide(&key, cost, options).await.map(|decision| {
                let until = decision.wait.filter(|wait| decision.allowed && !wait.is_zero());
                let until = until.and_then(|wait| Instant::now().checked_add(wait));
                Booking { limiter, key, cost, decision, until, runtime: Handle::current(), open: decision.allowed }
            });
            // If the caller has gone, the booking is dropped here.
            let _ = answer.send(booking);
        });
        answered.await.unwrap_or(Err(Error::Unavailable))
    }
}

impl fmt::Debug for Pacer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pacer({:?}, {:?})", self.limiter, self.max_wait)
    }
}

/// A moment that was booked; given back if it is dropped before it was used.
struct Booking {
    limiter: Limiter,
    key: Key,
    cost: u64,
    decision: Decision,
    /// When it has come; `None` if it has.
    until: Option<Instant>,
    runtime: Handle,
    open: bool,
}

impl Booking {
    fn kept(mut self) {
        self.open = false;
    }
}

impl Drop for Booking {
    fn drop(&mut self) {
        let decided = matches!(self.decision.source, Source::Server | Source::Memory | Source::Local);
        if !self.open || !decided || self.cost == 0 {
            return;
        }
        let (limiter, key, cost, source) = (self.limiter.clone(), self.key.clone(), self.cost, self.decision.source);
        self.runtime.spawn(async move { limiter.give_back(&key, cost, source).await });
    }
}
