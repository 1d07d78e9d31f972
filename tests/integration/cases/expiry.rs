//! Keys that lived too short or too long.

use crate::harness::{MS, S, START, Server, assert_expiry, play, wait_until};

#[test]
fn c84_the_last_instant_of_a_window_belongs_to_it() {
    let server = Server::start();
    for _ in 0..396 {
        server.five("RL.FIXED k 100000 5s");
    }
    server.set_clock(START + 4_999_900);
    assert_eq!(server.five("RL.FIXED k 100000 5s"), [1, 100_000, 99_603, 0, 1]);
    server.set_clock(START + 5 * S);
    assert_eq!(server.five("RL.FIXED k 100000 5s"), [1, 100_000, 99_999, 0, 5000]);
}

#[test]
fn c85_calls_do_not_push_the_end_of_a_window_out() {
    let server = Server::start();
    let call = "RL.FIXED k 5 60s";
    play(
        &server,
        &[
            (0, call, [1, 5, 4, 0, 60_000]),
            (10 * S, call, [1, 5, 3, 0, 50_000]),
            (20 * S, call, [1, 5, 2, 0, 40_000]),
            (30 * S, call, [1, 5, 1, 0, 30_000]),
            (40 * S, call, [1, 5, 0, 0, 20_000]),
            (50 * S, call, [0, 5, 0, 10_000, 10_000]),
            (60 * S, call, [1, 5, 4, 0, 60_000]),
            (70 * S, call, [1, 5, 3, 0, 50_000]),
        ],
    );
}

#[test]
fn c87_the_previous_window_counts_to_the_end_of_the_next() {
    let server = Server::start();
    play(
        &server,
        &[
            (179 * S, "RL.SLIDINGCOUNTER k 90 180s 90", [1, 90, 0, 0, 181_000]),
            (330 * S, "RL.SLIDINGCOUNTER k 90 180s 76", [0, 90, 75, 2000, 30_000]),
            (330 * S, "RL.SLIDINGCOUNTER k 90 180s 75", [1, 90, 0, 0, 210_000]),
        ],
    );
    play(&server, &[(179 * S, "RL.SLIDINGCOUNTER k 90 180s 90", [1, 90, 0, 0, 181_000])]);
    assert!(server.state("k").1 * MS >= START + 360 * S);
}

#[test]
fn c88_a_bucket_lives_until_it_is_full() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.TOKENBUCKET k 3 1/15s 3", [1, 3, 0, 0, 45_000]),
            (7 * S, "RL.TOKENBUCKET k 3 1/15s", [0, 3, 0, 8000, 38_000]),
            (45 * S - 1, "RL.TOKENBUCKET k 3 1/15s 3", [0, 3, 2, 1, 1]),
        ],
    );
}

#[test]
fn c89_every_key_goes_away_by_itself() {
    let server = Server::start();
    let mut client = server.client();
    for batch in 0..100 {
        let calls: Vec<String> = (0..200)
            .flat_map(|number| {
                let key = format!("{batch}:{number}");
                [
                    format!("RL.TOKENBUCKET t:{key} 10 10/s"),
                    format!("RL.GCRA g:{key} 10 10/s"),
                    format!("RL.FIXED f:{key} 10 1s"),
                    format!("RL.SLIDINGLOG l:{key} 10 1s"),
                    format!("RL.SLIDINGCOUNTER c:{key} 10 1s"),
                ]
            })
            .collect();
        for reply in client.pipeline(&calls) {
            assert!(reply.is_ok(), "{reply:?}");
        }
    }
    assert_eq!(client.get::<i64>("DBSIZE"), 100_000);
    for (key, needed) in
        [("t:99:199", 100), ("g:99:199", 100), ("f:99:199", 1000), ("l:99:199", 1000), ("c:99:199", 2000)]
    {
        assert_expiry(&server, key, needed, key);
    }
    // The longest state of these lives two seconds; the bound on its expiry is twice that.
    server.advance(4 * S + 2 * MS);
    wait_until("every key has expired", || server.get::<i64>("DBSIZE") == 0);
}

#[test]
fn c91_one_reading_of_the_clock_decides_window_and_expiry() {
    let server = Server::start();
    play(
        &server,
        &[
            (60 * S - 1, "RL.FIXED k 1 60s 1 ALIGNED", [1, 1, 0, 0, 1]),
            (60 * S, "RL.FIXED k 1 60s 1 ALIGNED", [1, 1, 0, 0, 60_000]),
        ],
    );
    for window in 2..100 {
        let mut admitted = 0;
        for jitter in [0, window % 7, 31 * S, 60 * S - 1 - window % 3, 60 * S - 1] {
            server.set_clock(START + window * 60 * S + jitter);
            admitted += server.five("RL.FIXED k 1 60s 1 ALIGNED")[0];
            assert!(server.state("k").1 * MS >= START + (window + 1) * 60 * S);
        }
        assert_eq!(admitted, 1, "in window {window}");
    }
}

#[test]
fn c95_a_rhythm_of_exactly_the_window_meets_nothing_left_over() {
    let server = Server::start();
    for call in ["RL.SLIDINGLOG k 3 600s", "RL.FIXED k 3 600s", "RL.FIXED k 3 600s 1 ALIGNED"] {
        let steps: Vec<_> = (0..10).map(|round| (round * 600 * S, call, [1, 3, 2, 0, 600_000])).collect();
        play(&server, &steps);
    }
    // The counter sees the previous call with its full weight on the edge, and never more than that one.
    let call = "RL.SLIDINGCOUNTER k 3 600s";
    let steps: Vec<_> =
        (0..10).map(|round| (round * 600 * S, call, [1, 3, if round == 0 { 2 } else { 1 }, 0, 1_200_000])).collect();
    play(&server, &steps);
}

#[test]
fn c96_after_a_silence_the_window_is_the_current_one() {
    let server = Server::start();
    let call = "RL.FIXED k 3 10s 1 ALIGNED";
    play(
        &server,
        &[
            (0, call, [1, 3, 2, 0, 10_000]),
            (37 * S, call, [1, 3, 2, 0, 3000]),
            (40 * S - 1, call, [1, 3, 1, 0, 1]),
            (40 * S, call, [1, 3, 2, 0, 10_000]),
        ],
    );
}
