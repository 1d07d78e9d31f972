//! Cases as tables: at this moment, this call, this reply.

use super::{
    clock::{MS, S, START},
    server::Server,
};

/// Microseconds after [`START`], a deciding command, and the five integers it must answer.
pub type Step<'a> = (i64, &'a str, [i64; 5]);

/// Plays the steps twice, each time on an emptied server: once as they stand, and once while checking around each call
/// that
///
/// * `RL.PEEK` with the same arguments foretells the reply, and looking changes nothing;
/// * a refusal and a cost of 0 change neither the value, nor the expiry, nor the count of changes;
/// * an admitted call leaves an expiry within its bounds.
#[track_caller]
pub fn play(server: &Server, steps: &[Step<'_>]) {
    play_unchecked(server, steps);
    server.run("FLUSHALL");
    for (index, &(at, command, expected)) in steps.iter().enumerate() {
        server.set_clock(START + at);
        let words: Vec<&str> = command.split(' ').collect();
        let key = words[1];
        let free = words.get(4) == Some(&"0");
        let what = format!("step {index} at {at} us: {command}");
        let look = || (server.state(key), server.info("rdb_changes_since_last_save"));

        let before = look();
        let peeked = server.five(&peek_of(command));
        assert_eq!(look(), before, "RL.PEEK changed something, {what}");
        assert_eq!(peeked, expected, "RL.PEEK, {what}");
        assert_eq!(server.five(command), expected, "{what}");
        if expected[0] == 0 || free {
            assert_eq!(look(), before, "the call changed something, {what}");
        } else {
            assert_expiry(server, key, expected[4], &what);
        }
    }
}

/// Plays the steps once on an emptied server, checking only the replies: for refused calls that rewrite the state,
/// because the clock was wrong.
#[track_caller]
pub fn play_unchecked(server: &Server, steps: &[Step<'_>]) {
    server.run("FLUSHALL");
    for (index, &(at, command, expected)) in steps.iter().enumerate() {
        server.set_clock(START + at);
        let what = format!("step {index} at {at} us: {command}");
        assert_eq!(server.five(command), expected, "{what}");
    }
}

/// A key whose state matters for `needed` ms more has to live as long, and may live twice as long, or 2 s longer.
#[track_caller]
pub fn assert_expiry(server: &Server, key: &str, needed: i64, what: &str) {
    let now = server.clock().now();
    let expires = server.state(key).1 * MS;
    let needed = needed * MS;
    assert!(expires > now + needed - MS, "the key expires {expires} before its time {now} + {needed}, {what}");
    assert!(
        expires <= now + (2 * needed).max(needed + 2 * S) + MS,
        "the key expires {expires} long after its time {now} + {needed}, {what}"
    );
}

/// The second form of `RL.PEEK` for a deciding command: the same key, algorithm and arguments.
pub fn peek_of(command: &str) -> String {
    let mut words = command.splitn(3, ' ');
    let algorithm = words.next().and_then(|name| name.strip_prefix("RL."));
    let algorithm = algorithm.expect("a deciding command");
    let key = words.next().expect("a key");
    format!("RL.PEEK {key} {algorithm} {}", words.next().unwrap_or_default())
}
