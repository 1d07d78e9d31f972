//! The commands on connections and pipelines of the `redis` crate.
//!
//! ```no_run
//! use std::time::Duration;
//! use limiter_client::{AsyncRateLimit, Limit, Options, Rate, Retry};
//!
//! # async fn example() -> limiter_client::Result<()> {
//! let client = redis::Client::open("redis://127.0.0.1/")?;
//! let mut connection = client.get_multiplexed_async_connection().await?;
//! let limit = Limit::token_bucket(100, Rate::per_second(10)?)?;
//! let decision = connection.rl_decide("user:42", &limit, 1, &Options::NONE).await?;
//! if let Retry::After(wait) = decision.retry_after {
//!     println!("again in {wait:?}");
//! }
//! # Ok(())
//! # }
//! ```

mod asynchronous;
mod pipeline;
#[cfg(feature = "sentinel")]
mod sentinel;
mod synchronous;

pub use asynchronous::AsyncRateLimit;
pub use pipeline::RateLimitPipeline;
#[cfg(feature = "sentinel")]
pub use sentinel::SentinelConnection;
pub use synchronous::RateLimit;

use redis::{FromRedisValue, RedisResult, Value};

use crate::error::Result;

/// A reply, or the error that it is.
fn read<T: FromRedisValue>(reply: RedisResult<Value>) -> Result<T> {
    Ok(T::from_redis_value(reply?.extract_error()?)?)
}

/// Where a cluster's client has to send a command whose key it does not find by itself.
#[cfg(feature = "cluster")]
fn route(key: &[u8]) -> redis::cluster_routing::RoutingInfo {
    use redis::cluster_routing::{Route, RoutingInfo, SingleNodeRoutingInfo, SlotAddr};
    RoutingInfo::SingleNode(SingleNodeRoutingInfo::SpecificNode(Route::with_key(key, SlotAddr::Master)))
}
