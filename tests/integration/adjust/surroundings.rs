//! Adjustments in transactions and scripts, beside WATCH, on replicas, in files, and when memory is short.

use std::time::Duration;

use redis::Value;

use crate::harness::{H, MS, Random, S, START, Server, five, limiters};

#[test]
fn a_transaction_and_a_script_take_and_settle() {
    let server = Server::start();
    let mut client = server.client();
    for (name, limits) in limiters(9) {
        client.run("MULTI");
        for command in [&format!("RL.{name} k {limits} 5"), "RL.ADJUST k -3", "RL.ADJUST other 1"] {
            client.run(command);
        }
        let Value::Array(replies) = client.run("EXEC") else { panic!("no array") };
        assert_eq!(five(replies[1].clone()).unwrap()[..4], [1, 9, 7, 0], "{name}");
        assert_eq!(replies[2], Value::Nil, "{name}");
        let script = "local reply = redis.call('RL.ADJUST', KEYS[1], ARGV[1]) return reply[3]";
        assert_eq!(client.send(&["EVAL", script, "1", "k", "4"]), Ok(Value::Int(3)), "{name}");
        client.run("DEL k");
    }
}

#[test]
fn a_watched_key_notices_a_change_and_nothing_else() {
    let server = Server::start();
    for (name, limits) in limiters(9) {
        for (adjustment, passes) in [("1", false), ("-1", false), ("0", true), ("1000000000000", true), ("x", true)] {
            server.run("FLUSHALL");
            server.five(&format!("RL.{name} k {limits} 5"));
            let mut client = server.client();
            client.run("WATCH k");
            let _ = server.try_run(&format!("RL.ADJUST k {adjustment}"));
            client.run("MULTI");
            client.run("PING");
            assert_eq!(client.run("EXEC") != Value::Nil, passes, "{name} {adjustment}");
        }
    }
}

#[test]
fn a_change_is_one_event_of_the_class_module() {
    let server = Server::start();
    for (name, limits) in limiters(9) {
        server.five(&format!("RL.{name} {name} {limits} 5"));
    }
    server.run("CONFIG SET notify-keyspace-events EA");
    let mut listener = server.client();
    let mut listener = listener.connection().as_pubsub();
    listener.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    listener.psubscribe("__keyevent@0__:*").unwrap();
    let mut expected = Vec::new();
    for (name, _) in limiters(9) {
        for delta in ["2", "-1", "0", "1000000000000", "-9", "-9"] {
            let _ = server.try_run(&format!("RL.ADJUST {name} {delta}"));
        }
        // The last finds nothing in use.
        expected.extend([name; 3]);
        server.run("RL.ADJUST missing 5");
    }
    for name in expected {
        let message = listener.get_message().unwrap();
        assert_eq!(message.get_channel_name(), "__keyevent@0__:rl.adjust");
        assert_eq!(message.get_payload::<String>().unwrap(), name);
    }
    server.run("PUBLISH __keyevent@0__:last word");
    assert_eq!(listener.get_message().unwrap().get_channel_name(), "__keyevent@0__:last");
}

#[test]
fn copies_and_files_hold_what_the_primary_holds() {
    let mut primary = Server::builder().config("appendonly", "yes").config("appendfsync", "always").start();
    let with = Server::builder().replica_of(&primary).start();
    let without = Server::builder().without_module().replica_of(&primary).start();
    primary.wait_for_replicas(2);
    let (mut random, limiters) = (Random::new(7), limiters(20));
    for _ in 0..1_500 {
        let (name, limits) = &limiters[random.below(5) as usize];
        let key = format!("{name}:{}", random.below(3));
        let _ = if random.one_in(2) {
            primary.try_run(&format!("RL.{name} {key} {limits} {}", random.below(6)))
        } else {
            primary.try_run(&format!("RL.ADJUST {key} {}", random.below(20) as i64 - 10))
        };
        primary.advance(random.of(&[0, MS, S, 300 * S, -S, H / 3, -20 * H]));
    }
    let expected = primary.records();
    assert!(expected.len() > 5, "{} keys", expected.len());
    primary.wait_for_replicas(2);
    for replica in [&with, &without] {
        let clock = replica.clock().now();
        replica.set_clock(0);
        assert_eq!(replica.records(), expected);
        replica.set_clock(clock);
    }
    assert!(with.error("RL.ADJUST FIXED:0 -1").starts_with("READONLY "));
    primary.kill();
    primary.relaunch();
    assert_eq!(primary.records(), expected);
}

#[test]
fn usage_is_put_right_when_memory_is_short() {
    let server = Server::builder().config("maxmemory-policy", "noeviction").start();
    let mut client = server.client();
    for (name, limits) in limiters(9) {
        let call = format!("RL.{name} {name} {limits} 5");
        client.five(&call);
        client.run("CONFIG SET maxmemory 1");
        assert!(client.error(&call).starts_with("OOM "), "{call}");
        assert_eq!(client.five(&format!("RL.ADJUST {name} -3"))[..4], [1, 9, 7, 0], "{name}");
        assert_eq!(client.five(&format!("RL.ADJUST {name} 1"))[..4], [1, 9, 6, 0], "{name}");
        let script = "return redis.call('RL.ADJUST', KEYS[1], ARGV[1])";
        let reply = five(client.send(&["EVAL", script, "1", name, "-1"]).unwrap()).unwrap();
        assert_eq!(reply[..4], [1, 9, 7, 0], "{name}");
        assert_eq!(client.run("RL.ADJUST missing 1"), Value::Nil);
        client.run("CONFIG SET maxmemory 0");
    }
}

#[test]
fn a_log_of_many_events_is_given_back_at_any_size() {
    let server = Server::start();
    let mut client = server.client();
    let calls = vec!["RL.SLIDINGLOG k 30000 1h"; 10_000];
    for _ in 0..2 {
        client.pipeline(&calls);
        server.set_clock(START + S);
    }
    for (delta, used) in [(-1, 19_999), (-4_999, 15_000), (5, 15_005), (-10_006, 4_999), (-4_999, 0)] {
        assert_eq!(client.five(&format!("RL.ADJUST k {delta}"))[2], 30_000 - used, "{delta}");
    }
}
