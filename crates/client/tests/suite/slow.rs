//! A server in memory, some way off: what it is asked is counted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use limiter_client::{
    AllDecision, Backend, BoxFuture, Charge, Decision, Error, Key, Limit, Local, Options, Result, Source,
};

/// Asks take half of `delay`, answers the other half.
#[derive(Clone)]
pub struct Slow {
    pub server: Local,
    pub delay: Duration,
    pub trips: Arc<AtomicU64>,
    /// So many of the next questions are answered by an error.
    pub failures: Arc<AtomicU64>,
}

impl Slow {
    pub fn new(delay: Duration) -> Self {
        Self { server: Local::new(), delay, trips: Arc::default(), failures: Arc::default() }
    }

    pub fn trips(&self) -> u64 {
        self.trips.load(Ordering::SeqCst)
    }

    async fn travel<T>(&self, act: impl Future<Output = Result<T>>) -> Result<T> {
        self.trips.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(self.delay / 2).await;
        let failing =
            self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        let answer = if failing { Err(Error::NotLoaded) } else { act.await };
        tokio::time::sleep(self.delay / 2).await;
        answer
    }
}

impl Backend for Slow {
    fn decide<'a>(
        &'a self,
        key: &'a Key,
        limit: &'a Limit,
        cost: u64,
        options: Options,
    ) -> BoxFuture<'a, Result<Decision>> {
        Box::pin(async move {
            let decision = self.travel(self.server.decide(key, limit, cost, options)).await?;
            Ok(decision.by(Source::Server))
        })
    }

    fn decide_all<'a>(&'a self, keys: &'a [Key], charges: &'a [Charge]) -> BoxFuture<'a, Result<AllDecision>> {
        Box::pin(async move {
            let mut decision = self.travel(self.server.decide_all(keys, charges)).await?;
            decision.whole = decision.whole.by(Source::Server);
            Ok(decision)
        })
    }

    fn adjust<'a>(&'a self, key: &'a Key, delta: i64, nth: Option<usize>) -> BoxFuture<'a, Result<Option<Decision>>> {
        Box::pin(async move { self.travel(self.server.adjust(key, delta, nth)).await })
    }

    fn peek<'a>(
        &'a self,
        key: &'a Key,
        limit: &'a Limit,
        cost: u64,
        options: Options,
    ) -> BoxFuture<'a, Result<Decision>> {
        Box::pin(async move { self.travel(self.server.peek(key, limit, cost, options)).await })
    }
}
