//! redis-cell's words: the same decisions as GCRA, and the keys that redis-cell has left behind.

use limiter_core::call::{self, Change, Limit};
use limiter_core::decision::Decision;
use limiter_core::expiry::Expiry;
use limiter_core::limit::{Bound, BucketLimit, COST, FILL_MAX_US, MAX_BURST, PERIOD_S, RATE, Rate};
use limiter_core::record::{RecordError, Small};
use limiter_core::request::RequestError;
use limiter_core::throttle::{self, Throttle};
use limiter_core::time::{Interval, Timestamp};
use num_rational::Ratio;
use num_traits::ToPrimitive;
use proptest::prelude::*;
use proptest::sample::select;

use crate::model::bucket::{self, Bucket, Stored};
use crate::model::{Int, Verdict, Wait, int};
use crate::runs;

/// The arguments of a call, as numbers.
#[derive(Clone, Copy, Debug)]
struct Words {
    max_burst: u64,
    count: u64,
    period_s: u64,
}

impl Words {
    fn call(&self, quantity: u64) -> Throttle {
        let period = Interval::from_millis(self.period_s * 1_000).unwrap();
        let rate = Rate::new(self.count, period).unwrap();
        Throttle { limit: BucketLimit::new(self.max_burst + 1, rate).unwrap(), quantity }
    }

    fn model(&self) -> bucket::Limit {
        let period = int(self.period_s) * 1_000_000;
        bucket::Limit { capacity: int(self.max_burst) + 1, tokens: int(self.count), period }
    }
}

fn within(bound: Bound) -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => bound.min..=bound.min + 20,
        2 => bound.max - 2..=bound.max,
        2 => (0..=41_u32).prop_map(move |bits| (1_u64 << bits).clamp(bound.min, bound.max)),
        2 => bound.min..=bound.max,
    ]
}

fn words() -> impl Strategy<Value = Words> {
    (within(MAX_BURST), within(RATE), within(PERIOD_S)).prop_map(|(max_burst, count, period_s)| {
        let full = u128::from(max_burst + 1) * u128::from(period_s) * 1_000_000;
        let least = u64::try_from(full.div_ceil(u128::from(FILL_MAX_US))).unwrap();
        Words { max_burst, count: count.max(least), period_s }
    })
}

/// Now in microseconds, and how far the arrival time of a key lies ahead of it, in nanoseconds.
fn moments() -> impl Strategy<Value = (u64, i64)> {
    let now = prop_oneof![
        6 => 1_700_000_000_000_000..1_900_000_000_000_000_u64,
        1 => Just(9_223_372_036_854_775),
        1 => Just(1_000_000_000_000_000),
    ];
    let ahead = prop_oneof![
        2 => -3_000..=3_000_i64,
        4 => (0..=62_u32, any::<i64>()).prop_map(|(bits, ns)| ns >> (63 - bits)),
        2 => (0..=400_u32, -3..=3_i64).prop_map(|(seconds, more)| i64::from(seconds) * 1_000_000_000 + more),
    ];
    (now, ahead)
}

/// The arrival time in that many nanoseconds, if redis-cell can have written it.
fn arrival(now: u64, ahead: i64) -> Option<String> {
    let at = i128::from(now) * 1_000 + i128::from(ahead);
    let text = u64::try_from(at).ok().filter(|&ns| i64::try_from(ns).is_ok())?.to_string();
    (text.len() == 19).then_some(text)
}

/// What redis-cell's key owes under these limits, in tokens.
fn owed(words: &Words, ahead: i64) -> Ratio<Int> {
    let units = Ratio::new(Int::from(ahead.max(0)) * words.count, int(1_000)).ceil();
    units / (int(words.period_s) * 1_000_000)
}

fn expected(verdict: &Verdict) -> [i64; 5] {
    let seconds = |wait: &Int| -> i64 {
        let million = int(1_000_000);
        let up: Int = (wait + &million - 1) / million;
        up.to_i64().unwrap()
    };
    let integer = |n: &Int| n.to_i64().unwrap();
    let retry = match &verdict.retry {
        Wait::Now | Wait::Never => -1,
        Wait::After(wait) => seconds(wait),
    };
    [i64::from(!verdict.allowed), integer(&verdict.limit), integer(&verdict.remaining), retry, seconds(&verdict.reset)]
}

fn at(us: u64) -> Timestamp {
    Timestamp::from_micros(us)
}

