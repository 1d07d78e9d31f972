//! What was decided.

use std::time::Duration;

use crate::options::Options;

/// When the same call can succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// It was allowed.
    Now,
    /// It was refused, and succeeds after this wait if nobody else calls; never zero.
    After(Duration),
    /// It can never succeed: the cost exceeds what can pass at once.
    Never,
}

/// Who decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// The server: the limit as it is shared by everybody.
    Server,
    /// This process, in front of a server that was not asked: from what a [batch](crate::Batched) holds, or by a
    /// [guard](crate::Guarded).
    Memory,
    /// This process, by its own share of the limit: the server did not answer, or there is none.
    Local,
    /// Nobody: the server did not answer, and calls pass when it does not.
    Open,
    /// Nobody: the server did not answer, and calls are refused when it does not.
    Closed,
}

impl Source {
    /// A word for it in metrics and logs: `server`, `memory`, `local`, `open` or `closed`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Memory => "memory",
            Self::Local => "local",
            Self::Open => "open",
            Self::Closed => "closed",
        }
    }
}

/// The verdict on one call. A refusal is one, and no error.
///
/// Times are as exact as who decides tells them: whole milliseconds from a server, waits rounded up; microseconds in this process.
///
/// ```
/// use std::time::Duration;
/// use limiter_client::{Decision, Retry};
///
/// fn status(decision: &Decision) -> String {
///     match decision.retry_after {
///         Retry::Now => format!("{} of {} left", decision.remaining, decision.limit),
///         Retry::After(wait) => format!("again in {wait:?}"),
///         Retry::Never => format!("more than {} never pass", decision.limit),
///     }
/// }
/// assert_eq!(status(&Decision::allowed(5, 4, Duration::from_secs(60))), "4 of 5 left");
/// let wait = Retry::After(Duration::from_millis(1_500));
/// assert_eq!(status(&Decision::refused(5, 0, wait, Duration::from_secs(60))), "again in 1.5s");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// Whether the call may go on.
    pub allowed: bool,
    /// The most that can pass at once: capacity, burst or limit.
    pub limit: u64,
    /// The largest cost that would still be allowed at this instant, after this call.
    pub remaining: u64,
    /// When the same call can succeed.
    pub retry_after: Retry,
    /// How long until the limiter is as good as new if nobody calls; zero when nothing is used.
    pub reset_after: Duration,
    /// Who decided.
    pub source: Source,
    /// With [`Options::partial`]: how much of the cost was taken; 0 if refused.
    pub granted: Option<u64>,
    /// With [`Options::reserve`]: how long the caller has to wait before it goes on; zero if it need not, or was refused.
    pub wait: Option<Duration>,
    /// The sixth integer of a reply, until the options say what it means.
    pub(crate) sixth: Option<u64>,
}

impl Decision {
    /// A call that was let in by the server.
    #[must_use]
    pub const fn allowed(limit: u64, remaining: u64, reset_after: Duration) -> Self {
        let (retry_after, source) = (Retry::Now, Source::Server);
        Self {
            allowed: true,
            limit,
            remaining,
            retry_after,
            reset_after,
            source,
            granted: None,
            wait: None,
            sixth: None,
        }
    }

    /// A call that was refused by the server.
    #[must_use]
    pub const fn refused(limit: u64, remaining: u64, retry_after: Retry, reset_after: Duration) -> Self {
        Self { allowed: false, retry_after, ..Self::allowed(limit, remaining, reset_after) }
    }

    /// The same, decided by somebody else.
    #[must_use]
    pub const fn by(mut self, source: Source) -> Self {
        self.source = source;
        self
    }

    /// The reply to a call with these options: gives its sixth integer a meaning, [`Decision::granted`] or
    /// [`Decision::wait`]. Only who decodes the reply of a pipeline needs it.
    #[must_use]
    pub const fn to_call_with(mut self, options: &Options) -> Self {
        let Some(sixth) = self.sixth else { return self };
        if options.core().partial {
            self.granted = Some(sixth);
        } else if options.core().reserve.is_some() {
            self.wait = Some(Duration::from_millis(sixth));
        }
        self
    }
}

/// A decision of the core, exact to the microsecond, taken in this process.
impl From<limiter_core::decision::Decision> for Decision {
    fn from(decision: limiter_core::decision::Decision) -> Self {
        let retry_after = match decision.retry {
            limiter_core::decision::Retry::Now => Retry::Now,
            limiter_core::decision::Retry::After(wait) => Retry::After(Duration::from_micros(wait.micros())),
            limiter_core::decision::Retry::Never => Retry::Never,
        };
        let reset_after = Duration::from_micros(decision.reset.micros());
        Self {
            allowed: decision.allowed(),
            retry_after,
            source: Source::Local,
            ..Self::allowed(decision.limit, decision.remaining(), reset_after)
        }
    }
}

/// The verdict on a call under several limits: either every limit was charged, or none was.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AllDecision {
    /// The whole: limit and remaining of the binding limit, the wait until *all* would pass, the longest reset. Where a limit has
    /// `RESERVE`, [`Decision::wait`] is the longest of all.
    pub whole: Decision,
    /// Which limit binds, as an index into [`AllDecision::each`]: if refused, the one with the longest wait; if allowed, the one
    /// with the least left.
    pub binding: usize,
    /// The verdict of each limit, in the order of the call. In a refused call, a limit that would have let it in is allowed, and has
    /// taken nothing.
    pub each: Vec<Decision>,
}

impl AllDecision {
    /// A verdict made of its parts; `binding` is an index into `each`.
    #[must_use]
    pub const fn new(whole: Decision, binding: usize, each: Vec<Decision>) -> Self {
        Self { whole, binding, each }
    }

    /// Whether the call may go on.
    #[must_use]
    pub const fn allowed(&self) -> bool {
        self.whole.allowed
    }
}

/// The reply of `RL.THROTTLE`, in redis-cell's words, as a decision. Its waits are whole seconds, rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttled(pub Decision);
