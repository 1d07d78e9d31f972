//! Cases as tables: at this moment, this call, this reply.

use super::{clock::START, server::Server};

/// Microseconds after [`START`], a deciding command, and the five integers it must answer.
pub type Step<'a> = (i64, &'a str, [i64; 5]);

/// Plays the steps twice on an empty server: once as they stand, and once while checking around each call that
/// `RL.PEEK` with the same arguments foretells the reply, that looking changes nothing, and that a refusal changes
/// neither the value, nor the expiry, nor the count of changes.
#[track_caller]
pub fn play(server: &Server, steps: &[Step<'_>]) {
    play_unchecked(server, steps);
    server.run("FLUSHALL");
    for (index, &(at, command, expected)) in steps.iter().enumerate() {
        server.set_clock(START + at);
        let [name, key, arguments] = parts(command);
        let algorithm = name.strip_prefix("RL.").expect("a deciding command");
        let what = format!("step {index} at {at} us: {command}");
        let look = |key: &str| (server.state(key), server.info("rdb_changes_since_last_save"));

        let before = look(key);
        let peeked = server.five(&format!("RL.PEEK {key} {algorithm} {arguments}"));
        assert_eq!(look(key), before, "RL.PEEK changed something, {what}");
        assert_eq!(peeked, expected, "RL.PEEK, {what}");
        assert_eq!(server.five(command), expected, "{what}");
        if expected[0] == 0 {
            assert_eq!(look(key), before, "a refusal changed something, {what}");
        } else {
            let expiry = server.state(key).1;
            assert!(expiry != -1, "a key without expiry, {what}");
        }
    }
}

/// Plays the steps once, checking only the replies: for calls that may rewrite the state although they are refused.
#[track_caller]
pub fn play_unchecked(server: &Server, steps: &[Step<'_>]) {
    for (index, &(at, command, expected)) in steps.iter().enumerate() {
        server.set_clock(START + at);
        assert_eq!(server.five(command), expected, "step {index} at {at} us: {command}");
    }
}

fn parts(command: &str) -> [&str; 3] {
    let mut parts = command.splitn(3, ' ');
    [(); 3].map(|()| parts.next().expect("a command, a key and arguments"))
}
