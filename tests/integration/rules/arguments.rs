//! The exact error for arguments that are not accepted.

use crate::harness::{Server, peek_of, quoted};

const INTEGER: &str = "an integer from 0 to 1000000000000";
const DURATION: &str = "a duration from 1ms to 3650d with its unit (ms, s, m, h or d), such as 60s";
const UNIT: &str = "a number with a unit: a duration from 1ms to 3650d with its unit (ms, s, m, h or d), such as 60s";
const RATE: &str = "n or n/duration, n an integer from 1 to 1000000000000, the duration from 1ms to 3650d with its \
                    unit (ms, s, m, h or d), such as 10 or 30/60s";
const FILL: &str = "a rate that fills the bucket within 3650000d";
const ALGORITHM: &str = "TOKENBUCKET, GCRA, FIXED, SLIDINGLOG or SLIDINGCOUNTER";

/// Checks the error of the call, of RL.PEEK with the same call, and that neither leaves a key.
#[track_caller]
fn assert_error(server: &Server, command: &str, error: &str) {
    assert_eq!(server.error(command), error, "{command}");
    let peek = peek_of(command);
    assert_eq!(server.error(&peek), error, "{peek}");
    assert_eq!(server.get::<i64>("DBSIZE"), 0, "{command}");
}

/// A word as it appears in an error.
fn shown(word: &[u8]) -> String {
    word.iter()
        .map(|&byte| match byte {
            b' '..=b'~' => char::from(byte).to_string(),
            _ => format!("\\x{byte:02x}"),
        })
        .collect()
}

#[test]
fn whatever_is_no_plain_integer_in_range_is_an_error_that_names_argument_and_range() {
    let server = Server::start();
    let words: [&[u8]; 22] = [
        b"",
        b"-1",
        b"+1",
        b"-0",
        b"00",
        b"01",
        b"1.0",
        b".5",
        b"1e3",
        b" 1",
        b"1 ",
        b"0x10",
        b"1_000",
        b"1,000",
        "１".as_bytes(),
        b"1\0",
        b"\xff",
        b"nan",
        b"1000000000001",
        b"9223372036854775808",
        b"18446744073709551616",
        b"340282366920938463463374607431768211456",
    ];
    for word in words {
        let (typed, got) = (quoted(word), shown(word));
        for (command, argument) in [
            (format!("RL.TOKENBUCKET k {typed} 1/s"), "capacity"),
            (format!("RL.GCRA k {typed} 1/s"), "burst"),
            (format!("RL.FIXED k {typed} 1s"), "limit"),
            (format!("RL.SLIDINGCOUNTER k {typed} 1s"), "limit"),
            (format!("RL.TOKENBUCKET k 1 1/s {typed}"), "cost"),
            (format!("RL.GCRA k 1 1/s {typed}"), "cost"),
            (format!("RL.FIXED k 1 1s {typed}"), "cost"),
            (format!("RL.FIXED k 1 1s {typed} ALIGNED"), "cost"),
            (format!("RL.SLIDINGLOG k 1 1s {typed}"), "cost"),
            (format!("RL.SLIDINGCOUNTER k 1 1s {typed}"), "cost"),
        ] {
            assert_error(&server, &command, &format!("ERR {argument}: got '{got}', expected {INTEGER}"));
        }
        let log = format!("RL.SLIDINGLOG k {typed} 1s");
        let range = "an integer from 0 to 1000000 (the setting rl.sliding-log-max-limit)";
        assert_error(&server, &log, &format!("ERR limit: got '{got}', expected {range}"));
        let peek = format!("RL.PEEK k {typed}");
        assert_eq!(server.error(&peek), format!("ERR cost: got '{got}', expected {INTEGER}"), "{peek}");
    }
}

#[test]
fn whatever_is_no_duration_in_range_is_an_error_that_names_argument_and_range() {
    let server = Server::start();
    let words: [&[u8]; 28] = [
        b"",
        b"s",
        b"ms",
        b"0s",
        b"0ms",
        b"0d",
        b"3651d",
        b"87601h",
        b"315360000001ms",
        b"-1s",
        b"+1s",
        b"01s",
        b"1.5s",
        b"1 s",
        b" 1s",
        b"1s ",
        b"1sec",
        b"1w",
        b"1us",
        b"1y",
        b"1s1s",
        b"1\0s",
        b"\xff",
        "1ｓ".as_bytes(),
        b"9223372036854775808ms",
        b"18446744073709551617ms",
        b"213503982334602d",
        b"1e3s",
    ];
    for word in words {
        let (typed, got) = (quoted(word), shown(word));
        for name in ["FIXED", "SLIDINGLOG", "SLIDINGCOUNTER"] {
            let command = format!("RL.{name} k 1 {typed}");
            assert_error(&server, &command, &format!("ERR window: got '{got}', expected {DURATION}"));
        }
    }
    for bare in ["0", "1", "60", "1000", "18446744073709551616"] {
        for name in ["FIXED", "SLIDINGLOG", "SLIDINGCOUNTER"] {
            let command = format!("RL.{name} k 1 {bare}");
            assert_error(&server, &command, &format!("ERR window: got '{bare}', expected {UNIT}"));
        }
    }
}

