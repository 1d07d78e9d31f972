//! What a server may do to a limiter from outside: other settings, other clients, other commands on its key.

use std::{process::Command, thread};

use crate::harness::{
    Builder, Client, DAY, Flavor, H, S, Server, exists, five, free_port, limiters, module_path, redis_cli, skip,
    wait_until,
};

/// A call of each algorithm on the key `k`, with a limit of 3 an hour.
fn calls() -> [String; 5] {
    limiters(3).map(|(name, limits)| format!("RL.{name} k {limits}"))
}

#[test]
fn without_the_commands_that_carry_its_effects_the_module_does_not_load_and_says_which() {
    let hidden = |name: &str, to: &str| Server::builder().config("rename-command", format!("{name} {to}"));
    for name in ["SET", "APPEND", "SETRANGE", "PEXPIREAT"] {
        for to in ["\"\"", "HIDDEN"] {
            let sentence = format!("<rl> does not load: needs the command {name} under its own name");
            let log = hidden(name, to).try_start().err().expect("the server does not start");
            assert!(log.contains(&sentence), "{name} {to}: {log}");

            let server = hidden(name, to).without_module().start();
            let load = format!("MODULE LOAD {}", module_path().display());
            assert!(server.error(&load).starts_with("ERR Error loading the extension"), "{name} {to}");
            assert!(server.log().contains(&sentence), "{name} {to}: {}", server.log());
            server.run("PING");
        }
    }
}

#[test]
fn other_commands_may_be_renamed_or_disabled() {
    let names = ["GET", "DEL", "EXPIRE", "PERSIST", "FLUSHALL", "CONFIG", "DEBUG", "MULTI", "EVAL", "ACL", "CLIENT"];
    let disable = |builder: Builder, name: &&str| builder.config("rename-command", format!("{name} \"\""));
    let server = names.iter().fold(Server::builder(), disable).start();
    for call in calls() {
        assert_eq!(server.five(&call)[..3], [1, 3, 2], "{call}");
        server.advance(DAY);
    }
    // Without ACL it cannot see whether unloading is safe.
    let error = server.error("MODULE UNLOAD rl");
    assert!(error.starts_with("ERR Error unloading module"), "{error}");
    assert!(server.log().contains("<rl> does not unload: cannot read the ACL rules"), "{}", server.log());
    let server = disable(Server::builder(), &"CLIENT").start();
    assert!(server.error("MODULE UNLOAD rl").starts_with("ERR Error unloading module"));
    assert!(server.log().contains("<rl> does not unload: cannot see whether a client"), "{}", server.log());
}

#[test]
fn a_limiter_survives_whatever_moves_its_value() {
    let server = Server::builder().config("appendonly", "yes").start();
    for call in calls() {
        // The log has weights: its record has the other form.
        server.run(&format!("{call} 2"));
        let state = server.state("k");
        for (moves, back) in [
            ("RENAME k moved", "RENAME moved k"),
            ("COPY k moved", "RENAME moved k"),
            ("COPY k moved REPLACE", "COPY moved k REPLACE"),
            ("SWAPDB 0 1", "SWAPDB 0 1"),
            ("DEBUG RELOAD", "PING"),
            ("DEBUG LOADAOF", "PING"),
            ("BGREWRITEAOF", "DEBUG LOADAOF"),
            ("GETEX k EX 5", "GETEX k PXAT {expiry}"),
        ] {
            server.run(moves);
            if moves == "BGREWRITEAOF" {
                wait_until("the file is rewritten", || server.info("aof_rewrite_in_progress") == "0");
            }
            server.run(&back.replace("{expiry}", &state.1.to_string()));
            assert_eq!(server.state("k"), state, "{moves}; {call}");
        }
        server.run("SELECT 0");
        let dump = server.get::<Vec<u8>>("DUMP k");
        server.run("DEL k moved");
        for expiry in [state.1.to_string(), "0".into()] {
            server.send(&[b"RESTORE", &b"k"[..], expiry.as_bytes(), &dump, b"ABSTTL", b"REPLACE"]).unwrap();
            assert_eq!(server.get::<Vec<u8>>("DUMP k"), dump, "{call}");
            assert_eq!(server.five(&format!("{call} 2"))[..3], [0, 3, 1], "{call}");
        }
        assert_eq!(server.five(&call)[..3], [1, 3, 0], "{call}");
        server.run("FLUSHALL");
    }
}

