//! The command in redis-cell's words, under our name and under its.

use limiter_core::decision::Decision;
use limiter_core::record::Algorithm;
use limiter_core::throttle::{self, Throttle};

use crate::error::Error;
use crate::ffi::{Arguments, Context, Handler};
use crate::stats::{Ending, count};
use crate::{clock, store};

/// `RL.THROTTLE key max_burst count period [quantity]`, and `CL.THROTTLE` alike. Its calls are counted as those of
/// `RL.GCRA`, since the state is that.
pub struct Command;

impl Handler for Command {
    fn handle(ctx: Context, args: Arguments<'_>) {
        match attempt(ctx, args) {
            Ok(decision) => {
                count(Algorithm::Gcra, if decision.allowed() { Ending::Allowed } else { Ending::Refused });
                ctx.reply_integers(throttle::reply(&decision));
            }
            Err(error) => {
                count(Algorithm::Gcra, Ending::Error);
                error.reply(ctx);
            }
        }
    }
}

#[inline(always)]
fn attempt<'a>(ctx: Context, mut args: Arguments<'a>) -> Result<Decision, Error<'a>> {
    let key = args.key().ok_or(Error::Arity)?;
    let call: Throttle = throttle::request(&mut args)?;
    store::throttle(ctx, key, &call, clock::now())
}
