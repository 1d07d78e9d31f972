//! The commands of the module, as the `redis` crate sends them. [`RateLimit`](crate::RateLimit) and
//! [`AsyncRateLimit`](crate::AsyncRateLimit) send them and read their replies; alone they serve whoever sends commands in
//! a way of their own:
//!
//! ```
//! use std::time::Duration;
//! use limiter_client::{Charge, Limit, Options, Rate, command};
//!
//! let burst = Limit::token_bucket(20, Rate::per_second(10)?)?;
//! let daily = Limit::fixed(10_000, Duration::from_secs(86_400))?;
//!
//! let cmd = command::decide("user:42", &burst, 3, &Options::NONE.partial());
//! assert_eq!(cmd.get_packed_command(), redis::cmd("RL.TOKENBUCKET").arg(&["user:42", "20", "10", "3", "PARTIAL"]).get_packed_command());
//!
//! let cmd = command::all(&["user:42"], &[Charge::new(burst, 1), Charge::new(daily, 1)]);
//! let words = ["1", "user:42", "TOKENBUCKET", "20", "10", "FIXED", "10000", "86400000ms"];
//! assert_eq!(cmd.get_packed_command(), redis::cmd("RL.ALL").arg(&words).get_packed_command());
//! # Ok::<(), limiter_client::ArgumentError>(())
//! ```
//!
//! A cost, a delta or a number of limits that is out of its range is not noticed here but by the server, which answers an error;
//! [`Backend`](crate::Backend)s check them before.

use std::fmt;

use limiter_core::{call::Limit as CoreLimit, fixed_window::Opening, time::Interval};
use redis::{Cmd, RedisWrite, ToRedisArgs};

use crate::{Algorithm, Charge, Limit, Options};

/// Space for the words of one limit, its cost and its options, in bytes: enough for all but the largest numbers.
const LIMIT_ROOM: usize = 64;
/// Words of one limit with a cost: its name, two arguments, `ALIGNED` and an offset, the cost.
const LIMIT_WORDS: usize = 6;

/// `RL.TOKENBUCKET`, `RL.GCRA`, `RL.FIXED`, `RL.SLIDINGLOG` or `RL.SLIDINGCOUNTER`: one call under one limit.
/// Reply: [`Decision`](crate::Decision).
#[must_use]
pub fn decide(key: impl AsRef<[u8]>, limit: &Limit, cost: u64, options: &Options) -> Cmd {
    let name = match limit.algorithm() {
        Algorithm::TokenBucket => "RL.TOKENBUCKET",
        Algorithm::Gcra => "RL.GCRA",
        Algorithm::Fixed => "RL.FIXED",
        Algorithm::SlidingLog => "RL.SLIDINGLOG",
        Algorithm::SlidingCounter => "RL.SLIDINGCOUNTER",
    };
    let mut cmd = begin(name, key.as_ref(), 1);
    write_limit(&mut cmd, limit, cost, options);
    cmd
}

/// `RL.ALL`: one call under several limits, all or nothing. As many keys as limits, or one key with all of them.
/// Reply: [`AllDecision`](crate::AllDecision).
#[must_use]
pub fn all<K: AsRef<[u8]>>(keys: &[K], charges: &[Charge]) -> Cmd {
    let size: usize = keys.iter().map(|key| key.as_ref().len()).fold(0, usize::saturating_add);
    let words = charges.len().saturating_mul(LIMIT_WORDS).saturating_add(keys.len()).saturating_add(2);
    let room = charges.len().saturating_mul(LIMIT_ROOM).saturating_add(size).saturating_add(8);
    let mut cmd = Cmd::with_capacity(words, room);
    cmd.arg("RL.ALL").arg(keys.len());
    for key in keys {
        cmd.arg(key.as_ref());
    }
    write_charges(&mut cmd, charges);
    cmd
}

/// `RL.PEEK key cost`: what a call would be answered under the limits of the last admitted one.
/// Reply: [`Option<Decision>`](crate::Decision), `None` if nothing is in use.
#[must_use]
pub fn peek(key: impl AsRef<[u8]>, cost: u64) -> Cmd {
    let mut cmd = begin("RL.PEEK", key.as_ref(), 0);
    cmd.arg(cost);
    cmd
}

/// `RL.PEEK key ALGORITHM ...`: what exactly this call would be answered. Reply: [`Decision`](crate::Decision).
#[must_use]
pub fn peek_call(key: impl AsRef<[u8]>, limit: &Limit, cost: u64, options: &Options) -> Cmd {
    let mut cmd = begin("RL.PEEK", key.as_ref(), 1);
    cmd.arg(keyword(limit.algorithm()));
    write_limit(&mut cmd, limit, cost, options);
    cmd
}

/// `RL.PEEK key ALL ...`: what exactly this call under several limits in one key would be answered.
/// Reply: [`AllDecision`](crate::AllDecision).
#[must_use]
pub fn peek_all(key: impl AsRef<[u8]>, charges: &[Charge]) -> Cmd {
    let mut cmd = begin("RL.PEEK", key.as_ref(), charges.len());
    cmd.arg("ALL");
    write_charges(&mut cmd, charges);
    cmd
}

