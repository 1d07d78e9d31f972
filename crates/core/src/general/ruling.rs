//! What a call comes to, before it is told in bytes: what it takes, what it leaves behind when it is refused, and whether the
//! key is blocked from now on.

use super::{Extra, State};
use crate::block::Block;
use crate::decision::{Decision, Retry};
use crate::options::Options;
use crate::time::{Span, Timestamp};

/// What is asked, whatever the limits.
pub(super) struct Request<'o> {
    pub(super) now: Timestamp,
    pub(super) cost: u64,
    pub(super) options: &'o Options,
    /// Refused by somebody else.
    pub(super) forced: bool,
}

/// What a call comes to.
pub(super) struct Ruling<S> {
    pub(super) decision: Decision,
    pub(super) used: u64,
    pub(super) extra: Option<Extra>,
    /// The state to store, if it changes.
    pub(super) state: Option<S>,
    /// The block that the key is under from now on, if it is.
    pub(super) block: Option<Block>,
}

/// The call on a key that is under `block`, or under none.
pub(super) fn ruling<'a, S: State<'a>>(
    stored: Option<S>,
    block: Option<Block>,
    limit: &S::Limit,
    request: &Request<'_>,
) -> Ruling<S> {
    let &Request { now, cost, options, forced } = request;
    if cost == 0 {
        let (decision, state) = S::decide(stored, limit, now, 0);
        let (used, extra) = (decision.used, extra(options, 0, Span::ZERO));
        return Ruling { decision: under(block, decision, now), used, extra, state, block };
    }
    if block.is_none()
        && !forced
        && let Some((decision, extra, state)) = pass(stored, limit, request)
    {
        return Ruling { decision, used: decision.used, extra, state, block: None };
    }
    refusal(stored, block, limit, request)
}

/// The sixth element: of a call that was granted so much, or has to wait so long.
const fn extra(options: &Options, granted: u64, wait: Span) -> Option<Extra> {
    match options {
        Options { partial: true, .. } => Some(Extra::Granted(granted)),
        Options { reserve: Some(_), .. } => Some(Extra::Wait(wait)),
        _ => None,
    }
}

/// A call that takes something: the whole cost, or what is left of it, or what is booked.
fn pass<'a, S: State<'a>>(
    stored: Option<S>,
    limit: &S::Limit,
    request: &Request<'_>,
) -> Option<(Decision, Option<Extra>, Option<S>)> {
    let &Request { now, cost, options, .. } = request;
    let (decision, state) = S::decide(stored, limit, now, cost);
    let wait = match decision.retry {
        Retry::Now => return Some((decision, extra(options, cost, Span::ZERO), state)),
        Retry::After(wait) => Some(wait),
        Retry::Never => None,
    };
    if options.partial && decision.remaining() > 0 {
        let granted = decision.remaining();
        let (decision, state) = S::decide(stored, limit, now, granted);
        return Some((decision, extra(options, granted, Span::ZERO), state));
    }
    let wait = wait.filter(|wait| options.reserve.is_some_and(|most| *wait <= most))?;
    let (_, corrected) = S::decide(stored, limit, now, 0);
    let (decision, booked) = S::book(corrected.or(stored), limit, now, cost)?;
    Some((decision, extra(options, 0, wait), Some(booked)))
}

/// A call that takes nothing: what it leaves behind all the same, and how long it is to wait.
fn refusal<'a, S: State<'a>>(
    stored: Option<S>,
    block: Option<Block>,
    limit: &S::Limit,
    request: &Request<'_>,
) -> Ruling<S> {
    let &Request { now, cost, options, forced } = request;
    let (mut usage, corrected) = S::decide(stored, limit, now, 0);
    let settled = corrected.or(stored);
    // The limits that a refused call stores may leave the time too far ahead of a clock that is behind. It is set right at
    // once, or the wait that is told would not be the whole one.
    let set_right = |state: S| S::decide(Some(state), limit, now, 0).1.unwrap_or(state);
    let counted = if options.strict { S::count(settled, limit, now, cost).map(set_right) } else { None };
    let settled = counted.or(settled);
    if counted.is_some() {
        (usage, _) = S::decide(counted, limit, now, 0);
    }

    // What the same call will need: of a partial one, anything at all.
    let asked = if options.partial { 1 } else { cost };
    let (own, _) = S::decide(settled, limit, now, asked);
    let own_wait = match own.retry {
        Retry::Never => None,
        Retry::Now => Some(Span::ZERO),
        Retry::After(wait) => Some(wait.less(options.reserve.unwrap_or_default())),
    };
    let block = match options.block {
        // What can never pass, or passes here, is no reason for a block.
        _ if own_wait.is_none() || (forced && block.is_none() && own.allowed()) => block,
        None => block,
        Some(length) => {
            let anew = Block::new(now, length);
            match block {
                None => Some(anew),
                Some(present) if options.strict && anew.ends() > present.ends() => Some(anew),
                Some(present) => Some(present),
            }
        }
    };
    let left = block.map_or(Span::ZERO, |block| block.left(now));
    let retry = match own_wait.map(|wait| wait.max(left)) {
        None => Retry::Never,
        Some(Span::ZERO) if forced => Retry::Now,
        // A refusal never says 0, even if counting it has just set a wrong clock right, and could now be booked.
        Some(wait) => Retry::After(wait.max(Span::from_micros(1))),
    };
    let decision = Decision { retry, ..under(block, usage, now) };
    let extra = extra(options, 0, Span::ZERO);
    Ruling { decision, used: usage.used, extra, state: counted.or(corrected), block }
}

/// A decision on a key that may be blocked: nothing is left while it is.
pub(crate) fn under(block: Option<Block>, decision: Decision, now: Timestamp) -> Decision {
    let Some(block) = block else { return decision };
    let Decision { limit, used, reset, .. } = decision;
    Decision { used: used.max(limit), reset: reset.max(block.left(now)), ..decision }
}
