//! Tokens taken from the server in batches, and served from memory.

mod lease;
mod pool;

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    runtime::Handle,
    time::{Instant, sleep_until, timeout},
};

use self::{
    lease::Lease,
    pool::{Pool, Step},
};
use crate::{
    backend::{Backend, BoxFuture, Charge},
    decision::{AllDecision, Decision},
    error::{Error, Result},
    key::Key,
    limit::Limit,
    options::Options,
};

/// The longest that a token is held.
const LIFE_MAX: Duration = Duration::from_secs(1);
/// The longest that a refill, or a give-back, takes.
const PATIENCE: Duration = Duration::from_secs(1);
/// The most keys that have tokens at a time.
const KEYS_MAX: usize = 10_000;

/// How tokens are taken in batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSettings {
    /// The longest that a token is held before it is served or given back: 1 s by default; never more than a twentieth of the window
    /// or of the time in which a bucket fills.
    pub life_max: Duration,
    /// The largest batch; unbounded by default, but never more than a fifth of the limit.
    pub batch_max: u64,
    /// The most keys that have tokens in memory at a time, 10,000 by default. Calls on more of them go to the server one by one.
    pub keys_max: usize,
}

impl Default for BatchSettings {
    fn default() -> Self {
        Self { life_max: LIFE_MAX, batch_max: u64::MAX, keys_max: KEYS_MAX }
    }
}

/// Takes tokens from the server in batches (`PARTIAL`), serves calls from memory, and gives back what is left (`RL.ADJUST`).
///
/// For hot keys: one that is called as often as its limit lets it costs a tenth of the round trips or less, and most calls take
/// about a microsecond. The size of a batch follows the rate of the calls: it lasts for about half the time that tokens may be
/// held, at most a second or a twentieth of the window. A key that is called now and then is asked for call by call. In the crate's
/// tests two processes with a limit of 2000 a second take one round trip for 10 calls at a quarter of that rate, for 22 at two thirds of it, and for
/// 33 to 83 where twice as much is asked for as may pass; all that may does.
///
/// ```
/// use std::time::Duration;
/// use limiter_client::{Backend, Batched, Key, Limit, Local, Options};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> limiter_client::Result<()> {
/// let server = Local::new(); // or a RedisBackend
/// let backend = Batched::new(server);
/// let (key, limit) = (Key::raw("k"), Limit::fixed(1_000, Duration::from_secs(60))?);
/// assert!(backend.decide(&key, &limit, 1, Options::NONE).await?.allowed);
/// backend.close().await;
/// # Ok(())
/// # }
/// ```
///
/// # What holds
///
/// * **The limit of all is never exceeded**, by any number of processes. In no stretch of time is more served than the limit
///   allows in it: tokens die before that could be, and the server is asked under a limit that is tighter by what can be served later
///   than it was taken: a bucket's capacity is less by what flows in while a token is held, a sliding window is longer by that (a
///   log's by twice that). That is at most a twentieth (a log: a tenth) of the limit. All callers of a key should go through
///   `Batched`, or those that do not may shorten the window that the server keeps.
/// * **Waste is bounded.** What a process holds is at most a batch and what is left of the one before: no more than two fifths of
///   the limit, and for no longer than the life of a token. What is not served by then is given back, as far as it can be
///   without giving back what others have used: of a bucket what has not flowed back by itself, of a fixed window or a sliding
///   counter all while the window is open, of a sliding log only on closing. A process that dies, a refill without an answer and a
///   give-back without one lose a batch at most.
/// * **A refusal may last longer** than the server's would: after the server had less than was asked for, it is left alone for up to
///   50 ms, or as long as it says itself, but no longer than the life of a token. `retry_after` tells when to come back; for a cost
///   above 1 under a window it may be more than the least.
///
/// Calls with options, calls of cost 0 and calls that cost more than a batch go to the server one by one, under the tighter limit
/// unless they cost more than that ever has. Limits that are too small for batches (below about 10, or with a window below 20 ms),
/// [`Backend::decide_all`], [`Backend::adjust`] and [`Backend::peek`] are as if there was nothing in front; a peek does not see what is
/// held here.
///
/// Decisions from memory have [`Source::Memory`](crate::Source::Memory), those of a call that had to wait for the server
/// [`Source::Server`](crate::Source::Server).
///
/// Dropping the last clone gives everything back in the background, as long as the runtime runs; [`Batched::close`] waits for it.
#[derive(Clone)]
pub struct Batched(Arc<Inner>);

