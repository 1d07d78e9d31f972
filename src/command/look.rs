//! The commands that only look.

use limiter_core::all;
use limiter_core::call::{self, Limit, Report};
use limiter_core::compound::{Compound, LIMITS_MAX, is_compound};
use limiter_core::general;
use limiter_core::options::Options;
use limiter_core::record::{self, Algorithm};
use limiter_core::request::{self, Peek as Question};
use limiter_core::time::{Span, Timestamp};

use super::decide::reply;
use crate::error::Error;
use crate::ffi::{Arguments, Context, Handler, KeyName, ReadKey};
use crate::{clock, config};

/// `RL.PEEK key [cost]`, `RL.PEEK key algorithm arguments...`
pub struct Peek;
/// `RL.INFO key`
pub struct Info;

impl Handler for Peek {
    fn handle(ctx: Context, args: Arguments<'_>) {
        if let Err(error) = peek(ctx, args) {
            error.reply(ctx);
        }
    }
}

impl Handler for Info {
    fn handle(ctx: Context, args: Arguments<'_>) {
        if let Err(error) = info(ctx, args) {
            error.reply(ctx);
        }
    }
}

fn peek<'a>(ctx: Context, mut args: Arguments<'a>) -> Result<(), Error<'a>> {
    let name = args.key().ok_or(Error::Arity)?;
    if args.clone().next().is_some_and(|word| word.eq_ignore_ascii_case(b"ALL")) {
        return peek_list(ctx, name, args);
    }
    let question = request::peek(&mut args, config::log_limit_max())?;
    let now = clock::now();
    let wanted = match question {
        Question::Stored { .. } => None,
        Question::Call(call) => Some(call.limit.algorithm()),
    };
    let key = ReadKey::open(ctx, name);
    let record = record_of(&key, wanted)?;
    let decide = |limit: &Limit, cost, options: &Options| {
        let outcome = general::decide(record, limit, now, cost, options);
        outcome.map(|outcome| (outcome.decision, outcome.extra)).map_err(|error| Error::Record(error, wanted))
    };
    if let (Question::Stored { cost }, Some(list)) = (question, record.filter(|bytes| is_compound(bytes))) {
        return peek_again(ctx, list, now, cost);
    }
    match (question, record) {
        (Question::Call(call), _) => {
            let (decision, extra) = decide(&call.limit, call.cost, &call.options)?;
            reply(ctx, &decision, extra);
        }
        (Question::Stored { .. }, None) => ctx.reply_null(),
        (Question::Stored { cost }, Some(bytes)) => {
            let limit = call::stored_limit(bytes).map_err(|error| Error::Record(error, wanted))?;
            // Nothing is left to look at once the state has stopped mattering, whether or not the key is still there.
            let (decision, _) = decide(&limit, 0, &Options::NONE)?;
            if decision.reset == Span::ZERO {
                ctx.reply_null();
            } else {
                let (decision, extra) = decide(&limit, cost, &Options::NONE)?;
                reply(ctx, &decision, extra);
            }
        }
    }
    Ok(())
}

/// `RL.PEEK key [cost]` on a list: the whole, under the limits of the last admitted call.
fn peek_again(ctx: Context, bytes: &[u8], now: Timestamp, cost: u64) -> Result<(), Error<'static>> {
    let look = |cost| {
        let verdict = Compound::open(bytes).and_then(|list| all::look_again(&list, now, cost));
        verdict.map(|verdict| verdict.whole()).map_err(|error| Error::Record(error, None))
    };
    if look(0)?.reset == Span::ZERO {
        ctx.reply_null()
    } else {
        ctx.reply_integers(look(cost)?.reply())
    }
    Ok(())
}

