//! What is enforced: a limit within the server's bounds, so that no call is refused for its arguments.

use std::{fmt, str::FromStr, time::Duration};

use limiter_core::{
    call::Limit as CoreLimit,
    fixed_window::Opening,
    limit::{BucketLimit, CAPACITY, FILL_MAX_US, INTERVAL_MS, LOG_LIMIT, RATE, WindowLimit},
    request::{self, Peek},
    time::{Interval, Span},
};

pub use limiter_core::record::Algorithm;

use crate::error::ArgumentError;

/// A refill rate: tokens a period, a rational that is never rounded.
///
/// ```
/// use std::time::Duration;
/// use limiter_client::Rate;
///
/// let rate = Rate::per(10, Duration::from_secs(60))?;
/// assert_eq!(rate, "10/m".parse()?);
/// # Ok::<(), limiter_client::ArgumentError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(limiter_core::limit::Rate);

impl Rate {
    /// `tokens` a `period`.
    ///
    /// # Errors
    ///
    /// `tokens` outside 1 to 10^12, or a period outside 1 ms to 3650 days or not in whole milliseconds.
    pub fn per(tokens: u64, period: Duration) -> Result<Self, ArgumentError> {
        let period = interval("period", period)?;
        match limiter_core::limit::Rate::new(tokens, period) {
            Some(rate) => Ok(Self(rate)),
            None => Err(ArgumentError::outside("rate", tokens, RATE)),
        }
    }

    /// `tokens` a second.
    ///
    /// # Errors
    ///
    /// `tokens` outside 1 to 10^12.
    pub fn per_second(tokens: u64) -> Result<Self, ArgumentError> {
        Self::per(tokens, Duration::from_secs(1))
    }

    /// Tokens gained a period.
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.0.tokens.get()
    }

    /// The period.
    #[must_use]
    pub const fn period(&self) -> Duration {
        Duration::from_millis(self.0.period.millis())
    }
}

/// `n` (a second) or `n/duration`, as in a command.
impl FromStr for Rate {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        request::rate(text.as_bytes()).map(Self).map_err(|error| ArgumentError::of("rate", &error))
    }
}

/// A limit, and with it the algorithm that enforces it.
///
/// Made by a constructor for each algorithm, or read from the words of a command:
///
/// ```
/// use std::time::Duration;
/// use limiter_client::{Limit, Rate};
///
/// let burst = Limit::token_bucket(100, Rate::per_second(10)?)?;
/// assert_eq!(burst, "TOKENBUCKET 100 10/s".parse()?);
/// assert_eq!(burst.max(), 100);
/// assert_eq!(burst.window(), Duration::from_secs(10));
/// # Ok::<(), limiter_client::ArgumentError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit(CoreLimit);

impl Limit {
    /// At most `capacity` tokens at once, refilled at `rate`: `RL.TOKENBUCKET`. A capacity of 0 refuses everything.
    ///
    /// # Errors
    ///
    /// A capacity above 10^12, or a rate that fills the bucket in more than 3,650,000 days.
    pub fn token_bucket(capacity: u64, rate: Rate) -> Result<Self, ArgumentError> {
        bucket("capacity", capacity, rate).map(CoreLimit::TokenBucket).map(Self)
    }

    /// At most `burst` at once, then spaced at `rate`: `RL.GCRA`. The same decisions as [`Limit::token_bucket`], in
    /// another vocabulary and another kind of state; a burst of 1 is strict spacing.
    ///
    /// # Errors
    ///
    /// A burst above 10^12, or a rate that fills the bucket in more than 3,650,000 days.
    pub fn gcra(burst: u64, rate: Rate) -> Result<Self, ArgumentError> {
        bucket("burst", burst, rate).map(CoreLimit::Gcra).map(Self)
    }

    /// At most `limit` in a window that the first admitted call opens: `RL.FIXED`.
    ///
    /// # Errors
    ///
    /// A limit above 10^12, or a window outside 1 ms to 3650 days or not in whole milliseconds.
    pub fn fixed(limit: u64, length: Duration) -> Result<Self, ArgumentError> {
        Ok(Self(CoreLimit::Fixed(window(limit, length)?, Opening::FirstCall)))
    }

    /// At most `limit` in a window that starts at `offset` + n × `length` since the epoch, UTC: `RL.FIXED ... ALIGNED`.
    /// The day of UTC+2 has an offset of 22 hours.
    ///
    /// # Errors
    ///
    /// As [`Limit::fixed`]; an offset that is not shorter than the window or not in whole milliseconds.
    pub fn fixed_aligned(limit: u64, length: Duration, offset: Duration) -> Result<Self, ArgumentError> {
        let limit = window(limit, length)?;
        match whole_millis(offset).filter(|&ms| ms < limit.window().millis()) {
            Some(ms) => Ok(Self(CoreLimit::Fixed(limit, Opening::Aligned { offset: Span::from_millis(ms) }))),
            None => {
                let expected = format!("whole milliseconds, less than the window of {length:?}");
                Err(ArgumentError::new("offset", format!("{offset:?}"), expected))
            }
        }
    }

    /// Never more than `limit` in any stretch of `length`, exactly: `RL.SLIDINGLOG`. 8 to 16 bytes an event.
    ///
    /// # Errors
    ///
    /// As [`Limit::fixed`], and a limit above 10,000,000. The server's setting `rl.sliding-log-max-limit`, 1,000,000 by
    /// default, may be lower still; it answers an error then.
    pub fn sliding_log(limit: u64, length: Duration) -> Result<Self, ArgumentError> {
        if limit > LOG_LIMIT.max {
            return Err(ArgumentError::new("limit", limit, format!("an integer from 0 to {}", LOG_LIMIT.max)));
        }
        window(limit, length).map(CoreLimit::SlidingLog).map(Self)
    }

