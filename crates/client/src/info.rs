//! What a key holds.

use std::{
    collections::HashMap,
    time::{Duration, SystemTime},
};

use redis::{FromRedisValue, ParsingError, Value};

use crate::{
    limit::{Algorithm, Limit, Rate},
    reply::{not, whole},
};

/// What a key holds, as `RL.INFO` tells it: for people and dashboards.
///
/// ```no_run
/// use limiter_client::{Key, RateLimit};
///
/// # fn example(mut connection: redis::Connection) -> limiter_client::Result<()> {
/// if let Some(info) = connection.rl_info(Key::raw("user:42"))? {
///     for usage in info.limits {
///         println!("{}: {} in use, {} left", usage.limit, usage.used, usage.remaining);
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// The limits that live in the key: one, or the list of `RL.ALL`.
    pub limits: Vec<Usage>,
    /// The size of the record in bytes.
    pub bytes: u64,
    /// The format version of the record.
    pub version: u64,
}

/// How much of one limit is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// The limit of the last call that was let in.
    pub limit: Limit,
    /// What is in use now, in tokens or events.
    pub used: u64,
    /// The largest cost that would be let in now.
    pub remaining: u64,
    /// How long until the limiter is as good as new if nobody calls.
    pub reset_after: Duration,
    /// When the last call was let in, by the server's clock.
    pub updated: SystemTime,
    /// A sliding log: the events that count now.
    pub events: Option<u64>,
    /// How long the limit is blocked yet, if it is.
    pub blocked: Option<Duration>,
}

impl FromRedisValue for Info {
    fn from_redis_value_ref(value: &Value) -> Result<Self, ParsingError> {
        let fields = Fields::of(value)?;
        let limits = match fields.map.get("limits") {
            None => vec![usage(&fields)?],
            Some(Value::Array(limits)) => {
                limits.iter().map(|limit| usage(&Fields::of(limit)?)).collect::<Result<_, _>>()?
            }
            Some(_) => return Err(not("an array of limits", value)),
        };
        Ok(Self { limits, bytes: fields.number("bytes")?, version: fields.number("version")? })
    }

    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        Self::from_redis_value_ref(&value)
    }
}

/// A map of RESP3, or the flat array of RESP2.
struct Fields<'a> {
    reply: &'a Value,
    map: HashMap<String, Value>,
}

impl<'a> Fields<'a> {
    fn of(reply: &'a Value) -> Result<Self, ParsingError> {
        Ok(Self { reply, map: HashMap::from_redis_value_ref(reply)? })
    }

    fn optional(&self, name: &str) -> Result<Option<u64>, ParsingError> {
        self.map.get(name).map(|item| whole(item, self.reply)).transpose()
    }

    fn number(&self, name: &str) -> Result<u64, ParsingError> {
        self.optional(name)?.ok_or_else(|| not(name, self.reply))
    }

    fn millis(&self, name: &str) -> Result<Duration, ParsingError> {
        self.number(name).map(Duration::from_millis)
    }
}

fn usage(fields: &Fields<'_>) -> Result<Usage, ParsingError> {
    let updated = Duration::from_micros(fields.number("updated_us")?);
    Ok(Usage {
        limit: limit(fields)?,
        used: fields.number("used")?,
        remaining: fields.number("remaining")?,
        reset_after: fields.millis("reset_after_ms")?,
        updated: SystemTime::UNIX_EPOCH.checked_add(updated).ok_or_else(|| not("a time", fields.reply))?,
        events: fields.optional("events")?,
        blocked: fields.optional("blocked_ms")?.map(Duration::from_millis),
    })
}

fn limit(fields: &Fields<'_>) -> Result<Limit, ParsingError> {
    let name = fields.map.get("algorithm").ok_or_else(|| not("algorithm", fields.reply))?;
    let name = String::from_redis_value_ref(name)?;
    let algorithm = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name);
    let window = || fields.millis("window_ms");
    let rate = || {
        let rate = Rate::per(fields.number("rate")?, fields.millis("period_ms")?);
        rate.map_err(|error| ParsingError::from(error.to_string()))
    };
    let limit = match algorithm.ok_or_else(|| not("a known algorithm", fields.reply))? {
        Algorithm::TokenBucket => Limit::token_bucket(fields.number("capacity")?, rate()?),
        Algorithm::Gcra => Limit::gcra(fields.number("burst")?, rate()?),
        Algorithm::Fixed => Limit::fixed(fields.number("limit")?, window()?),
        Algorithm::SlidingLog => Limit::sliding_log(fields.number("limit")?, window()?),
        Algorithm::SlidingCounter => Limit::sliding_counter(fields.number("limit")?, window()?),
    };
    limit.map_err(|error| ParsingError::from(error.to_string()))
}
