//! Records as version 1 wrote them, to be read for ever. A sample is never edited; a new format adds new ones.

use limiter_core::call::{self, Limit};
use limiter_core::fixed_window::Opening;
use limiter_core::limit::{BucketLimit, Rate, WindowLimit};
use limiter_core::record::{self, Algorithm, Record, RecordError};
use limiter_core::sliding_log::HEADER_LEN;
use limiter_core::time::{Interval, Timestamp};

use crate::key::Key;

pub struct Sample {
    name: &'static str,
    /// Fields apart, in the order in which they are stored.
    pub hex: &'static [&'static str],
    limit: Limit,
    updated: u64,
    expiry_ms: u64,
    /// What is in use at `updated`.
    used: u64,
    /// How long after `updated` nothing is.
    reset: u64,
    /// The events that count at `updated`.
    events: Option<u64>,
}

const MOST: u64 = 1_000_000_000_000;
const LONGEST_MS: u64 = 315_360_000_000;
const LONGEST: u64 = LONGEST_MS * 1_000;

fn bucket(capacity: u64, tokens: u64, period_ms: u64) -> BucketLimit {
    let rate = Rate::new(tokens, Interval::from_millis(period_ms).unwrap()).unwrap();
    BucketLimit::new(capacity, rate).unwrap()
}

fn window(limit: u64, window_ms: u64) -> WindowLimit {
    WindowLimit::new(limit, Interval::from_millis(window_ms).unwrap()).unwrap()
}

pub fn samples() -> Vec<Sample> {
    vec![
        Sample {
            name: "a token bucket",
            hex: &[
                "524c0101",         // RL, version 1, tokenbucket
                "8164314648470600", // updated
                "39d3761100000000", // debt: 5 tokens of 60,000,000, less the 7,000,007 that flowed back in 1,000,001 us
                "64000000",         // capacity 100
                "07000000",         // tokens 7
                "60ea0000",         // period 60,000 ms
                "42f50000",         // expiry 62,786 ms after updated
            ],
            limit: Limit::TokenBucket(bucket(100, 7, 60_000)),
            updated: 1_767_225_601_123_457,
            expiry_ms: 1_767_225_663_909,
            used: 5,
            reset: 41_857_142,
            events: None,
        },
        Sample {
            name: "a wide token bucket",
            hex: &[
                "524c0111",
                "4022224648470600",
                "004039b3d46711db13dc040100000000", // debt
                "0010a5d4e8000000",
                "0010a5d4e8000000",
                "00b8eb6c49000000",
                "7b3c3c9a09020000", // expiry, absolute
            ],
            limit: Limit::TokenBucket(bucket(MOST, MOST, LONGEST_MS)),
            updated: 1_767_225_600_123_456,
            expiry_ms: 2_240_265_600_123,
            used: MOST - 1,
            reset: LONGEST - 315,
            events: None,
        },
        Sample {
            name: "gcra",
            hex: &["524c0102", "8164314648470600", "39d3761100000000", "64000000", "07000000", "60ea0000", "42f50000"],
            limit: Limit::Gcra(bucket(100, 7, 60_000)),
            updated: 1_767_225_601_123_457,
            expiry_ms: 1_767_225_663_909,
            used: 5,
            reset: 41_857_142,
            events: None,
        },
        Sample {
            name: "wide gcra",
            hex: &[
                "524c0112",
                "4022224648470600",
                "004039b3d46711db13dc040100000000",
                "0010a5d4e8000000",
                "0010a5d4e8000000",
                "00b8eb6c49000000",
                "7b3c3c9a09020000",
            ],
            limit: Limit::Gcra(bucket(MOST, MOST, LONGEST_MS)),
            updated: 1_767_225_600_123_456,
            expiry_ms: 2_240_265_600_123,
            used: MOST - 1,
            reset: LONGEST - 315,
            events: None,
        },
        Sample {
            name: "a fixed window",
            hex: &[
                "524c0103",
                "4022224648470600", // start
                "4722224648470600", // updated, 7 us later
                "07000000",         // used
                "0c000000",         // limit
                "50c30000",         // window 50,000 ms
                "49ee0000",         // expiry 61,001 ms after updated
            ],
            limit: Limit::Fixed(window(12, 50_000), Opening::FirstCall),
            updated: 1_767_225_600_123_463,
            expiry_ms: 1_767_225_661_124,
            used: 7,
            reset: 49_999_993,
            events: None,
        },
        Sample {
            name: "a wide fixed window that opened before the epoch",
            hex: &[
                "524c0113",
                "18fcffffffffffff", // start -1,000
                "0500000000000000",
                "ff0fa5d4e8000000",
                "0010a5d4e8000000",
                "00b8eb6c49000000",
                "e7bbeb6c49000000",
            ],
            limit: Limit::Fixed(window(MOST, LONGEST_MS), Opening::FirstCall),
            updated: 5,
            expiry_ms: 315_360_000_999,
            used: MOST - 1,
            reset: LONGEST - 1_005,
            events: None,
        },
        Sample {
            name: "a sliding log with a dead event",
            hex: &[
                "524c0104",
                "14000000",         // limit
                "01000000",         // events in front that were dead when this header was written
                "d007000000000000", // window 2,000 ms
                "1cb8da769b010000", // expiry
                "4022224648470600", // five times
                "004a2b4648470600",
                "004a2b4648470600",
                "8064314648470600",
                "8164314648470600",
            ],
            limit: Limit::SlidingLog(window(20, 2_000)),
            updated: 1_767_225_601_123_457,
            expiry_ms: 1_767_225_604_124,
            used: 4,
            reset: 2_000_000,
            events: Some(4),
        },
        Sample {
            name: "a sliding log with weights",
            hex: &[
                "524c0114",
                "80969800",
                "00000000",
                "00b8eb6c49000000",
                "7c3c3c9a09020000",
                "4022224648470600", // a time
                "4054890000000000", // the weight up to it
                "4922224648470600",
                "4154890000000000",
                "4922224648470600",
                "4354890000000000",
            ],
            limit: Limit::SlidingLog(window(10_000_000, LONGEST_MS)),
            updated: 1_767_225_600_123_465,
            expiry_ms: 2_240_265_600_124,
            used: 9_000_003,
            reset: LONGEST,
            events: Some(3),
        },
        Sample {
            name: "a sliding counter",
            hex: &[
                "524c0105",
                "8064314648470600", // updated
                "1e000000",         // current
                "14000000",         // previous
                "32000000",         // limit
                "e8030000",         // window 1,000 ms
                "55070000",         // expiry 1,877 ms after updated
            ],
            limit: Limit::SlidingCounter(window(50, 1_000)),
            updated: 1_767_225_601_123_456,
            expiry_ms: 1_767_225_603_000,
            // 30, and 20 of which 0.876544 is in the window.
            used: 48,
            reset: 1_876_544,
            events: None,
        },
        Sample {
            name: "a wide sliding counter",
            hex: &[
                "524c0115",
                "4122224648470600",
                "ff0fa5d4e8000000",
                "0000000000000000",
                "0010a5d4e8000000",
                "00b8eb6c49000000",
                "00c05d674b020000",
            ],
            limit: Limit::SlidingCounter(window(MOST, LONGEST_MS)),
            updated: 1_767_225_600_123_457,
            expiry_ms: 2_522_880_000_000,
            used: MOST - 1,
            // The sixth window since the epoch ends two windows later.
            reset: 7 * LONGEST - 1_767_225_600_123_457,
            events: None,
        },
    ]
}

