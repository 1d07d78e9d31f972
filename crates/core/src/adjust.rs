//! Usage put right after the fact: more is charged without asking, or some is given back.
//!
//! A caller that cannot know its cost in advance takes an estimate first, and settles when it knows. What is adjusted is
//! the usage that still counts, under the limits it was stored with; where nothing counts any more there is nothing to
//! adjust, whether or not the key is still there.

use crate::bucket::Bucket;
use crate::call::Change;
use crate::exact::{product, quotient_up_u64};
use crate::fixed_window::{FixedLimit, FixedWindow, Opening};
use crate::general::{Outcome, State, read, store, under};
use crate::limit::{BucketLimit, FILL_MAX_US, USED_MAX, WindowLimit};
use crate::record::{Algorithm, RecordError, open};
use crate::sliding_counter::SlidingCounter;
use crate::sliding_log::Revised;
use crate::time::{Span, Timestamp};

/// By how much usage is changed, in tokens or events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delta {
    /// So much more is used. It may be more than the limit.
    Charge(u64),
    /// So much was not needed; what exceeds the usage is not given back.
    GiveBack(u64),
}

impl Delta {
    /// Whether it changes nothing.
    #[must_use]
    pub const fn is_nothing(self) -> bool {
        matches!(self, Self::Charge(0) | Self::GiveBack(0))
    }

    /// `used` after it.
    pub(crate) const fn of(self, used: u64) -> u64 {
        match self {
            Self::Charge(more) => used.saturating_add(more),
            Self::GiveBack(less) => used.saturating_sub(less),
        }
    }
}

/// What a charge would leave behind, and nothing may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// More in use than [`USED_MAX`].
    Used,
    /// A debt that takes longer than [`FILL_MAX_US`] to flow back.
    Drain,
    /// More events in a log than the setting `rl.sliding-log-max-limit`, which is this.
    Events(u64),
}

/// Why usage was not adjusted. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdjustError {
    /// The bytes are not limiter state, or are of a newer version.
    Record(RecordError),
    /// The charge is too large.
    Excess(Excess),
}

impl From<RecordError> for AdjustError {
    fn from(error: RecordError) -> Self {
        Self::Record(error)
    }
}

impl From<Excess> for AdjustError {
    fn from(excess: Excess) -> Self {
        Self::Excess(excess)
    }
}

/// Changes the usage that `record` holds at `now`: what a call of cost 0 is answered after it, and how the bytes change;
/// `None` if nothing is in use. A block stays as it is.
///
/// `log_limit_max` is the setting `rl.sliding-log-max-limit`.
///
/// # Errors
///
/// A record that is not limiter state or was written by a newer version, or a charge beyond the bounds.
#[cold]
pub fn adjust(
    record: &[u8],
    delta: Delta,
    now: Timestamp,
    log_limit_max: u64,
) -> Result<Option<Outcome<'_>>, AdjustError> {
    let adjustment = Adjustment { delta, now, events_max: log_limit_max };
    let algorithm = open(record)?.algorithm;
    match algorithm {
        Algorithm::TokenBucket | Algorithm::Gcra => state::<Bucket>(record, algorithm, &adjustment),
        Algorithm::Fixed => state::<FixedWindow>(record, algorithm, &adjustment),
        Algorithm::SlidingLog => state::<Revised<'_>>(record, algorithm, &adjustment),
        Algorithm::SlidingCounter => state::<SlidingCounter>(record, algorithm, &adjustment),
    }
}

/// What is asked, whatever the state.
pub(crate) struct Adjustment {
    pub(crate) delta: Delta,
    pub(crate) now: Timestamp,
    /// The most events that a log may be left with.
    pub(crate) events_max: u64,
}

/// State whose usage can be changed.
pub(crate) trait Adjustable<'a>: State<'a> {
    /// Whether a charge can be the first usage that counts; a fixed window must be open for it.
    const STARTS: bool = true;

    /// The limits it was stored with.
    fn stored_limit(&self) -> Self::Limit;

    /// This state with its usage changed; the clock rule has been applied.
    fn adjusted(self, adjustment: &Adjustment) -> Result<Self, Excess>;
}

