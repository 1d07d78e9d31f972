//! Replicas, memory and protocols around a limiter.

use redis::Value;

use crate::harness::{Server, five, peek_of, wait_until};

const CALLS: [&str; 5] = [
    "RL.TOKENBUCKET k 3 1/1h",
    "RL.GCRA k 3 1/1h",
    "RL.FIXED k 3 1h",
    "RL.SLIDINGLOG k 3 1h",
    "RL.SLIDINGCOUNTER k 3 1h",
];

#[test]
fn c132_a_replica_refuses_to_consume_and_answers_those_who_only_look() {
    let primary = Server::start();
    let replica = Server::builder().replica_of(&primary).start();
    primary.wait_for_replicas(1);
    for call in CALLS {
        primary.run("FLUSHALL");
        let admitted = primary.five(call);
        primary.wait_for_replicas(1);
        let before = replica.state("k");

        assert!(replica.error(call).starts_with("READONLY "), "{call}");
        let words: Vec<&str> = call.split(' ').collect();
        let arguments = words[2..].iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(", ");
        let script = format!("return redis.call('{}', KEYS[1], {arguments})", words[0]);
        let error = replica.send(&["EVAL", &script, "1", "k"]).unwrap_err();
        assert!(error.contains("READONLY") || error.contains("read only replica"), "{call}: {error}");
        let mut client = replica.client();
        client.run("MULTI");
        assert!(client.error(call).starts_with("READONLY "), "{call}");
        assert!(client.error("EXEC").starts_with("EXECABORT "), "{call}");

        let looked = replica.five("RL.PEEK k 0");
        assert_eq!(looked, [1, 3, 2, 0, admitted[4]], "{call}");
        let peek = peek_of(call);
        assert_eq!(replica.five(&format!("{peek} 0")), looked, "{call}");
        let nobody = peek.replacen(" k ", " nobody ", 1);
        assert_eq!(replica.five(&nobody)[..4], [1, 3, 2, 0], "{call}");
        let script = "return redis.call('RL.PEEK', KEYS[1], '0')";
        assert_eq!(five(replica.send(&["EVAL_RO", script, "1", "k"]).unwrap()), Ok(looked), "{call}");
        assert_ne!(replica.run("RL.INFO k"), Value::Nil, "{call}");
        assert_eq!(replica.run("RL.INFO nobody"), Value::Nil, "{call}");
        assert_eq!(replica.state("k"), before, "{call}");
        assert_eq!(replica.get::<i64>("DBSIZE"), 1, "{call}");
    }
}

#[test]
fn c135_without_memory_a_call_is_the_servers_error_and_looking_still_works() {
    let server = Server::builder().config("maxmemory-policy", "noeviction").start();
    for call in CALLS {
        server.run("CONFIG SET maxmemory 0");
        server.run("FLUSHALL");
        server.five(call);
        let before = server.state("k");
        let peeked = server.five("RL.PEEK k");
        server.run("CONFIG SET maxmemory 1");
        let new_key = call.replacen(" k ", " new ", 1);
        for command in [call, &new_key] {
            assert!(server.error(command).starts_with("OOM "), "{command}");
        }
        assert_eq!(server.five("RL.PEEK k"), peeked, "{call}");
        assert_ne!(server.run("RL.INFO k"), Value::Nil, "{call}");
        assert_eq!(server.state("k"), before, "{call}");
        assert_eq!(server.get::<i64>("EXISTS new"), 0, "{call}");
        server.run("CONFIG SET maxmemory 0");
        assert_eq!(server.five(call)[..3], [1, 3, 1], "{call}");
    }
}

#[test]
fn c135_an_evicted_limiter_is_a_new_one() {
    let server = Server::builder().config("maxmemory-policy", "allkeys-lru").start();
    for number in 0..2000 {
        server.five(&format!("RL.FIXED {number} 3 1h"));
    }
    let used: i64 = server.info("used_memory").parse().unwrap();
    server.run(&format!("CONFIG SET maxmemory {}", used - 60_000));
    wait_until("the server evicts", || server.info("evicted_keys") != "0");
    // No more while they are counted.
    server.run("CONFIG SET maxmemory 0");
    let mut evicted = 0;
    for number in 0..2000 {
        let exists: i64 = server.get(&format!("EXISTS {number}"));
        if exists == 0 {
            evicted += 1;
            assert_eq!(server.five(&format!("RL.PEEK {number} FIXED 3 1h")), [1, 3, 2, 0, 3_600_000]);
        } else {
            assert_eq!(server.five(&format!("RL.PEEK {number}")), [1, 3, 1, 0, 3_600_000]);
        }
    }
    assert!(evicted > 0);
}

#[test]
fn c144_every_verdict_is_five_integers_in_both_protocols() {
    let server = Server::start();
    let mut two = server.client();
    let mut three = server.client_resp3();
    for call in CALLS {
        for client in [&mut two, &mut three] {
            client.run("FLUSHALL");
            for cost in [0, 1, 2, 1, 4] {
                // Panics unless the reply is an array of five integers.
                client.five(&format!("{call} {cost}"));
                client.five(&peek_of(call));
            }
            client.five("RL.PEEK k");
        }
    }
}
