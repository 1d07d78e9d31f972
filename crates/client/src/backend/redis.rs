//! A server decides.

use super::{Backend, BoxFuture, Charge, check_all, check_call, check_delta};
use crate::{
    connection::AsyncRateLimit,
    decision::{AllDecision, Decision},
    error::Result,
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
