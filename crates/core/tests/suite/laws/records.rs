//! Stored bytes: whatever they are, there is an answer, and what a call makes of them can be read again.

use limiter_core::block::BLOCK_LEN;
use limiter_core::call;
use limiter_core::limit::INTERVAL_MS;
use limiter_core::record::{self, Algorithm, Record};
use limiter_core::sliding_log::HEADER_LEN;
use limiter_core::time::Timestamp;
use proptest::prelude::*;
use proptest::sample::Index;

use super::{algorithm, follow, follow_asking};
use crate::any_bytes;
use crate::generate::{asking, busy_scenario, scenario};
use crate::runs;
use crate::scenario::Scenario;

/// Numbers as a record's fields hold them.
fn field() -> impl Strategy<Value = Vec<u8>> {
    let long = prop_oneof![
        0..=20_u64,
        any::<u64>(),
        (0..=63_u32, 0..=2_u64).prop_map(|(twos, more)| (1_u64 << twos).wrapping_add(more).wrapping_sub(1)),
        (0..=1_u64).prop_map(|more| INTERVAL_MS.max + more),
        1_700_000_000_000_000..=1_900_000_000_000_000_u64,
        Just(u64::MAX),
    ];
    let short = prop_oneof![0..=20_u32, any::<u32>(), Just(u32::MAX)];
    prop_oneof![
        2 => long.prop_map(|n| n.to_le_bytes().to_vec()),
        1 => short.prop_map(|n| n.to_le_bytes().to_vec()),
    ]
}

/// When a block began, and its milliseconds.
fn block() -> impl Strategy<Value = Vec<u8>> {
    let since = prop_oneof![Just(0), 1_700_000_000_000_000..=1_900_000_000_000_000_u64, any::<u64>()];
    let length = prop_oneof![4 => 1..=INTERVAL_MS.max, 1 => Just(0), 1 => any::<u64>()];
    (since, length).prop_map(|(since, length)| [since.to_le_bytes(), length.to_le_bytes()].concat())
}

/// Bytes that start like a record and go on at will.
fn almost_a_record() -> impl Strategy<Value = Vec<u8>> {
    let kind =
        prop_oneof![8 => (1..=5_u8, any::<bool>()).prop_map(|(n, wide)| n | u8::from(wide) << 4), 1 => any::<u8>()];
    let head = prop_oneof![
        8 => kind.clone().prop_map(|kind| vec![1, kind]),
        4 => (kind.clone(), block()).prop_map(|(kind, block)| [vec![2, kind | 0x20], block].concat()),
        1 => (any::<u8>(), kind).prop_map(|(version, kind)| vec![version, kind]),
    ];
    (head, prop::collection::vec(field(), 0..12))
        .prop_map(|(head, fields)| [vec![b'R', b'L'], head, fields.concat()].concat())
}

#[derive(Clone, Debug)]
enum Damage {
    Flip(Index, u8),
    Cut(Index),
    Overwrite(Index, Vec<u8>),
    Append(Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        3 => (any::<Index>(), 0..8_u8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        1 => any::<Index>().prop_map(Damage::Cut),
        3 => (any::<Index>(), field()).prop_map(|(at, field)| Damage::Overwrite(at, field)),
        1 => field().prop_map(Damage::Append),
    ]
}

impl Damage {
    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        match self {
            Self::Flip(at, bit) => {
                let at = at.index(bytes.len());
                bytes[at] ^= 1 << bit;
            }
            Self::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Self::Overwrite(at, field) => {
                // Whole words, so that fields are hit as fields.
                let at = at.index(bytes.len()) / 4 * 4;
                for (byte, new) in bytes[at..].iter_mut().zip(field) {
                    *byte = *new;
                }
            }
            Self::Append(field) => bytes.extend_from_slice(field),
        }
    }
}

/// A record that calls have written.
fn written(algorithm: Algorithm, scenario: &Scenario) -> Vec<u8> {
    let mut bytes = Vec::new();
    follow_asking(algorithm, scenario, |_, _, key| {
        bytes = key.record.clone().unwrap_or_default();
        Ok(())
    })
    .unwrap();
    bytes
}

proptest! {
    #![proptest_config(runs(4_000))]

    #[test]
    fn any_bytes_have_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200), scenario in asking(scenario(4))) {
        any_bytes::check(&bytes, &scenario).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn bytes_that_look_like_a_record_have_an_answer(bytes in almost_a_record(), scenario in asking(scenario(6))) {
        any_bytes::check(&bytes, &scenario).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn damaged_records_have_an_answer(
        algorithm in algorithm(),
        scenario in asking(scenario(30)),
        damage in prop::collection::vec(damage(), 1..4),
    ) {
        let mut bytes = written(algorithm, &scenario);
        for damage in &damage {
            damage.apply(&mut bytes);
        }
        any_bytes::check(&bytes, &scenario).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn what_is_read_is_written_back_the_same(bytes in almost_a_record()) {
        if let Ok((algorithm, record)) = record::decode(&bytes) {
            let again = match &record {
                Record::Bucket(stored) => record::encode_bucket(algorithm, stored),
                Record::Fixed(stored) => record::encode_fixed(stored),
                Record::Counter(stored) => record::encode_counter(stored),
                Record::Log(_) => return Ok(()),
            };
            // The wide form of numbers that fit the compact one is written compactly, and means the same.
            let (wide, plain) = (bytes[3] & 0x10 != 0, again.as_bytes());
            let again = record::block(&bytes).map_or(plain.to_vec(), |block| block.wrap(plain).as_bytes().to_vec());
            prop_assert!(wide || again == bytes);
            prop_assert_eq!(record::decode(&again), Ok((algorithm, record)));
            prop_assert_eq!(record::block(&again), record::block(&bytes));
        }
    }

    #[test]
    fn a_log_that_is_asked_more_takes_at_most_twice_the_bytes_of_its_living_events(
        scenario in asking(prop_oneof![scenario(120), busy_scenario(120)]),
    ) {
        follow_asking(Algorithm::SlidingLog, &scenario, |asked, before, after| {
            // A block alone writes what is there, dead or not.
            let counts = asked.decision.allowed() || asked.options.strict;
            if before != after && counts && !after.has_wrong_time(asked.at) {
                let bytes = after.record.as_deref().unwrap();
                let living = usize::try_from(call::report(bytes, Timestamp::from_micros(asked.at)).unwrap().events.unwrap());
                let event = if bytes[3] & 0x10 == 0 { 8 } else { 16 };
                prop_assert!(bytes.len() <= HEADER_LEN + BLOCK_LEN + 2 * event * living.unwrap());
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_log_takes_at_most_twice_the_bytes_of_its_living_events(scenario in scenario(120)) {
        follow(Algorithm::SlidingLog, &scenario, |now, before, after, _| {
            if before != after && !after.has_wrong_time(now.at) {
                let bytes = after.record.as_deref().unwrap();
                let report = call::report(bytes, Timestamp::from_micros(now.at)).unwrap();
                let event = if bytes[3] & 0x10 == 0 { 8 } else { 16 };
                let living = usize::try_from(report.events.unwrap()).unwrap();
                prop_assert!(bytes.len() <= HEADER_LEN + 2 * event * living);
            }
            Ok(())
        })?;
    }
}