/// The verdict and what is stored, as a server has it from the module.
fn decide(
    record: Option<&[u8]>,
    call: &Throttle,
    now: u64,
) -> Result<(Decision, Option<(Small, Expiry)>), RecordError> {
    let (now, gcra) = (at(now), call.as_gcra());
    match call::decide(record, &gcra.limit, now, gcra.cost) {
        Ok(outcome) => Ok((outcome.decision, changed(&outcome.change))),
        Err(RecordError::Foreign) => throttle::adopt(record.unwrap(), call, now).ok_or(RecordError::Foreign),
        Err(error) => Err(error),
    }
}

fn changed(change: &Change<'_>) -> Option<(Small, Expiry)> {
    match *change {
        Change::None => None,
        Change::Replace { record, expiry } => Some((record, expiry)),
        ref other => panic!("no change of a bucket: {other:?}"),
    }
}

fn quantities(words: &Words) -> Vec<u64> {
    let all = words.max_burst + 1;
    [0, 1, 2, all / 2, all - 1, all, all + 1].into_iter().filter(|&quantity| COST.holds(quantity)).collect()
}

proptest! {
    #![proptest_config(runs(20_000))]

    #[test]
    fn a_key_of_redis_cell_owes_what_its_arrival_time_says_under_any_limits(
        words in words(),
        (now, ahead) in moments(),
        which in any::<prop::sample::Index>(),
        later in 0..=10_000_000_u64,
    ) {
        let Some(key) = arrival(now, ahead) else { return Ok(()) };
        let quantity = *which.get(&quantities(&words));
        let debt = owed(&words, ahead);
        let stored = (debt > Ratio::from_integer(int(0))).then(|| Stored { debt, time: int(now), limit: words.model() });
        let mut model = Bucket { stored };
        let verdict = model.call(&words.model(), &int(now), &int(quantity));
        let (decision, stored) = decide(Some(key.as_bytes()), &words.call(quantity), now).unwrap();
        prop_assert_eq!(throttle::reply(&decision), expected(&verdict));

        // Only an admitted call rewrites the key, with an expiry of its own.
        prop_assert_eq!(stored.is_some(), verdict.allowed && quantity > 0);
        if let Some((record, expiry)) = stored {
            prop_assert!(expiry.moved);
            let needed = model.stored.as_ref().unwrap().useful_until();
            prop_assert!(int(expiry.at_ms) * 1_000 >= needed);
            // And from then on it is GCRA's.
            let then = now + later;
            let verdict = model.call(&words.model(), &int(then), &int(1));
            let (decision, _) = decide(Some(record.as_bytes()), &words.call(1), then).unwrap();
            prop_assert_eq!(throttle::reply(&decision), expected(&verdict));
        }
    }

    #[test]
    fn who_waits_as_told_is_let_in_and_a_second_less_is_too_little(
        words in words(),
        (now, ahead) in moments(),
        which in any::<prop::sample::Index>(),
    ) {
        let Some(key) = arrival(now, ahead) else { return Ok(()) };
        let call = words.call(*which.get(&quantities(&words)));
        let reply = |now| {
            throttle::reply(&decide(Some(key.as_bytes()), &call, now).unwrap().0)
        };
        let [limited, _, _, retry, _] = reply(now);
        prop_assert!(retry == -1 || limited == 1 && retry >= 1);
        if retry > 0 {
            let wait = u64::try_from(retry).unwrap() * 1_000_000;
            prop_assert_eq!(reply(now + wait)[0], 0);
            prop_assert_eq!(reply(now + wait - 1_000_000)[0], 1);
        }
    }

    #[test]
    fn calls_in_either_vocabulary_are_the_same_calls(
        words in words(),
        others in words(),
        calls in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>(), 0..=5_000_000_u64), 1..20),
    ) {
        let mut record: Option<Vec<u8>> = None;
        let mut now = 1_800_000_000_000_000;
        for (which, quantity, pause) in calls {
            now += pause;
            let words = if which { words } else { others };
            let call = words.call(*quantity.get(&quantities(&words)));
            let (decision, stored) = decide(record.as_deref(), &call, now).unwrap();
            let gcra = call::decide(record.as_deref(), &Limit::Gcra(call.limit), at(now), call.quantity).unwrap();
            prop_assert_eq!((decision, stored), (gcra.decision, changed(&gcra.change)));
            record = stored.map(|(stored, _)| stored.as_bytes().to_vec()).or(record);
        }
    }

    #[test]
    fn any_other_string_is_no_limiter(bytes in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        "[0-9]{18,20}".prop_map(String::into_bytes),
        "[-+ 0-9]{19}".prop_map(String::into_bytes),
    ]) {
        let text = std::str::from_utf8(&bytes).ok();
        let is_arrival = text.is_some_and(|text| {
            text.parse::<i64>().is_ok_and(|ns| ns >= 1_000_000_000_000_000_000 && ns.to_string() == text)
        });
        let call = Words { max_burst: 0, count: 1, period_s: 1 }.call(1);
        match decide(Some(&bytes), &call, 1_800_000_000_000_000) {
            Ok(_) => prop_assert!(is_arrival || bytes.starts_with(b"RL")),
            Err(RecordError::Foreign) => prop_assert!(!is_arrival),
            Err(_) => prop_assert!(bytes.starts_with(b"RL")),
        }
    }

    #[test]
    fn arguments_are_integers_within_their_ranges(
        args in prop::collection::vec(prop_oneof![
            4 => (0..50_u64).prop_map(|n| n.to_string()),
            3 => select(vec![MAX_BURST.max, RATE.max, PERIOD_S.max, COST.max])
                .prop_flat_map(|max| (max - 1)..=(max + 1)).prop_map(|n| n.to_string()),
            1 => select(vec!["", "-1", "+1", "01", "1.5", "1s", "x", "18446744073709551617"]).prop_map(str::to_owned),
        ], 0..6),
    ) {
        let args: Vec<&[u8]> = args.iter().map(String::as_bytes).collect();
        let got = throttle::request(&mut args.iter().copied());
        let bounds = [("max_burst", MAX_BURST), ("count", RATE), ("period", PERIOD_S), ("quantity", COST)];
        let number = |given: &[u8]| {
            let text = std::str::from_utf8(given).unwrap();
            text.parse::<u64>().ok().filter(|number| number.to_string() == text)
        };
        let wrong = args.iter().zip(bounds).find(|(given, (_, bound))| !number(given).is_some_and(|n| bound.holds(n)));
        match (got, wrong) {
            (Err(RequestError::Argument(error)), Some((given, (name, bound)))) => {
                let given = String::from_utf8_lossy(given);
                let expected = format!("an integer from {} to {}", bound.min, bound.max);
                prop_assert_eq!(error.to_string(), format!("{name}: got '{given}', expected {expected}"));
            }
            (Err(RequestError::Argument(error)), None) => {
                let slow = format!("count: got '{}', expected a rate that fills the bucket within 3650000d",
                    String::from_utf8_lossy(args[1]));
                prop_assert_eq!(error.to_string(), slow);
                let full = u128::from(number(args[0]).unwrap() + 1) * u128::from(number(args[2]).unwrap()) * 1_000_000;
                prop_assert!(full > u128::from(FILL_MAX_US) * u128::from(number(args[1]).unwrap()));
            }
            (Err(RequestError::Arity), _) => prop_assert!(!(3..=4).contains(&args.len())),
            (Ok(call), wrong) => {
                prop_assert!(wrong.is_none());
                let numbers: Vec<u64> = args.iter().map(|given| number(given).unwrap()).collect();
                let words = Words { max_burst: numbers[0], count: numbers[1], period_s: numbers[2] };
                prop_assert_eq!(call, words.call(numbers.get(3).copied().unwrap_or(1)));
            }
        }
    }
}

