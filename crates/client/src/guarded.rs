//! A limit of this process in front of the one of all.

use crate::{
    backend::{Backend, BoxFuture, Charge},
    decision::{AllDecision, Decision, Source},
    error::Result,
    key::Key,
    limit::Limit,
    local::Local,
    options::Options,
};

/// Asks the server only what a local limit lets through: a flood on one key is shed here, in about a microsecond a call, and neither
/// the network nor the server hears of it.
///
/// The guard holds for each key by itself. It should let through more than the process's share of the real limit, or it is the
/// one that binds: two to ten times as much is usual. A call that the guard refuses is answered with the guard's limit and wait, and
/// [`Source::Memory`]. A call that costs more than the guard ever has takes all of it.
///
/// ```
/// use std::time::Duration;
/// use limiter_client::{Backend, Guarded, Key, Limit, Local, Options, Rate, Source};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> limiter_client::Result<()> {
/// let server = Local::new(); // or a RedisBackend
/// let limit = Limit::fixed(1_000, Duration::from_secs(60))?;
/// let backend = Guarded::new(server, Limit::token_bucket(2, Rate::per_second(2)?)?);
/// let key = Key::raw("k");
/// for allowed in [true, true, false] {
///     assert_eq!(backend.decide(&key, &limit, 1, Options::NONE).await?.allowed, allowed);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Guarded<B> {
    backend: B,
    guard: Limit,
    local: Local,
}

impl<B: Backend> Guarded<B> {
    /// Asks `backend` what `guard` lets through.
    #[must_use]
    pub fn new(backend: B, guard: Limit) -> Self {
        Self { backend, guard, local: Local::new() }
    }

    /// Counts in this one, which bounds how many keys are kept.
    #[must_use]
    pub fn by(mut self, local: Local) -> Self {
        self.local = local;
        self
    }

    /// What the guard is asked for a call of `cost`.
    fn charge(&self, cost: u64) -> Charge {
        Charge::new(self.guard, cost.min(self.guard.max().max(1)))
    }
}

impl<B: Backend> Backend for Guarded<B> {
    fn decide<'a>(
        &'a self,
        key: &'a Key,
        limit: &'a Limit,
        cost: u64,
        options: Options,
    ) -> BoxFuture<'a, Result<Decision>> {
        Box::pin(async move {
            let charge = self.charge(cost);
            let mut shed = self.local.check(key, &charge.limit, charge.cost)?.by(Source::Memory);
            if shed.allowed {
                return self.backend.decide(key, limit, cost, options).await;
            }
            shed.granted = options.core().partial.then_some(0);
            Ok(shed)
        })
    }

    fn decide_all<'a>(&'a self, keys: &'a [Key], charges: &'a [Charge]) -> BoxFuture<'a, Result<AllDecision>> {
        Box::pin(async move {
            // Limits that share a key pass its guard once.
            let most = charges.iter().map(|charge| charge.cost).max().unwrap_or(0);
            let own = |nth: usize| charges.get(nth).filter(|_| keys.len() == charges.len()).map(|charge| charge.cost);
            let guards: Vec<Charge> = (0..keys.len()).map(|nth| self.charge(own(nth).unwrap_or(most))).collect();
            let mut shed = self.local.call_all(keys, &guards)?;
            if shed.allowed() {
                return self.backend.decide_all(keys, charges).await;
            }
            shed.whole = shed.whole.by(Source::Memory);
            shed.each.iter_mut().for_each(|each| *each = each.by(Source::Memory));
            shed.each.resize(charges.len(), shed.whole);
            Ok(shed)
        })
    }

    fn adjust<'a>(&'a self, key: &'a Key, delta: i64, nth: Option<usize>) -> BoxFuture<'a, Result<Option<Decision>>> {
        self.backend.adjust(key, delta, nth)
    }

    fn peek<'a>(
        &'a self,
        key: &'a Key,
        limit: &'a Limit,
        cost: u64,
        options: Options,
    ) -> BoxFuture<'a, Result<Decision>> {
        self.backend.peek(key, limit, cost, options)
    }
}
