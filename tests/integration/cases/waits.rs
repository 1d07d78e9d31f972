//! Waits and resets that were wrong.

use crate::harness::{MS, S, START, Server, play};

#[test]
fn c01_a_caller_that_waits_the_advertised_time_is_admitted_and_a_microsecond_earlier_it_is_not() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.GCRA k 1 3/5s", [1, 1, 0, 0, 1667]),
            (100 * MS, "RL.GCRA k 1 3/5s", [0, 1, 0, 1567, 1567]),
            (1_666_666, "RL.GCRA k 1 3/5s", [0, 1, 0, 1, 1]),
            (1_666_667, "RL.GCRA k 1 3/5s", [1, 1, 0, 0, 1667]),
        ],
    );
}

#[test]
fn c02_a_refusal_never_says_zero() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.GCRA k 1 3/60s", [1, 1, 0, 0, 20_000]),
            (19_500 * MS, "RL.GCRA k 1 3/60s", [0, 1, 0, 500, 500]),
            (20 * S - 1, "RL.GCRA k 1 3/60s", [0, 1, 0, 1, 1]),
        ],
    );
}

#[test]
fn c03_reset_and_retry_are_the_same_with_a_burst_of_one() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.GCRA k 1 3/60s", [1, 1, 0, 0, 20_000]),
            (S, "RL.GCRA k 1 3/60s", [0, 1, 0, 19_000, 19_000]),
            (2 * S, "RL.GCRA k 1 3/60s", [0, 1, 0, 18_000, 18_000]),
        ],
    );
}

#[test]
fn c04_a_reset_that_is_a_whole_number_is_not_rounded_further_up() {
    let server = Server::start();
    play(&server, &[(0, "RL.GCRA k 16 30/60s", [1, 16, 15, 0, 2000])]);
}

#[test]
fn c05_waits_of_a_fast_limit_are_not_cut_to_zero() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.GCRA k 5 1000/s", [1, 5, 4, 0, 1]),
            (0, "RL.GCRA k 5 1000/s", [1, 5, 3, 0, 2]),
            (0, "RL.GCRA k 5 1000/s", [1, 5, 2, 0, 3]),
            (0, "RL.GCRA k 5 1000/s", [1, 5, 1, 0, 4]),
            (0, "RL.GCRA k 5 1000/s", [1, 5, 0, 0, 5]),
            (0, "RL.GCRA k 5 1000/s", [0, 5, 0, 1, 5]),
        ],
    );
}

#[test]
fn c06_a_cost_of_the_whole_capacity_has_its_moment() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.GCRA k 5 5/10s", [1, 5, 4, 0, 2000]),
            (0, "RL.GCRA k 5 5/10s 5", [0, 5, 4, 2000, 2000]),
            (1_999_999, "RL.GCRA k 5 5/10s 5", [0, 5, 4, 1, 1]),
            (2 * S, "RL.GCRA k 5 5/10s 5", [1, 5, 0, 0, 10_000]),
        ],
    );
}

#[test]
fn c07_a_cost_above_the_capacity_is_never_possible_and_leaves_nothing_behind() {
    let server = Server::start();
    assert_eq!(server.five("RL.GCRA k 6 1/60s 10"), [0, 6, 6, -1, 0]);
    assert_eq!(server.get::<i64>("EXISTS k"), 0);
    play(
        &server,
        &[
            (0, "RL.GCRA k 6 1/60s 10", [0, 6, 6, -1, 0]),
            (0, "RL.GCRA k 6 1/60s 6", [1, 6, 0, 0, 360_000]),
            (0, "RL.GCRA k 6 1/60s 10", [0, 6, 0, -1, 360_000]),
        ],
    );
}

#[test]
fn c08_now_later_and_never_are_three_values_in_both_protocols() {
    let server = Server::start();
    for mut client in [server.client(), server.client_resp3()] {
        client.run("FLUSHALL");
        assert_eq!(client.five("RL.GCRA k 2 1/s 2"), [1, 2, 0, 0, 2000]);
        assert_eq!(client.five("RL.GCRA k 2 1/s 2"), [0, 2, 0, 2000, 2000]);
        assert_eq!(client.five("RL.GCRA k 2 1/s 3"), [0, 2, 0, -1, 2000]);
    }
}

#[test]
fn c16_the_wait_for_one_of_a_thousand_a_second_is_a_millisecond() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.TOKENBUCKET k 1000 1000/s 1000", [1, 1000, 0, 0, 1000]),
            (0, "RL.TOKENBUCKET k 1000 1000/s 1", [0, 1000, 0, 1, 1000]),
            (MS, "RL.TOKENBUCKET k 1000 1000/s 1", [1, 1000, 0, 0, 1000]),
        ],
    );
}

#[test]
fn c19_a_log_waits_for_its_oldest_event_and_resets_with_its_newest() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.SLIDINGLOG k 2 60s", [1, 2, 1, 0, 60_000]),
            (10 * S, "RL.SLIDINGLOG k 2 60s", [1, 2, 0, 0, 60_000]),
            (20 * S, "RL.SLIDINGLOG k 2 60s", [0, 2, 0, 40_000, 50_000]),
            (60 * S - 1, "RL.SLIDINGLOG k 2 60s", [0, 2, 0, 1, 10_001]),
            (60 * S, "RL.SLIDINGLOG k 2 60s", [1, 2, 0, 0, 60_000]),
        ],
    );
}

#[test]
fn c22_a_log_waits_for_the_event_whose_leaving_makes_room() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.SLIDINGLOG k 10 60s 3", [1, 10, 7, 0, 60_000]),
            (10 * S, "RL.SLIDINGLOG k 10 60s 3", [1, 10, 4, 0, 60_000]),
            (20 * S, "RL.SLIDINGLOG k 10 60s 4", [1, 10, 0, 0, 60_000]),
            (30 * S, "RL.SLIDINGLOG k 10 60s 6", [0, 10, 0, 40_000, 50_000]),
            (30 * S, "RL.SLIDINGLOG k 10 60s 3", [0, 10, 0, 30_000, 50_000]),
            (70 * S - 1, "RL.SLIDINGLOG k 10 60s 6", [0, 10, 3, 1, 10_001]),
            (70 * S, "RL.SLIDINGLOG k 10 60s 6", [1, 10, 0, 0, 60_000]),
        ],
    );
}

#[test]
fn c24_a_caller_that_only_looks_learns_when_it_may_come_back() {
    let server = Server::start();
    play(
        &server,
        &[(0, "RL.GCRA k 1 1/10s", [1, 1, 0, 0, 10_000]), (4 * S, "RL.GCRA k 1 1/10s 0", [1, 1, 0, 0, 6000])],
    );
    server.set_clock(START + 4 * S);
    assert_eq!(server.five("RL.PEEK k"), [0, 1, 0, 6000, 6000]);
    assert_eq!(server.five("RL.PEEK k 0"), [1, 1, 0, 0, 6000]);
    assert_eq!(server.five("RL.PEEK k 2"), [0, 1, 0, -1, 6000]);
}
