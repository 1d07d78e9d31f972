//! Decides in this process, by the same core as the server.

mod store;

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use limiter_core::{
    adjust::{AdjustError, Delta, adjust},
    all::{Verdict, charge, spare},
    compound::LIMITS_MAX,
    general::{Extra, Outcome},
    limit::LOG_LIMIT,
    record::RecordError,
    request::Call,
    time::{Span, Timestamp},
};
use tokio::time::Instant;

use self::store::Shard;
use crate::{
    backend::{Backend, BoxFuture, Charge, check_all, check_call, check_delta},
    decision::{AllDecision, Decision},
    error::{ArgumentError, Error, Result},
    key::Key,
    limit::Limit,
    options::Options,
};

/// The most keys that a process keeps unless it is told otherwise: some 20 MB of buckets.
pub const KEYS_DEFAULT: usize = 100_000;
/// So many threads can decide at once.
const SHARDS: usize = 16;

/// Decides in this process, with the arithmetic of the server but for one process alone.
///
/// It serves as what a [`Limiter`](crate::Limiter) falls back on, as the guard in [`Guarded`](crate::Guarded), as the only limiter of a
/// service that is one process, and in tests. Clones share what they count.
///
/// Memory is bounded: at most so many keys are kept. What has expired goes first; where nothing has, a new key takes the place of one
/// that is soon to expire, which is as good as new then. A key takes about 200 bytes, with a sliding log 8 to 16 bytes an event more.
///
/// ```
/// use std::time::Duration;
/// use limiter_client::{Key, Limit, Local, Source};
///
/// let local = Local::new();
/// let limit = Limit::fixed(2, Duration::from_secs(60))?;
/// let key = Key::raw("k");
/// assert_eq!(local.check(&key, &limit, 2)?.source, Source::Local);
/// assert!(!local.check(&key, &limit, 1)?.allowed);
/// # Ok::<(), limiter_client::Error>(())
/// ```
#[derive(Clone)]
pub struct Local(Arc<Inner>);

struct Inner {
    shards: Vec<Mutex<Shard>>,
    hasher: RandomState,
    /// Time is the process's monotonic clock, which no adjustment of the system's moves; windows are aligned by what time it
    /// was when it started.
    started: Instant,
    epoch_us: u64,
}

impl Local {
    /// Keeps at most 100,000 keys.
    #[must_use]
    pub fn new() -> Self {
        Self::with_keys(KEYS_DEFAULT)
    }

    /// Keeps at most `keys` keys, rounded up to a multiple of 16.
    #[must_use]
    pub fn with_keys(keys: usize) -> Self {
        let each = keys.div_ceil(SHARDS).max(1);
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(Arc::new(Inner {
            shards: (0..SHARDS).map(|_| Mutex::new(Shard::new(each))).collect(),
            hasher: RandomState::new(),
            started: Instant::now(),
            epoch_us: micros(epoch),
        }))
    }

    /// Decides one call, at once.
    ///
    /// # Errors
    ///
    /// A cost outside 0 to 10^12; a key that is in use with a limit of another algorithm.
    pub fn check(&self, key: &Key, limit: &Limit, cost: u64) -> Result<Decision> {
        self.call(key, limit, cost, Options::NONE, true)
    }

