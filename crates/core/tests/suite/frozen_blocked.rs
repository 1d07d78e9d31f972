//! Blocked records as version 2 wrote them, to be read for ever. A sample is never edited; a new format adds new ones.

use limiter_core::block::{BLOCK_LEN, Block};
use limiter_core::call;
use limiter_core::record::{self, RecordError};
use limiter_core::time::{Interval, Timestamp};

use crate::frozen;

/// 07:00:02 after the samples' times, for 15 minutes.
const SINCE: u64 = 1_767_250_802_000_001;
const LENGTH_MS: u64 = 900_000;

/// The block in its 16 bytes: when it began, and its milliseconds.
const BLOCK: &str = concat!("814048244e470600", "a0bb0d0000000000");

/// No block any more, in a log with the room for one.
const OVER: &str = concat!("0000000000000000", "0000000000000000");

fn block() -> Block {
    Block::new(Timestamp::from_micros(SINCE), Interval::from_millis(LENGTH_MS).unwrap())
}

/// The blocked form of every plain sample: version 2, 0x20 in the fourth byte, and the block after it.
fn samples() -> Vec<(String, Vec<u8>, Vec<u8>)> {
    let heads = [
        ("524c0101", "524c0221"),
        ("524c0111", "524c0231"),
        ("524c0102", "524c0222"),
        ("524c0112", "524c0232"),
        ("524c0103", "524c0223"),
        ("524c0113", "524c0233"),
        ("524c0104", "524c0224"),
        ("524c0114", "524c0234"),
        ("524c0105", "524c0225"),
        ("524c0115", "524c0235"),
    ];
    let plain: Vec<String> = frozen::samples().iter().map(|sample| sample.hex.concat()).collect();
    let blocked = |(plain, (head, blocked)): (&String, (&str, &str))| {
        let rest = plain.strip_prefix(head).unwrap();
        let hex = format!("{blocked}{BLOCK}{rest}");
        (hex.clone(), frozen::from_hex(&hex), frozen::from_hex(plain))
    };
    assert_eq!(plain.len(), heads.len());
    plain.iter().zip(heads).map(blocked).collect()
}

#[test]
fn a_frozen_blocked_record_is_its_plain_one_and_a_block() {
    for (name, bytes, plain) in samples() {
        assert_eq!(record::decode(&bytes), record::decode(&plain), "{name}");
        assert_eq!(call::stored_limit(&bytes), call::stored_limit(&plain), "{name}");
        assert_eq!(record::block(&bytes), Some(block()), "{name}");
        assert_eq!(record::block(&plain), None, "{name}");
        assert_eq!((record::version(&bytes), record::version(&plain)), (2, 1), "{name}");
        let left = |us| call::report(&bytes, Timestamp::from_micros(us)).unwrap().blocked.map(|left| left.micros());
        assert_eq!(left(SINCE + 1), Some(LENGTH_MS * 1_000 - 1), "{name}");
        assert_eq!(left(SINCE + LENGTH_MS * 1_000 - 1), Some(1), "{name}");
        assert_eq!(left(SINCE + LENGTH_MS * 1_000), None, "{name}");
    }
}

#[test]
fn a_frozen_blocked_record_is_written_back_byte_for_byte() {
    for (name, bytes, plain) in samples() {
        let mut again = [vec![0xAA; BLOCK_LEN], plain.clone()].concat();
        block().put(&mut again);
        assert_eq!(again, bytes, "{name}");
        if plain.len() <= 60 {
            assert_eq!(block().wrap(&plain).as_bytes(), bytes, "{name}");
        }
    }
}

#[test]
fn a_frozen_blocked_record_cut_within_its_header_or_with_a_block_out_of_range_is_refused() {
    for (name, bytes, plain) in samples() {
        for length in 0..20 {
            assert_eq!(record::decode(&bytes[..length]), Err(RecordError::Foreign), "{name}, {length} bytes");
        }
        for length in 20..bytes.len() {
            let (cut, plain) = (&bytes[..length], &plain[..length - BLOCK_LEN]);
            assert_eq!(record::decode(cut), record::decode(plain), "{name}, {length} bytes");
        }
        let wrong = [
            (4, "0100000000000040"),  // since after the latest time
            (12, "0000000000000000"), // no length
            (12, "01b8eb6c49000000"), // 3650 d and 1 ms
        ];
        for (at, hex) in wrong {
            let mut damaged = bytes.clone();
            damaged[at..at + 8].copy_from_slice(&frozen::from_hex(hex));
            assert_eq!(record::decode(&damaged), Err(RecordError::Foreign), "{name}: {hex}");
        }
        // A block and a version that does not know it.
        let mut older = bytes.clone();
        older[2] = 1;
        assert_eq!(record::decode(&older), Err(RecordError::Foreign), "{name}");
    }
}

#[test]
fn the_room_of_a_block_that_is_over_is_read_as_no_block() {
    for (name, mut bytes, plain) in samples() {
        bytes[4..20].copy_from_slice(&frozen::from_hex(OVER));
        assert_eq!(record::decode(&bytes), record::decode(&plain), "{name}");
        for at in [0, 1, SINCE] {
            assert_eq!(call::report(&bytes, Timestamp::from_micros(at)).unwrap().blocked, None, "{name}");
        }
    }
}

#[test]
fn a_debt_that_was_booked_ahead_is_read_as_it_was_written() {
    // GCRA, burst 2, one a second, and five tokens owed, of 1,000,000 each.
    let hex =
        concat!("524c0102", "4022224648470600", "404b4c0000000000", "02000000", "01000000", "e8030000", "51220000");
    let bytes = frozen::from_hex(hex);
    let at = |us: u64| Timestamp::from_micros(1_767_225_600_123_456 + us);
    let report = call::report(&bytes, at(0)).unwrap();
    assert_eq!((report.decision.limit, report.used, report.decision.remaining()), (2, 5, 0));
    assert_eq!(report.decision.reset.micros(), 5_000_000);
    assert_eq!(call::report(&bytes, at(3_999_999)).unwrap().decision.remaining(), 0);
    assert_eq!(call::report(&bytes, at(4_000_000)).unwrap().decision.remaining(), 1);
    let (algorithm, decoded) = record::decode(&bytes).unwrap();
    let record::Record::Bucket(stored) = decoded else { panic!("a bucket") };
    assert_eq!(record::encode_bucket(algorithm, &stored).as_bytes(), bytes);
}
