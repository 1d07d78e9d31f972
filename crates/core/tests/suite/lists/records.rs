//! The stored bytes of lists: frozen, cut, damaged.

use limiter_core::all;
use limiter_core::call;
use limiter_core::compound::{Compound, is_compound};
use limiter_core::fixed_window::Opening;
use limiter_core::limit::{BucketLimit, Rate, WindowLimit};
use limiter_core::matching::Stored;
use limiter_core::options::Options;
use limiter_core::record::{self, RecordError};
use limiter_core::request::Call;
use limiter_core::time::{Interval, Timestamp};
use proptest::prelude::*;
use proptest::sample::Index;

use super::key::ListKey;
use crate::runs;

/// As version 2 wrote it, never to be edited: 20 at once and 10 a second, 1000 an hour, a log of 5 a minute in the middle.
const SAMPLE: [&str; 24] = [
    "524c0206",         // RL, version 2, a list
    "03",               // of three
    "2400e80300000000", // 36 bytes, period 1,000 ms
    "ffff60ea00000000", // the log, window 60,000 ms
    "240080ee36000000", // 36 bytes, window 3,600,000 ms
    "524c0101",         // RL, version 1, tokenbucket
    "4e22224648470600",
    "34c62d0000000000",
    "14000000",
    "0a000000",
    "e8030000",
    "4d040000",
    "524c0103", // RL, version 1, fixed
    "4022224648470600",
    "4e22224648470600",
    "03000000e803000080ee3600",
    "69f23600",
    "524c0104", // RL, version 1, slidinglog
    "05000000",
    "00000000",
    "60ea000000000000",
    "0c08dc769b010000",
    "40222246484706004722224648470600", // three events
    "4e22224648470600",
];

const START: u64 = 1_767_225_600_123_456;

fn calls() -> Vec<Call> {
    let window = |limit, ms| WindowLimit::new(limit, Interval::from_millis(ms).unwrap()).unwrap();
    let rate = Rate::new(10, Interval::SECOND).unwrap();
    let limits = [
        call::Limit::TokenBucket(BucketLimit::new(20, rate).unwrap()),
        call::Limit::SlidingLog(window(5, 60_000)),
        call::Limit::Fixed(window(1_000, 3_600_000), Opening::FirstCall),
    ];
    limits.map(|limit| Call { limit, cost: 1, options: Options::NONE }).to_vec()
}

