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

/// What a key holds, as `RL.INFO` tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// The limit of the last call that was let in.
    pub limit: Limit,
    /// What is in use now, in tokens or events.
    pub used: u64,
    /// The largest cost that would be let in now.
    pub remaining: u64,
    /// How long until the limiter is as good as new if nobody calls.
    pub reset_after: Duration,
    /// When the last call was let in.
    pub updated: SystemTime,
    /// A sliding log: the events that count now.
    pub events: Option<u64>,
    /// How long the key is blocked yet, if it is.
    pub blocked: Option<Duration>,
    /// The size of the record in bytes.
    pub bytes: u64,
    /// The format version of the record.
    pub version: u64,
}

impl FromRedisValue for Info {
    fn from_redis_value_ref(value: &Value) -> Result<Self, ParsingError> {
        let fields: HashMap<String, Value> = HashMap::from_redis_value_ref(value)?;
        let optional = |name: &str| fields.get(name).map(|item| whole(item, value)).transpose();
        let field = |name: &str| optional(name)?.ok_or_else(|| not(name, value));
        let text = fields.get("algorithm").ok_or_else(|| not("algorithm", value))?;
        let name = String::from_redis_value_ref(text)?;
        let algorithm = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name);
        let window = || field("window_ms").map(Duration::from_millis);
        let rate = || {
            let (tokens, period) = (field("rate")?, Duration::from_millis(field("period_ms")?));
            Rate::per(tokens, period).map_err(|error| ParsingError::from(error.to_string()))
        };
        let limit = match algorithm.ok_or_else(|| not("a known algorithm", value))? {
            Algorithm::TokenBucket => Limit::token_bucket(field("capacity")?, rate()?),
            Algorithm::Gcra => Limit::gcra(field("burst")?, rate()?),
            Algorithm::Fixed => Limit::fixed(field("limit")?, window()?),
            Algorithm::SlidingLog => Limit::sliding_log(field("limit")?, window()?),
            Algorithm::SlidingCounter => Limit::sliding_counter(field("limit")?, window()?),
        };
        let updated = Duration::from_micros(field("updated_us")?);
        Ok(Self {
            limit: limit.map_err(|error| ParsingError::from(error.to_string()))?,
            used: field("used")?,
            remaining: field("remaining")?,
            reset_after: Duration::from_millis(field("reset_after_ms")?),
            updated: SystemTime::UNIX_EPOCH.checked_add(updated).ok_or_else(|| not("a time", value))?,
            events: optional("events")?,
            blocked: optional("blocked_ms")?.map(Duration::from_millis),
            bytes: field("bytes")?,
            version: field("version")?,
        })
    }

    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        Self::from_redis_value_ref(&value)
    }
}
