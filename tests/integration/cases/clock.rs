//! Clocks that step.

use redis::Value;

use crate::harness::{Flavor, H, M, S, START, Server, five, play, play_unchecked};

#[test]
fn c112_a_clock_that_steps_back_takes_nothing_from_a_bucket() {
    let server = Server::start();
    play(
        &server,
        &[
            (100 * S, "RL.TOKENBUCKET k 10 1/s", [1, 10, 9, 0, 1000]),
            (100 * S, "RL.TOKENBUCKET k 10 1/s", [1, 10, 8, 0, 2000]),
            (100 * S, "RL.TOKENBUCKET k 10 1/s", [1, 10, 7, 0, 3000]),
            (40 * S, "RL.TOKENBUCKET k 10 1/s", [1, 10, 6, 0, 4000]),
        ],
    );
}

#[test]
fn c113_no_step_of_the_clock_ends_the_server() {
    let server = Server::start();
    for command in [
        "RL.TOKENBUCKET k 10 1/s",
        "RL.GCRA k 10 1/s",
        "RL.FIXED k 10 10s",
        "RL.FIXED k 10 10s 1 ALIGNED 3s",
        "RL.SLIDINGLOG k 10 10s",
        "RL.SLIDINGCOUNTER k 10 10s",
    ] {
        server.run("FLUSHALL");
        for clock in [START, START - M, 1, 0, -1, -M, i64::from(i32::MAX) * 1000 * S, START] {
            server.set_clock(clock);
            let reply = server.five(command);
            assert_eq!(reply[1], 10, "{command} at {clock}: {reply:?}");
            assert!(reply[0] == 1 || reply[3] > 0, "{command} at {clock}: {reply:?}");
            server.run("RL.INFO k");
            server.run("RL.PEEK k");
        }
    }
}

#[test]
fn c113_a_clock_before_the_epoch_stands_at_it() {
    let server = Server::start();
    for clock in [0, -1, -M, -1_000_000 * H] {
        server.set_clock(clock);
        for (command, reset) in [
            ("RL.TOKENBUCKET k 10 1/s", 1000),
            ("RL.GCRA k 10 1/s", 1000),
            ("RL.FIXED k 10 10s", 10_000),
            ("RL.FIXED k 10 10s 1 ALIGNED 3s", 3000),
            ("RL.SLIDINGLOG k 10 10s", 10_000),
            ("RL.SLIDINGCOUNTER k 10 10s", 20_000),
        ] {
            server.run("FLUSHALL");
            assert_eq!(server.five(command), [1, 10, 9, 0, reset], "{command} at {clock}");
            let info: Vec<Value> = server.get("RL.INFO k");
            let updated = info.iter().position(|field| *field == Value::BulkString(b"updated_us".into())).unwrap();
            assert_eq!(info[updated + 1], Value::Int(0), "{command} at {clock}");
        }
    }
}

#[test]
fn c114_a_state_an_hour_in_the_future_is_brought_back_and_its_wait_is_kept() {
    let server = Server::start();
    play_unchecked(
        &server,
        &[
            (59 * M, "RL.GCRA k 10 10/60s 10", [1, 10, 0, 0, 60_000]),
            (0, "RL.GCRA k 10 10/60s", [0, 10, 0, 6000, 60_000]),
            (6 * S - 1, "RL.GCRA k 10 10/60s", [0, 10, 0, 1, 54_001]),
            (6 * S, "RL.GCRA k 10 10/60s", [1, 10, 0, 0, 60_000]),
        ],
    );
    // Not more than the time to fill: waited for, and the refusals change nothing.
    play(
        &server,
        &[
            (60 * S, "RL.GCRA k 10 10/60s 10", [1, 10, 0, 0, 60_000]),
            (0, "RL.GCRA k 10 10/60s", [0, 10, 0, 66_000, 120_000]),
            (66 * S - 1, "RL.GCRA k 10 10/60s", [0, 10, 0, 1, 54_001]),
            (66 * S, "RL.GCRA k 10 10/60s", [1, 10, 0, 0, 60_000]),
        ],
    );
}

const FIVE_CALLS: [[i64; 5]; 5] = [
    [1, 3, 2, 0, 20_000],
    [1, 3, 1, 0, 40_000],
    [1, 3, 0, 0, 60_000],
    [0, 3, 0, 20_000, 60_000],
    [0, 3, 0, 20_000, 60_000],
];

fn fives(value: Value) -> Vec<[i64; 5]> {
    let Value::Array(items) = value else {
        panic!("no array but {value:?}");
    };
    items.into_iter().map(|item| five(item).unwrap()).collect()
}

#[test]
fn c116_many_calls_in_one_transaction_or_script_see_each_other() {
    let server = Server::start();
    for command in ["RL.TOKENBUCKET k 3 3/60s", "RL.GCRA k 3 3/60s"] {
        server.run("FLUSHALL");
        let mut client = server.client();
        client.run("MULTI");
        for _ in 0..5 {
            client.run(command);
        }
        assert_eq!(fives(client.run("EXEC")), FIVE_CALLS);

        let name = command.split(' ').next().unwrap();
        let script = format!(
            "local replies = {{}} for i = 1, 5 do replies[i] = redis.call('{name}', KEYS[1], 3, '3/60s') end return replies"
        );
        let replies = server.send(&["EVAL", &script, "1", "other"]).unwrap();
        assert_eq!(fives(replies), FIVE_CALLS);
    }
}

#[test]
fn c116_a_transaction_during_which_the_key_expires_is_decided_at_one_instant() {
    let server = Server::start();
    let mut client = server.client();
    client.run("MULTI");
    client.run("RL.TOKENBUCKET k 3 3/60s");
    client.run("RL.TOKENBUCKET k 3 3/60s");
    client.run("DEBUG SLEEP 0.5");
    for _ in 0..3 {
        client.run("RL.TOKENBUCKET k 3 3/60s");
    }
    let replies = std::thread::scope(|scope| {
        let running = scope.spawn(move || client.run("EXEC"));
        std::thread::sleep(std::time::Duration::from_millis(200));
        server.advance(H);
        running.join().unwrap()
    });
    let Value::Array(mut replies) = replies else {
        panic!("no array");
    };
    assert_eq!(replies.remove(2), Value::Okay);
    let replies = fives(Value::Array(replies));
    match server.version() {
        // No frozen clock to ask there: the second half of the transaction is an hour later, and says so.
        (Flavor::Redis, 7, 0) => {
            assert_eq!(replies, [FIVE_CALLS[0], FIVE_CALLS[1], FIVE_CALLS[0], FIVE_CALLS[1], FIVE_CALLS[2]])
        }
        _ => assert_eq!(replies, FIVE_CALLS),
    }
}
