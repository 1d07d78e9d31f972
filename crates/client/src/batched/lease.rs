//! What makes tokens that are served later than they were taken add up.
//!
//! What is taken from the server at one moment is served up to a *life* later. So that no stretch of time sees more served
//! than the limit allows in it, the server is asked under a limit that is tighter by just that:
//!
//! * A bucket of capacity C and rate r: what is served in a stretch D was taken in D + life, which is at most C' + r × (D + life).
//!   With C' = C − r × life that is the C + r × D of the limit.
//! * A sliding window W: what is served in W was taken in W + life. The window asked for is that long; for a log it is another life
//!   longer, since what is given back leaves it newest first, whoever took it.
//! * A fixed window: tokens die with the window they were taken in.

use std::time::Duration;

use limiter_core::{
    call::Limit as CoreLimit,
    limit::{BucketLimit, WindowLimit},
    time::Interval,
};
use tokio::time::Instant;

use crate::limit::Limit;

/// A life is at most this part of a window, or of the time in which a bucket fills.
const PART_OF_WINDOW: u32 = 20;
/// A batch is at most this part of the limit: no process takes all there is.
const PART_OF_LIMIT: u64 = 5;
/// How long what is given back may be on its way.
const ON_ITS_WAY: Duration = Duration::from_millis(50);

/// The terms on which tokens of one limit are taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lease {
    /// The limit that is asked for.
    pub(super) tight: Limit,
    /// How long a token can be served.
    pub(super) life: Duration,
    /// The largest batch.
    pub(super) batch_max: u64,
}

/// Tokens that were taken together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lot {
    pub(super) tokens: u64,
    /// Just before they were taken.
    pub(super) asked: Instant,
    /// When they can be served no more.
    pub(super) dies: Instant,
    /// What the server said when they were taken.
    pub(super) reset: Duration,
}

impl Lease {
    /// `None` for a limit that is too small, or too short, for batches.
    pub(super) fn of(limit: &Limit, life_max: Duration, batch_max: u64) -> Option<Self> {
        let part = limit.window().checked_div(PART_OF_WINDOW)?.min(life_max);
        let life_ms = u64::try_from(part.as_millis()).ok().filter(|ms| *ms > 0)?;
        let life = Duration::from_millis(life_ms);
        let bucket = |bucket: &BucketLimit| {
            let flow = flow(bucket, life);
            BucketLimit::new(bucket.capacity().checked_sub(flow)?, bucket.rate())
        };
        let longer = |window: &WindowLimit, lives: u64| {
            let length = life_ms.checked_mul(lives)?.checked_add(window.window().millis())?;
            WindowLimit::new(window.limit(), Interval::from_millis(length)?)
        };
        let tight = Limit::from(match limit.core() {
            CoreLimit::TokenBucket(limit) => CoreLimit::TokenBucket(bucket(limit)?),
            CoreLimit::Gcra(limit) => CoreLimit::Gcra(bucket(limit)?),
            CoreLimit::Fixed(limit, opening) => CoreLimit::Fixed(*limit, *opening),
            CoreLimit::SlidingLog(limit) => CoreLimit::SlidingLog(longer(limit, 2)?),
            CoreLimit::SlidingCounter(limit) => CoreLimit::SlidingCounter(longer(limit, 1)?),
        });
        let batch_max = tight.max().checked_div(PART_OF_LIMIT)?.min(batch_max);
        (batch_max > 1).then_some(Self { tight, life, batch_max })
    }

    /// Until when tokens can be served that were taken after `asked`, when the server said that all is new after `reset`.
    pub(super) fn dies(&self, asked: Instant, reset: Duration) -> Instant {
        let life = match self.tight.core() {
            CoreLimit::Fixed(..) => self.life.min(reset),
            _ => self.life,
        };
        later(asked, life)
    }

    /// How many of a lot's tokens can be given back at `now` without anybody else's going with them. `closing` when it is the last
    /// thing that is done.
    pub(super) fn returnable(&self, lot: &Lot, now: Instant, closing: bool) -> u64 {
        let there = later(now, ON_ITS_WAY);
        let within = |end: Duration| there < later(lot.asked, end);
        let whole = |can: bool| if can { lot.tokens } else { 0 };
        match self.tight.core() {
            // As much as has flowed back since may have done so because of these very tokens.
            CoreLimit::TokenBucket(limit) | CoreLimit::Gcra(limit) => {
                lot.tokens.saturating_sub(flow(limit, there.saturating_duration_since(lot.asked)))
            }
            CoreLimit::Fixed(..) => whole(within(lot.reset)),
            // Newest first: in a row, others' events would go instead.
            CoreLimit::SlidingLog(_) => whole(closing && now < lot.dies),
            // The window in which they were counted: afterwards others' would be given back.
            CoreLimit::SlidingCounter(limit) => {
                whole(within(lot.reset.saturating_sub(Duration::from_millis(limit.window().millis()))))
            }
        }
    }

    /// How long it takes at most until `missing` more can pass, when nothing is left.
    pub(super) fn wait_for(&self, missing: u64, reset: Duration) -> Duration {
        match self.tight.core() {
            CoreLimit::TokenBucket(limit) | CoreLimit::Gcra(limit) => {
                let rate = limit.rate();
                let units = u128::from(missing).saturating_mul(rate.period.micros().into());
                let micros = units.div_ceil(rate.tokens.get().into());
                Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
                    .min(reset.max(Duration::from_millis(1)))
            }
            _ => reset,
        }
    }
}

/// How much flows back into a bucket within `time`, rounded up.
fn flow(limit: &BucketLimit, time: Duration) -> u64 {
    let rate = limit.rate();
    let units = time.as_micros().saturating_mul(rate.tokens.get().into());
    u64::try_from(units.div_ceil(rate.period.micros().max(1).into())).unwrap_or(u64::MAX)
}

/// `time` after `start`; a time that no clock shows is never.
pub(super) fn later(start: Instant, time: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(86_400 * 365);
    start.checked_add(time.min(FAR)).unwrap_or(start)
}
