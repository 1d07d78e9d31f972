//! What the commands accept.

use crate::harness::{H, M, S, START, Server, play};

#[test]
fn durations_have_five_units_in_any_case() {
    let server = Server::start();
    for (window, ms) in [
        ("1ms", 1),
        ("500ms", 500),
        ("500MS", 500),
        ("500Ms", 500),
        ("60s", 60_000),
        ("60S", 60_000),
        ("5m", 300_000),
        ("5M", 300_000),
        ("2h", 7_200_000),
        ("2H", 7_200_000),
        ("30d", 2_592_000_000),
        ("30D", 2_592_000_000),
        ("3650d", 315_360_000_000),
        ("87600h", 315_360_000_000),
        ("315360000000ms", 315_360_000_000),
    ] {
        for (name, lives) in [("FIXED", ms), ("SLIDINGLOG", ms), ("SLIDINGCOUNTER", 0)] {
            let reply = server.five(&format!("RL.PEEK k {name} 10 {window}"));
            assert_eq!(reply[..4], [1, 10, 9, 0], "{name} {window}");
            assert!(lives == 0 || reply[4] == lives, "{name} {window}");
        }
    }
}

#[test]
fn rates_are_per_second_or_per_duration_whose_one_may_be_left_out() {
    let server = Server::start();
    // A bucket of `tokens` that was emptied is full again after one period.
    for (rate, tokens, period_ms) in [
        ("10", 10, 1000),
        ("10/s", 10, 1000),
        ("10/S", 10, 1000),
        ("10/1s", 10, 1000),
        ("10/1000ms", 10, 1000),
        ("10/ms", 10, 1),
        ("600/m", 600, 60_000),
        ("600/M", 600, 60_000),
        ("30/60s", 30, 60_000),
        ("7/h", 7, 3_600_000),
        ("5000/1d", 5000, 86_400_000),
        ("5000/D", 5000, 86_400_000),
        ("1000000000000/3650d", 1_000_000_000_000, 315_360_000_000),
        ("1000000000000/1ms", 1_000_000_000_000, 1),
    ] {
        for name in ["TOKENBUCKET", "GCRA"] {
            let reply = server.five(&format!("RL.PEEK k {name} {tokens} {rate} {tokens}"));
            assert_eq!(reply, [1, tokens, 0, 0, period_ms], "{name} {rate}");
        }
    }
}

#[test]
fn keywords_are_case_insensitive_and_the_cost_may_be_left_out_before_them() {
    let server = Server::start();
    for command in [
        "RL.FIXED k 10 10s ALIGNED",
        "rl.fixed k 10 10s aligned",
        "Rl.Fixed k 10 10S Aligned 0ms",
        "RL.FIXED k 10 10s 1 ALIGNED",
        "RL.FIXED k 10 10s 1 aLiGnEd 0s",
        "rl.peek k fixed 10 10s aligned",
        "RL.PEEK k Fixed 10 10s 1 ALIGNED 0d",
    ] {
        server.run("DEL k");
        server.set_clock(START + 3 * S);
        assert_eq!(server.five(command), [1, 10, 9, 0, 7000], "{command}");
    }
}

#[test]
fn aligned_windows_start_at_the_offset() {
    let server = Server::start();
    // Midnight where the clocks show UTC+2 is 22 h UTC.
    for (at, command, reset) in [
        (0, "RL.FIXED k 10 1d ALIGNED 22h", 22 * 3_600_000),
        (22 * H - 1, "RL.FIXED k 10 1d ALIGNED 22h", 1),
        (22 * H, "RL.FIXED k 10 1d ALIGNED 22h", 86_400_000),
        (23 * H, "RL.FIXED k 10 1d ALIGNED 22h", 23 * 3_600_000),
        (10 * M, "RL.FIXED k 10 1h ALIGNED 15m", 300_000),
        (0, "RL.FIXED k 10 10s ALIGNED 9999ms", 9999),
        (3 * S, "RL.FIXED k 10 10s ALIGNED", 7000),
    ] {
        server.run("DEL k");
        server.set_clock(START + at);
        assert_eq!(server.five(command), [1, 10, 9, 0, reset], "{command} at {at}");
    }
    // Before the first such window of the epoch, too.
    server.run("DEL k");
    server.set_clock(H);
    assert_eq!(server.five("RL.FIXED k 10 1d ALIGNED 22h"), [1, 10, 9, 0, 21 * 3_600_000]);
}

#[test]
fn an_open_window_keeps_its_end_whichever_way_it_was_opened() {
    let server = Server::start();
    play(
        &server,
        &[
            (3 * S, "RL.FIXED k 10 10s", [1, 10, 9, 0, 10_000]),
            (11 * S, "RL.FIXED k 10 10s 1 ALIGNED", [1, 10, 8, 0, 2000]),
            (13 * S, "RL.FIXED k 10 10s 1 ALIGNED", [1, 10, 9, 0, 7000]),
            (14 * S, "RL.FIXED k 10 10s", [1, 10, 8, 0, 6000]),
            (19 * S, "RL.FIXED k 10 10s 1 ALIGNED 5s", [1, 10, 7, 0, 1000]),
            (20 * S, "RL.FIXED k 10 10s", [1, 10, 9, 0, 10_000]),
        ],
    );
}

#[test]
fn keys_are_arbitrary_bytes() {
    let server = Server::start();
    for key in [&b""[..], b"\0", b"a\0b", b"\xff\xfe", b"%s%n", b"a b\r\nc", "ключ".as_bytes()] {
        let call: [&[u8]; 4] = [b"RL.FIXED", key, b"1", b"1s"];
        server.send(&call).unwrap();
        let value: Vec<u8> = redis::from_redis_value(server.send(&[b"GET", key]).unwrap()).unwrap();
        assert!(!value.is_empty(), "{key:?}");
        server.send(&[b"DEL", key]).unwrap();
    }
    assert_eq!(server.get::<i64>("DBSIZE"), 0);
}
