//! Ends under load: what was answered "allowed" stays charged.

use std::{thread, time::Duration};

use crate::harness::{Builder, Client, Server, Tally, load_calls, module_path, under_load};

const CALLERS: usize = 8;

fn always(builder: Builder) -> Builder {
    builder.config("appendonly", "yes").config("appendfsync", "always")
}

/// Makes all calls from many connections while `work` runs, which may end the server.
fn load(port: u16, calls: &[String], work: impl FnOnce()) -> Tally {
    let connect = || {
        let mut client = Client::at(port);
        move |call: &str| client.try_run(call)
    };
    under_load(CALLERS, calls, connect, work).1
}

/// Each call that was admitted is charged, and no more than one a caller that was not: the one whose answer was lost.
#[track_caller]
fn assert_charged(server: &Server, calls: &[String], admitted: &[u64], lost_answers: usize) {
    let used = server.used_by(calls);
    let surplus = used.iter().zip(admitted).zip(calls).map(|((used, admitted), call)| {
        assert!(used >= admitted, "{call}: {used} charged, {admitted} admitted");
        used - admitted
    });
    let surplus: u64 = surplus.sum();
    assert!(surplus <= lost_answers as u64, "{used:?} charged, {admitted:?} admitted");
}

fn assert_only_broken_connections(tally: &Tally) {
    let reply = |error: &&String| ["ERR", "MISCONF", "OOM", "WRONGTYPE"].iter().any(|code| error.contains(code));
    assert_eq!(tally.errors.iter().find(reply), None);
}

#[test]
fn every_call_that_was_admitted_before_a_kill_is_charged_after_it() {
    let mut server = always(Server::builder()).start();
    let calls = load_calls();
    let mut admitted = vec![0; calls.len()];
    for round in 1..=3 {
        let tally = load(server.port(), &calls, || {
            thread::sleep(Duration::from_millis(50));
            server.kill();
        });
        assert_only_broken_connections(&tally);
        admitted.iter_mut().zip(&tally.admitted).for_each(|(sum, more)| *sum += more);
        server.relaunch();
        assert_charged(&server, &calls, &admitted, CALLERS * round);
    }
    assert!(admitted.iter().sum::<u64>() > 300, "{admitted:?}");
    assert!(server.used_by(&calls)[..5].iter().all(|&used| used <= 20));
}

#[test]
fn a_kill_in_the_middle_of_a_rewrite_loses_nothing() {
    let mut server = always(Server::builder()).start();
    let calls = load_calls();
    let tally = load(server.port(), &calls, || {
        // Slow enough to be met.
        server.run("CONFIG SET rdb-key-save-delay 20000");
        server.run("BGREWRITEAOF");
        thread::sleep(Duration::from_millis(50));
        assert_eq!(server.info("aof_rewrite_in_progress"), "1");
        server.kill();
    });
    server.relaunch();
    assert_charged(&server, &calls, &tally.admitted, CALLERS);
}

#[test]
fn an_orderly_end_under_load_loses_nothing() {
    // C130, with clients that wait for something else.
    for builder in [Server::builder(), Server::builder().config("appendonly", "yes")] {
        let mut server = builder.start();
        let calls = load_calls();
        let port = server.port();
        let blocked = |command: &'static str| thread::spawn(move || Client::at(port).try_run(command));
        let waiting = [blocked("BLPOP nothing 0"), blocked("WAIT 1 0"), blocked("XREAD BLOCK 0 STREAMS nothing $")];
        let tally = load(server.port(), &calls, || server.shutdown("SAVE"));
        assert_only_broken_connections(&tally);
        for client in waiting {
            client.join().unwrap().unwrap_err();
        }
        server.relaunch();
        assert_charged(&server, &calls, &tally.admitted, CALLERS);
    }
}

#[test]
fn an_unload_with_work_pending_is_clean() {
    // C130.
    let server = Server::start();
    let calls = load_calls();
    let port = server.port();
    let popped = thread::spawn(move || Client::at(port).get::<(String, String)>("BLPOP list 0"));
    let tally = load(port, &calls, || {
        server.run("MODULE UNLOAD rl");
        thread::sleep(Duration::from_millis(20));
        server.run("RPUSH list element");
        server.run(&format!("MODULE LOAD {}", module_path().display()));
    });
    assert_eq!(popped.join().unwrap(), ("list".into(), "element".into()));
    assert!(!tally.errors.is_empty(), "calls were made while the module was away");
    let unknown = |error: &&String| error.contains("unknown command");
    assert_eq!(tally.errors.iter().find(|error| !unknown(error)), None);
    assert_eq!(server.used_by(&calls), tally.admitted);
}
