//! Asynchronous connections.

use std::future::Future;

use redis::{Cmd, RedisFuture, Value, aio::ConnectionLike};

use super::read;
use crate::{
    AllDecision, Charge, Decision, Info, Limit, Options, command,
    decision::Throttled,
    error::{Error, Result},
};

/// The commands of the module on an asynchronous connection.
///
/// Implemented for the connections of the `redis` crate. For another one, `impl AsyncRateLimit for MyConnection {}` is
/// enough.
///
/// # Errors
///
/// Every method: [`Error::NotLoaded`], [`Error::WrongType`], [`Error::CrossSlot`], [`Error::Unexpected`], or
/// [`Error::Redis`] for whatever else the connection or the server says.
pub trait AsyncRateLimit: ConnectionLike + Send {
    /// Sends a command to whoever has `key`. A cluster's connection has to be told for `RL.ALL`, whose first argument is not a key.
    fn rl_send<'a>(&'a mut self, cmd: &'a Cmd, key: &'a [u8]) -> RedisFuture<'a, Value> {
        let _ = key;
        self.req_packed_command(cmd)
    }

    /// One call of `cost` under `limit`: `RL.TOKENBUCKET` and its like. See [`command::decide`].
    fn rl_decide<'a>(
        &'a mut self,
        key: impl AsRef<[u8]> + Send + 'a,
        limit: &Limit,
        cost: u64,
        options: &Options,
    ) -> impl Future<Output = Result<Decision>> + Send + 'a {
        let (cmd, options) = (command::decide(&key, limit, cost, options), *options);
        async move {
            let decision: Decision = read(self.req_packed_command(&cmd).await)?;
            Ok(decision.to_call_with(&options))
        }
    }

    /// One call under several limits, all or nothing: `RL.ALL`. See [`command::all`].
    fn rl_all<'a, K: AsRef<[u8]> + Sync>(
        &'a mut self,
        keys: &'a [K],
        charges: &'a [Charge],
    ) -> impl Future<Output = Result<AllDecision>> + Send + 'a {
        async move {
            let cmd = command::all(keys, charges);
            let key = keys.first().map(AsRef::as_ref).unwrap_or_default();
            read(self.rl_send(&cmd, key).await)
        }
    }

    /// Charges `delta` without asking, or gives it back if it is negative; `None` if nothing is in use. See
    /// [`command::adjust`].
    fn rl_adjust<'a>(
        &'a mut self,
        key: impl AsRef<[u8]> + Send + 'a,
        delta: i64,
        nth: Option<usize>,
    ) -> impl Future<Output = Result<Option<Decision>>> + Send + 'a {
        let cmd = command::adjust(&key, delta, nth);
        async move { read(self.req_packed_command(&cmd).await) }
    }

    /// What a call of `cost` would be answered under the limits of the last admitted one; `None` if nothing is in use.
    fn rl_peek<'a>(
        &'a mut self,
        key: impl AsRef<[u8]> + Send + 'a,
        cost: u64,
    ) -> impl Future<Output = Result<Option<Decision>>> + Send + 'a {
        let cmd = command::peek(&key, cost);
        async move { read(self.req_packed_command(&cmd).await) }
    }

    /// What exactly this call would be answered; see [`command::peek_call`].
    fn rl_peek_call<'a>(
        &'a mut self,
        key: impl AsRef<[u8]> + Send + 'a,
        limit: &Limit,
        cost: u64,
        options: &Options,
    ) -> impl Future<Output = Result<Decision>> + Send + 'a {
        let (cmd, options) = (command::peek_call(&key, limit, cost, options), *options);
        async move {
            let decision: Decision = read(self.req_packed_command(&cmd).await)?;
            Ok(decision.to_call_with(&options))
        }
    }

    /// What exactly this call under several limits would be answered; see [`command::peek_all`].
    fn rl_peek_all<'a>(
        &'a mut self,
        key: impl AsRef<[u8]> + Send + 'a,
        charges: &[Charge],
    ) -> impl Future<Output = Result<AllDecision>> + Send + 'a {
        let cmd = command::peek_all(&key, charges);
        async move { read(self.req_packed_command(&cmd).await) }
    }

    /// What a key holds; `None` if it is missing.
    fn rl_info<'a>(
        &'a mut self,
        key: impl AsRef<[u8]> + Send + 'a,
    ) -> impl Future<Output = Result<Option<Info>>> + Send + 'a {
        let cmd = command::info(&key);
        async move { read(self.req_packed_command(&cmd).await) }
    }

    /// GCRA in the words of redis-cell; see [`command::throttle`].
    fn rl_throttle<'a>(
        &'a mut self,
        key: impl AsRef<[u8]> + Send + 'a,
        max_burst: u64,
        count: u64,
        period: u64,
        quantity: u64,
    ) -> impl Future<Output = Result<Decision>> + Send + 'a {
        let cmd = command::throttle(&key, max_burst, count, period, quantity);
        async move {
            let Throttled(decision) = read(self.req_packed_command(&cmd).await)?;
            Ok::<_, Error>(decision)
        }
    }
}

impl AsyncRateLimit for redis::aio::MultiplexedConnection {}

#[cfg(feature = "connection-manager")]
impl AsyncRateLimit for redis::aio::ConnectionManager {}

#[cfg(feature = "cluster")]
impl AsyncRateLimit for redis::cluster_async::ClusterConnection {
    fn rl_send<'a>(&'a mut self, cmd: &'a Cmd, key: &'a [u8]) -> RedisFuture<'a, Value> {
        Box::pin(self.route_command(cmd.clone(), super::route(key)))
    }
}