#[test]
fn a_restored_value_of_another_kind_is_an_error_and_stays_as_it_is() {
    let server = Server::start();
    for make in ["RPUSH v a b", "HSET v f x", "SADD v 1 2", "ZADD v 1 a", "XADD v 1-1 f x", "SET v 12345", "PFADD v a"]
    {
        server.run("FLUSHALL");
        server.run(make);
        let dump = server.get::<Vec<u8>>("DUMP v");
        server.send(&[b"RESTORE", &b"k"[..], b"5000", &dump]).unwrap();
        let state = server.state("k");
        for call in calls() {
            for command in [&call, "RL.PEEK k", "RL.INFO k"] {
                assert!(server.error(command).starts_with("WRONGTYPE "), "{make}; {command}");
            }
        }
        assert_eq!(server.state("k"), state, "{make}");
    }
}

#[test]
fn an_expiry_that_somebody_else_sets_or_takes_away_does_not_change_a_verdict() {
    let server = Server::start();
    for call in calls() {
        let five = |command: &str| server.five(command)[..3].to_owned();
        assert_eq!(five(&format!("{call} 2")), [1, 3, 1]);
        for foreign in ["PERSIST k", "PEXPIRE k 100000000", "EXPIRE k 1"] {
            server.run(foreign);
            assert_eq!(five(&format!("{call} 2")), [0, 3, 1], "{foreign}; {call}");
        }
        // Once a key is gone, whoever took it away, its limiter is a new one.
        server.advance(2 * S);
        assert_eq!(five(&format!("{call} 2")), [1, 3, 1], "{call}");
        server.advance(DAY);
    }
}

#[test]
fn active_defragmentation_moves_records_and_changes_none() {
    let server = Server::builder().system_clock().start();
    if server.try_run("CONFIG SET activedefrag yes").is_err() {
        skip("this server cannot defragment");
        return;
    }
    server.run("CONFIG SET activedefrag no");
    const KEYS: u32 = 20_000;
    let call = |number: u32| match number % 5 {
        0 => format!("RL.TOKENBUCKET key:{number} 3 1/1d"),
        1 => format!("RL.GCRA key:{number} 3 1/1d"),
        2 => format!("RL.FIXED key:{number} 3 3650d"),
        3 => format!("RL.SLIDINGLOG key:{number} 3 3650d"),
        _ => format!("RL.SLIDINGCOUNTER key:{number} 3 3650d"),
    };
    let mut client = server.client();
    for first in (0..KEYS).step_by(1_000) {
        let calls: Vec<String> = (first..first + 1_000).map(call).collect();
        client.pipeline(&calls).into_iter().for_each(|reply| drop(reply.unwrap()));
    }
    // Holes in every page: four of five keys go.
    let (kept, gone): (Vec<u32>, Vec<u32>) = (0..KEYS).partition(|number| number / 5 % 5 == 0);
    let gone: Vec<String> = gone.iter().map(|number| format!("key:{number}")).collect();
    client.run(&format!("DEL {}", gone.join(" ")));
    let before: String = server.get("DEBUG DIGEST");
    for setting in [
        "active-defrag-ignore-bytes 1",
        "active-defrag-threshold-lower 1",
        "active-defrag-cycle-min 60",
        "active-defrag-cycle-max 70",
        "activedefrag yes",
    ] {
        server.run(&format!("CONFIG SET {setting}"));
    }
    let mut rounds = 0;
    wait_until("many values were moved", || {
        // Refused calls and looks meanwhile.
        for &number in kept.iter().skip(rounds % 100).step_by(100) {
            assert_eq!(client.five(&format!("{} 3", call(number)))[..3], [0, 3, 2]);
        }
        rounds += 1;
        server.info("active_defrag_hits").parse::<u32>().unwrap() > 2_000
    });
    assert_eq!(server.get::<String>("DEBUG DIGEST"), before);
    for &number in &kept {
        assert_eq!(client.five(&call(number))[..3], [1, 3, 1], "{}", call(number));
    }
}

