//! Calls one after another, each told in terms of what the one before was answered.

use limiter_core::limit::{Bound, COST, FILL_MAX_US, INTERVAL_MS, RESERVE_MS};
use limiter_core::options::Options;
use limiter_core::time::{Interval, Span, Timestamp};
use std::fmt;

/// The numbers of one call. An algorithm uses those it has a word for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Capacity, burst or limit.
    pub amount: u64,
    /// Tokens a period.
    pub tokens: u64,
    /// Period or window.
    pub interval_ms: u64,
    pub alignment: Option<Offset>,
}

impl Numbers {
    pub fn interval_us(&self) -> u64 {
        self.interval_ms * 1_000
    }

    /// The tokens of a rate that fills the bucket within the bound.
    pub fn filling_tokens(&self) -> u64 {
        let full = u128::from(self.amount) * u128::from(self.interval_us());
        let least = full.div_ceil(u128::from(FILL_MAX_US));
        self.tokens.max(u64::try_from(least).unwrap())
    }

    /// The time to fill or the window's length, rounded down: the span of the clock rule.
    pub fn span_us(&self, bucket: bool) -> u64 {
        if !bucket {
            return self.interval_us();
        }
        let full = u128::from(self.amount) * u128::from(self.interval_us());
        u64::try_from(full / u128::from(self.filling_tokens())).unwrap()
    }

    pub fn offset_ms(&self) -> Option<u64> {
        self.alignment.map(|offset| match offset {
            Offset::None => 0,
            Offset::Last => self.interval_ms - 1,
            Offset::Part(of_256) => u64::try_from(u128::from(self.interval_ms) * u128::from(of_256) / 256).unwrap(),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    None,
    Last,
    Part(u8),
}

/// A cost, in terms of what the call before was told.
#[derive(Clone, Copy, Debug)]
pub enum Cost {
    Exactly(u64),
    /// What was left, and this many more.
    Remaining(i64),
    /// The limit, and this many more.
    Limit(i64),
}

/// When a call comes, in terms of what the call before was told.
#[derive(Clone, Copy, Debug)]
pub enum Pause {
    None,
    Forward(u64),
    Back(u64),
    /// The wait that a refusal asked for, and this much more.
    Retry(i64),
    /// The time until as good as new, and this much more.
    Reset(i64),
    /// A part of that time, in 256ths.
    PartOfReset(u8),
    /// A step back by the limiter's span, and this much more.
    SpanBack(i64),
    /// A step back by a part of the span, in 256ths.
    PartOfSpanBack(u8),
    /// Forward by the period or window, and this much more.
    Interval(i64),
    /// Forward by a part of it, in 256ths.
    PartOfInterval(u8),
    At(u64),
}

/// A duration in whole milliseconds, in terms of what the call before was told.
#[derive(Clone, Copy, Debug)]
pub enum Duration {
    Exactly(u64),
    /// The wait that a refusal asked for, rounded down, and this much more.
    Retry(i64),
    /// The time until as good as new, rounded down, and this much more.
    Reset(i64),
    /// A part of the period or window, in 256ths.
    PartOfInterval(u8),
}

/// The options of a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asks {
    pub partial: bool,
    pub strict: bool,
    /// Only a bucket is asked this, and only without `partial`.
    pub reserve: Option<Duration>,
    pub block: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub numbers: Numbers,
    pub cost: Cost,
    pub pause: Pause,
    pub asks: Asks,
}

#[derive(Clone)]
pub struct Scenario {
    pub start: u64,
    pub calls: Vec<Call>,
}

/// A line a call, however the rest is printed.
impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "from {} us:", self.start)?;
        self.calls.iter().try_for_each(|call| writeln!(f, "{}", format_args!("{call:?}")))
    }
}

/// What the next call's cost and time may refer to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    pub limit: u64,
    pub remaining: u64,
    pub retry_us: u64,
    pub reset_us: u64,
    pub span_us: u64,
    pub interval_us: u64,
}

impl Duration {
    fn resolve(self, told: &Told, bound: Bound) -> u64 {
        let ms = match self {
            Self::Exactly(ms) => ms,
            Self::Retry(more) => (told.retry_us / 1_000).saturating_add_signed(more),
            Self::Reset(more) => (told.reset_us / 1_000).saturating_add_signed(more),
            Self::PartOfInterval(of_256) => told.interval_us / 1_000 / 256 * u64::from(of_256),
        };
        ms.clamp(bound.min, bound.max)
    }
}

impl Asks {
    pub fn resolve(self, told: &Told, bucket: bool) -> Options {
        let reserve = self.reserve.filter(|_| bucket && !self.partial);
        Options {
            partial: self.partial,
            strict: self.strict,
            reserve: reserve.map(|wait| Span::from_millis(wait.resolve(told, RESERVE_MS))),
            block: self.block.map(|length| Interval::from_millis(length.resolve(told, INTERVAL_MS)).unwrap()),
        }
    }
}

impl Cost {
    pub fn resolve(self, told: &Told) -> u64 {
        let cost = match self {
            Self::Exactly(cost) => cost,
            Self::Remaining(more) => told.remaining.saturating_add_signed(more),
            Self::Limit(more) => told.limit.saturating_add_signed(more),
        };
        cost.clamp(COST.min, COST.max)
    }
}

impl Pause {
    pub fn resolve(self, now: u64, told: &Told) -> u64 {
        let part = |whole: u64, of_256: u8| u64::try_from(u128::from(whole) * u128::from(of_256) / 256).unwrap();
        let later = match self {
            Self::None => now,
            Self::Forward(us) => now.saturating_add(us),
            Self::Back(us) => now.saturating_sub(us),
            Self::Retry(more) => now.saturating_add(told.retry_us.saturating_add_signed(more)),
            Self::Reset(more) => now.saturating_add(told.reset_us.saturating_add_signed(more)),
            Self::PartOfReset(of_256) => now.saturating_add(part(told.reset_us, of_256)),
            Self::SpanBack(more) => now.saturating_sub(told.span_us).saturating_add_signed(-more),
            Self::PartOfSpanBack(of_256) => now.saturating_sub(part(told.span_us, of_256)),
            Self::Interval(more) => now.saturating_add(told.interval_us).saturating_add_signed(more),
            Self::PartOfInterval(of_256) => now.saturating_add(part(told.interval_us, of_256)),
            Self::At(us) => us,
        };
        later.min(Timestamp::MAX.micros())
    }
}
