//! Limiters in a cluster: redirections, slots that move under load, and a primary that dies.

use std::collections::BTreeMap;

use redis::Value;

use crate::harness::{Cluster, Server, Tally, five, quoted, skip, under_load, wait_until};

/// One call of each algorithm, each on a key of its own in the slot of `tag`. Nothing that is admitted is forgotten
/// while a test runs: a bucket takes a day for one token, and windows last ten years.
fn calls(tag: &str, limit: u64) -> [String; 5] {
    [
        format!("RL.TOKENBUCKET {{{tag}}}:t {limit} 1/1d"),
        format!("RL.GCRA {{{tag}}}:g {limit} 1/1d"),
        format!("RL.FIXED {{{tag}}}:f {limit} 3650d"),
        format!("RL.SLIDINGLOG {{{tag}}}:l {limit} 3650d"),
        format!("RL.SLIDINGCOUNTER {{{tag}}}:c {limit} 3650d"),
    ]
}

fn key_of(call: &str) -> &str {
    call.split(' ').nth(1).unwrap()
}

/// What each call's key holds in the end, as its owner tells it.
fn used(cluster: &Cluster, calls: &[String]) -> Vec<u64> {
    let mut connection = cluster.entrance().connect();
    let mut used = |call: &String| {
        let info = connection.try_run(&format!("RL.INFO {}", key_of(call))).unwrap();
        let info: BTreeMap<String, Value> = redis::from_redis_value(info).unwrap();
        redis::from_redis_value(info["used"].clone()).unwrap()
    };
    calls.iter().map(&mut used).collect()
}

/// Half of the limiters run full while the callers are at it, the others never do.
fn calls_in_slots(cluster: &Cluster, wanted: impl Fn(u16) -> bool, count: usize) -> Vec<String> {
    let tags: Vec<String> = (0..200 * count).map(|n| format!("user{n}")).collect();
    let slots = cluster.slots(&tags);
    let inside = tags.iter().zip(slots).filter(|(_, slot)| wanted(*slot)).map(|(tag, _)| tag);
    let calls: Vec<String> = inside
        .take(count)
        .enumerate()
        .flat_map(|(index, tag)| calls(tag, if index % 2 == 0 { 3 } else { 1_000_000 }))
        .collect();
    assert_eq!(calls.len(), 5 * count, "enough keys lie in the slots");
    calls
}

fn assert_each_call_is_charged_once(cluster: &Cluster, calls: &[String], tally: &Tally) {
    assert_eq!(tally.errors, [""; 0]);
    assert_eq!(used(cluster, calls), tally.admitted);
    for (call, (&admitted, &refused)) in calls.iter().zip(tally.admitted.iter().zip(&tally.refused)) {
        let limited = call.contains(" 3 ");
        assert_eq!((admitted == 3, refused > 0), (limited, limited), "{call}: {admitted} admitted, {refused} refused");
    }
}

#[test]
fn a_client_reaches_ten_thousand_random_keys_with_each_command() {
    const KEYS: u32 = 10_000;
    let cluster = Cluster::start();
    let mut connection = cluster.entrance().connect();
    let numbers: Vec<u32> = (0..KEYS).collect();
    for some in numbers.chunks(500) {
        for (letter, command, arguments, reset) in [
            ('t', "RL.TOKENBUCKET", &["1", "1/h"][..], 3_600_000),
            ('g', "RL.GCRA", &["1", "1/h"], 3_600_000),
            ('f', "RL.FIXED", &["1", "1h"], 3_600_000),
            ('l', "RL.SLIDINGLOG", &["1", "1h"], 3_600_000),
            ('c', "RL.SLIDINGCOUNTER", &["1", "1h"], 7_200_000),
        ] {
            let keys: Vec<Vec<u8>> = some.iter().map(|&number| random_key(number, letter)).collect();
            let mut all = |command: &str, arguments: &[&str]| -> Vec<Value> {
                let calls = keys.iter().map(|key| {
                    let mut call = redis::cmd(command);
                    call.arg(key).arg(arguments);
                    call
                });
                connection.pipeline(calls)
            };
            for (key, reply) in keys.iter().zip(all(command, arguments)) {
                let [allowed, limit, remaining, retry, wait] = five(reply).unwrap();
                assert_eq!([allowed, limit, remaining, retry], [1, 1, 0, 0], "{command} {}", quoted(key));
                assert!(0 < wait && wait <= reset, "{command} {}: reset_after {wait}", quoted(key));
            }
            // The two that look take their turns on the keys of each algorithm.
            if letter == ['t', 'g', 'f', 'l', 'c'][some[0] as usize / 500 % 5] {
                for reply in all("RL.PEEK", &[]) {
                    assert_eq!(five(reply).unwrap()[..3], [0, 1, 0]);
                }
                for reply in all("RL.INFO", &[]) {
                    let info: BTreeMap<String, Value> = redis::from_redis_value(reply).unwrap();
                    assert_eq!(info["used"], Value::Int(1));
                }
            }
        }
    }
    let mut keys = 0;
    for primary in cluster.primaries() {
        let here: u32 = primary.get("DBSIZE");
        assert!(here > 5 * KEYS / 4, "the keys are spread: {here} of {}", 5 * KEYS);
        keys += here;
        primary.wait_for_replicas(1);
        let replica = cluster.replica_of(primary);
        assert_eq!(replica.get::<String>("DEBUG DIGEST"), primary.get::<String>("DEBUG DIGEST"));
    }
    assert_eq!(keys, 5 * KEYS);
}