#[test]
fn the_published_table_of_redis_cell_is_answered_as_there() {
    // Its own test case: a burst of 4 beyond the first, one a second. Time in ms, quantity, and then the five.
    let table: [(u64, u64, [i64; 5]); 15] = [
        (0, 6, [1, 5, 5, -1, 0]),
        (0, 1, [0, 5, 4, -1, 1]),
        (0, 1, [0, 5, 3, -1, 2]),
        (0, 1, [0, 5, 2, -1, 3]),
        (0, 1, [0, 5, 1, -1, 4]),
        (0, 1, [0, 5, 0, -1, 5]),
        (0, 1, [1, 5, 0, 1, 5]),
        (3_000, 1, [0, 5, 2, -1, 3]),
        (3_100, 1, [0, 5, 1, -1, 4]),
        (4_000, 1, [0, 5, 1, -1, 4]),
        (8_000, 1, [0, 5, 4, -1, 1]),
        (9_500, 1, [0, 5, 4, -1, 1]),
        (9_500, 0, [0, 5, 4, -1, 1]),
        (9_500, 2, [0, 5, 2, -1, 3]),
        (9_500, 5, [1, 5, 2, 3, 3]),
    ];
    let words = Words { max_burst: 4, count: 1, period_s: 1 };
    let mut record: Option<Vec<u8>> = None;
    for (ms, quantity, five) in table {
        let now = 1_800_000_000_000_000 + ms * 1_000;
        let (decision, stored) = decide(record.as_deref(), &words.call(quantity), now).unwrap();
        assert_eq!(throttle::reply(&decision), five, "{quantity} after {ms} ms");
        record = stored.map(|(stored, _)| stored.as_bytes().to_vec()).or(record);
    }
}
