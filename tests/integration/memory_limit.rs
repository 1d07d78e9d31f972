//! A server at its memory limit: calls that need memory are the server's own error, and what it evicts is forgotten.

use std::collections::BTreeMap;

use redis::Value;

use crate::harness::{Client, Server, limiters, skip};

fn used(client: &mut Client, key: &str) -> u64 {
    let info: BTreeMap<String, Value> = client.get(&format!("RL.INFO {key}"));
    redis::from_redis_value(info["used"].clone()).unwrap()
}

#[test]
fn without_memory_transactions_scripts_and_functions_fail_as_a_whole() {
    let server = Server::builder().config("maxmemory-policy", "noeviction").start();
    let mut client = server.client();
    client
        .send(&[
            "FUNCTION",
            "LOAD",
            "#!lua name=limits\nredis.register_function('take', function(keys, args) \
         return redis.call(args[1], keys[1], args[2], args[3]) end)",
        ])
        .unwrap();
    for (name, limits) in limiters(3) {
        let call = format!("RL.{name} {name} {limits}");
        client.five(&call);
        let states = [server.state(name), server.state("new")];
        client.run("CONFIG SET maxmemory 1");

        client.run("MULTI");
        assert!(client.error(&call).starts_with("OOM "), "{call}");
        assert!(client.error("EXEC").starts_with("EXECABORT "), "{call}");
        for key in [name, "new"] {
            for how in ["EVAL \"return redis.call(ARGV[1], KEYS[1], ARGV[2], ARGV[3])\"", "FCALL take"] {
                let error = client.error(&format!("{how} 1 {key} RL.{name} {limits}"));
                assert!(error.contains("OOM"), "{how} {call}: {error}");
            }
        }
        let peek = format!("\"return redis.call('RL.PEEK', KEYS[1], '0')\" 1 {name}");
        for how in ["EVAL", "EVAL_RO"] {
            assert_eq!(client.five(&format!("{how} {peek}"))[..3], [1, 3, 2], "{how} {name}");
        }
        assert_eq!([server.state(name), server.state("new")], states, "{call}");
        client.run("CONFIG SET maxmemory 0");
        assert_eq!(client.five(&call)[..3], [1, 3, 1], "{call}");
    }
}

#[test]
fn a_log_that_meets_the_limit_holds_exactly_what_was_admitted() {
    let server = Server::builder().config("maxmemory-policy", "noeviction").start();
    let mut client = server.client();
    let limit = server.info("used_memory").parse::<u64>().unwrap() + 300_000;
    client.run(&format!("CONFIG SET maxmemory {limit}"));
    let mut admitted = 0;
    let error = loop {
        match client.try_run("RL.SLIDINGLOG log 1000000 1d 3").map(|_| client.try_run("RL.SLIDINGLOG log 1000000 1d")) {
            Ok(Ok(_)) => admitted += 4,
            Ok(Err(error)) => {
                admitted += 3;
                break error;
            }
            Err(error) => break error,
        }
        assert!(admitted < 1_000_000, "the limit is met");
    };
    assert!(error.starts_with("OOM "), "{error}");
    assert_eq!(used(&mut client, "log"), admitted);
    client.run("CONFIG SET maxmemory 0");
    let remaining = client.five("RL.SLIDINGLOG log 1000000 1d 0")[2] as u64;
    assert_eq!(remaining, 1_000_000 - admitted);
}

#[test]
fn what_is_evicted_is_forgotten_and_replicas_agree() {
    let primary =
        Server::builder().config("maxmemory-policy", "allkeys-lru").config("repl-backlog-size", "16kb").start();
    let replica = Server::builder().without_module().replica_of(&primary).start();
    primary.wait_for_replicas(1);
    let mut client = primary.client();
    let limit = primary.info("used_memory").parse::<u64>().unwrap() + 1_000_000;
    client.run(&format!("CONFIG SET maxmemory {limit}"));
    let calls = |number: u32| limiters(3).map(|(name, limits)| format!("RL.{name} {name}:{number} {limits}"));
    for number in 0..3_000 {
        for reply in client.pipeline(&calls(number)) {
            reply.unwrap();
        }
    }
    if primary.info("evicted_keys") == "0" {
        skip("this server counts its memory otherwise, and evicted nothing");
        return;
    }
    client.run("CONFIG SET maxmemory 0");
    primary.wait_for_replicas(1);
    assert_eq!(primary.get::<String>("DEBUG DIGEST"), replica.get::<String>("DEBUG DIGEST"));
    let (mut forgotten, mut kept) = (0, 0);
    for number in (0..3_000).step_by(29) {
        for call in calls(number) {
            let key = call.split(' ').nth(1).unwrap();
            let there = client.get::<u32>(&format!("EXISTS {key}")) == 1;
            assert_eq!(client.five(&call)[2], if there { 1 } else { 2 }, "{call}");
            *(if there { &mut kept } else { &mut forgotten }) += 1;
        }
    }
    assert!(forgotten > 0 && kept > 0, "{forgotten} forgotten, {kept} kept");
}
