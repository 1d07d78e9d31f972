//! The usage of several limiters in one key, put right after the fact.

use super::made::{Made, Unused};
use super::{ListChange, Verdict};
use crate::adjust::{self, AdjustError, Delta};
use crate::call::{self, Change};
use crate::compound::{Compound, Head, LIMITS_MAX};
use crate::decision::Decision;
use crate::general::{self, Outcome};
use crate::options::Options;
use crate::time::Timestamp;

/// Changes the usage of every limit of a list that has any, or of the one in this `place`, counted from 0: what a call of
/// cost 0 is answered after it, and how the bytes change. `None` if none of them has any. Either all are changed or none is.
///
/// `record` is the list, and `head` gets what the change needs of the new record. `log_limit_max` is the setting
/// `rl.sliding-log-max-limit`.
///
/// # Errors
///
/// As for a single limiter, for any of them.
pub fn adjust<'a>(
    record: &'a [u8],
    delta: Delta,
    place: Option<usize>,
    now: Timestamp,
    log_limit_max: u64,
    head: &mut Head<LIMITS_MAX>,
) -> Result<Option<(Decision, ListChange<'a>)>, AdjustError> {
    let list = Compound::open(record)?;
    list.check()?;
    let mut verdict = Verdict::<LIMITS_MAX>::new();
    let (mut found, mut changed) = (false, false);
    let mut only = None;
    let mut made = Made::begin(head, list.len());
    for (at, part) in list.parts().enumerate() {
        let wanted = place.is_none_or(|place| place == at);
        let adjusted = if wanted { adjust::adjust(part.record, delta, now, log_limit_max)? } else { None };
        let (decision, change, block) = match adjusted {
            Some(Outcome { decision, change, block, .. }) => {
                found = true;
                only = only.or(Some(decision));
                (decision, change, block)
            }
            None => {
                let limit = call::stored_limit(part.record)?;
                let looked = general::decide(Some(part.record), &limit, now, 0, &Options::NONE)?;
                (looked.decision, Change::None, None)
            }
        };
        // The whole is told by the limit with the least left.
        verdict.add(decision, 1, None);
        changed |= change != Change::None;
        made.add(part.window, Some(part.record), change, block, || Unused::Nothing);
    }
    let change = if changed { made.finish(Some(record), true) } else { ListChange::None };
    let decision = if place.is_some() { only } else { Some(verdict.whole()) };
    Ok(decision.filter(|_| found).map(|decision| (decision, change)))
}
