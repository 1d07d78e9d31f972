//! Tokens that came back when they should not have.

use crate::harness::{MS, S, Server, play};

#[test]
fn c57_time_spent_full_is_not_credited_after_the_first_call() {
    let server = Server::start();
    play(
        &server,
        &[
            (1000 * S, "RL.TOKENBUCKET k 1 1/10s", [1, 1, 0, 0, 10_000]),
            (1600 * S, "RL.TOKENBUCKET k 1 1/10s", [1, 1, 0, 0, 10_000]),
            (1600 * S, "RL.TOKENBUCKET k 1 1/10s", [0, 1, 0, 10_000, 10_000]),
        ],
    );
    let again = 5 * S;
    play(
        &server,
        &[
            (0, "RL.TOKENBUCKET k 3 3/500ms", [1, 3, 2, 0, 167]),
            (again, "RL.TOKENBUCKET k 3 3/500ms", [1, 3, 2, 0, 167]),
            (again + 10 * MS, "RL.TOKENBUCKET k 3 3/500ms", [1, 3, 1, 0, 324]),
            (again + 30 * MS, "RL.TOKENBUCKET k 3 3/500ms", [1, 3, 0, 0, 470]),
            (again + 50 * MS, "RL.TOKENBUCKET k 3 3/500ms", [0, 3, 0, 117, 450]),
            (again + 166_666, "RL.TOKENBUCKET k 3 3/500ms", [0, 3, 0, 1, 334]),
            (again + 166_667, "RL.TOKENBUCKET k 3 3/500ms", [1, 3, 0, 0, 500]),
        ],
    );
}

#[test]
fn c58_a_full_bucket_carries_no_hidden_part_of_a_token() {
    let server = Server::start();
    play(
        &server,
        &[
            (59 * S, "RL.TOKENBUCKET k 5 5/300s 5", [1, 5, 0, 0, 300_000]),
            (60 * S, "RL.TOKENBUCKET k 5 5/300s", [0, 5, 0, 59_000, 299_000]),
            (119 * S - 1, "RL.TOKENBUCKET k 5 5/300s", [0, 5, 0, 1, 240_001]),
            (119 * S, "RL.TOKENBUCKET k 5 5/300s", [1, 5, 0, 0, 300_000]),
        ],
    );
}