#[test]
fn a_client_that_caches_what_it_saw_is_told_of_admitted_calls() {
    let server = Server::start();
    for (mode, noloop) in [("", false), ("BCAST", false), ("BCAST PREFIX k", false), ("", true)] {
        for call in calls() {
            server.run("FLUSHALL");
            server.run(&call);
            let mut tracker = server.client_resp3();
            let (sender, pushes) = std::sync::mpsc::channel();
            tracker.connection().set_push_sender(sender);
            tracker.run(&format!("CLIENT TRACKING ON {mode} {}", if noloop { "NOLOOP" } else { "" }));
            tracker.run("RL.PEEK k");
            let told = |what: &str, expected: usize, tracker: &mut Client| {
                tracker.run("PING");
                let count = pushes.try_iter().filter(|push| push.kind == redis::PushKind::Invalidate).count();
                assert_eq!(count, expected, "{mode} {noloop}: {what}");
            };
            told("nothing happened", 0, &mut tracker);
            server.run(&call);
            told(&call, 1, &mut tracker);
            tracker.run("RL.INFO k");
            tracker.run(&call);
            told(&format!("its own {call}"), usize::from(!noloop), &mut tracker);
            tracker.run("RL.PEEK k");
            server.run(&call);
            told("a refused call", 0, &mut tracker);
        }
    }
}

#[test]
fn with_io_threads_exactly_the_limit_is_admitted() {
    let builder = Server::builder().config("io-threads", 2);
    // Reading in threads came with 6.0 as a choice, and is no longer one.
    let (flavor, major, _) = Server::builder().without_module().start().version();
    let optional = flavor == Flavor::Redis && major < 8;
    let server = if optional { builder.config("io-threads-do-reads", "yes") } else { builder }.start();
    const LIMIT: u64 = 2_000;
    let admitted: u64 = thread::scope(|scope| {
        let callers: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = server.client();
                    let calls = limiters(LIMIT).map(|(name, limits)| format!("RL.{name} {name} {limits}"));
                    let calls: Vec<&String> = calls.iter().cycle().take(1_000).collect();
                    let replies = client.pipeline(&calls);
                    replies.into_iter().filter(|reply| five(reply.clone().unwrap()).unwrap()[0] == 1).count()
                })
            })
            .collect();
        callers.into_iter().map(|caller| caller.join().unwrap() as u64).sum()
    });
    assert_eq!(admitted, 5 * LIMIT, "of 16,000 calls");
    for (name, limits) in limiters(LIMIT) {
        assert_eq!(server.five(&format!("RL.{name} {name} {limits}"))[..3], [0, LIMIT as i64, 0]);
    }
}

#[test]
fn over_tls_a_call_is_answered_as_ever() {
    if !exists("openssl") {
        skip("openssl is not installed");
        return;
    }
    // A server without it does not start; setting the port later, it would crash.
    let bare = Server::builder().without_module().config("tls-port", free_port()).try_start();
    if bare.is_err_and(|log| log.contains("Failed finding TLS support") || log.contains("Bad directive")) {
        skip("this server has no TLS");
        return;
    }
    let server = Server::start();
    let file = |name: &str| server.folder().join(name).display().to_string();
    let [key, certificate] = [file("key.pem"), file("cert.pem")];
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "9000", "-subj", "/CN=localhost"])
        .args(["-keyout", &key, "-out", &certificate])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let port = free_port();
    let files = format!("tls-key-file {key} tls-cert-file {certificate} tls-ca-cert-file {certificate}");
    server.run(&format!("CONFIG SET {files} tls-auth-clients no tls-port {port}"));
    let port = port.to_string();
    let tls = ["--tls", "--cacert", &certificate, "-h", "localhost", "-p", &port];
    for call in calls() {
        let words: Vec<&str> = call.split(' ').collect();
        let replies = redis_cli(&[&tls[..], &["-r", "5"], &words].concat());
        let allowed: Vec<&str> = replies.lines().step_by(5).collect();
        assert_eq!(allowed, ["1", "1", "1", "0", "0"], "{call}: {replies}");
        assert_eq!(server.five(&call)[..3], [0, 3, 0], "{call} without TLS");
        server.advance(DAY);
    }
}

#[test]
fn a_replica_that_is_asked_to_write_for_itself_keeps_state_of_its_own() {
    let primary = Server::start();
    let replica = Server::builder().replica_of(&primary).config("replica-read-only", "no").start();
    primary.wait_for_replicas(1);
    for call in calls() {
        assert_eq!(replica.five(&call)[..3], [1, 3, 2], "{call}");
        assert_eq!(primary.five(&call)[..3], [1, 3, 2], "{call}");
        primary.wait_for_replicas(1);
        // What the primary sends is the whole state: it is what counts in the end.
        primary.run("WAIT 1 0");
        assert_eq!(replica.five(&format!("{call} 0"))[..3], [1, 3, 2], "{call}");
        primary.run("FLUSHALL");
        primary.run("WAIT 1 0");
        primary.advance(H);
    }
    replica.run("CONFIG SET replica-read-only yes");
    assert!(replica.error("RL.FIXED k 3 1h").starts_with("READONLY "));
}