/// Bytes as they come: braces, blanks, NUL and what is not UTF-8.
fn random_key(number: u32, letter: char) -> Vec<u8> {
    let random = u128::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    [&random.to_le_bytes()[..], &[letter as u8]].concat()
}

/// Every command, on a key in the slot of `{user0}`.
fn every_command() -> Vec<String> {
    let [t, g, f, l, c] = calls("user0", 5);
    vec![t, g, f, l, c, "RL.PEEK {user0}:t".into(), "RL.PEEK {user0}:x FIXED 5 1h".into(), "RL.INFO {user0}:t".into()]
}

#[test]
fn a_node_that_does_not_serve_the_slot_says_who_does_and_decides_nothing() {
    let cluster = Cluster::start();
    let slot = cluster.slots(&["user0".into()])[0];
    let owner = cluster.owner(slot);
    let moved = format!("MOVED {slot} 127.0.0.1:{}", owner.port());
    let other = cluster.primaries().find(|node| node.port() != owner.port()).unwrap();
    for call in every_command() {
        assert_eq!(other.error(&call), moved, "{call}");
        assert_eq!(cluster.replica_of(owner).error(&call), moved, "{call} on a replica");
        let mut client = other.client();
        client.run("MULTI");
        assert_eq!(client.error(&call), moved, "{call} in MULTI");
        assert!(client.error("EXEC").starts_with("EXECABORT"));
        let script = call.split(' ').map(|word| format!("'{word}'")).collect::<Vec<_>>().join(",");
        let error = other.error(&format!("EVAL \"return redis.call({script})\" 0"));
        assert!(error.contains("non local key"), "{call} in a script: {error}");
    }
    assert_eq!(owner.get::<u32>("DBSIZE"), 0, "nothing was decided");

    // A client that asks for it may look at a replica, and only look.
    owner.run("RL.FIXED {user0}:f 5 1h 2");
    owner.wait_for_replicas(1);
    let mut reader = cluster.replica_of(owner).client();
    reader.run("READONLY");
    assert_eq!(reader.five("RL.PEEK {user0}:f 0")[..3], [1, 5, 3]);
    assert_eq!(reader.error("RL.FIXED {user0}:f 5 1h"), moved);
}

#[test]
fn a_call_while_its_slot_migrates_is_decided_where_the_key_is() {
    let cluster = Cluster::start_with(0, |builder| builder);
    let slot = cluster.slots(&["user0".into()])[0];
    let source = cluster.owner(slot);
    let target = cluster.primaries().find(|node| node.port() != source.port()).unwrap();
    let mut client = cluster.entrance().connect();
    source.run("RL.FIXED {user0}:f 5 1h 2");
    let [source_id, target_id] = [source, target].map(|node| node.get::<String>("CLUSTER MYID"));
    target.run(&format!("CLUSTER SETSLOT {slot} IMPORTING {source_id}"));
    source.run(&format!("CLUSTER SETSLOT {slot} MIGRATING {target_id}"));

    let ask = format!("ASK {slot} 127.0.0.1:{}", target.port());
    assert_eq!(source.five("RL.FIXED {user0}:f 5 1h")[..3], [1, 5, 2], "the key is still here");
    for call in every_command() {
        if key_of(&call) != "{user0}:f" {
            assert_eq!(source.error(&call), ask, "{call}");
        }
    }
    let state = source.state("{user0}:f");
    source.run(&format!("MIGRATE 127.0.0.1 {} {{user0}}:f 0 5000", target.port()));
    assert_eq!(source.error("RL.FIXED {user0}:f 5 1h"), ask);
    let mut asking = target.client();
    asking.run("ASKING");
    assert_eq!(asking.get::<Vec<u8>>("DUMP {user0}:f"), state.0);
    asking.run("ASKING");
    // MIGRATE hands over how long the key has still to live: by the time it arrives, that ends a little later.
    let expiry: i64 = asking.get("PEXPIRETIME {user0}:f");
    assert!((state.1..state.1 + 5_000).contains(&expiry), "{expiry} is not soon after {}", state.1);
    for (allowed, remaining) in [(1, 1), (1, 0), (0, 0)] {
        let reply = five(client.try_run("RL.FIXED {user0}:f 5 1h").unwrap()).unwrap();
        assert_eq!(reply[..3], [allowed, 5, remaining], "the client follows ASK");
    }
    for node in [target, source] {
        node.run(&format!("CLUSTER SETSLOT {slot} NODE {target_id}"));
    }
    assert_eq!(target.five("RL.FIXED {user0}:f 5 1h")[..3], [0, 5, 0]);
    assert_eq!(five(client.try_run("RL.FIXED {user0}:f 5 1h").unwrap()).unwrap()[..3], [0, 5, 0]);
}