fn state<'a, S: Adjustable<'a>>(
    record: &'a [u8],
    algorithm: Algorithm,
    adjustment: &Adjustment,
) -> Result<Option<Outcome<'a>>, AdjustError> {
    let &Adjustment { delta, now, .. } = adjustment;
    let found = read::<S>(Some(record), algorithm)?;
    let Some(stored) = found.state else { return Ok(None) };
    let block = found.block.map(|block| block.corrected(now)).filter(|block| block.left(now) > Span::ZERO);
    let limit = stored.stored_limit();
    let (seen, corrected) = S::decide(Some(stored), &limit, now, 0);
    let idle = seen.reset == Span::ZERO;
    if idle && block.is_none() {
        return Ok(None);
    }
    // Where nothing is in use, a key that is there all the same is blocked.
    let starts = S::STARTS && matches!(delta, Delta::Charge(_));
    let (usage, state) = if delta.is_nothing() || (idle && !starts) {
        (seen, corrected)
    } else {
        let state = corrected.unwrap_or(stored).adjusted(adjustment)?;
        let (usage, _) = S::decide(Some(state), &limit, now, 0);
        within_bounds(delta, usage.used)?;
        (usage, Some(state))
    };
    let decision = under(block, usage, now);
    let unchanged = state.is_none() && (block.is_none() || block == found.block);
    let (change, block) = if unchanged {
        (Change::None, found.block)
    } else {
        let state = state.unwrap_or(stored);
        // State without usage stops mattering at once.
        let needed = if usage.reset == Span::ZERO { (now, Span::ZERO) } else { state.expires(now) };
        store(&state, algorithm, &found, block, needed, now)
    };
    Ok(Some(Outcome { decision, used: usage.used, extra: None, change, block }))
}

/// What is given back is never too much: usage that is out of bounds already can always be lowered.
pub(crate) const fn within_bounds(delta: Delta, used: u64) -> Result<(), Excess> {
    match delta {
        Delta::Charge(_) if used > USED_MAX => Err(Excess::Used),
        _ => Ok(()),
    }
}

impl Adjustable<'_> for Bucket {
    fn stored_limit(&self) -> BucketLimit {
        self.limit
    }

    fn adjusted(self, &Adjustment { delta, now, .. }: &Adjustment) -> Result<Self, Excess> {
        let rate = self.limit.rate();
        let flowed = product(rate.tokens.get(), now.since(self.updated).micros());
        let owed = self.debt.saturating_sub(flowed);
        let debt = match delta {
            Delta::Charge(more) => owed.saturating_add(product(more, rate.period.micros())),
            Delta::GiveBack(less) => owed.saturating_sub(product(less, rate.period.micros())),
        };
        if matches!(delta, Delta::Charge(_)) && quotient_up_u64(debt, rate.tokens) > FILL_MAX_US {
            // The usage is named first, where both are too much.
            within_bounds(delta, quotient_up_u64(debt, rate.period.get()))?;
            return Err(Excess::Drain);
        }
        let updated = if owed == 0 { now } else { self.updated.max(now) };
        Ok(Self { debt, updated, limit: self.limit })
    }
}

impl Adjustable<'_> for FixedWindow {
    const STARTS: bool = false;

    fn stored_limit(&self) -> FixedLimit {
        // An open window ends as it would have, wherever a new one would start.
        FixedLimit { limit: self.limit, opening: Opening::FirstCall }
    }

    fn adjusted(self, &Adjustment { delta, now, .. }: &Adjustment) -> Result<Self, Excess> {
        let updated = now.max(Timestamp::from_micros(self.start.try_into().unwrap_or(0)));
        Ok(Self { used: delta.of(self.used), updated, ..self })
    }
}

impl Adjustable<'_> for SlidingCounter {
    fn stored_limit(&self) -> WindowLimit {
        self.limit
    }

    fn adjusted(self, &Adjustment { delta, now, .. }: &Adjustment) -> Result<Self, Excess> {
        let rolled = self.rolled(now);
        let beyond = match delta {
            Delta::Charge(_) => 0,
            // The rest of what is given back was charged in the window before; it counts as it would not have then.
            Delta::GiveBack(less) => less.saturating_sub(rolled.current),
        };
        let (current, previous) = (delta.of(rolled.current), rolled.previous.saturating_sub(beyond));
        Ok(Self { current, previous, ..rolled })
    }
}
