//! Limits that change while there is usage.

use crate::harness::{H, MS, S, Server, play};

#[test]
fn c117_a_higher_rate_never_refuses_what_the_lower_one_admits() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.GCRA k 16 10/20s", [1, 16, 15, 0, 2000]),
            (0, "RL.GCRA k 16 10/20s", [1, 16, 14, 0, 4000]),
            (0, "RL.GCRA k 16 1000/20s", [1, 16, 13, 0, 60]),
        ],
    );
}

#[test]
fn c118_a_lower_capacity_binds_at_once() {
    let server = Server::start();
    let call = "RL.TOKENBUCKET k 10 5/900s";
    let mut steps = vec![(0, "RL.TOKENBUCKET k 1000 5/900s", [1, 1000, 999, 0, 180_000])];
    steps.extend((2..=10).map(|debt| (0, call, [1, 10, 10 - debt, 0, debt * 180_000])));
    steps.extend([(0, call, [0, 10, 0, 180_000, 1_800_000]); 3]);
    play(&server, &steps);
}

#[test]
fn c122_refused_calls_do_not_count_against_a_limit_raised_later() {
    let server = Server::start();
    let (small, large) = ("RL.FIXED k 10 1h", "RL.FIXED k 20 1h");
    let mut steps: Vec<_> = (1..=10).map(|used| (0, small, [1, 10, 10 - used, 0, 3_600_000])).collect();
    steps.extend([(S, small, [0, 10, 0, 3_599_000, 3_599_000]); 40]);
    steps.extend((11..=20).map(|used| (2 * S, large, [1, 20, 20 - used, 0, 3_598_000])));
    steps.push((2 * S, large, [0, 20, 0, 3_598_000, 3_598_000]));
    steps.push((H, large, [1, 20, 19, 0, 3_600_000]));
    play(&server, &steps);
}

#[test]
fn c123_a_shorter_window_acts_at_once_and_a_longer_one_on_new_calls() {
    let server = Server::start();
    for name in ["FIXED", "SLIDINGLOG"] {
        let (minute, second) = (format!("RL.{name} k 1 60s"), format!("RL.{name} k 1 1s"));
        play(
            &server,
            &[(0, &minute, [1, 1, 0, 0, 60_000]), (S - 1, &second, [0, 1, 0, 1, 1]), (S, &second, [1, 1, 0, 0, 1000])],
        );
        play(
            &server,
            &[
                (0, &second, [1, 1, 0, 0, 1000]),
                (500 * MS, &minute, [0, 1, 0, 500, 500]),
                (S - 1, &minute, [0, 1, 0, 1, 1]),
                (S, &minute, [1, 1, 0, 0, 60_000]),
            ],
        );
    }
}
