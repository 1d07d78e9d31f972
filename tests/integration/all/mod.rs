//! `RL.ALL` on real servers: several limits decided together.

mod access;
mod adjust;
mod cluster;
mod keys;
mod replies;
mod stream;

use redis::Value;

use crate::harness::Server;

/// What `RL.ALL` answers.
#[derive(Debug, PartialEq, Eq)]
struct Reply {
    whole: Vec<i64>,
    binding: i64,
    each: Vec<Vec<i64>>,
    wait: Option<i64>,
}

fn reply(value: Value) -> Reply {
    let Value::Array(items) = value else { panic!("no array: {value:?}") };
    let integer = |value: &Value| match value {
        Value::Int(integer) => *integer,
        other => panic!("no integer: {other:?}"),
    };
    let integers = |value: &Value| match value {
        Value::Array(items) => items.iter().map(integer).collect::<Vec<_>>(),
        other => panic!("no array: {other:?}"),
    };
    let Value::Array(each) = &items[6] else { panic!("no array: {:?}", items[6]) };
    assert!(items.len() <= 8, "{items:?}");
    Reply {
        whole: items[..5].iter().map(integer).collect(),
        binding: integer(&items[5]),
        each: each.iter().map(integers).collect(),
        wait: items.get(7).map(integer),
    }
}

fn all(server: &Server, command: &str) -> Reply {
    reply(server.run(command))
}

fn expected<const N: usize>(whole: [i64; 5], binding: i64, each: [[i64; 5]; N]) -> Reply {
    Reply { whole: whole.to_vec(), binding, each: each.iter().map(|one| one.to_vec()).collect(), wait: None }
}
