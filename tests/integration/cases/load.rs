//! Many callers on one key.

use std::{
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use crate::harness::{Client, MS, START, Server, five};

const CONNECTIONS: usize = 50;
const CALLS_EACH: usize = 40;

#[test]
fn c139_of_two_thousand_calls_on_fifty_connections_exactly_the_limit_is_admitted() {
    let server = Server::builder().system_clock().start();
    for (command, cost) in [
        ("RL.TOKENBUCKET k 100 1/1d", 1),
        ("RL.GCRA k 100 1/1d", 1),
        ("RL.FIXED k 100 1d", 1),
        ("RL.SLIDINGLOG k 100 1d", 1),
        ("RL.SLIDINGCOUNTER k 100 3650d", 1),
        ("RL.TOKENBUCKET k 100 1/1d 7", 7),
        ("RL.SLIDINGLOG k 100 1d 7", 7),
    ] {
        server.run("FLUSHALL");
        let together = Barrier::new(CONNECTIONS);
        let admitted: usize = thread::scope(|scope| {
            let callers: Vec<_> = (0..CONNECTIONS)
                .map(|_| {
                    scope.spawn(|| {
                        let mut client = server.client();
                        together.wait();
                        (0..CALLS_EACH).filter(|_| client.five(command)[0] == 1).count()
                    })
                })
                .collect();
            callers.into_iter().map(|caller| caller.join().unwrap()).sum()
        });
        assert_eq!(admitted, 100 / cost, "{command}");
    }
}

/// The quickest of several pipelines of refused calls.
fn refusals(client: &mut Client, command: &str) -> Duration {
    let calls = vec![command; 2000];
    (0..7)
        .map(|_| {
            let started = Instant::now();
            let replies = client.pipeline(&calls);
            let took = started.elapsed();
            for reply in replies {
                assert_eq!(five(reply.unwrap()).unwrap()[0], 0);
            }
            took
        })
        .min()
        .unwrap()
}

#[test]
fn c143_refusing_on_a_full_log_does_not_grow_with_the_log() {
    let server = Server::start();
    let mut client = server.client();
    for instant in 0..100 {
        server.set_clock(START + instant * 10 * MS);
        for reply in client.pipeline(&vec!["RL.SLIDINGLOG long 100000 60s"; 1000]) {
            assert_eq!(five(reply.unwrap()).unwrap()[0], 1);
        }
    }
    client.pipeline(&["RL.SLIDINGLOG short 10 60s"; 10]);
    let short = refusals(&mut client, "RL.SLIDINGLOG short 10 60s");
    let long = refusals(&mut client, "RL.SLIDINGLOG long 100000 60s");
    // Going through the events would cost a thousand times as much; the machine's noise is far from five times.
    assert!(long < short * 5, "{long:?} against {short:?}");
}
