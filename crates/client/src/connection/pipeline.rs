//! Pipelines: many commands in one round trip.

use redis::Cmd;

use crate::{Charge, Limit, Options, command};

/// The commands of the module in a pipeline. Their replies are read as [`Decision`](crate::Decision),
/// [`AllDecision`](crate::AllDecision), [`Info`](crate::Info) or [`Throttled`](crate::decision::Throttled); an error of one
/// of them is a `redis::RedisError`, which [`Error::from`](crate::Error) tells apart.
///
/// ```no_run
/// use limiter_client::{Decision, Limit, Options, Rate, connection::RateLimitPipeline};
///
/// # async fn example(mut connection: redis::aio::MultiplexedConnection) -> limiter_client::Result<()> {
/// let limit = Limit::gcra(5, Rate::per_second(1)?)?;
/// let mut pipeline = redis::pipe();
/// for user in ["a", "b", "c"] {
///     pipeline.rl_decide(user, &limit, 1, &Options::NONE);
/// }
/// let decisions: Vec<Decision> = pipeline.query_async(&mut connection).await?;
/// # Ok(())
/// # }
/// ```
///
/// In a cluster, send `RL.ALL` by `rl_all` of the connection: a pipeline takes its first argument for its key, so it is redirected at
/// best.
pub trait RateLimitPipeline: Sized {
    /// Adds a command.
    fn rl_add(&mut self, cmd: Cmd) -> &mut Self;

    /// See [`command::decide`]. Replies [`Decision`](crate::Decision); with `PARTIAL` or `RESERVE`,
    /// [`Decision::to_call_with`](crate::Decision::to_call_with) reads the sixth integer.
    fn rl_decide(&mut self, key: impl AsRef<[u8]>, limit: &Limit, cost: u64, options: &Options) -> &mut Self {
        self.rl_add(command::decide(key, limit, cost, options))
    }

    /// See [`command::all`]. Replies [`AllDecision`](crate::AllDecision).
    fn rl_all<K: AsRef<[u8]>>(&mut self, keys: &[K], charges: &[Charge]) -> &mut Self {
        self.rl_add(command::all(keys, charges))
    }

    /// See [`command::adjust`]. Replies an optional [`Decision`](crate::Decision).
    fn rl_adjust(&mut self, key: impl AsRef<[u8]>, delta: i64, nth: Option<usize>) -> &mut Self {
        self.rl_add(command::adjust(key, delta, nth))
    }

    /// See [`command::peek`]. Replies an optional [`Decision`](crate::Decision).
    fn rl_peek(&mut self, key: impl AsRef<[u8]>, cost: u64) -> &mut Self {
        self.rl_add(command::peek(key, cost))
    }

    /// See [`command::peek_call`]. Replies [`Decision`](crate::Decision).
    fn rl_peek_call(&mut self, key: impl AsRef<[u8]>, limit: &Limit, cost: u64, options: &Options) -> &mut Self {
        self.rl_add(command::peek_call(key, limit, cost, options))
    }

    /// See [`command::peek_all`]. Replies [`AllDecision`](crate::AllDecision).
    fn rl_peek_all(&mut self, key: impl AsRef<[u8]>, charges: &[Charge]) -> &mut Self {
        self.rl_add(command::peek_all(key, charges))
    }

    /// See [`command::info`]. Replies an optional [`Info`](crate::Info).
    fn rl_info(&mut self, key: impl AsRef<[u8]>) -> &mut Self {
        self.rl_add(command::info(key))
    }

    /// See [`command::throttle`]. Replies [`Throttled`](crate::decision::Throttled).
    fn rl_throttle(
        &mut self,
        key: impl AsRef<[u8]>,
        max_burst: u64,
        count: u64,
        period: u64,
        quantity: u64,
    ) -> &mut Self {
        self.rl_add(command::throttle(key, max_burst, count, period, quantity))
    }
}

impl RateLimitPipeline for redis::Pipeline {
    fn rl_add(&mut self, cmd: Cmd) -> &mut Self {
        self.add_command(cmd)
    }
}

#[cfg(feature = "cluster")]
impl RateLimitPipeline for redis::cluster::ClusterPipeline {
    fn rl_add(&mut self, cmd: Cmd) -> &mut Self {
        self.add_command(cmd)
    }
}