struct Inner {
    backend: Arc<dyn Backend>,
    settings: BatchSettings,
    pools: Mutex<HashMap<Key, Arc<Pool>>>,
    /// Where to give back when nobody is there to wait for it.
    runtime: OnceLock<Handle>,
    closed: AtomicBool,
}

impl Batched {
    /// Takes from `backend` in batches.
    #[must_use]
    pub fn new(backend: impl Backend) -> Self {
        Self::with(backend, BatchSettings::default())
    }

    /// The same with other settings.
    #[must_use]
    pub fn with(backend: impl Backend, settings: BatchSettings) -> Self {
        Self(Arc::new(Inner {
            backend: Arc::new(backend),
            settings,
            pools: Mutex::new(HashMap::new()),
            runtime: OnceLock::new(),
            closed: AtomicBool::new(false),
        }))
    }

    /// Gives everything back, and waits until that is done, for a second at most. From then on every call goes to the server.
    pub async fn close(&self) {
        self.0.closed.store(true, Ordering::SeqCst);
        let pools = self.0.drain();
        give_back_all(&self.0.backend, pools).await;
    }

    async fn serve(&self, key: &Key, limit: &Limit, cost: u64, options: Options) -> Result<Decision> {
        let Some(lease) = Lease::of(limit, self.0.settings.life_max, self.0.settings.batch_max) else {
            return self.0.backend.decide(key, limit, cost, options).await;
        };
        let pool = if options.is_none() && cost > 0 { self.0.pool(key, limit, &lease, cost) } else { None };
        let Some(pool) = pool else { return self.direct(key, limit, &lease, cost, options).await };
        let (mut waited, mut waiting) = (None, None);
        loop {
            let filled = pool.filled.notified();
            tokio::pin!(filled);
            // From here on no end of a refill is missed.
            filled.as_mut().enable();
            match pool.step(cost, waited) {
                Step::Done(decision) => return Ok(decision),
                Step::Failed(error) => return Err(error),
                Step::Direct => return self.direct(key, limit, &lease, cost, options).await,
                Step::Wait(round) => waited = waited.or(Some(round)),
                Step::Refill(ask, round) => {
                    waited = waited.or(Some(round));
                    // In a task of its own: a caller that gives up loses no tokens.
                    let home = Arc::downgrade(&self.0);
                    tokio::spawn(refill(pool.clone(), self.0.backend.clone(), home, ask));
                }
            }
            waiting.get_or_insert_with(|| pool.wait(cost));
            filled.await;
        }
    }
}

impl Batched {
    async fn direct(&self, key: &Key, limit: &Limit, lease: &Lease, cost: u64, options: Options) -> Result<Decision> {
        let tight = if cost > lease.tight.max() { limit } else { &lease.tight };
        let mut decision = self.0.backend.decide(key, tight, cost, options).await?;
        decision.limit = limit.max();
        Ok(decision)
    }
}

impl Inner {
    fn pools(&self) -> MutexGuard<'_, HashMap<Key, Arc<Pool>>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pool that serves such a call; `None` if it is the server's.
    fn pool(&self, key: &Key, limit: &Limit, lease: &Lease, cost: u64) -> Option<Arc<Pool>> {
        let mut pools = self.pools();
        if let Some(pool) = pools.get(key) {
            return (pool.limit == *limit && cost <= pool.lease.batch_max).then(|| pool.clone());
        }
        if cost > lease.batch_max || pools.len() >= self.settings.keys_max || self.closed.load(Ordering::SeqCst) {
            return None;
        }
        let _ = self.runtime.get_or_init(Handle::current);
        let pool = Arc::new(Pool::new(key.clone(), *limit, *lease));
        pools.insert(key.clone(), pool.clone());
        Some(pool)
    }

