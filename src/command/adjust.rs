//! The command that puts usage right after the fact.

use limiter_core::request;

use crate::error::Error;
use crate::ffi::{Arguments, Context, Handler};
use crate::stats::{Adjusting, count_adjusting};
use crate::{clock, config, store};

/// `RL.ADJUST key delta [LIMIT n]`
pub struct Adjust;

impl Handler for Adjust {
    fn handle(ctx: Context, args: Arguments<'_>) {
        match adjust(ctx, args) {
            Ok(()) => count_adjusting(Adjusting::Answered),
            Err(error) => {
                count_adjusting(Adjusting::Error);
                error.reply(ctx);
            }
        }
    }
}

fn adjust<'a>(ctx: Context, mut args: Arguments<'a>) -> Result<(), Error<'a>> {
    let key = args.key().ok_or(Error::Arity)?;
    let asked = request::adjustment(&mut args)?;
    match store::adjust(ctx, key, &asked, clock::now(), config::log_limit_max())? {
        Some(decision) => ctx.reply_integers(decision.reply()),
        None => ctx.reply_null(),
    }
    Ok(())
}