fn bytes(sample: &Sample) -> Vec<u8> {
    from_hex(&sample.hex.concat())
}

pub fn from_hex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn a_frozen_record_means_what_it_meant() {
    for sample in samples() {
        let name = sample.name;
        let bytes = bytes(&sample);
        assert_eq!(call::stored_limit(&bytes), Ok(sample.limit), "{name}");
        let report = call::report(&bytes, Timestamp::from_micros(sample.updated)).unwrap();
        assert_eq!(report.limit, sample.limit, "{name}");
        assert_eq!(report.updated.micros(), sample.updated, "{name}");
        assert_eq!(report.decision.used, sample.used, "{name}");
        assert_eq!(report.decision.reset.micros(), sample.reset, "{name}");
        assert_eq!(report.events, sample.events, "{name}");
        let key = Key { record: Some(bytes), ..Key::new(sample.limit.algorithm()) };
        assert_eq!(key.told_expiry_ms(), Some(sample.expiry_ms), "{name}");
    }
}

#[test]
fn a_frozen_record_is_written_back_byte_for_byte() {
    for sample in samples() {
        let bytes = bytes(&sample);
        let (algorithm, record) = record::decode(&bytes).unwrap();
        assert_eq!(algorithm, sample.limit.algorithm(), "{}", sample.name);
        let again = match &record {
            Record::Bucket(stored) => record::encode_bucket(algorithm, stored),
            Record::Fixed(stored) => record::encode_fixed(stored),
            Record::Counter(stored) => record::encode_counter(stored),
            // A log is read in place: an admitted call leaves all its events as they are.
            Record::Log(log) => {
                let mut key = Key { record: Some(bytes.clone()), ..Key::new(algorithm) };
                key.expiry_ms = Some(log.expiry_ms());
                assert!(key.call_under(&sample.limit, sample.updated + 1, 1).unwrap().allowed());
                let after = key.record.unwrap();
                assert_eq!(after[..bytes.len()], bytes, "{}", sample.name);
                let event = if bytes[3] & 0x10 == 0 { 8 } else { 16 };
                assert_eq!(after.len(), bytes.len() + event, "{}", sample.name);
                continue;
            }
        };
        assert_eq!(again.as_bytes(), bytes, "{}", sample.name);
    }
}

