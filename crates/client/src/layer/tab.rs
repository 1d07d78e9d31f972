//! Costs that are known only afterwards.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{Rules, caller::Owned};
use crate::{
    decision::{Decision, Source},
    error::{ArgumentError, Result},
    policy::FailurePolicy,
};

/// What one request has been charged so far, to be put right when its cost is known: after a stream, a generated text, a
/// query.
///
/// A handler takes it from the extensions of the request, if its layer [keeps one](super::RateLimitLayer::keep_tab), and
/// settles it whenever it can. A tab that is never settled leaves the charge at the estimate. Clones are the same tab.
///
/// ```no_run
/// # use limiter_client::layer::Tab;
/// # fn spawn(_: impl Future<Output = ()> + Send) {}
/// # async fn generate() -> u64 { 0 }
/// # fn handler(request: http::Request<String>) {
/// let tab = request.extensions().get::<Tab>().cloned();
/// spawn(async move {
///     let tokens = generate().await;
///     if let Some(tab) = tab
///         && let Err(error) = tab.settle(tokens).await
///     {
///         tracing::warn!(%error, "the estimate stands");
///     }
/// });
/// # }
/// ```
#[derive(Clone)]
pub struct Tab(Arc<Account>);

struct Account {
    rules: Arc<Rules>,
    subject: Owned,
    /// Whether whoever settles is who has charged.
    open: bool,
    charged: AtomicU64,
}

impl Tab {
    /// The tab of a call that was let in at this cost.
    pub(super) fn new(rules: Arc<Rules>, subject: Owned, decision: &Decision, cost: u64) -> Self {
        let open = match decision.source {
            Source::Server | Source::Memory => true,
            // A fallback's charge is nothing that the server could give back.
            Source::Local => !matches!(rules.limiter.policy(), FailurePolicy::Local(_)),
            Source::Open | Source::Closed => false,
        };
        let charged = AtomicU64::new(decision.granted.unwrap_or(cost));
        Self(Arc::new(Account { rules, subject, open, charged }))
    }

    /// What has been charged.
    #[must_use]
    pub fn charged(&self) -> u64 {
        self.0.charged.load(Ordering::Relaxed)
    }

    /// Makes the charge `cost`: charges more without asking, or gives back. Answers how the limit stands then; `None` if
    /// nothing is in use, if the server does not answer, or if it had not been it that let the request in.
    ///
    /// What was lost on the way is not sent again, since it may have arrived: a limit is put right once or not at all.
    /// Dropping the future before it is ready leaves it unknown which.
    ///
    /// # Errors
    ///
    /// A cost above 10^12, and what [`Limiter::adjust`](crate::Limiter::adjust) says.
    pub async fn settle(&self, cost: u64) -> Result<Option<Decision>> {
        let account = &self.0;
        let Some(cost) = i64::try_from(cost).ok().filter(|_| limiter_core::limit::COST.holds(cost)) else {
            return Err(ArgumentError::outside("cost", cost, limiter_core::limit::COST).into());
        };
        let charged = account.charged.swap(cost.unsigned_abs(), Ordering::Relaxed);
        let delta = cost.saturating_sub_unsigned(charged);
        if delta == 0 || !account.open {
            return Ok(None);
        }
        let outer = account.subject.outer();
        account.rules.limiter.adjust(&account.subject.subject(outer.as_ref()), delta).await
    }
}

impl fmt::Debug for Tab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tab({}, {})", self.0.rules.policy.name(), self.charged())
    }
}