#[test]
fn whatever_is_no_rate_in_range_is_an_error_that_says_what_a_rate_is() {
    let server = Server::start();
    let words: [&[u8]; 30] = [
        b"",
        b"0",
        b"0/s",
        b"-1",
        b"-1/s",
        b"+1/s",
        b"01/s",
        b"1.5/s",
        b"1/",
        b"/",
        b"/s",
        b"1//s",
        b"1/s/s",
        b"1/0s",
        b"1/0ms",
        b"1/3651d",
        b"1/01s",
        b"1/-1s",
        b"1/1.5s",
        b"1/1w",
        b"1/us",
        b"1 /s",
        b"1/ s",
        b"10s",
        b"1000000000001",
        b"1000000000001/s",
        b"18446744073709551617/s",
        b"1/18446744073709551617ms",
        b"1\xff/s",
        b"1/s\0",
    ];
    for word in words {
        let (typed, got) = (quoted(word), shown(word));
        for name in ["TOKENBUCKET", "GCRA"] {
            let command = format!("RL.{name} k 1 {typed}");
            assert_error(&server, &command, &format!("ERR rate: got '{got}', expected {RATE}"));
        }
    }
    for bare in ["1/1", "30/60", "1/0"] {
        let error = format!("ERR rate: got '{bare}', expected a unit after the period's number: {RATE}");
        assert_error(&server, &format!("RL.GCRA k 1 {bare}"), &error);
    }
}

#[test]
fn a_bucket_that_takes_longer_than_3650000_days_to_fill_is_an_error() {
    let server = Server::start();
    for (capacity, slow, fit) in [
        ("1000000000000", "999999999/3650d", "1000000000/3650d"),
        ("1001", "1/3650d", "2/3650d"),
        ("1000000000000", "1/s", "4/s"),
    ] {
        for name in ["TOKENBUCKET", "GCRA"] {
            let command = format!("RL.{name} k {capacity} {slow}");
            assert_error(&server, &command, &format!("ERR rate: got '{slow}', expected {FILL}"));
            assert_eq!(server.five(&format!("RL.PEEK k {name} {capacity} {fit}"))[0], 1);
        }
    }
    assert_eq!(server.five("RL.PEEK k GCRA 1000 1/3650d")[0], 1);
}

