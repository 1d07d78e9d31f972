//! Replies of the server as types.

use std::time::Duration;

use redis::{FromRedisValue, ParsingError, Value};

use crate::decision::{AllDecision, Decision, Retry, Throttled};

impl FromRedisValue for Decision {
    fn from_redis_value_ref(value: &Value) -> Result<Self, ParsingError> {
        let Value::Array(items) = value else { return Err(not("an array of five integers", value)) };
        decision(items, value)
    }

    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        Self::from_redis_value_ref(&value)
    }
}

impl FromRedisValue for AllDecision {
    fn from_redis_value_ref(value: &Value) -> Result<Self, ParsingError> {
        let wrong = || not("five integers, a number and an array for each limit", value);
        let Value::Array(items) = value else { return Err(wrong()) };
        let Some((five, [number, Value::Array(each), wait @ ..])) = items.split_at_checked(5) else {
            return Err(wrong());
        };
        let mut all = decision(five, value)?;
        match wait {
            [] => {}
            [wait] => all.wait = Some(Duration::from_millis(whole(wait, value)?)),
            _ => return Err(wrong()),
        }
        let each = each.iter().map(Decision::from_redis_value_ref).collect::<Result<Vec<_>, _>>()?;
        let binding = usize::try_from(whole(number, value)?).ok().and_then(|number| number.checked_sub(1));
        match binding.filter(|&binding| binding < each.len()) {
            Some(binding) => Ok(Self { whole: all, binding, each }),
            None => Err(wrong()),
        }
    }

    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        Self::from_redis_value_ref(&value)
    }
}

impl FromRedisValue for Throttled {
    fn from_redis_value_ref(value: &Value) -> Result<Self, ParsingError> {
        let wrong = || not("an array of five integers", value);
        let Value::Array(items) = value else { return Err(wrong()) };
        let [Value::Int(limited), limit, remaining, Value::Int(retry), reset] = items.as_slice() else {
            return Err(wrong());
        };
        let (limit, remaining) = (whole(limit, value)?, whole(remaining, value)?);
        let reset = Duration::from_secs(whole(reset, value)?);
        let retry = match (limited, u64::try_from(*retry)) {
            (0, _) => return Ok(Self(Decision::allowed(limit, remaining, reset))),
            (1, Ok(seconds)) => Retry::After(Duration::from_secs(seconds)),
            (1, Err(_)) => Retry::Never,
            _ => return Err(wrong()),
        };
        Ok(Self(Decision::refused(limit, remaining, retry, reset)))
    }

    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        Self::from_redis_value_ref(&value)
    }
}

/// The five integers of a decision, and the sixth that options add.
fn decision(items: &[Value], reply: &Value) -> Result<Decision, ParsingError> {
    let (Value::Int(allowed), limit, remaining, Value::Int(retry), reset, sixth) = (match items {
        [allowed, limit, remaining, retry, reset] => (allowed, limit, remaining, retry, reset, None),
        [allowed, limit, remaining, retry, reset, sixth] => (allowed, limit, remaining, retry, reset, Some(sixth)),
        _ => return Err(not("an array of five or six integers", reply)),
    }) else {
        return Err(not("an array of integers", reply));
    };
    let (limit, remaining) = (whole(limit, reply)?, whole(remaining, reply)?);
    let reset = Duration::from_millis(whole(reset, reply)?);
    let mut decision = match (allowed, retry) {
        (1, 0) => Decision::allowed(limit, remaining, reset),
        (0, -1) => Decision::refused(limit, remaining, Retry::Never, reset),
        (0, 1..) => {
            let wait = Duration::from_millis(retry.unsigned_abs());
            Decision::refused(limit, remaining, Retry::After(wait), reset)
        }
        _ => return Err(not("a verdict with its wait", reply)),
    };
    decision.sixth = sixth.map(|sixth| whole(sixth, reply)).transpose()?;
    Ok(decision)
}

/// A number that is never negative.
pub(crate) fn whole(item: &Value, reply: &Value) -> Result<u64, ParsingError> {
    match item {
        Value::Int(number) => u64::try_from(*number).map_err(|_| not("no negative number", reply)),
        _ => Err(not("an integer", reply)),
    }
}

/// A reply that is not what it should be; it may be long.
#[cold]
pub(crate) fn not(expected: &str, reply: &Value) -> ParsingError {
    let mut got = format!("{reply:?}");
    let end = got.char_indices().nth(200).map_or(got.len(), |(index, _)| index);
    got.truncate(end);
    format!("expected {expected}, got {got}").into()
}
