//! Every reply, and what is none.

use std::time::{Duration, SystemTime};

use limiter_client::{AllDecision, Decision, Info, Limit, Options, Rate, Retry, Source, decision::Throttled};
use redis::{FromRedisValue, Value};

const SECOND: Duration = Duration::from_secs(1);

fn integers(numbers: &[i64]) -> Value {
    Value::Array(numbers.iter().map(|&number| Value::Int(number)).collect())
}

fn decode<T: FromRedisValue>(value: Value) -> Option<T> {
    redis::from_redis_value(value).ok()
}

#[test]
fn five_integers_are_a_decision() {
    let allowed: Decision = decode(integers(&[1, 10, 9, 0, 1_000])).unwrap();
    assert_eq!(allowed, Decision::allowed(10, 9, SECOND));
    assert_eq!(allowed.source, Source::Server);

    let refused: Decision = decode(integers(&[0, 10, 3, 250, 1_000])).unwrap();
    assert!(!refused.allowed);
    assert_eq!(refused.retry_after, Retry::After(Duration::from_millis(250)));
    assert_eq!(refused.reset_after, SECOND);
    assert_eq!(refused.remaining, 3);

    let never: Decision = decode(integers(&[0, 10, 10, -1, 0])).unwrap();
    assert_eq!(never.retry_after, Retry::Never);
}

#[test]
fn the_sixth_integer_means_what_was_asked() {
    let reply: Decision = decode(integers(&[1, 10, 0, 0, 1_000, 40])).unwrap();
    assert_eq!((reply.granted, reply.wait), (None, None));
    let partial = reply.to_call_with(&Options::NONE.partial());
    assert_eq!((partial.granted, partial.wait), (Some(40), None));
    let reserve = reply.to_call_with(&Options::NONE.reserve(SECOND).unwrap());
    assert_eq!((reserve.granted, reserve.wait), (None, Some(Duration::from_millis(40))));
}

#[test]
fn what_is_no_verdict_is_an_error() {
    let wrong = [
        Value::Nil,
        Value::Okay,
        Value::Int(1),
        integers(&[]),
        integers(&[1, 10, 9, 0]),
        integers(&[1, 10, 9, 0, 0, 0, 0]),
        integers(&[2, 10, 9, 0, 0]),
        // Allowed with a wait, refused without one, refused with a wait below -1.
        integers(&[1, 10, 9, 5, 0]),
        integers(&[0, 10, 9, 0, 0]),
        integers(&[0, 10, 9, -2, 0]),
        integers(&[1, -10, 9, 0, 0]),
        integers(&[1, 10, 9, 0, -1]),
        Value::Array(vec![Value::BulkString(b"1".to_vec()); 5]),
    ];
    for value in wrong {
        assert_eq!(decode::<Decision>(value.clone()), None, "{value:?}");
    }
    assert_eq!(decode::<Option<Decision>>(Value::Nil), Some(None));
}

#[test]
fn the_largest_numbers_are_read() {
    let decision: Decision = decode(integers(&[0, 1_000_000_000_000, 0, i64::MAX, i64::MAX])).unwrap();
    assert_eq!(decision.retry_after, Retry::After(Duration::from_millis(i64::MAX as u64)));
}

#[test]
fn several_limits_are_decided_as_a_whole() {
    let reply = |tail: Vec<Value>| {
        let Value::Array(mut items) = integers(&[0, 3, 2, 1_000, 5_000]) else { unreachable!() };
        items.extend(tail);
        Value::Array(items)
    };
    let each = Value::Array(vec![integers(&[1, 9, 9, 0, 0]), integers(&[0, 3, 2, 1_000, 5_000])]);

    let decision: AllDecision = decode(reply(vec![Value::Int(2), each.clone()])).unwrap();
    assert!(!decision.allowed());
    assert_eq!(decision.binding, 1);
    assert_eq!(decision.whole, decision.each[1]);
    assert!(decision.each[0].allowed);

    let reserved: AllDecision = decode(reply(vec![Value::Int(2), each.clone(), Value::Int(70)])).unwrap();
    assert_eq!(reserved.whole.wait, Some(Duration::from_millis(70)));

    for wrong in [
        vec![],
        vec![Value::Int(1)],
        vec![Value::Int(0), each.clone()],
        vec![Value::Int(3), each.clone()],
        vec![each.clone(), Value::Int(1)],
        vec![Value::Int(1), Value::Array(vec![])],
        vec![Value::Int(1), each.clone(), Value::Int(1), Value::Int(1)],
        vec![Value::Int(1), Value::Array(vec![Value::Nil])],
    ] {
        assert_eq!(decode::<AllDecision>(reply(wrong.clone())), None, "{wrong:?}");
    }
}