    /// How many keys are kept, those included that have expired but not been removed yet.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.0.shards.iter().map(|shard| lock(shard).len()).fold(0, usize::saturating_add)
    }

    fn now(&self) -> Timestamp {
        let passed = Span::from_micros(micros(self.0.started.elapsed()));
        Timestamp::from_micros(self.0.epoch_us).after(passed)
    }

    fn shard(&self, key: &Key) -> usize {
        let hash = self.0.hasher.hash_one(key.as_bytes());
        usize::try_from(hash.checked_rem(SHARDS as u64).unwrap_or(0)).unwrap_or(0)
    }

    fn open(&self, key: &Key) -> Option<MutexGuard<'_, Shard>> {
        self.0.shards.get(self.shard(key)).map(lock)
    }

    pub(crate) fn call(&self, key: &Key, limit: &Limit, cost: u64, options: Options, store: bool) -> Result<Decision> {
        check_call(limit, cost, &options)?;
        let call = call_of(&Charge { limit: *limit, cost, options });
        let now = self.now();
        let Some(mut shard) = self.open(key) else { return Err(Error::Unavailable) };
        let outcome = charge(shard.record(key, now), &call, now).map_err(of_record)?;
        let decision = decision(&outcome);
        if store {
            let change = store::Write::of(&outcome);
            shard.write(key, change, now);
        }
        Ok(decision)
    }

    pub(crate) fn call_all(&self, keys: &[Key], charges: &[Charge]) -> Result<AllDecision> {
        check_all(keys, charges)?;
        let derived = (keys.len() < charges.len()).then(|| parts(keys, charges.len()));
        let keys = derived.as_deref().unwrap_or(keys);
        let now = self.now();

        // Always in the same order, so that no two calls wait for each other.
        let places: Vec<usize> = keys.iter().map(|key| self.shard(key)).collect();
        let mut locked: Vec<(usize, MutexGuard<'_, Shard>)> = Vec::with_capacity(places.len());
        for (place, shard) in self.0.shards.iter().enumerate() {
            if places.contains(&place) {
                locked.push((place, lock(shard)));
            }
        }
        let index = |place: usize| locked.iter().position(|(locked, _)| *locked == place).unwrap_or(0);
        let places: Vec<usize> = places.into_iter().map(index).collect();

        let mut allowed = true;
        for ((key, asked), place) in keys.iter().zip(charges).zip(&places) {
            let Some((_, shard)) = locked.get(*place) else { continue };
            let outcome = charge(shard.record(key, now), &call_of(asked), now).map_err(of_record)?;
            allowed &= outcome.decision.allowed();
        }
        let mut verdict = Verdict::<LIMITS_MAX>::new();
        for ((key, asked), place) in keys.iter().zip(charges).zip(&places) {
            let Some((_, shard)) = locked.get_mut(*place) else { continue };
            let (call, record) = (call_of(asked), shard.record(key, now));
            let (outcome, passes) = if allowed {
                (charge(record, &call, now).map_err(of_record)?, true)
            } else {
                let spared = spare(record, &call, now).map_err(of_record)?;
                (spared.outcome, spared.passes)
            };
            verdict.add_spared(outcome.decision, call.cost, outcome.extra, passes);
            let change = store::Write::of(&outcome);
            shard.write(key, change, now);
        }
        let mut whole = Decision::from(verdict.whole());
        whole.wait = verdict.wait().map(|wait| Duration::from_micros(wait.micros()));
        let each = verdict.each().iter().map(|decision| Decision::from(*decision)).collect();
        Ok(AllDecision::new(whole, verdict.binding().saturating_sub(1), each))
    }

    pub(crate) fn put_right(&self, key: &Key, delta: i64, nth: Option<usize>) -> Result<Option<Decision>> {
        check_delta(delta)?;
        let part = nth.map(|nth| part(key, nth));
        let key = part.as_ref().unwrap_or(key);
        let amount = delta.unsigned_abs();
        let delta = if delta < 0 { Delta::GiveBack(amount) } else { Delta::Charge(amount) };
        let now = self.now();
        let Some(mut shard) = self.open(key) else { return Err(Error::Unavailable) };
        let Some(record) = shard.record(key, now) else { return Ok(None) };
        let outcome = match adjust(record, delta, now, LOG_LIMIT.max) {
            Ok(Some(outcome)) => outcome,
            Ok(None) => return Ok(None),
            Err(AdjustError::Record(error)) => return Err(of_record(error)),
            Err(AdjustError::Excess(_)) => {
                return Err(ArgumentError::new("delta", amount, "no more than can be in use").into());
            }
        };
        let decision = decision(&outcome);
        let change = store::Write::of(&outcome);
        shard.write(key, change, now);
        Ok(Some(decision))
    }
}

impl Default for Local {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Local({} keys)", self.keys())
    }
}

/// Answers at once, with [`Source::Local`](crate::Source::Local).
impl Backend for Local {
    fn decide<'a>(
        &'a self,
        key: &'a Key,
        limit: &'a Limit,
        cost: u64,
        options: Options,
    ) -> BoxFuture<'a, Result<Decision>> {
        Box::pin(async move { self.call(key, limit, cost, options, true) })
    }

    fn decide_all<'a>(&'a self, keys: &'a [Key], charges: &'a [Charge]) -> BoxFuture<'a, Result<AllDecision>> {
        Box::pin(async move { self.call_all(keys, charges) })
    }

    fn adjust<'a>(&'a self, key: &'a Key, delta: i64, nth: Option<usize>) -> BoxFuture<'a, Result<Option<Decision>>> {
        Box::pin(async move { self.put_right(key, delta, nth) })
    }

    fn peek<'a>(
        &'a self,
        key: &'a Key,
        limit: &'a Limit,
        cost: u64,
        options: Options,
    ) -> BoxFuture<'a, Result<Decision>> {
        Box::pin(async move { self.call(key, limit, cost, options, false) })
    }
}

const fn call_of(charge: &Charge) -> Call {
    Call { limit: *charge.limit.core(), cost: charge.cost, options: *charge.options.core() }
}

fn decision(outcome: &Outcome<'_>) -> Decision {
    let mut decision = Decision::from(outcome.decision);
    match outcome.extra {
        Some(Extra::Granted(granted)) => decision.granted = Some(granted),
        Some(Extra::Wait(wait)) => decision.wait = Some(Duration::from_micros(wait.micros())),
        None => {}
    }
    decision
}

/// Limits that share a key are kept apart from each other by their number.
fn parts(keys: &[Key], count: usize) -> Vec<Key> {
    keys.first().map(|key| (0..count).map(|nth| part(key, nth)).collect()).unwrap_or_default()
}

fn part(key: &Key, nth: usize) -> Key {
    let mut bytes = key.as_bytes().to_vec();
    bytes.push(0);
    bytes.extend_from_slice(nth.to_string().as_bytes());
    Key::raw(bytes)
}

#[cold]
fn of_record(error: RecordError) -> Error {
    Error::WrongType(format!("{error:?}"))
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    // Every change is whole: a panic elsewhere leaves nothing half done.
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
