//! The commands that take a decision: parse, open, decide, propagate, store, reply.

use std::ffi::CStr;

use limiter_core::decision::Decision;
use limiter_core::general::Extra;
use limiter_core::memo::Memo;
use limiter_core::record::Algorithm;
use limiter_core::request;

use crate::error::Error;
use crate::ffi::{Arguments, Context, Handler, MainThread};
use crate::stats::{Ending, count};
use crate::{clock, config, store};

/// The limits of recent calls.
static MEMO: MainThread<Memo> = MainThread::new(Memo::new());

/// `RL.TOKENBUCKET key capacity rate [cost] [option...]`
pub struct TokenBucket;
/// `RL.GCRA key burst rate [cost] [option...]`
pub struct Gcra;
/// `RL.FIXED key limit window [cost] [ALIGNED [offset]] [option...]`
pub struct Fixed;
/// `RL.SLIDINGLOG key limit window [cost] [option...]`
pub struct SlidingLog;
/// `RL.SLIDINGCOUNTER key limit window [cost] [option...]`
pub struct SlidingCounter;

impl Handler for TokenBucket {
    fn handle(ctx: Context, args: Arguments<'_>) {
        decide(ctx, args, Algorithm::TokenBucket, c"rl.tokenbucket");
    }
}

impl Handler for Gcra {
    fn handle(ctx: Context, args: Arguments<'_>) {
        decide(ctx, args, Algorithm::Gcra, c"rl.gcra");
    }
}

impl Handler for Fixed {
    fn handle(ctx: Context, args: Arguments<'_>) {
        decide(ctx, args, Algorithm::Fixed, c"rl.fixed");
    }
}

impl Handler for SlidingLog {
    fn handle(ctx: Context, args: Arguments<'_>) {
        decide(ctx, args, Algorithm::SlidingLog, c"rl.slidinglog");
    }
}

impl Handler for SlidingCounter {
    fn handle(ctx: Context, args: Arguments<'_>) {
        decide(ctx, args, Algorithm::SlidingCounter, c"rl.slidingcounter");
    }
}

/// The one flow of every decision; compiled once for each algorithm.
#[inline(always)]
fn decide(ctx: Context, args: Arguments<'_>, algorithm: Algorithm, event: &'static CStr) {
    match attempt(ctx, args, algorithm, event) {
        Ok((decision, extra)) => {
            count(algorithm, if decision.allowed() { Ending::Allowed } else { Ending::Refused });
            reply(ctx, &decision, extra);
        }
        Err(error) => {
            count(algorithm, Ending::Error);
            error.reply(ctx);
        }
    }
}

#[inline(always)]
fn attempt<'a>(
    ctx: Context,
    mut args: Arguments<'a>,
    algorithm: Algorithm,
    event: &'static CStr,
) -> Result<(Decision, Option<Extra>), Error<'a>> {
    let key = args.key().ok_or(Error::Arity)?;
    let call = MEMO.with(|memo| request::call_again(algorithm, &mut args, config::log_limit_max(), memo))?;
    let now = clock::now();
    if call.options.is_none() {
        return store::update(ctx, key, &call, now, event).map(|decision| (decision, None));
    }
    store::update_in_general(ctx, key, &call, now, event)
}

/// The five integers of every decision, and the sixth of options that have one.
#[inline(always)]
pub fn reply(ctx: Context, decision: &Decision, extra: Option<Extra>) {
    match extra {
        None => ctx.reply_integers(decision.reply()),
        Some(extra) => reply_six(ctx, decision, extra),
    }
}

#[cold]
fn reply_six(ctx: Context, decision: &Decision, extra: Extra) {
    let [allowed, limit, remaining, retry_after, reset_after] = decision.reply();
    ctx.reply_integers([allowed, limit, remaining, retry_after, reset_after, extra.reply()]);
}