#[test]
fn a_frozen_record_cut_anywhere_or_continued_is_refused_unless_it_is_a_shorter_log() {
    for sample in samples() {
        let bytes = bytes(&sample);
        let algorithm = sample.limit.algorithm();
        let event = if bytes[3] & 0x10 == 0 { 8 } else { 16 };
        for length in 0..bytes.len() {
            let cut = record::decode(&bytes[..length]);
            let events = length.checked_sub(HEADER_LEN).filter(|events| events % event == 0);
            match (algorithm, events) {
                // The first event of the one sample is dead, and without it the header would be wrong.
                (Algorithm::SlidingLog, Some(length)) if event == 16 || length > 0 => assert!(cut.is_ok()),
                _ => assert_eq!(cut, Err(RecordError::Foreign), "{}, {length} bytes", sample.name),
            }
        }
        let continued = [bytes.as_slice(), &[0]].concat();
        assert_eq!(record::decode(&continued), Err(RecordError::Foreign), "{}", sample.name);
    }
}

#[test]
fn a_record_of_a_newer_version_says_so_whatever_follows() {
    for sample in samples() {
        let mut bytes = bytes(&sample);
        for version in record::VERSION + 1..=255 {
            bytes[2] = version;
            assert_eq!(record::decode(&bytes), Err(RecordError::Newer(version)));
            let mut key = Key { record: Some(bytes.clone()), ..Key::new(sample.limit.algorithm()) };
            let error = key.call_under(&sample.limit, sample.updated, 1).unwrap_err();
            assert_eq!(error, RecordError::Newer(version));
            assert_eq!(key.record, Some(bytes.clone()));
        }
        assert_eq!(record::decode(&bytes[..4]), Err(RecordError::Newer(255)));
        // Version 2 says what version 1 cannot: there is no such plain record.
        for version in [0, 2] {
            bytes[2] = version;
            assert_eq!(record::decode(&bytes), Err(RecordError::Foreign));
        }
    }
}

#[test]
fn a_record_is_state_of_its_own_algorithm_alone() {
    for sample in samples() {
        for other in samples() {
            let (found, wanted) = (sample.limit.algorithm(), other.limit.algorithm());
            let mut key = Key { record: Some(bytes(&sample)), ..Key::new(wanted) };
            key.expiry_ms = Some(sample.expiry_ms);
            let got = key.call_under(&other.limit, sample.updated, 0).map(|decision| decision.allowed());
            assert_eq!(got, if found == wanted { Ok(true) } else { Err(RecordError::Other { found, wanted }) });
        }
    }
}

#[test]
fn numbers_out_of_range_are_refused() {
    // Sample, field, what it becomes.
    let wrong = [
        (0, 1, "0100000000000040"), // updated after the latest time
        (0, 2, "014001c87887aa1e"), // a debt that 7 a microsecond do not pay within 3,653,650 d
        (0, 4, "00000000"),         // no tokens
        (0, 5, "00000000"),         // no period
        (1, 3, "0110a5d4e8000000"), // capacity 10^12 + 1
        (1, 4, "0110a5d4e8000000"), // as many tokens
        (1, 5, "01b8eb6c49000000"), // a period of 3650 d and 1 ms
        (1, 4, "0100000000000000"), // a bucket that takes ages to fill
        (1, 6, "ffffffffffffffff"), // an expiry at no time
        (4, 5, "00000000"),         // no window
        (4, 1, "4822224648470600"), // a start after the last admitted call
        (5, 3, "0110a5d4e8000000"), // 10^12 + 1 used
        (5, 1, "ffffffffffffff7f"), // a start at no time
        (5, 1, "0000000000000080"), // a start before any clock
        (6, 1, "81969800"),         // a log of 10^7 + 1
        (6, 2, "06000000"),         // more dead events than events
        (6, 3, "0000000000000000"), // no window
        (7, 3, "01b8eb6c49000000"), // a window of 3650 d and 1 ms
        (8, 5, "00000000"),         // no window
        (9, 2, "0110a5d4e8000000"), // 10^12 + 1 current
        (9, 3, "0110a5d4e8000000"), // 10^12 + 1 previous
    ];
    let samples = samples();
    for (sample, field, hex) in wrong {
        let mut fields = samples[sample].hex.to_vec();
        assert_eq!(fields[field].len(), hex.len());
        fields[field] = hex;
        let joined = fields.concat();
        assert_eq!(
            record::decode(&from_hex(&joined)),
            Err(RecordError::Foreign),
            "{}, field {field}",
            samples[sample].name
        );
    }
}
