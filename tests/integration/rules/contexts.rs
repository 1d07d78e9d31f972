//! Calls within transactions, scripts, functions and pipelines.

use redis::Value;

use crate::harness::{H, Server, five};

/// Each call on a key of its own, and its reply on a new one.
const CALLS: [(&str, [i64; 5]); 6] = [
    ("RL.TOKENBUCKET k 3 3/60s 2", [1, 3, 1, 0, 40_000]),
    ("RL.GCRA k 3 3/60s 2", [1, 3, 1, 0, 40_000]),
    ("RL.FIXED k 3 60s 2", [1, 3, 1, 0, 60_000]),
    ("RL.SLIDINGLOG k 3 60s 2", [1, 3, 1, 0, 60_000]),
    ("RL.SLIDINGCOUNTER k 3 60s 2", [1, 3, 1, 0, 120_000]),
    ("RL.PEEK k FIXED 3 60s 2", [1, 3, 1, 0, 60_000]),
];

fn fives(value: Value) -> Vec<[i64; 5]> {
    let Value::Array(items) = value else {
        panic!("no array but {value:?}");
    };
    items.into_iter().map(|item| five(item).unwrap()).collect()
}

/// A call as the arguments of Lua's `redis.call`, on the first key.
fn lua(call: &str) -> String {
    let words: Vec<&str> = call.split(' ').collect();
    let arguments: String = words[2..].iter().map(|word| format!(", '{word}'")).collect();
    format!("redis.call('{}', KEYS[1]{arguments})", words[0])
}

#[test]
fn a_transaction_answers_each_call() {
    let server = Server::start();
    for mut client in [server.client(), server.client_resp3()] {
        for (call, reply) in CALLS {
            client.run("FLUSHALL");
            client.run("MULTI");
            assert_eq!(client.run(call), Value::SimpleString("QUEUED".into()));
            client.run(call);
            let replies = fives(client.run("EXEC"));
            assert_eq!(replies[0], reply, "{call}");
            assert_eq!(replies[1][0], i64::from(call.starts_with("RL.PEEK")), "{call}");
        }
    }
}

#[test]
fn a_discarded_or_aborted_transaction_takes_nothing() {
    let server = Server::start();
    let mut client = server.client();
    client.run("MULTI");
    client.run("RL.FIXED k 3 60s 2");
    client.run("DISCARD");
    client.run("MULTI");
    client.run("RL.FIXED k 3 60s 2");
    client.error("RL.FIXED k");
    assert!(client.error("EXEC").starts_with("EXECABORT"));
    assert_eq!(server.get::<i64>("EXISTS k"), 0);
}

#[test]
fn a_script_answers_each_call() {
    let server = Server::start();
    for (call, reply) in CALLS {
        server.run("FLUSHALL");
        let script = format!("return {}", lua(call));
        assert_eq!(five(server.send(&["EVAL", &script, "1", "k"]).unwrap()), Ok(reply), "{call}");
        let field = format!("return {}[3]", lua("RL.PEEK k 0"));
        if !call.starts_with("RL.PEEK") {
            assert_eq!(server.send(&["EVAL", &field, "1", "k"]), Ok(Value::Int(1)), "{call}");
        }
        let sha: String = redis::from_redis_value(server.send(&["SCRIPT", "LOAD", &script]).unwrap()).unwrap();
        assert!(server.send(&["EVALSHA", &sha, "1", "k"]).is_ok(), "{call}");
    }
}

#[test]
fn an_error_in_a_script_raises_and_can_be_caught() {
    let server = Server::start();
    let raised = server.send(&["EVAL", &format!("return {}", lua("RL.FIXED k 3 60")), "1", "k"]).unwrap_err();
    assert!(raised.starts_with("ERR window: got '60', expected a number with a unit"), "{raised}");
    let caught = "local reply = redis.pcall('RL.FIXED', KEYS[1], 3, 60) return reply.err";
    let text: String = redis::from_redis_value(server.send(&["EVAL", caught, "1", "k"]).unwrap()).unwrap();
    assert!(text.starts_with("ERR window: got '60'"), "{text}");
    server.run("SET k hello");
    let raised = server.send(&["EVAL", &format!("return {}", lua("RL.FIXED k 3 60s")), "1", "k"]).unwrap_err();
    assert!(raised.starts_with("WRONGTYPE "), "{raised}");
}

