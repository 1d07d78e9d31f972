//! A clock that steps: stored time never moves back, waits count from it, and state that is ahead by more than its own
//! span is brought back to now.

use crate::harness::{MS, S, START, Server, assert_expiry, peek_of, play, play_unchecked};

/// The largest step that is waited for, one more microsecond, and a call in between.
struct Step {
    /// Uses the whole limit of 2 at 200 s.
    fill: &'static str,
    /// Asks for one.
    call: &'static str,
    /// The span of the state.
    span: i64,
    /// The reply with the clock behind by exactly the span: retry and reset.
    waits: [i64; 2],
    /// The reply with the clock behind by a microsecond more.
    brought_back: [i64; 2],
}

const STEPS: [Step; 6] = [
    Step {
        fill: "RL.TOKENBUCKET k 2 2/60s 2",
        call: "RL.TOKENBUCKET k 2 2/60s",
        span: 60 * S,
        waits: [90_000, 120_000],
        brought_back: [30_000, 60_000],
    },
    Step {
        fill: "RL.GCRA k 2 2/60s 2",
        call: "RL.GCRA k 2 2/60s",
        span: 60 * S,
        waits: [90_000, 120_000],
        brought_back: [30_000, 60_000],
    },
    Step {
        fill: "RL.FIXED k 2 60s 2",
        call: "RL.FIXED k 2 60s",
        span: 60 * S,
        waits: [120_000, 120_000],
        brought_back: [60_000, 60_000],
    },
    Step {
        fill: "RL.SLIDINGLOG k 2 60s 2",
        call: "RL.SLIDINGLOG k 2 60s",
        span: 60 * S,
        waits: [120_000, 120_000],
        brought_back: [60_000, 60_000],
    },
    // Stored time is the start of the window: 20 s before the call.
    Step {
        fill: "RL.SLIDINGCOUNTER k 2 60s 2",
        call: "RL.SLIDINGCOUNTER k 2 60s",
        span: 80 * S,
        waits: [150_000, 180_000],
        brought_back: [30_001, 60_001],
    },
    Step {
        fill: "RL.FIXED k 2 60s 2 ALIGNED",
        call: "RL.FIXED k 2 60s 1 ALIGNED",
        span: 80 * S,
        waits: [120_000, 120_000],
        brought_back: [60_000, 60_000],
    },
];

const FILLED_AT: i64 = 200 * S;

impl Step {
    fn fill(&self, server: &Server) {
        server.run("FLUSHALL");
        server.set_clock(START + FILLED_AT);
        assert_eq!(server.five(self.fill)[..4], [1, 2, 0, 0], "{}", self.fill);
    }
}

#[test]
fn up_to_its_span_a_state_ahead_of_the_clock_is_waited_for_and_not_touched() {
    let server = Server::start();
    for step in STEPS {
        step.fill(&server);
        let before = server.state("k");
        server.advance(-step.span);
        let [retry, reset] = step.waits;
        for command in [step.call, &peek_of(step.call), "RL.PEEK k"] {
            assert_eq!(server.five(command), [0, 2, 0, retry, reset], "{command}");
        }
        assert_eq!(server.five("RL.PEEK k 0"), [1, 2, 0, 0, reset], "{}", step.call);
        assert_eq!(server.five("RL.PEEK k 3"), [0, 2, 0, -1, reset], "{}", step.call);
        assert_eq!(server.state("k"), before, "{}", step.call);
        // The promise holds although the clock is behind.
        server.advance(retry * MS - 1);
        assert_eq!(server.five(step.call)[..4], [0, 2, 0, 1], "{}", step.call);
        server.advance(1);
        assert_eq!(server.five(step.call)[..2], [1, 2], "{}", step.call);
    }
}

#[test]
fn beyond_its_span_a_state_is_brought_back_to_now_by_any_call_but_those_that_look() {
    let server = Server::start();
    for step in STEPS {
        let [retry, reset] = step.brought_back;
        let refused = [0, 2, 0, retry, reset];
        let free = step.call.replacen(" 60s 1", " 60s", 1).replacen("60s", "60s 0", 1);
        let never = free.replacen("60s 0", "60s 3", 1);
        for (command, reply) in [(step.call, refused), (&free, [1, 2, 0, 0, reset]), (&never, [0, 2, 0, -1, reset])] {
            step.fill(&server);
            let before = server.state("k");
            server.advance(-step.span - 1);
            let expected = before.clone();
            assert_eq!(server.five(&peek_of(command)), reply, "{command}");
            assert_eq!(server.five("RL.PEEK k"), refused, "{command}");
            server.run("RL.INFO k");
            assert_eq!(server.state("k"), expected, "{command}");

            assert_eq!(server.five(command), reply, "{command}");
            let after = server.state("k");
            assert_ne!(after.0, before.0, "{command}");
            assert!(after.1 < before.1, "{command}");
            assert_expiry(&server, "k", reset, command);
            // Now it is an ordinary state: refusals leave it alone, and its wait is kept.
            assert_eq!(server.five(step.call), refused, "{command}");
            assert_eq!(server.state("k"), after, "{command}");
            let exact = if step.call.contains("COUNTER") { 30 * S + 1 } else { retry * MS };
            server.advance(exact - 1);
            assert_eq!(server.five(step.call)[..4], [0, 2, 0, 1], "{command}");
            server.advance(1);
            assert_eq!(server.five(step.call)[..2], [1, 2], "{command}");
        }
    }
}

