//! The same decision, asked for in ever more comfortable ways, over a connection that answers at once.

use std::{hint::black_box, time::Duration};

use limiter_client::{
    AsyncRateLimit, Backend, FailurePolicy, Key, KeySpace, Limit, Limiter, Options, Rate, RedisBackend, Result, Secret,
    Subject,
};
use redis::{Cmd, Pipeline, RedisFuture, Value, aio::ConnectionLike};

/// A connection that is answered before it has sent anything: what is left is the client's own work.
#[derive(Clone, Debug)]
pub struct Ready;

impl ConnectionLike for Ready {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            black_box(cmd);
            Ok(Value::Array([1, 100, 99, 0, 100].map(Value::Int).into()))
        })
    }

    fn req_packed_commands<'a>(&'a mut self, _: &'a Pipeline, _: usize, _: usize) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn get_db(&self) -> i64 {
        0
    }
}

impl AsyncRateLimit for Ready {}

/// What a call needs, made once.
pub struct Calls<C> {
    connection: C,
    key: Key,
    limit: Limit,
    backend: Box<dyn Backend>,
    limiter: Limiter,
    keys: KeySpace,
}

impl<C: AsyncRateLimit + Clone + Sync + 'static> Calls<C> {
    pub fn new(connection: C) -> Result<Self> {
        let limit = Limit::token_bucket(100, Rate::per_second(10)?)?;
        let keys = KeySpace::new("prod", "checkout", &Secret::new("0123456789abcdef")?)?;
        let limiter = Limiter::builder("orders")
            .limit(limit)
            .key_space(keys.clone())
            .on_failure(FailurePolicy::Open)
            .timeout(Duration::from_secs(5))
            .build(RedisBackend::new(connection.clone()))?;
        let key = keys.key("orders", &Subject::safe("user", &42_u64))?;
        Ok(Self { key, limit, backend: Box::new(RedisBackend::new(connection.clone())), limiter, keys, connection })
    }

    /// What one writes without this crate.
    pub async fn plain(&self) -> Result<bool> {
        let (allowed, _, _, _, _): (i64, i64, i64, i64, i64) = redis::cmd("RL.TOKENBUCKET")
            .arg(self.key.as_bytes())
            .arg(100)
            .arg(10)
            .query_async(&mut self.connection.clone())
            .await?;
        Ok(allowed == 1)
    }

    pub async fn typed(&self) -> Result<bool> {
        Ok(self.connection.clone().rl_decide(&self.key, &self.limit, 1, &Options::NONE).await?.allowed)
    }

    pub async fn backend(&self) -> Result<bool> {
        Ok(self.backend.decide(&self.key, &self.limit, 1, Options::NONE).await?.allowed)
    }

    pub async fn limiter_shown(&self) -> Result<bool> {
        Ok(self.limiter.check(&Subject::safe("user", &42_u64), 1).await?.allowed)
    }

    pub async fn limiter_hashed(&self) -> Result<bool> {
        Ok(self.limiter.check(&Subject::hashed("email", "ada@example.org"), 1).await?.allowed)
    }

    pub fn key_shown(&self) -> Result<bool> {
        Ok(!black_box(self.keys.key("orders", &Subject::safe("user", &42_u64))?).as_bytes().is_empty())
    }

    pub fn key_hashed(&self) -> Result<bool> {
        Ok(!black_box(self.keys.key("orders", &Subject::hashed("email", "ada@example.org"))?).as_bytes().is_empty())
    }
}
