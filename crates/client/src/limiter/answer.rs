//! Who answers a call: the server within its time, or else the failure policy.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::{Inner, Limiter};
use crate::{
    breaker::Pass,
    decision::{Decision, Source},
    error::{Error, Result},
    key::Key,
    options::Options,
    policy::{self, FailurePolicy, LocalShare},
};

/// The wait that a closed limiter names at least.
pub(super) const CLOSED_WAIT_MIN: Duration = Duration::from_millis(100);
/// And at most, whatever the breaker's pause is.
pub(super) const CLOSED_WAIT_MAX: Duration = Duration::from_secs(5);

/// Why the server has not decided.
pub(super) enum Failure {
    /// The call itself is wrong.
    Wrong(Error),
    /// The failure policy decides.
    Fallback(Fallback),
}

/// Who decides instead, and since when the server is known not to.
pub(super) struct Fallback {
    pub(super) kind: &'static str,
    pub(super) wait: Duration,
}

impl Limiter {
    /// Waits for an answer of the server, unless it is known not to answer.
    pub(super) async fn ask<T>(
        &self,
        answer: impl Future<Output = Result<T>>,
        source: impl FnOnce(&T) -> Source,
    ) -> Result<T, Failure> {
        let Inner { breaker, meters, timeout: most, .. } = &*self.0;
        let pass = match breaker.admit() {
            Ok(pass) => pass,
            Err(wait) => {
                meters.erred(&Error::Unavailable);
                return Err(Failure::Fallback(Fallback { kind: Error::Unavailable.kind(), wait }));
            }
        };
        let start = Instant::now();
        let answer = timeout(*most, answer).await.unwrap_or(Err(Error::Timeout(*most)));
        match answer {
            // What was decided in this process says nothing of the server.
            Ok(answer) if source(&answer) != Source::Server => Ok(answer),
            Ok(answer) => {
                meters.took(start.elapsed());
                meters.turned(pass.answered(), self.mode(), "");
                Ok(answer)
            }
            Err(error @ Error::Argument(_)) => Err(Failure::Wrong(error)),
            Err(error) => {
                meters.took(start.elapsed());
                Err(self.failure(pass, error))
            }
        }
    }

    #[cold]
    fn failure(&self, pass: Pass<'_>, error: Error) -> Failure {
        let Inner { breaker: _, meters, .. } = &*self.0;
        if error.is_callers() {
            meters.turned(pass.answered(), self.mode(), error.kind());
            return Failure::Wrong(error);
        }
        meters.erred(&error);
        meters.turned(pass.failed(), self.mode(), error.kind());
        Failure::Fallback(Fallback { kind: error.kind(), wait: Duration::ZERO })
    }

    #[cold]
    pub(super) fn fall_back(&self, key: &Key, cost: u64, options: Options, fallback: &Fallback) -> Result<Decision> {
        let Inner { limit, meters, policy, .. } = &*self.0;
        meters.fell_back(self.mode(), fallback.kind);
        match policy {
            FailurePolicy::Open => Ok(policy::open(limit, cost, &options)),
            FailurePolicy::Closed => {
                Ok(policy::closed(limit, cost, &options, fallback.wait.clamp(CLOSED_WAIT_MIN, CLOSED_WAIT_MAX)))
            }
            FailurePolicy::Local(share) => {
                let options = self.local_options(share, options);
                share.engine().call(key, &share.share(limit), cost, options, true)
            }
        }
    }

    /// A share of another algorithm may not have every option.
    pub(super) fn local_options(&self, share: &LocalShare, options: Options) -> Options {
        if options.check(&share.share(&self.0.limit)).is_ok() { options } else { Options::NONE }
    }

    pub(super) fn mode(&self) -> Source {
        match self.0.policy {
            FailurePolicy::Open => Source::Open,
            FailurePolicy::Closed => Source::Closed,
            FailurePolicy::Local(_) => Source::Local,
        }
    }
}
