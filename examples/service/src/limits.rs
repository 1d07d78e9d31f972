//! The two limits: a wide one by address in front of everything, and a narrow one by user.

use std::{
    error::Error,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use axum::extract::ConnectInfo;
use limiter_client::{
    Breaker, FailurePolicy, KeySpace, Limit, Limiter, Rate, RedisBackend, Secret,
    layer::{Caller, RateLimitLayer},
};

use crate::{auth::User, handlers::Cost};

/// A user may make this many calls at once, and as many in [`REFILL`].
const BURST: u64 = 5;
const REFILL: Duration = Duration::from_secs(10);
/// What a report is charged until it is known.
const REPORT_ESTIMATE: u64 = 3;

pub struct Limits {
    addresses: Limiter,
    users: Limiter,
}

impl Limits {
    pub fn new(redis: &str, secret: &str, timeout: Duration) -> Result<Self, Box<dyn Error>> {
        // Connects at the first call, so that the service starts without a server too.
        let backend = RedisBackend::connect_lazily(redis)?;
        // What one limiter finds out of the server, the other need not.
        let breaker = Breaker::default();
        let keys = KeySpace::new("example", "service", &Secret::new(secret)?)?;

        // It only sheds floods, so without a server everybody passes.
        let addresses = Limiter::builder("addresses")
            .limit(Limit::sliding_counter(100, Duration::from_secs(10))?)
            .key_space(keys.clone())
            .on_failure(FailurePolicy::Open)
            .timeout(timeout)
            .breaker(breaker.clone())
            .build(backend.clone())?;
        // It guards what costs money, so without a server nobody does.
        let users = Limiter::builder("users")
            .limit(Limit::token_bucket(BURST, Rate::per(BURST, REFILL)?)?)
            .key_space(keys)
            .on_failure(FailurePolicy::Closed)
            .timeout(timeout)
            .breaker(breaker)
            .build(backend)?;
        Ok(Self { addresses, users })
    }

    /// By the peer of the connection. Behind a proxy of your own, take what this proxy says instead.
    pub fn by_address(&self) -> RateLimitLayer {
        RateLimitLayer::new(self.addresses.clone(), |request| {
            match request.extensions.get::<ConnectInfo<SocketAddr>>() {
                Some(ConnectInfo(peer)) => Caller::hashed("address", network(peer.ip())),
                None => Caller::constant("address", "unknown"),
            }
        })
    }

    /// By the user that [`authenticate`](crate::auth::authenticate) has left in the request.
    pub fn by_user(&self) -> RateLimitLayer {
        RateLimitLayer::new(self.users.clone(), |request| match request.extensions.get::<User>() {
            Some(user) => Caller::safe("user", &user.id),
            None => Caller::constant("user", "nobody"),
        })
        .cost(|request| if request.uri.path() == "/api/report" { REPORT_ESTIMATE } else { 1 })
        .charge_after(|answer| answer.extensions.get::<Cost>().map(|cost| cost.0))
    }
}

/// An address of IPv4, or the /64 of IPv6 that one customer has to itself.
fn network(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => address.to_string(),
            None => {
                let [a, b, c, d, ..] = address.segments();
                format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
            }
        },
    }
}
