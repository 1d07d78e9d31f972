//! Describes a limiter.

use std::{sync::Arc, time::Duration};

use super::{Inner, Limiter};
use crate::{
    backend::Backend,
    breaker::Breaker,
    error::{ArgumentError, Result},
    key::{KeySpace, Subject},
    limit::Limit,
    measure::Meters,
    options::Options,
    policy::FailurePolicy,
};

/// How long a call waits for the server unless told otherwise.
const TIMEOUT_DEFAULT: Duration = Duration::from_millis(50);

/// A description without a failure policy: it cannot be built.
#[derive(Clone, Copy, Debug)]
pub struct NoPolicy(());

/// Describes a limiter; see [`Limiter::builder`].
#[derive(Clone, Debug)]
pub struct LimiterBuilder<P> {
    name: String,
    action: Option<String>,
    limit: Option<Limit>,
    options: Options,
    keys: Option<KeySpace>,
    policy: P,
    timeout: Duration,
    breaker: Breaker,
}

impl LimiterBuilder<NoPolicy> {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            action: None,
            limit: None,
            options: Options::NONE,
            keys: None,
            policy: NoPolicy(()),
            timeout: TIMEOUT_DEFAULT,
            breaker: Breaker::default(),
        }
    }

    /// What happens when the server does not answer. It has no default.
    #[must_use]
    pub fn on_failure(self, policy: FailurePolicy) -> LimiterBuilder<FailurePolicy> {
        let Self { name, action, limit, options, keys, timeout, breaker, .. } = self;
        LimiterBuilder { name, action, limit, options, keys, policy, timeout, breaker }
    }
}

impl<P> LimiterBuilder<P> {
    /// What is enforced. Required.
    #[must_use]
    pub fn limit(mut self, limit: Limit) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Where its keys are. Required.
    #[must_use]
    pub fn key_space(mut self, keys: KeySpace) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Options of every call; none by default.
    #[must_use]
    pub const fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// What the limit guards, for the label `action` of the metrics: the name of the limiter by default. At most 64 letters,
    /// digits, `.`, `_` and `-`.
    #[must_use]
    pub fn action(mut self, action: &str) -> Self {
        self.action = Some(action.to_owned());
        self
    }

    /// How long a call waits for the server: 50 ms by default. There is no retry.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// A breaker with other settings, or one that limiters of the same server share.
    #[must_use]
    pub fn breaker(mut self, breaker: Breaker) -> Self {
        self.breaker = breaker;
        self
    }
}

impl LimiterBuilder<FailurePolicy> {
    /// The limiter, whose calls this backend decides.
    ///
    /// # Errors
    ///
    /// No limit or no key space; a name or an action that is empty, longer than 64 bytes, or has anything but letters, digits, `.`,
    /// `_` and `-`; options that the limit does not have.
    pub fn build(self, backend: impl Backend) -> Result<Limiter, ArgumentError> {
        self.build_shared(Arc::new(backend))
    }

    /// The same with a backend that others have as well.
    ///
    /// # Errors
    ///
    /// As [`LimiterBuilder::build`].
    pub fn build_shared(self, backend: Arc<dyn Backend>) -> Result<Limiter, ArgumentError> {
        let Self { name, action, limit, options, keys, policy, timeout, breaker } = self;
        let limit = limit.ok_or_else(|| ArgumentError::expecting("limit", "one"))?;
        let keys = keys.ok_or_else(|| ArgumentError::expecting("key_space", "one"))?;
        options.check(&limit)?;
        let probe = Subject::constant("name", "probe");
        keys.key(&name, &probe)?;
        let action = action.unwrap_or_else(|| name.clone());
        keys.key(&action, &probe).map_err(|_| ArgumentError::expecting("action", "a name, as a limit has"))?;
        let meters = Meters::new(name.clone(), action);
        Ok(Limiter(Arc::new(Inner { name, limit, options, keys, backend, policy, timeout, breaker, meters })))
    }
}