    /// Forgets a pool that nobody uses but the task that asks.
    fn forget(&self, pool: &Arc<Pool>) {
        let mut pools = self.pools();
        // The map and the task.
        if Arc::strong_count(pool) <= 2 && pool.is_idle() {
            pools.remove(&pool.key);
        }
    }

    fn drain(&self) -> Vec<Arc<Pool>> {
        self.pools().drain().map(|(_, pool)| pool).collect()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let pools = self.drain();
        if let Some(runtime) = self.runtime.get()
            && !pools.is_empty()
        {
            let backend = self.backend.clone();
            runtime.spawn(async move { give_back_all(&backend, pools).await });
        }
    }
}

/// Takes a batch, waits until it has died, and gives back what is left of it.
async fn refill(pool: Arc<Pool>, backend: Arc<dyn Backend>, home: Weak<Inner>, ask: u64) {
    let under_way = UnderWay(Some(&pool));
    let asked = Instant::now();
    let answer = backend.decide(&pool.key, &pool.lease.tight, ask, Options::NONE.partial());
    let answer = timeout(PATIENCE, answer).await.unwrap_or(Err(Error::Timeout(PATIENCE)));
    let until = under_way.over(ask, asked, answer);
    if home.strong_count() == 0 {
        // Everything was given back before this came.
        give_back(&pool, &backend, true).await;
        return;
    }
    sleep_until(until).await;
    give_back(&pool, &backend, false).await;
    if let Some(home) = home.upgrade() {
        home.forget(&pool);
    }
}

/// A refill that ends, one way or the other, even if its task is not run to the end.
struct UnderWay<'a>(Option<&'a Pool>);

impl UnderWay<'_> {
    fn over(mut self, ask: u64, asked: Instant, answer: Result<Decision>) -> Instant {
        self.0.take().map_or(asked, |pool| pool.refilled(ask, asked, answer))
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if let Some(pool) = self.0 {
            pool.given_up();
        }
    }
}

async fn give_back(pool: &Pool, backend: &Arc<dyn Backend>, closing: bool) {
    let tokens = pool.give_back(closing);
    if let Some(delta) = i64::try_from(tokens).ok().and_then(i64::checked_neg).filter(|delta| *delta < 0) {
        // Without an answer they are lost, or not: they are not given back twice.
        let _ = timeout(PATIENCE, backend.adjust(&pool.key, delta, None)).await;
    }
}

async fn give_back_all(backend: &Arc<dyn Backend>, pools: Vec<Arc<Pool>>) {
    let mut tasks = tokio::task::JoinSet::new();
    for pool in pools {
        let backend = backend.clone();
        tasks.spawn(async move { give_back(&pool, &backend, true).await });
    }
    while tasks.join_next().await.is_some() {}
}

impl fmt::Debug for Batched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batched({} keys)", self.0.pools().len())
    }
}

impl Backend for Batched {
    fn decide<'a>(
        &'a self,
        key: &'a Key,
        limit: &'a Limit,
        cost: u64,
        options: Options,
    ) -> BoxFuture<'a, Result<Decision>> {
        Box::pin(self.serve(key, limit, cost, options))
    }

    fn decide_all<'a>(&'a self, keys: &'a [Key], charges: &'a [Charge]) -> BoxFuture<'a, Result<AllDecision>> {
        self.0.backend.decide_all(keys, charges)
    }

    fn adjust<'a>(&'a self, key: &'a Key, delta: i64, nth: Option<usize>) -> BoxFuture<'a, Result<Option<Decision>>> {
        self.0.backend.adjust(key, delta, nth)
    }

    fn peek<'a>(
        &'a self,
        key: &'a Key,
        limit: &'a Limit,
        cost: u64,
        options: Options,
    ) -> BoxFuture<'a, Result<Decision>> {
        self.0.backend.peek(key, limit, cost, options)
    }
}