fn sample() -> ListKey {
    let mut key = ListKey::default();
    for step in 0..3 {
        assert!(key.call(&calls(), START + step * 7).unwrap().allowed());
    }
    key
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_list_is_written_as_it_was_frozen() {
    let key = sample();
    assert_eq!(hex(key.record.as_deref().unwrap()), SAMPLE.concat());
}

fn bytes() -> Vec<u8> {
    let hex = SAMPLE.concat();
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
}

#[test]
fn a_frozen_list_is_read_as_it_was_written() {
    let bytes = bytes();
    let list = Compound::open(&bytes).unwrap();
    assert_eq!(list.check(), Ok(()));
    let read: Vec<_> =
        list.parts().map(|part| (part.window.millis(), call::stored_limit(part.record).unwrap())).collect();
    let expected: Vec<_> = calls().iter().map(|call| (call.limit.interval().millis(), call.limit)).collect();
    assert_eq!(read, expected);
    let seen = all::look_again(&list, Timestamp::from_micros(START + 14), 1).unwrap();
    let replies: Vec<_> = seen.each().iter().map(|decision| decision.reply()).collect();
    assert_eq!(replies, [[1, 20, 16, 0, 400], [1, 5, 1, 0, 60_000], [1, 1_000, 996, 0, 3_600_000]]);
    assert_eq!((seen.whole().reply(), seen.binding()), ([1, 5, 1, 0, 3_600_000], 2));
}

#[test]
fn a_list_with_a_log_is_appended_to_and_the_bytes_before_its_events_are_put_over_the_old() {
    let mut key = sample();
    let before = key.record.clone().unwrap();
    assert!(key.call(&calls(), START + 20).unwrap().allowed());
    let after = key.record.clone().unwrap();
    let events = before.len() - 3 * 8;
    assert_eq!(after.len(), before.len() + 8);
    assert_eq!(after[events..before.len()], before[events..]);
    assert!(!key.whole);
    // The table, the other parts and the event; the log's own header is as it was.
    assert_eq!(key.sent, events - 28 + 8);
}

#[test]
fn a_frozen_list_cut_anywhere_or_continued_is_refused_unless_its_log_is_shorter() {
    let bytes = bytes();
    let events = bytes.len() - 3 * 8;
    for length in 0..bytes.len() {
        let cut = Stored::read(Some(&bytes[..length])).map(|stored| stored.len());
        match length.checked_sub(events) {
            Some(more) if more % 8 == 0 => assert_eq!(cut, Ok(3)),
            _ => assert_eq!(cut, Err(RecordError::Foreign), "{length} bytes"),
        }
    }
    let continued = [bytes.as_slice(), &[0]].concat();
    assert_eq!(Stored::read(Some(&continued)).map(|stored| stored.len()), Err(RecordError::Foreign));
    // Without the log's entry, the other two alone.
    let mut key = ListKey::default();
    let two = [calls()[0], calls()[2]];
    key.call(&two, START).unwrap();
    let whole = key.record.unwrap();
    for length in 0..whole.len() {
        assert!(Stored::read(Some(&whole[..length])).is_err(), "{length} bytes");
    }
}

#[test]
fn single_limiters_do_not_read_a_list_and_say_so() {
    let bytes = bytes();
    assert_eq!(record::decode(&bytes).map(|_| ()), Err(RecordError::List));
    for call in calls() {
        let decided = call::decide(Some(&bytes), &call.limit, Timestamp::from_micros(START), 1);
        assert_eq!(decided.map(|_| ()), Err(RecordError::List));
    }
}

#[test]
fn a_list_that_names_none_or_one_or_too_many_or_two_logs_is_refused() {
    for count in [0, 1, 2, 4, 33, 255] {
        let mut bytes = bytes();
        bytes[4] = count;
        assert_eq!(Stored::read(Some(&bytes)).map(|stored| stored.len()), Err(RecordError::Foreign), "{count}");
    }
    let mut bytes = bytes();
    bytes[5..7].copy_from_slice(&[0xff, 0xff]);
    assert_eq!(Stored::read(Some(&bytes)).map(|stored| stored.len()), Err(RecordError::Foreign));
}

proptest! {
    #![proptest_config(runs(4_000))]

    #[test]
    fn damaged_lists_get_some_answer(
        damage in prop::collection::vec((any::<Index>(), any::<u8>()), 1..4),
        cut in any::<Option<Index>>(),
        after in 0..100_000_000_u64,
        costs in prop::collection::vec(0..4_u64, 3),
    ) {
        let mut bytes = bytes();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let read = Stored::read(Some(&bytes)).map(|stored| stored.len());
        let mut key = ListKey { record: Some(bytes.clone()), ..ListKey::default() };
        let mut calls = calls();
        calls.iter_mut().zip(costs).for_each(|(call, cost)| call.cost = cost);
        if let Ok(list) = Compound::open(&bytes) {
            let _ = all::look_again(&list, Timestamp::from_micros(START), 1);
        }
        key.expiry_ms = read.is_ok().then(|| key.told_expiry_ms()).flatten();
        match key.call(&calls, START + after) {
            Ok(verdict) => {
                prop_assert!(read.is_ok());
                prop_assert!(verdict.whole().reply().iter().all(|&integer| integer >= -1));
                prop_assert!(Stored::read(key.record.as_deref()).is_ok());
                prop_assert_eq!(key.record.as_deref().is_some_and(is_compound), is_compound(&bytes) || verdict.allowed());
            }
            // Nothing has changed.
            Err(_) => prop_assert_eq!(key.record, Some(bytes)),
        }
    }
}
