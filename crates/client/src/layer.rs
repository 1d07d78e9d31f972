//! A limit in front of an HTTP service: a tower layer that answers 429 by itself, and tells every caller where it stands.
//!
//! ```no_run
//! # use limiter_client::{Limiter, layer::{Caller, RateLimitLayer}};
//! # #[derive(Clone)] struct UserId(u64);
//! # fn layers(requests: Limiter) -> RateLimitLayer {
//! RateLimitLayer::new(requests, |request| match request.extensions.get::<UserId>() {
//!     Some(user) => Caller::safe("user", &user.0),
//!     None => Caller::constant("user", "nobody"), // all that are not logged in share one limit
//! })
//! .cost(|request| if request.uri.path().starts_with("/export") { 10 } else { 1 })
//! # }
//! ```
//!
//! # Who is asking
//!
//! That is for a closure to say; there is no default. It sees the head of the request and not its body, so that nothing of
//! the body is read for a request that is refused. Header fields are whatever a caller writes there: `X-Forwarded-For` tells
//! the caller's address only if a proxy of your own writes it, and only the last entry of it, the one that this proxy added.
//! Who limits by a token should hash it ([`Caller::hashed`]) and check it first, or a new token a request gets around the
//! limit.
//!
//! # Before or after authentication
//!
//! A layer checks before what is inside it. Outside of authentication it protects the look at the credentials, which is
//! dear, and can go only by the address; inside, it knows the user. Most services want both, a wide limit by address and a
//! narrow one by user:
//!
//! ```text
//! tower::ServiceBuilder          axum::Router
//!     .layer(by_address)             .layer(by_user)          // the last one is the outermost
//!     .layer(authentication)         .layer(authentication)
//!     .layer(by_user)                .layer(by_address)
//! ```
//!
//! A wrong password costs nobody but its sender then: the limit of a user is charged only by who is that user. Each layer
//! adds its own item to the `RateLimit` fields, so that callers see both. What an inner layer refuses has been charged by the
//! outer one already, which is what a wide limit is for.
//!
//! # Load
//!
//! The check comes first: the service behind the layer is not asked whether it is ready, and takes no permit and no
//! connection, before a request is let in. So the layer itself is always ready, and the wait for a busy service happens
//! after the check, in the future of the call. Dropping that future is safe at any time; whether the limit was charged is
//! unknown if it was still being asked.
//!
//! A limiter with [`Options::reserve`](crate::Options::reserve) holds a request back until its booking is due, instead of
//! refusing it; a caller that hangs up meanwhile has paid all the same.
//!
//! # A cost that is known later
//!
//! [`RateLimitLayer::cost`] is an estimate, then; [`RateLimitLayer::charge_after`] reads the true cost off the answer, and a
//! [`Tab`] settles it when even the answer's body has been sent. Both put the difference right by `RL.ADJUST`, once, and
//! without asking: a limit can be overdrawn by what was underestimated, and its owner waits longer then.
//!
//! # When there is no server
//!
//! The limiter's [`FailurePolicy`](crate::FailurePolicy) decides, and its verdict is what counts here: open and local let
//! requests in, closed answers 503.

mod caller;
mod fields;
mod refusal;
mod service;
mod tab;
#[cfg(feature = "axum")]
mod with_axum;

use std::{fmt, sync::Arc};

use http::{request, response};

pub use self::{
    caller::Caller,
    fields::{Policy, RATELIMIT, RATELIMIT_POLICY, retry_seconds},
    refusal::Refusal,
    service::RateLimitService,
    tab::Tab,
};
use crate::Limiter;

/// Puts a [`Limiter`] in front of a service. Clones are the same layer.
#[derive(Clone)]
pub struct RateLimitLayer(Arc<Rules>);

/// A closure of the service, that looks at the head of a request or of an answer.
type Asks<Head, Answer> = dyn Fn(&Head) -> Answer + Send + Sync;

/// What a layer does, shared by all its services.
#[derive(Clone)]
struct Rules {
    limiter: Limiter,
    policy: Policy,
    caller: Arc<Asks<request::Parts, Caller>>,
    cost: Arc<Asks<request::Parts, u64>>,
    charge_after: Option<Arc<Asks<response::Parts, Option<u64>>>>,
    tab: bool,
}

impl RateLimitLayer {
    /// Charges each request to whom `caller` says, at a cost of 1.
    #[must_use]
    pub fn new(limiter: Limiter, caller: impl Fn(&request::Parts) -> Caller + Send + Sync + 'static) -> Self {
        let policy = Policy::from(&limiter);
        let (caller, cost) = (Arc::new(caller), Arc::new(|_: &request::Parts| 1));
        Self(Arc::new(Rules { limiter, policy, caller, cost, charge_after: None, tab: false }))
    }

    /// What a request costs, 0 to 10^12. Cost 0 is always let in, and costs a round trip all the same; [`Caller::exempt`]
    /// does not.
    #[must_use]
    pub fn cost(self, cost: impl Fn(&request::Parts) -> u64 + Send + Sync + 'static) -> Self {
        self.with(|rules| rules.cost = Arc::new(cost))
    }

    /// What a request has cost, told by the head of its answer: by its status, a field, or an extension that a handler left
    /// there. `None` leaves it at what was charged.
    ///
    /// The answer waits for the adjustment, for no longer than the limiter's timeout, and its `RateLimit` field is that of
    /// afterwards. A caller that hangs up before the answer is charged what was estimated.
    ///
    /// ```no_run
    /// # use limiter_client::layer::RateLimitLayer;
    /// # fn refund(layer: RateLimitLayer) -> RateLimitLayer {
    /// layer.charge_after(|answer| answer.status.is_server_error().then_some(0)) // our fault: given back
    /// # }
    /// ```
    #[must_use]
    pub fn charge_after(self, cost: impl Fn(&response::Parts) -> Option<u64> + Send + Sync + 'static) -> Self {
        self.with(|rules| rules.charge_after = Some(Arc::new(cost)))
    }

    /// Puts a [`Tab`] into the extensions of each request that is let in, for handlers that know its cost only when the body
    /// of the answer has been sent. Of several layers that do so, the innermost one's is there.
    #[must_use]
    pub fn keep_tab(self) -> Self {
        self.with(|rules| rules.tab = true)
    }

    fn with(mut self, change: impl FnOnce(&mut Rules)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }
}

impl fmt::Debug for RateLimitLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RateLimitLayer({})", self.0.policy.name())
    }
}

impl<S> tower_layer::Layer<S> for RateLimitLayer {
    type Service = RateLimitService<S>;

    fn layer(&self, inner: S) -> RateLimitService<S> {
        RateLimitService::new(inner, Arc::clone(&self.0))
    }
}
