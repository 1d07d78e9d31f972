//! The commands that take a decision: parse, open, decide, propagate, store, reply.

use std::ffi::CStr;

use limiter_core::decision::Decision;
use limiter_core::memo::Memo;
use limiter_core::record::Algorithm;
use limiter_core::request;

use crate::error::Error;
use crate::ffi::{Arguments, Context, Handler, MainThread};
use crate::stats::{Ending, count};
use crate::{clock, config, store};

/// The limits of recent calls.
static MEMO: MainThread<Memo> = MainThread::new(Memo::new());

/// `RL.TOKENBUCKET key capacity rate [cost]`
pub struct TokenBucket;
/// `RL.GCRA key burst rate [cost]`
pub struct Gcra;
/// `RL.FIXED key limit window [cost] [ALIGNED [offset]]`
pub struct Fixed;
/// `RL.SLIDINGLOG key limit window [cost]`
pub struct SlidingLog;
/// `RL.SLIDINGCOUNTER key limit window [cost]`
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
        Ok(decision) => {
            count(algorithm, if decision.allowed() { Ending::Allowed } else { Ending::Refused });
            ctx.reply_integers(decision.reply());
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
) -> Result<Decision, Error<'a>> {
    let key = args.key().ok_or(Error::Arity)?;
    let call = MEMO.with(|memo| request::call_again(algorithm, &mut args, config::log_limit_max(), memo))?;
    let now = clock::now();
    store::update(ctx, key, &call, now, event)
}