#[test]
fn redis_cell_has_seconds_and_the_other_way_round() {
    let allowed: Throttled = decode(integers(&[0, 16, 15, -1, 2])).unwrap();
    assert_eq!(allowed.0, Decision::allowed(16, 15, 2 * SECOND));
    let refused: Throttled = decode(integers(&[1, 16, 0, 2, 32])).unwrap();
    assert_eq!(refused.0, Decision::refused(16, 0, Retry::After(2 * SECOND), 32 * SECOND));
    let never: Throttled = decode(integers(&[1, 16, 16, -1, 0])).unwrap();
    assert_eq!(never.0.retry_after, Retry::Never);
    assert_eq!(decode::<Throttled>(integers(&[2, 16, 16, -1, 0])), None);
    assert_eq!(decode::<Throttled>(integers(&[0, 16, 16, -1])), None);
}

fn field(name: &str, value: Value) -> (Value, Value) {
    (Value::BulkString(name.as_bytes().to_vec()), value)
}

fn bucket_fields() -> Vec<(Value, Value)> {
    vec![
        field("algorithm", Value::BulkString(b"tokenbucket".to_vec())),
        field("capacity", Value::Int(10)),
        field("rate", Value::Int(5)),
        field("period_ms", Value::Int(1_000)),
        field("used", Value::Int(3)),
        field("remaining", Value::Int(0)),
        field("reset_after_ms", Value::Int(600)),
        field("blocked_ms", Value::Int(70)),
        field("updated_us", Value::Int(1_728_000_000_000_000)),
    ]
}

#[test]
fn both_protocols_tell_what_a_key_holds() {
    let mut fields = bucket_fields();
    fields.extend([field("bytes", Value::Int(36)), field("version", Value::Int(1))]);
    let flat = fields.clone().into_iter().flat_map(|(name, value)| [name, value]).collect();
    let info: Info = decode(Value::Map(fields)).unwrap();
    assert_eq!(Some(&info), decode(Value::Array(flat)).as_ref());
    assert_eq!((info.bytes, info.version, info.limits.len()), (36, 1, 1));
    let usage = info.limits[0];
    assert_eq!(usage.limit, Limit::token_bucket(10, Rate::per_second(5).unwrap()).unwrap());
    assert_eq!((usage.used, usage.remaining, usage.events), (3, 0, None));
    assert_eq!(usage.reset_after, Duration::from_millis(600));
    assert_eq!(usage.blocked, Some(Duration::from_millis(70)));
    assert_eq!(usage.updated, SystemTime::UNIX_EPOCH + Duration::from_secs(1_728_000_000));
    assert_eq!(decode::<Option<Info>>(Value::Nil), Some(None));
}

#[test]
fn a_list_of_limits_tells_of_each() {
    let fields = vec![
        field("algorithm", Value::BulkString(b"all".to_vec())),
        field("limits", Value::Array(vec![Value::Map(bucket_fields()), Value::Map(bucket_fields())])),
        field("bytes", Value::Int(90)),
        field("version", Value::Int(2)),
    ];
    let info: Info = decode(Value::Map(fields)).unwrap();
    assert_eq!(info.limits.len(), 2);
    assert_eq!(info.limits[0], info.limits[1]);
    let unknown = vec![field("algorithm", Value::BulkString(b"leaky".to_vec()))];
    assert_eq!(decode::<Info>(Value::Map(unknown)), None);
}
