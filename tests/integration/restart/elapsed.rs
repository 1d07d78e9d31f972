//! Time that passes while the server is down counts, and a clock that is behind afterwards grants nothing.

use crate::harness::{Builder, H, M, MS, S, START, Server};

/// One limiter of each kind, all of it used at [`START`], and what it answers later.
struct Used {
    /// The call, but for its cost.
    call: &'static str,
    /// How long after it the server is up again, the cost of the call it then gets, and the answer.
    later: (i64, &'static str, [i64; 5]),
    /// The first moment at which all has come back.
    whole: i64,
    /// The answer to a call of cost 1 if the clock is an hour behind: the usage is then of that moment.
    behind: [i64; 5],
}

const USED: [Used; 5] = [
    Used {
        call: "RL.TOKENBUCKET bucket 10 1/s",
        later: (4_500 * MS, "5", [0, 10, 4, 500, 5_500]),
        whole: 10 * S,
        behind: [0, 10, 0, 1_000, 10_000],
    },
    Used {
        call: "RL.GCRA gcra 10 1/s",
        later: (4_500 * MS, "5", [0, 10, 4, 500, 5_500]),
        whole: 10 * S,
        behind: [0, 10, 0, 1_000, 10_000],
    },
    Used {
        call: "RL.FIXED fixed 10 1m",
        later: (M - 1, "1", [0, 10, 0, 1, 1]),
        whole: M,
        behind: [0, 10, 0, 60_000, 60_000],
    },
    Used {
        call: "RL.SLIDINGLOG log 10 1m",
        later: (M - 1, "1", [0, 10, 0, 1, 1]),
        whole: M,
        behind: [0, 10, 0, 60_000, 60_000],
    },
    Used {
        call: "RL.SLIDINGCOUNTER counter 10 1m",
        later: (90 * S, "6", [0, 10, 5, 6_000, 30_000]),
        whole: 2 * M,
        behind: [0, 10, 0, 66_000, 120_000],
    },
];

fn with_file(builder: Builder, kind: &str) -> Builder {
    match kind {
        "AOF" => builder.config("appendonly", "yes").config("appendfsync", "always"),
        _ => builder,
    }
}

/// A server on which each limiter is used up, that then goes down and comes up at `moment` after [`START`].
fn restarted(used: &[Used], kind: &str, moment: i64) -> Server {
    let mut server = with_file(Server::builder(), kind).start();
    for used in used {
        assert_eq!(server.five(&format!("{} 10", used.call))[..3], [1, 10, 0]);
    }
    server.shutdown(if kind == "RDB" { "SAVE" } else { "NOSAVE" });
    server.set_clock(START + moment);
    server.relaunch();
    server
}

#[test]
fn time_that_passed_while_the_server_was_down_counts() {
    for kind in ["RDB", "AOF"] {
        for used in USED.chunks(1) {
            let [Used { call, later: (moment, cost, answer), .. }] = used else { unreachable!() };
            let server = restarted(used, kind, *moment);
            assert_eq!(server.five(&format!("{call} {cost}")), *answer, "{kind}: {call}");
        }
    }
}

#[test]
fn all_has_come_back_after_that_time_and_not_before() {
    for kind in ["RDB", "AOF"] {
        for used in USED.chunks(1) {
            let [Used { call, whole, .. }] = used else { unreachable!() };
            let server = restarted(used, kind, whole - 1);
            let [allowed, _, _, retry, _] = server.five(&format!("{call} 10"));
            assert_eq!([allowed, retry], [0, 1], "{kind}: {call}");
            server.advance(1);
            assert_eq!(server.five(&format!("{call} 10"))[..3], [1, 10, 0], "{kind}: {call}");
        }
        // Long after they have expired.
        let server = restarted(&USED, kind, 10 * H);
        for Used { call, .. } in &USED {
            assert_eq!(server.five(&format!("{call} 10"))[..3], [1, 10, 0], "{kind}: {call}");
        }
    }
}

#[test]
fn a_clock_that_is_behind_after_a_restart_grants_nothing_and_keeps_its_promise() {
    for kind in ["RDB", "AOF"] {
        let server = restarted(&USED, kind, -H);
        for Used { call, behind, .. } in &USED {
            let call = format!("{call} 1");
            assert_eq!(server.five(&call), *behind, "{kind}: {call}");
            let wait = behind[3] * MS;
            server.advance(wait - 1);
            assert_eq!(server.five(&call)[..4], [0, 10, 0, 1], "{kind}: {call}");
            server.advance(1);
            assert_eq!(server.five(&call)[0], 1, "{kind}: {call}");
            server.set_clock(START - H);
        }
    }
}