/// `RL.ADJUST`: charges `delta` tokens or events without asking, or gives them back if it is negative. In a key that holds several
/// limits, `nth` is the one that is meant, counted from 0; without it all are, of which anything is in use. Reply: [`Option<Decision>`](crate::Decision), `None` if nothing is in use.
#[must_use]
pub fn adjust(key: impl AsRef<[u8]>, delta: i64, nth: Option<usize>) -> Cmd {
    let mut cmd = begin("RL.ADJUST", key.as_ref(), 0);
    cmd.arg(delta);
    if let Some(nth) = nth {
        cmd.arg("LIMIT").arg(nth.saturating_add(1));
    }
    cmd
}

/// `RL.INFO`: what a key holds. Reply: [`Option<Info>`](crate::Info), `None` if it is missing.
#[must_use]
pub fn info(key: impl AsRef<[u8]>) -> Cmd {
    begin("RL.INFO", key.as_ref(), 0)
}

/// `RL.THROTTLE`: GCRA in the words of redis-cell, for keys that it has left; `period` in seconds.
/// Reply: [`Throttled`](crate::decision::Throttled).
#[must_use]
pub fn throttle(key: impl AsRef<[u8]>, max_burst: u64, count: u64, period: u64, quantity: u64) -> Cmd {
    let mut cmd = begin("RL.THROTTLE", key.as_ref(), 1);
    cmd.arg(max_burst).arg(count).arg(period).arg(quantity);
    cmd
}

/// A command with its key, and space for `limits` more.
fn begin(name: &str, key: &[u8], limits: usize) -> Cmd {
    let words = limits.saturating_mul(LIMIT_WORDS).saturating_add(4);
    let room = limits.saturating_mul(LIMIT_ROOM).saturating_add(key.len()).saturating_add(32);
    let mut cmd = Cmd::with_capacity(words, room);
    cmd.arg(name).arg(key);
    cmd
}

/// Several limits, each with its name.
fn write_charges(cmd: &mut Cmd, charges: &[Charge]) {
    for charge in charges {
        cmd.arg(keyword(charge.limit.algorithm()));
        write_limit(cmd, &charge.limit, charge.cost, &charge.options);
    }
}

/// What follows the name of an algorithm.
fn write_limit(cmd: &mut Cmd, limit: &Limit, cost: u64, options: &Options) {
    let mut aligned = None;
    match limit.core() {
        CoreLimit::TokenBucket(limit) | CoreLimit::Gcra(limit) => {
            let (tokens, period) = (limit.rate().tokens, limit.rate().period);
            cmd.arg(limit.capacity());
            if period == Interval::SECOND {
                cmd.arg(tokens.get());
            } else {
                cmd.arg(Text(format_args!("{tokens}/{}ms", period.millis())));
            }
        }
        CoreLimit::Fixed(limit, opening) => {
            cmd.arg(limit.limit()).arg(Millis(limit.window().millis()));
            if let Opening::Aligned { offset } = opening {
                aligned = Some(*offset);
            }
        }
        CoreLimit::SlidingLog(limit) | CoreLimit::SlidingCounter(limit) => {
            cmd.arg(limit.limit()).arg(Millis(limit.window().millis()));
        }
    }
    if cost != 1 {
        cmd.arg(cost);
    }
    if let Some(offset) = aligned {
        cmd.arg("ALIGNED").arg(Millis(offset.ceil_ms()));
    }
    if !options.is_none() {
        write_options(cmd, options);
    }
}

fn write_options(cmd: &mut Cmd, options: &Options) {
    let options = options.core();
    if options.partial {
        cmd.arg("PARTIAL");
    }
    if let Some(max_wait) = options.reserve {
        cmd.arg("RESERVE").arg(Millis(max_wait.micros() / 1_000));
    }
    if options.strict {
        cmd.arg("STRICT");
    }
    if let Some(length) = options.block {
        cmd.arg("BLOCK").arg(Millis(length.millis()));
    }
}

const fn keyword(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::TokenBucket => "TOKENBUCKET",
        Algorithm::Gcra => "GCRA",
        Algorithm::Fixed => "FIXED",
        Algorithm::SlidingLog => "SLIDINGLOG",
        Algorithm::SlidingCounter => "SLIDINGCOUNTER",
    }
}

/// A duration with its unit.
struct Millis(u64);

impl ToRedisArgs for Millis {
    fn write_redis_args<W: ?Sized + RedisWrite>(&self, out: &mut W) {
        out.write_arg_fmt(format_args!("{}ms", self.0));
    }
}

/// Text that is written where it is needed, without a string in between.
struct Text<'a>(fmt::Arguments<'a>);

impl ToRedisArgs for Text<'_> {
    fn write_redis_args<W: ?Sized + RedisWrite>(&self, out: &mut W) {
        out.write_arg_fmt(self.0);
    }
}