#[test]
fn a_call_admitted_while_the_clock_is_behind_does_not_move_stored_time_back() {
    let server = Server::start();
    play(
        &server,
        &[
            (100 * S, "RL.TOKENBUCKET k 4 4/60s 2", [1, 4, 2, 0, 30_000]),
            (70 * S, "RL.TOKENBUCKET k 4 4/60s", [1, 4, 1, 0, 75_000]),
            (100 * S, "RL.TOKENBUCKET k 4 4/60s 0", [1, 4, 1, 0, 45_000]),
        ],
    );
    play(
        &server,
        &[
            (100 * S, "RL.FIXED k 4 60s 2", [1, 4, 2, 0, 60_000]),
            (70 * S, "RL.FIXED k 4 60s", [1, 4, 1, 0, 90_000]),
            (160 * S - 1, "RL.FIXED k 4 60s 2", [0, 4, 1, 1, 1]),
            (160 * S, "RL.FIXED k 4 60s 2", [1, 4, 2, 0, 60_000]),
        ],
    );
    play(
        &server,
        &[
            (100 * S, "RL.SLIDINGLOG k 4 60s 2", [1, 4, 2, 0, 60_000]),
            (70 * S, "RL.SLIDINGLOG k 4 60s", [1, 4, 1, 0, 90_000]),
            (160 * S - 1, "RL.SLIDINGLOG k 4 60s 2", [0, 4, 1, 1, 1]),
            (160 * S, "RL.SLIDINGLOG k 4 60s 2", [1, 4, 2, 0, 60_000]),
        ],
    );
    play(
        &server,
        &[
            (130 * S, "RL.SLIDINGCOUNTER k 4 60s 2", [1, 4, 2, 0, 110_000]),
            (70 * S, "RL.SLIDINGCOUNTER k 4 60s", [1, 4, 1, 0, 170_000]),
            (130 * S, "RL.SLIDINGCOUNTER k 4 60s 0", [1, 4, 1, 0, 110_000]),
        ],
    );
}

#[test]
fn a_log_brought_back_is_one_event_of_what_it_held_at_its_newest() {
    let server = Server::start();
    play_unchecked(
        &server,
        &[
            // Gone when the newest event came.
            (40 * S, "RL.SLIDINGLOG k 4 60s", [1, 4, 3, 0, 60_000]),
            (100 * S, "RL.SLIDINGLOG k 4 60s", [1, 4, 3, 0, 60_000]),
            (110 * S, "RL.SLIDINGLOG k 4 60s", [1, 4, 2, 0, 60_000]),
            (0, "RL.SLIDINGLOG k 4 60s", [1, 4, 1, 0, 60_000]),
            (0, "RL.SLIDINGLOG k 4 60s 2", [0, 4, 1, 60_000, 60_000]),
            (60 * S - 1, "RL.SLIDINGLOG k 4 60s 4", [0, 4, 1, 1, 1]),
            (60 * S, "RL.SLIDINGLOG k 4 60s 4", [1, 4, 0, 0, 60_000]),
        ],
    );
}

#[test]
fn a_counter_brought_back_keeps_both_its_counts() {
    let server = Server::start();
    play_unchecked(
        &server,
        &[
            (70 * S, "RL.SLIDINGCOUNTER k 3 60s", [1, 3, 2, 0, 110_000]),
            // 50/60 of the first is left.
            (130 * S, "RL.SLIDINGCOUNTER k 3 60s", [1, 3, 1, 0, 110_000]),
            (10 * S, "RL.SLIDINGCOUNTER k 3 60s 2", [0, 3, 1, 50_000, 110_000]),
            (60 * S - 1, "RL.SLIDINGCOUNTER k 3 60s 2", [0, 3, 1, 1, 60_001]),
            (60 * S, "RL.SLIDINGCOUNTER k 3 60s 2", [1, 3, 0, 0, 120_000]),
        ],
    );
}

#[test]
fn the_span_is_the_stored_one_whatever_the_call_says() {
    let server = Server::start();
    play_unchecked(
        &server,
        &[
            (100 * S, "RL.TOKENBUCKET k 2 2/60s 2", [1, 2, 0, 0, 60_000]),
            // Within the stored span of 60 s, though far beyond the 2 s of this call's bucket.
            (50 * S, "RL.TOKENBUCKET k 2 1/s", [0, 2, 0, 51_000, 52_000]),
            (0, "RL.TOKENBUCKET k 2 1/s", [0, 2, 0, 1000, 2000]),
        ],
    );
    play_unchecked(
        &server,
        &[
            (100 * S, "RL.FIXED k 2 60s 2", [1, 2, 0, 0, 60_000]),
            (50 * S, "RL.FIXED k 2 1s", [0, 2, 0, 51_000, 51_000]),
            (0, "RL.FIXED k 2 1s", [0, 2, 0, 1000, 1000]),
        ],
    );
    play_unchecked(
        &server,
        &[
            (100 * S, "RL.SLIDINGLOG k 2 60s 2", [1, 2, 0, 0, 60_000]),
            (50 * S, "RL.SLIDINGLOG k 2 1s", [0, 2, 0, 51_000, 51_000]),
            (0, "RL.SLIDINGLOG k 2 1s", [0, 2, 0, 1000, 1000]),
        ],
    );
}

#[test]
fn a_step_forward_and_back_grants_nothing_while_the_key_exists() {
    let server = Server::start();
    for step in STEPS {
        step.fill(&server);
        let mut admitted = 0;
        for back in [1, 10 * S, 59 * S, 200 * S, 3600 * S] {
            server.set_clock(START + FILLED_AT - back);
            admitted += server.five(step.call)[0];
        }
        assert_eq!(admitted, 0, "{}", step.call);
    }
}