    /// About `limit` in any stretch of `length`, in constant memory: `RL.SLIDINGCOUNTER`.
    ///
    /// # Errors
    ///
    /// As [`Limit::fixed`].
    pub fn sliding_counter(limit: u64, length: Duration) -> Result<Self, ArgumentError> {
        window(limit, length).map(CoreLimit::SlidingCounter).map(Self)
    }

    /// The algorithm.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        self.0.algorithm()
    }

    /// The most that can pass at once: capacity, burst or limit.
    #[must_use]
    pub const fn max(&self) -> u64 {
        match &self.0 {
            CoreLimit::TokenBucket(limit) | CoreLimit::Gcra(limit) => limit.capacity(),
            CoreLimit::Fixed(limit, _) | CoreLimit::SlidingLog(limit) | CoreLimit::SlidingCounter(limit) => {
                limit.limit()
            }
        }
    }

    /// The window, or for a bucket the time in which it fills from empty, rounded up to the microsecond: [`Limit::max`]
    /// a window is the rate that can be kept up.
    #[must_use]
    pub fn window(&self) -> Duration {
        match &self.0 {
            CoreLimit::TokenBucket(limit) | CoreLimit::Gcra(limit) => {
                let debt = u128::from(limit.capacity()).saturating_mul(limit.rate().period.micros().into());
                let fill = debt.div_ceil(limit.rate().tokens.get().into());
                Duration::from_micros(u64::try_from(fill).unwrap_or(FILL_MAX_US))
            }
            CoreLimit::Fixed(limit, _) | CoreLimit::SlidingLog(limit) | CoreLimit::SlidingCounter(limit) => {
                Duration::from_millis(limit.window().millis())
            }
        }
    }

    /// Whether it is a bucket, which can be booked ahead with `RESERVE`.
    #[must_use]
    pub const fn is_bucket(&self) -> bool {
        matches!(self.0, CoreLimit::TokenBucket(_) | CoreLimit::Gcra(_))
    }

    /// The limit as the core decides by it.
    #[must_use]
    pub const fn core(&self) -> &CoreLimit {
        &self.0
    }
}

/// A limit of the core is within the same bounds.
impl From<CoreLimit> for Limit {
    fn from(limit: CoreLimit) -> Self {
        Self(limit)
    }
}

/// The words of a command after its key, without a cost and without options: `FIXED 1000 1d ALIGNED 22h`.
impl FromStr for Limit {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        let expected = || "an algorithm and its limit, such as TOKENBUCKET 100 10/s";
        let mut words = text.split_ascii_whitespace().map(str::as_bytes);
        match request::peek(&mut words, LOG_LIMIT.max) {
            Ok(Peek::Call(call)) if call.cost == 1 && call.options.is_none() => Ok(Self(call.limit)),
            Err(request::RequestError::Argument(error)) => Err(ArgumentError::of("limit", &error)),
            _ => Err(ArgumentError::new("limit", text, expected())),
        }
    }
}

/// The words that [`Limit::from_str`] reads.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.algorithm().name().to_ascii_uppercase();
        match &self.0 {
            CoreLimit::TokenBucket(limit) | CoreLimit::Gcra(limit) => {
                write!(f, "{name} {} {}/{}ms", limit.capacity(), limit.rate().tokens, limit.rate().period.millis())
            }
            CoreLimit::Fixed(limit, opening) => {
                write!(f, "{name} {} {}ms", limit.limit(), limit.window().millis())?;
                match opening {
                    Opening::FirstCall => Ok(()),
                    Opening::Aligned { offset } => write!(f, " ALIGNED {}ms", offset.ceil_ms()),
                }
            }
            CoreLimit::SlidingLog(limit) | CoreLimit::SlidingCounter(limit) => {
                write!(f, "{name} {} {}ms", limit.limit(), limit.window().millis())
            }
        }
    }
}

fn bucket(argument: &'static str, capacity: u64, rate: Rate) -> Result<BucketLimit, ArgumentError> {
    if !CAPACITY.holds(capacity) {
        return Err(ArgumentError::outside(argument, capacity, CAPACITY));
    }
    BucketLimit::new(capacity, rate.0).ok_or_else(|| {
        let days = FILL_MAX_US / 86_400_000_000;
        let got = format!("{} a {:?}", rate.tokens(), rate.period());
        ArgumentError::new("rate", got, format!("one that fills the bucket within {days} days"))
    })
}

fn window(limit: u64, length: Duration) -> Result<WindowLimit, ArgumentError> {
    WindowLimit::new(limit, interval("window", length)?).ok_or_else(|| ArgumentError::outside("limit", limit, CAPACITY))
}

/// A period, a window or a block.
pub(crate) fn interval(argument: &'static str, length: Duration) -> Result<Interval, ArgumentError> {
    whole_millis(length).and_then(Interval::from_millis).ok_or_else(|| {
        let days = INTERVAL_MS.max / 86_400_000;
        let expected = format!("whole milliseconds, from {} ms to {days} days", INTERVAL_MS.min);
        ArgumentError::new(argument, format!("{length:?}"), expected)
    })
}

fn whole_millis(length: Duration) -> Option<u64> {
    let whole = length.subsec_nanos().is_multiple_of(1_000_000);
    u64::try_from(length.as_millis()).ok().filter(|_| whole)
}