/// `RL.PEEK key ALL limit [limit ...]`: what `RL.ALL 1 key limit [limit ...]` would get.
fn peek_list<'a>(ctx: Context, name: KeyName<'a>, mut args: Arguments<'a>) -> Result<(), Error<'a>> {
    let word = args.next().ok_or(Error::Arity)?;
    let list = super::all::limits::<LIMITS_MAX>(word, 1, &mut args)?;
    let now = clock::now();
    let key = ReadKey::open(ctx, name);
    let verdict = all::look(record_of(&key, None)?, list.calls(), now).map_err(|error| Error::Record(error, None))?;
    super::all::reply(ctx, &verdict);
    Ok(())
}

/// The bytes of the key's string, if the key exists.
fn record_of<'k>(key: &'k ReadKey<'_>, wanted: Option<Algorithm>) -> Result<Option<&'k [u8]>, Error<'static>> {
    key.value().string().map_err(|kind| Error::Type(kind, wanted))
}

fn info<'a>(ctx: Context, mut args: Arguments<'a>) -> Result<(), Error<'a>> {
    let name: KeyName<'a> = args.key().ok_or(Error::Arity)?;
    let now = clock::now();
    let key = ReadKey::open(ctx, name);
    let Some(bytes) = record_of(&key, None)? else {
        ctx.reply_null();
        return Ok(());
    };
    if is_compound(bytes) {
        return info_list(ctx, bytes, now);
    }
    let report = call::report(bytes, now).map_err(|error| Error::Record(error, None))?;
    let tail = [
        Some(("bytes", u64::try_from(bytes.len()).unwrap_or(u64::MAX))),
        Some(("version", u64::from(record::version(bytes)))),
    ];
    reply_report(ctx, &report, &tail);
    Ok(())
}

/// A map with a map for each limit.
fn info_list(ctx: Context, bytes: &[u8], now: Timestamp) -> Result<(), Error<'static>> {
    let wrong = |error| Error::Record(error, None);
    let list = Compound::open(bytes).map_err(wrong)?;
    list.check().map_err(wrong)?;
    ctx.reply_map(4);
    ctx.reply_text("algorithm");
    ctx.reply_text("all");
    ctx.reply_text("limits");
    ctx.reply_array(list.len());
    for part in list.parts() {
        reply_report(ctx, &call::report(part.record, now).map_err(wrong)?, &[]);
    }
    ctx.reply_text("bytes");
    ctx.reply_integer(i64::try_from(bytes.len()).unwrap_or(i64::MAX));
    ctx.reply_text("version");
    ctx.reply_integer(i64::from(record::version(bytes)));
    Ok(())
}

/// A map: the algorithm, its parameters by their argument names, usage and age, and what `tail` adds.
fn reply_report(ctx: Context, report: &Report, tail: &[Option<(&str, u64)>]) {
    let parameters: [Option<(&str, u64)>; 3] = match &report.limit {
        Limit::TokenBucket(limit) | Limit::Gcra(limit) => {
            let capacity = if matches!(report.limit, Limit::Gcra(_)) { "burst" } else { "capacity" };
            let rate = limit.rate();
            let period = Some(("period_ms", rate.period.millis()));
            [Some((capacity, limit.capacity())), Some(("rate", rate.tokens.get())), period]
        }
        Limit::Fixed(limit, _) | Limit::SlidingLog(limit) | Limit::SlidingCounter(limit) => {
            [Some(("limit", limit.limit())), Some(("window_ms", limit.window().millis())), None]
        }
    };
    let decision = &report.decision;
    let usage = [
        Some(("used", report.used)),
        Some(("remaining", decision.remaining())),
        Some(("reset_after_ms", decision.reset.ceil_ms())),
        report.blocked.map(|blocked| ("blocked_ms", blocked.ceil_ms())),
        Some(("updated_us", report.updated.micros())),
        report.events.map(|events| ("events", events)),
    ];
    let fields = || parameters.iter().chain(&usage).chain(tail).flatten();
    ctx.reply_map(fields().count().saturating_add(1));
    ctx.reply_text("algorithm");
    ctx.reply_text(report.limit.algorithm().name());
    for &(name, value) in fields() {
        ctx.reply_text(name);
        ctx.reply_integer(i64::try_from(value).unwrap_or(i64::MAX));
    }
}