#[test]
fn options_offsets_and_algorithms_that_do_not_exist_are_errors() {
    let server = Server::start();
    let offset = |window| {
        format!(
            "a duration from 0ms to less than the window of {window}ms, with its unit (ms, s, m, h or d), such as 22h"
        )
    };
    for (command, argument, got, expected) in [
        (
            "RL.FIXED k 1 1s 1 ALIGN",
            "option",
            "ALIGN",
            "ALIGNED [offset], PARTIAL, STRICT or BLOCK duration".to_owned(),
        ),
        ("RL.FIXED k 1 1s 1 1", "option", "1", "ALIGNED [offset], PARTIAL, STRICT or BLOCK duration".into()),
        (r#"RL.FIXED k 1 1s 1 """#, "option", "", "ALIGNED [offset], PARTIAL, STRICT or BLOCK duration".into()),
        ("RL.FIXED k 1 1s ALIGNEDX", "cost", "ALIGNEDX", INTEGER.into()),
        ("RL.FIXED k 1 1s ALIGNED 1s", "offset", "1s", offset(1000)),
        ("RL.FIXED k 1 1s ALIGNED 1000ms", "offset", "1000ms", offset(1000)),
        ("RL.FIXED k 1 1d 1 ALIGNED 24h", "offset", "24h", offset(86_400_000)),
        ("RL.FIXED k 1 1s ALIGNED 0", "offset", "0", offset(1000)),
        ("RL.FIXED k 1 1s ALIGNED -1ms", "offset", "-1ms", offset(1000)),
        ("RL.FIXED k 1 1s ALIGNED ALIGNED", "offset", "ALIGNED", offset(1000)),
        (r#"RL.FIXED k 1 1s ALIGNED """#, "offset", "", offset(1000)),
    ] {
        assert_error(&server, command, &format!("ERR {argument}: got '{got}', expected {expected}"));
    }
    for (command, got) in [
        ("RL.PEEK k LEAKY 1 1s", "LEAKY"),
        ("RL.PEEK k RL.FIXED 1 1s", "RL.FIXED"),
        ("RL.PEEK k 1 1", "1"),
        (r#"RL.PEEK k "" 1"#, ""),
        (r#"RL.PEEK k "FIXED\x00" 1 1s"#, "FIXED\\x00"),
    ] {
        assert_eq!(server.error(command), format!("ERR algorithm: got '{got}', expected {ALGORITHM}"), "{command}");
    }
}

#[test]
fn the_first_wrong_argument_is_the_one_that_is_named() {
    let server = Server::start();
    for (command, argument) in [
        ("RL.TOKENBUCKET k x y z", "capacity"),
        ("RL.TOKENBUCKET k 1 y z", "rate"),
        ("RL.TOKENBUCKET k 1 1 z", "cost"),
        ("RL.FIXED k x y z", "limit"),
        ("RL.FIXED k 1 y z", "window"),
        ("RL.FIXED k 1 1s z ALIGNED y", "cost"),
        ("RL.FIXED k 1 1s 1 z y", "option"),
        ("RL.SLIDINGLOG k x y z", "limit"),
        ("RL.SLIDINGCOUNTER k 1 y z", "window"),
    ] {
        let error = server.error(command);
        assert!(error.starts_with(&format!("ERR {argument}: got '")), "{command}: {error}");
    }
}

#[test]
fn an_error_repeats_at_most_64_bytes_and_none_that_is_not_printable() {
    let server = Server::start();
    let long = "9".repeat(65);
    let error = server.error(&format!("RL.FIXED k {long} 1s"));
    assert_eq!(error, format!("ERR limit: got '{}'..., expected {INTEGER}", "9".repeat(64)));
    let fits = "9".repeat(64);
    let error = server.error(&format!("RL.FIXED k {fits} 1s"));
    assert_eq!(error, format!("ERR limit: got '{fits}', expected {INTEGER}"));
    let error = server.error(r#"RL.FIXED k "\x00\x1f\x7f\xff%s%n%999999d\x0d\x0a" 1s"#);
    assert_eq!(error, format!(r"ERR limit: got '\x00\x1f\x7f\xff%s%n%999999d\x0d\x0a', expected {INTEGER}"));
    let error = server.send(&[b"RL.FIXED", &b"k"[..], &[0xff; 1000], b"1s"]).unwrap_err();
    assert_eq!(error, format!("ERR limit: got '{}'..., expected {INTEGER}", r"\xff".repeat(64)));
}

#[test]
fn too_few_and_too_many_arguments_are_the_servers_own_error() {
    let server = Server::start();
    for name in ["TOKENBUCKET", "GCRA", "FIXED", "SLIDINGLOG", "SLIDINGCOUNTER"] {
        let unit = if name.ends_with('T') || name == "GCRA" { "1/s" } else { "1s" };
        let extra = if name == "FIXED" { "1 ALIGNED 0s 1" } else { "1 1" };
        let full = format!("RL.{name} k 1 {unit} {extra}");
        for command in [&format!("RL.{name}"), &format!("RL.{name} k"), &format!("RL.{name} k 1"), &full] {
            let error = server.error(command);
            let expected = format!("ERR wrong number of arguments for 'rl.{}' command", name.to_lowercase());
            assert_eq!(error.to_lowercase(), expected.to_lowercase(), "{command}");
        }
        for command in [format!("RL.PEEK k {name}"), format!("RL.PEEK k {name} 1"), peek_of(&full)] {
            let error = server.error(&command).to_lowercase();
            assert_eq!(error, "err wrong number of arguments for 'rl.peek' command", "{command}");
        }
    }
    for (command, name) in [("RL.PEEK", "rl.peek"), ("RL.INFO", "rl.info"), ("RL.INFO k 1", "rl.info")] {
        let error = server.error(command).to_lowercase();
        assert_eq!(error, format!("err wrong number of arguments for '{name}' command"), "{command}");
    }
    assert_eq!(server.get::<i64>("DBSIZE"), 0);
}