#[test]
fn a_missing_key_is_false_in_a_script() {
    let server = Server::start();
    for look in ["RL.PEEK k", "RL.INFO k"] {
        let script = format!("return tostring({})", lua(look));
        let text: String = redis::from_redis_value(server.send(&["EVAL", &script, "1", "k"]).unwrap()).unwrap();
        assert_eq!(text, "false", "{look}");
    }
}

#[test]
fn a_function_answers_each_call() {
    let server = Server::start();
    for (call, reply) in CALLS {
        server.run("FLUSHALL");
        let call_in_lua = lua(call).replace("KEYS", "keys");
        let library = format!(
            "#!lua name=limits\nredis.register_function('take', function(keys, args) return {call_in_lua} end)"
        );
        server.send(&["FUNCTION", "LOAD", "REPLACE", &library]).unwrap();
        assert_eq!(five(server.run("FCALL take 1 k")), Ok(reply), "{call}");
        let again = five(server.run("FCALL take 1 k")).unwrap();
        assert_eq!(again[0], i64::from(call.starts_with("RL.PEEK")), "{call}");
    }
}

#[test]
fn one_script_calls_a_thousand_limiters() {
    let server = Server::start();
    let script = "
        local commands = {'RL.TOKENBUCKET', 'RL.GCRA', 'RL.FIXED', 'RL.SLIDINGLOG', 'RL.SLIDINGCOUNTER'}
        local admitted = 0
        for number = 0, 999 do
            local command = commands[number % 5 + 1]
            local unit = number % 5 < 2 and '2/1h' or '1h'
            for call = 1, 3 do
                admitted = admitted + redis.call(command, KEYS[1] .. number, 2, unit)[1]
            end
        end
        return admitted";
    assert_eq!(server.send(&["EVAL", script, "1", "{limiter}:"]), Ok(Value::Int(2000)));
    assert_eq!(server.get::<i64>("DBSIZE"), 1000);
    server.advance(H);
    assert_eq!(server.get::<i64>("TTL {limiter}:0"), 2700);
}

#[test]
fn a_long_pipeline_is_answered_in_order() {
    let server = Server::start();
    let mut client = server.client();
    let commands: Vec<String> = (0..10_000)
        .map(|number| match number % 4 {
            0 => format!("RL.SLIDINGLOG k 100000 1h {}", 1 + number % 3),
            1 => format!("ECHO {number}"),
            2 => "RL.FIXED w 1000000 1h".into(),
            _ => "RL.FIXED w x 1h".into(),
        })
        .collect();
    let (mut log, mut window) = (100_000, 1_000_000);
    for (number, reply) in client.pipeline(&commands).into_iter().enumerate() {
        match number % 4 {
            0 => {
                log -= 1 + number as i64 % 3;
                assert_eq!(five(reply.unwrap()), Ok([1, 100_000, log, 0, 3_600_000]), "{number}");
            }
            1 => assert_eq!(reply, Ok(Value::BulkString(number.to_string().into_bytes()))),
            2 => {
                window -= 1;
                assert_eq!(five(reply.unwrap()), Ok([1, 1_000_000, window, 0, 3_600_000]), "{number}");
            }
            _ => assert!(reply.unwrap_err().starts_with("ERR limit: "), "{number}"),
        }
    }
}

#[test]
fn each_database_has_its_own_limiters_and_a_key_takes_its_state_along() {
    let server = Server::start();
    let mut client = server.client();
    for (call, reply) in CALLS {
        if call.starts_with("RL.PEEK") {
            continue;
        }
        client.run("FLUSHALL");
        assert_eq!(client.five(call), reply, "{call}");
        client.run("SELECT 1");
        assert_eq!(client.five(call), reply, "{call}");
        client.run("FLUSHDB");
        client.run("SELECT 0");
        client.run("COPY k copy DB 1");
        client.run("RENAME k renamed");
        client.run("MOVE renamed 1");
        client.run("SELECT 1");
        for key in ["copy", "renamed"] {
            let there = call.replacen(" k ", &format!(" {key} "), 1);
            assert_eq!(client.five(&there)[..3], [0, 3, 1], "{there}");
        }
        client.run("SELECT 0");
        assert_eq!(client.five(call), reply, "{call}");
    }
}
