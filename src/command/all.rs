//! `RL.ALL`: several limits, all or nothing.

use limiter_core::all::Verdict;
use limiter_core::compound::LIMITS_MAX;
use limiter_core::decision::Decision;
use limiter_core::general::Extra;
use limiter_core::list::{self, List};
use limiter_core::request;

use super::decide::MEMO;
use crate::error::Error;
use crate::ffi::{Arguments, Context, Handler};
use crate::stats::{Ending, count_all};
use crate::{clock, config, store};

/// `RL.ALL numkeys key [key ...] limit [limit ...]`
pub struct All;

/// Lists of this many limits or fewer take less room, and less time to make it.
const FEW: usize = 4;

impl Handler for All {
    fn handle(ctx: Context, args: Arguments<'_>) {
        if ctx.asks_for_keys() {
            return tell_keys(ctx, args);
        }
        // The number of keys and a key come before the limits, and each has at least three arguments.
        let few = args.len() < 2 + 3 * (FEW + 1);
        let decided = if few { decide::<FEW>(ctx, args) } else { decide::<LIMITS_MAX>(ctx, args) };
        match decided {
            Ok(allowed) => count_all(if allowed { Ending::Allowed } else { Ending::Refused }),
            Err(error) => {
                count_all(Ending::Error);
                error.reply(ctx);
            }
        }
    }
}

/// Replies the verdict; whether it is that the whole is allowed.
#[inline(always)]
fn decide<'a, const N: usize>(ctx: Context, mut args: Arguments<'a>) -> Result<bool, Error<'a>> {
    let numkeys = args.next().ok_or(Error::Arity)?;
    if numkeys != b"1" {
        return decide_keys(ctx, numkeys, args);
    }
    let key = args.key().ok_or(Error::Arity)?;
    let list = limits::<N>(numkeys, 1, &mut args)?;
    let verdict = store::update_list::<N>(ctx, key, list.calls(), clock::now())?;
    reply(ctx, &verdict);
    Ok(verdict.allowed())
}

#[inline(always)]
pub(super) fn limits<'a, const N: usize>(
    numkeys: &'a [u8],
    keys: usize,
    args: &mut Arguments<'a>,
) -> Result<List<N>, Error<'a>> {
    Ok(MEMO.with(|memo| list::read(numkeys, keys, args, config::log_limit_max(), memo))?)
}

/// The form in which each limit has its own key.
#[inline(never)]
fn decide_keys<'a>(ctx: Context, numkeys: &'a [u8], mut args: Arguments<'a>) -> Result<bool, Error<'a>> {
    let count = request::integer("numkeys", numkeys, list::KEYS).map_err(Error::Argument)?;
    let count = usize::try_from(count).unwrap_or(LIMITS_MAX);
    let mut names = [args.key().ok_or(Error::Arity)?; LIMITS_MAX];
    let names = names.get_mut(..count).unwrap_or_default();
    for at in 1..count {
        let name = args.key().ok_or(Error::Arity)?;
        if names.iter().take(at).any(|before| before.bytes() == name.bytes()) {
            return Err(Error::Argument(list::repeated(name.bytes())));
        }
        if let Some(place) = names.get_mut(at) {
            *place = name;
        }
    }
    let list = limits::<LIMITS_MAX>(numkeys, count, &mut args)?;
    let verdict = store::update_keys(ctx, names, list.calls(), clock::now())?;
    reply(ctx, &verdict);
    Ok(verdict.allowed())
}

/// The five integers of the whole, the number of the binding limit, the five integers of each, and with RESERVE the wait.
#[inline(always)]
pub(super) fn reply<const N: usize>(ctx: Context, verdict: &Verdict<N>) {
    let [allowed, limit, remaining, retry_after, reset_after] = verdict.whole().reply();
    let binding = i64::try_from(verdict.binding()).unwrap_or(0);
    let whole = [allowed, limit, remaining, retry_after, reset_after, binding];
    let wait = verdict.wait().map(|wait| Extra::Wait(wait).reply());
    ctx.reply_integers_of_each(whole, verdict.each().iter().map(Decision::reply), wait);
}

/// Tells the server which arguments are keys; none if their number is wrong, which is then the call's error.
#[cold]
fn tell_keys(ctx: Context, mut args: Arguments<'_>) {
    let count = args.next().and_then(|numkeys| request::integer("numkeys", numkeys, list::KEYS).ok());
    let count = count.and_then(|count| usize::try_from(count).ok()).filter(|&count| count <= args.len());
    for position in 2..count.map_or(2, |count| count.saturating_add(2)) {
        ctx.tell_key(position);
    }
}
