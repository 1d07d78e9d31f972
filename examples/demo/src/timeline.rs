//! What happened, drawn in plain characters.

use std::{
    io::{IsTerminal, Write},
    time::Duration,
};

/// The five integers that every deciding command answers.
#[derive(Clone, Copy)]
pub struct Reply {
    pub allowed: bool,
    pub limit: i64,
    pub remaining: i64,
    pub retry_after: i64,
    pub reset_after: i64,
}

/// A call and what it was answered.
#[derive(Clone, Copy)]
pub struct Call {
    pub tick: u32,
    pub reply: Reply,
}

const NAME: usize = 27;

/// A bar that shows that something is going on, where somebody may be looking.
pub fn progress(tick: u32, ticks: u32) {
    let mut out = std::io::stderr();
    if out.is_terminal() {
        let done = "=".repeat(usize::try_from(tick).unwrap_or_default());
        let width = usize::try_from(ticks).unwrap_or_default();
        // A terminal that went away is no reason to stop.
        let _ = if tick < ticks {
            write!(out, "\r  [{done:<width$}]")
        } else {
            write!(out, "\r{:width$}\r", "", width = width.saturating_add(4))
        };
    }
}

/// The seconds above the rows.
pub fn ruler(tick: Duration, ticks: u32) -> String {
    let mut line = String::new();
    for at in 0..=ticks {
        let ms = tick.as_millis().saturating_mul(u128::from(at));
        if ms % 1000 == 0 {
            let column = usize::try_from(at).unwrap_or_default();
            line = format!("{line:column$}{}s", ms / 1000);
        }
    }
    format!("  {:NAME$}{line}", "")
}

/// One limiter: a sign a tick.
pub fn row(name: &str, calls: &[Call], ticks: u32) -> String {
    let signs = (0..=ticks).map(|tick| {
        let at_tick = || calls.iter().filter(move |call| call.tick == tick);
        match (at_tick().count(), at_tick().filter(|call| call.reply.allowed).count()) {
            (0, _) => ' ',
            (_, 0) => '.',
            (1, _) => '#',
            (_, allowed) => u32::try_from(allowed).ok().and_then(|n| char::from_digit(n, 10)).unwrap_or('+'),
        }
    });
    format!("  {name:NAME$}{}", signs.collect::<String>())
}

/// A remark under a row.
pub fn note(text: &str) -> String {
    format!("  {:NAME$}{text}\n", "")
}

pub fn table_head() -> String {
    let columns = ["allowed", "refused", "first refusal: retry_after", "at the end: remaining", "reset_after"];
    let [allowed, refused, retry, remaining, reset] = columns;
    format!("  {:NAME$}{allowed}  {refused}  {retry}  {remaining}  {reset}", "")
}

/// The figures of one limiter, right under the words of the head.
pub fn table_row(name: &str, calls: &[Call]) -> String {
    let allowed = calls.iter().filter(|call| call.reply.allowed).count();
    let refused = calls.len().saturating_sub(allowed);
    let first = calls.iter().find(|call| !call.reply.allowed).map_or(0, |call| call.reply.retry_after);
    let (limit, remaining, reset) =
        calls.last().map_or((0, 0, 0), |call| (call.reply.limit, call.reply.remaining, call.reply.reset_after));
    let (first, of, reset) = (format!("{first} ms"), format!("{remaining} of {limit}"), format!("{reset} ms"));
    format!("  {name:NAME$}{allowed:>7}  {refused:>7}  {first:>26}  {of:>21}  {reset:>11}")
}
