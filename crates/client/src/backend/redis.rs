//! A server decides.

use super::{Backend, BoxFuture, Charge, check_all, check_call, check_delta};
use crate::{
    connection::AsyncRateLimit,
    decision::{AllDecision, Decision},
    error::{Error, Result},
    key::Key,
    limit::Limit,
    options::Options,
};

/// Asks a server, or a cluster of them, over a connection that can be cloned: a `MultiplexedConnection`, a `ConnectionManager`,
/// a cluster's `ClusterConnection`.
#[derive(Clone, Debug)]
pub struct RedisBackend<C> {
    connection: C,
}

impl<C: AsyncRateLimit + Clone + Sync + 'static> RedisBackend<C> {
    /// Asks over this connection, a clone of it for each call.
    #[must_use]
    pub const fn new(connection: C) -> Self {
        Self { connection }
    }

    /// Whether the server answers and has the module, with every command that this crate sends. No key is touched.
    ///
    /// # Errors
    ///
    /// [`Error::NotLoaded`], or whatever the connection says.
    pub async fn probe(&self) -> Result<()> {
        // Without arguments: a server that knows the command says how many it wants.
        let reply = self.connection.clone().req_packed_command(&::redis::cmd("RL.ALL")).await;
        match reply.and_then(::redis::Value::extract_error) {
            Ok(_) => Ok(()),
            Err(error) if error.detail().is_some_and(|words| words.starts_with("wrong number of arguments")) => Ok(()),
            Err(error) => Err(Error::from(error)),
        }
    }
}

impl<C: AsyncRateLimit + Clone + Sync + 'static> Backend for RedisBackend<C> {
    fn decide<'a>(
        &'a self,
        key: &'a Key,
        limit: &'a Limit,
        cost: u64,
        options: Options,
    ) -> BoxFuture<'a, Result<Decision>> {
        Box::pin(async move {
            check_call(limit, cost, &options)?;
            self.connection.clone().rl_decide(key, limit, cost, &options).await
        })
    }

    fn decide_all<'a>(&'a self, keys: &'a [Key], charges: &'a [Charge]) -> BoxFuture<'a, Result<AllDecision>> {
        Box::pin(async move {
            check_all(keys, charges)?;
            self.connection.clone().rl_all(keys, charges).await
        })
    }

    fn adjust<'a>(&'a self, key: &'a Key, delta: i64, nth: Option<usize>) -> BoxFuture<'a, Result<Option<Decision>>> {
        Box::pin(async move {
            check_delta(delta)?;
            self.connection.clone().rl_adjust(key, delta, nth).await
        })
    }

    fn peek<'a>(
        &'a self,
        key: &'a Key,
        limit: &'a Limit,
        cost: u64,
        options: Options,
    ) -> BoxFuture<'a, Result<Decision>> {
        Box::pin(async move {
            check_call(limit, cost, &options)?;
            self.connection.clone().rl_peek_call(key, limit, cost, &options).await
        })
    }
}
