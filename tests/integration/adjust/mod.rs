//! `RL.ADJUST`: usage put right after the fact.

mod bounds;
mod moments;
mod surroundings;
mod usage;

use redis::Value;

use crate::harness::{START, Server, assert_expiry, five};

/// Microseconds after [`START`], a command, and the five integers it must answer; none for null.
type Step<'a> = (i64, &'a str, Option<[i64; 5]>);

const NULL: Option<[i64; 5]> = None;

/// Plays the steps on an emptied server. An adjustment that is answered leaves an expiry within its bounds, and null
/// changes nothing.
#[track_caller]
fn play(server: &Server, steps: &[Step<'_>]) {
    server.run("FLUSHALL");
    for (index, &(at, command, expected)) in steps.iter().enumerate() {
        server.set_clock(START + at);
        let what = format!("step {index} at {at} us: {command}");
        let key = command.split(' ').nth(1).unwrap();
        let look = || (server.state(key), server.info("rdb_changes_since_last_save"));
        let before = look();
        let reply = match server.run(command) {
            Value::Nil => None,
            reply => Some(five(reply).unwrap()),
        };
        assert_eq!(reply, expected, "{what}");
        match expected {
            Some([1, .., needed]) if command.starts_with("RL.ADJUST") => assert_expiry(server, key, needed, &what),
            Some(_) => {}
            None => assert_eq!(look(), before, "it changed something, {what}"),
        }
    }
}
