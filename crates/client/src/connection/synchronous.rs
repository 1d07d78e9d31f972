//! Synchronous connections.

use redis::{Cmd, ConnectionLike, RedisResult, Value};

use super::read;
use crate::{
    AllDecision, Charge, Decision, Info, Limit, Options, command,
    decision::Throttled,
    error::{Error, Result},
};

/// The commands of the module on a synchronous connection.
///
/// Implemented for the connections of the `redis` crate. For another one, `impl RateLimit for MyConnection {}` is enough.
///
/// # Errors
///
/// Every method: [`Error::NotLoaded`], [`Error::WrongType`], [`Error::CrossSlot`], [`Error::Unexpected`], or
/// [`Error::Redis`] for whatever else the connection or the server says.
pub trait RateLimit: ConnectionLike {
    /// Sends a command to whoever has `key`. A cluster's connection has to be told for `RL.ALL`, whose first argument is not a key.
    fn rl_send(&mut self, cmd: &Cmd, key: &[u8]) -> RedisResult<Value> {
        let _ = key;
        self.req_command(cmd)
    }

    /// One call of `cost` under `limit`: `RL.TOKENBUCKET` and its like. See [`command::decide`].
    fn rl_decide(&mut self, key: impl AsRef<[u8]>, limit: &Limit, cost: u64, options: &Options) -> Result<Decision> {
        let decision: Decision = read(self.req_command(&command::decide(key, limit, cost, options)))?;
        Ok(decision.to_call_with(options))
    }

    /// One call under several limits, all or nothing: `RL.ALL`. See [`command::all`].
    fn rl_all<K: AsRef<[u8]>>(&mut self, keys: &[K], charges: &[Charge]) -> Result<AllDecision> {
        let key = keys.first().map(AsRef::as_ref).unwrap_or_default();
        read(self.rl_send(&command::all(keys, charges), key))
    }

    /// Charges `delta` without asking, or gives it back if it is negative; `None` if nothing is in use. See
    /// [`command::adjust`].
    fn rl_adjust(&mut self, key: impl AsRef<[u8]>, delta: i64, nth: Option<usize>) -> Result<Option<Decision>> {
        read(self.req_command(&command::adjust(key, delta, nth)))
    }

    /// What a call of `cost` would be answered under the limits of the last admitted one; `None` if nothing is in use.
    fn rl_peek(&mut self, key: impl AsRef<[u8]>, cost: u64) -> Result<Option<Decision>> {
        read(self.req_command(&command::peek(key, cost)))
    }

    /// What exactly this call would be answered; see [`command::peek_call`].
    fn rl_peek_call(&mut self, key: impl AsRef<[u8]>, limit: &Limit, cost: u64, options: &Options) -> Result<Decision> {
        let decision: Decision = read(self.req_command(&command::peek_call(key, limit, cost, options)))?;
        Ok(decision.to_call_with(options))
    }

    /// What exactly this call under several limits would be answered; see [`command::peek_all`].
    fn rl_peek_all(&mut self, key: impl AsRef<[u8]>, charges: &[Charge]) -> Result<AllDecision> {
        read(self.req_command(&command::peek_all(key, charges)))
    }

    /// What a key holds; `None` if it is missing.
    fn rl_info(&mut self, key: impl AsRef<[u8]>) -> Result<Option<Info>> {
        read(self.req_command(&command::info(key)))
    }

    /// GCRA in the words of redis-cell; see [`command::throttle`].
    fn rl_throttle(
        &mut self,
        key: impl AsRef<[u8]>,
        max_burst: u64,
        count: u64,
        period: u64,
        quantity: u64,
    ) -> Result<Decision> {
        let Throttled(decision) = read(self.req_command(&command::throttle(key, max_burst, count, period, quantity)))?;
        Ok::<_, Error>(decision)
    }
}

impl RateLimit for redis::Connection {}
impl RateLimit for redis::Client {}

#[cfg(feature = "cluster")]
impl RateLimit for redis::cluster::ClusterConnection {
    fn rl_send(&mut self, cmd: &Cmd, key: &[u8]) -> RedisResult<Value> {
        self.route_command(cmd, super::route(key))
    }
}
