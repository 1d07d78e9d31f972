//! The commands that take a decision: parse, open, decide, propagate, store, reply.

use limiter_core::decision::Decision;
use limiter_core::general::Extra;
use limiter_core::memo::Memo;
use limiter_core::plain;
use limiter_core::record::Algorithm;
use limiter_core::request;

use crate::error::Error;
use crate::ffi::{Arguments, Context, Handler, MainThread};
use crate::stats::{Ending, count};
use crate::{clock, config, store};

/// The limits of recent calls.
pub(super) static MEMO: MainThread<Memo> = MainThread::new(Memo::new());

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
        decide(ctx, args, Algorithm::TokenBucket);
    }
}

impl Handler for Gcra {
    fn handle(ctx: Context, args: Arguments<'_>) {
        decide(ctx, args, Algorithm::Gcra);
    }
}

impl Handler for Fixed {
    fn handle(ctx: Context, args: Arguments<'_>) {
        decide(ctx, args, Algorithm::Fixed);
    }
}

impl Handler for SlidingLog {
    fn handle(ctx: Context, args: Arguments<'_>) {
        decide(ctx, args, Algorithm::SlidingLog);
    }
}

impl Handler for SlidingCounter {
    fn handle(ctx: Context, args: Arguments<'_>) {
        decide(ctx, args, Algorithm::SlidingCounter);
    }
}

/// The one flow of every decision; compiled once for each algorithm. Nearly all calls take the short way through it.
#[inline(always)]
fn decide(ctx: Context, args: Arguments<'_>, algorithm: Algorithm) {
    match attempt(ctx, args.clone(), algorithm) {
        Some(decision) => {
            count(algorithm, if decision.allowed() { Ending::Allowed } else { Ending::Refused });
            ctx.reply_integers(decision.reply());
        }
        None => decide_in_general(ctx, args, algorithm),
    }
}

/// A call without options on a plain record; `None` is any other, and whatever is an error.
#[inline(always)]
fn attempt(ctx: Context, mut args: Arguments<'_>, algorithm: Algorithm) -> Option<Decision> {
    let key = args.key()?;
    let (limit, cost) = MEMO.with(|memo| plain::call(algorithm, &mut args, config::log_limit_max(), memo))?;
    store::update(ctx, key, &limit, cost, clock::now())
}

/// Any call on any record.
#[cold]
#[inline(never)]
fn decide_in_general(ctx: Context, args: Arguments<'_>, algorithm: Algorithm) {
    match attempt_in_general(ctx, args, algorithm) {
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

fn attempt_in_general<'a>(
    ctx: Context,
    mut args: Arguments<'a>,
    algorithm: Algorithm,
) -> Result<(Decision, Option<Extra>), Error<'a>> {
    let key = args.key().ok_or(Error::Arity)?;
    let call = request::call(algorithm, &mut args, config::log_limit_max())?;
    store::update_in_general(ctx, key, &call, clock::now())
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