#[test]
fn resharding_under_load_neither_loses_nor_doubles_a_charge() {
    const SLOTS: u16 = 150;
    let cluster = Cluster::start_with(0, |builder| builder);
    let source = cluster.owner(0);
    let target = cluster.primaries().find(|node| node.port() != source.port()).unwrap();
    let calls = calls_in_slots(&cluster, |slot| slot < SLOTS, 40);
    let entrance = cluster.entrance();
    let connect = || {
        let mut connection = entrance.connect();
        move |call: &str| connection.try_run(call)
    };
    let ((), tally) = under_load(2, &calls, connect, || {
        let [from, to] = [source, target].map(|node| node.get::<String>("CLUSTER MYID"));
        let entry = format!("127.0.0.1:{}", source.port());
        let count = SLOTS.to_string();
        cluster.cli(&[
            "reshard",
            &entry,
            "--cluster-from",
            &from,
            "--cluster-to",
            &to,
            "--cluster-slots",
            &count,
            "--cluster-yes",
        ]);
    });
    cluster.wait_until_settled();
    for slot in [0, SLOTS - 1] {
        assert_eq!(cluster.owner(slot).port(), target.port());
    }
    assert_eq!(source.get::<u32>("DBSIZE"), 0);
    assert_each_call_is_charged_once(&cluster, &calls, &tally);
}

#[test]
fn atomic_slot_migration_under_load_neither_loses_nor_doubles_a_charge() {
    if Server::builder().start().get::<Vec<Option<Value>>>("COMMAND INFO cluster|migrateslots")[0].is_none() {
        skip("this server has no CLUSTER MIGRATESLOTS");
        return;
    }
    let cluster = Cluster::start();
    let source = cluster.owner(0);
    let target = cluster.primaries().find(|node| node.port() != source.port()).unwrap();
    let calls = calls_in_slots(&cluster, |slot| slot < 4_000, 40);
    let entrance = cluster.entrance();
    let connect = || {
        let mut connection = entrance.connect();
        move |call: &str| connection.try_run(call)
    };
    let ((), tally) = under_load(2, &calls, connect, || {
        let to: String = target.get("CLUSTER MYID");
        source.run(&format!("CLUSTER MIGRATESLOTS SLOTSRANGE 0 3999 NODE {to}"));
        wait_until("the slots have moved", || {
            let migrations = format!("{:?}", source.run("CLUSTER GETSLOTMIGRATIONS"));
            assert!(!migrations.contains("failed"), "{migrations}");
            migrations.contains("success")
        });
    });
    cluster.wait_until_settled();
    assert_eq!(cluster.owner(3999).port(), target.port());
    assert_each_call_is_charged_once(&cluster, &calls, &tally);
    target.wait_for_replicas(1);
    let replica = cluster.replica_of(target);
    assert_eq!(replica.get::<String>("DEBUG DIGEST"), target.get::<String>("DEBUG DIGEST"));
}

#[test]
fn a_planned_failover_loses_no_charge_and_the_heir_of_a_killed_primary_keeps_what_it_was_told() {
    let mut cluster = Cluster::start_with(1, |builder| builder.config("cluster-node-timeout", 2_000));
    let calls = calls_in_slots(&cluster, |_| true, 40);
    let entrance = cluster.entrance();
    let connect = || {
        let mut connection = entrance.connect();
        move |call: &str| connection.try_run(call)
    };
    let first = cluster.owner(0);
    let second = cluster.replica_of(first);
    let ((), before) = under_load(2, &calls, connect, || {
        second.run("CLUSTER FAILOVER");
        wait_until("the replica has taken over", || second.info("role") == "master");
        cluster.wait_until_settled();
    });
    assert_each_call_is_charged_once(&cluster, &calls, &before);

    // All that the callers were told is on the replicas before the crash.
    for primary in cluster.primaries() {
        primary.wait_for_replicas(1);
    }
    let heir = first.port();
    let mut victim: Server = cluster.take(second.port());
    let ((), after) = under_load(2, &calls, connect, || {
        victim.kill();
        let heir = cluster.nodes().iter().find(|node| node.port() == heir).unwrap();
        wait_until("the replica has taken over", || heir.info("role") == "master");
        cluster.wait_until_settled();
    });
    for (index, (call, used)) in calls.iter().zip(used(&cluster, &calls)).enumerate() {
        let [first, then] = [&before, &after].map(|tally| tally.admitted[index]);
        if call.contains(" 3 ") {
            assert_eq!([first, then, used], [3, 0, 3], "{call}: full before, full after");
        } else {
            assert!(then > 0, "{call}: nothing was admitted after the failover");
            assert!(used > first, "{call}: {first} charged before, {used} charged after");
        }
    }
}
