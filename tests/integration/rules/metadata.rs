//! What the server tells about the commands.

use std::collections::{BTreeMap, BTreeSet};

use redis::Value;

use crate::harness::{Flavor, Server};

struct Expected {
    name: &'static str,
    arity: i64,
    writes: bool,
    /// Names of the top-level arguments; a question mark for those that may be left out.
    arguments: &'static str,
    /// A call with the key `{k}`.
    example: &'static str,
}

const COMMANDS: [Expected; 10] = [
    Expected {
        name: "rl.tokenbucket",
        arity: -4,
        writes: true,
        arguments: "key capacity rate cost? shortage? strict? block?",
        example: "RL.TOKENBUCKET {k} 10 1/s 2 PARTIAL STRICT BLOCK 1m",
    },
    Expected {
        name: "rl.gcra",
        arity: -4,
        writes: true,
        arguments: "key burst rate cost? shortage? strict? block?",
        example: "RL.GCRA {k} 10 1/s 1 RESERVE 0ms",
    },
    Expected {
        name: "rl.fixed",
        arity: -4,
        writes: true,
        arguments: "key limit window cost? aligned? partial? strict? block?",
        example: "RL.FIXED {k} 10 1s 1 ALIGNED 0s PARTIAL",
    },
    Expected {
        name: "rl.slidinglog",
        arity: -4,
        writes: true,
        arguments: "key limit window cost? partial? strict? block?",
        example: "RL.SLIDINGLOG {k} 10 1s STRICT",
    },
    Expected {
        name: "rl.slidingcounter",
        arity: -4,
        writes: true,
        arguments: "key limit window cost? partial? strict? block?",
        example: "RL.SLIDINGCOUNTER {k} 10 1s 1 BLOCK 1m",
    },
    Expected {
        name: "rl.throttle",
        arity: -5,
        writes: true,
        arguments: "key max_burst count period quantity?",
        example: "RL.THROTTLE {k} 10 1 1 2",
    },
    Expected {
        name: "rl.all",
        arity: -6,
        writes: true,
        arguments: "numkeys key limit limit?",
        example: "RL.ALL 1 {k} TOKENBUCKET 10 1/s 2 RESERVE 1s STRICT FIXED 10 1s 1 ALIGNED 0s BLOCK 1m",
    },
    Expected {
        name: "rl.adjust",
        arity: -3,
        writes: true,
        arguments: "key change",
        example: "RL.ADJUST {k} -2 LIMIT 1",
    },
    Expected { name: "rl.peek", arity: -2, writes: false, arguments: "key call?", example: "RL.PEEK {k} FIXED 10 1s" },
    Expected { name: "rl.info", arity: 2, writes: false, arguments: "key", example: "RL.INFO {k}" },
];

fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes.clone()).unwrap(),
        Value::SimpleString(text) => text.clone(),
        other => panic!("no text: {other:?}"),
    }
}

fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) | Value::Set(items) => items,
        other => panic!("no array: {other:?}"),
    }
}

fn texts(value: &Value) -> BTreeSet<String> {
    items(value).iter().map(text).collect()
}

fn set(words: &str) -> BTreeSet<String> {
    words.split_whitespace().map(String::from).collect()
}

/// A flat array of names and values.
fn map(value: &Value) -> BTreeMap<String, Value> {
    items(value).chunks(2).map(|pair| (text(&pair[0]), pair[1].clone())).collect()
}

#[test]
fn there_are_these_commands_and_no_others() {
    let server = Server::start();
    let listed: BTreeSet<String> = server.get("COMMAND LIST FILTERBY MODULE rl");
    let expected: BTreeSet<String> = COMMANDS.iter().map(|command| command.name.to_owned()).collect();
    assert_eq!(listed, expected);
}

#[test]
fn command_info_shows_arity_flags_keys_and_categories() {
    let server = Server::start();
    let (flavor, major, minor) = server.version();
    // Redis has the calls that put a module's command into categories since 7.2, and one of its own since 7.4.
    let has_categories = flavor == Flavor::Valkey || (major, minor) >= (7, 2);
    let has_own_category = has_own_category(&server);
    for command in COMMANDS {
        let name = command.name;
        let reply = server.run(&format!("COMMAND INFO {name}"));
        let info = items(&items(&reply)[0]).to_vec();
        assert_eq!(text(&info[0]), name);
        assert_eq!(info[1], Value::Int(command.arity), "{name}");
        let numbered = command.arguments.starts_with("numkeys ");
        let flags = match name {
            // Giving back must work when memory is short.
            "rl.adjust" => "write fast module",
            _ if numbered => "write denyoom fast module movablekeys",
            _ if command.writes => "write denyoom fast module",
            _ => "readonly fast module",
        };
        assert_eq!(texts(&info[2]), set(flags), "{name}");
        let first = Value::Int(i64::from(!numbered));
        assert_eq!(info[3..6], [first.clone(), first.clone(), first], "{name}");

        let mut categories = BTreeSet::new();
        if has_categories {
            categories = set(if command.writes { "@write @fast" } else { "@read @fast" });
        }
        if has_own_category {
            categories.insert("@ratelimit".into());
        }
        assert_eq!(texts(&info[6]), categories, "{name}");

        let specs = items(&info[8]);
        assert_eq!(specs.len(), 1, "{name}");
        let spec = map(&specs[0]);
        let key_flags = if command.writes { "RW access update" } else { "RO access" };
        assert_eq!(texts(&spec["flags"]), set(key_flags), "{name}");
        let begin = map(&spec["begin_search"]);
        assert_eq!(text(&begin["type"]), "index", "{name}");
        assert_eq!(map(&begin["spec"])["index"], Value::Int(1), "{name}");
        let find = map(&spec["find_keys"]);
        let range = map(&find["spec"]);
        if numbered {
            assert_eq!(text(&find["type"]), "keynum", "{name}");
            assert_eq!(
                (&range["keynumidx"], &range["firstkey"], &range["keystep"]),
                (&Value::Int(0), &Value::Int(1), &Value::Int(1))
            );
            continue;
        }
        assert_eq!(text(&find["type"]), "range", "{name}");
        assert_eq!(
            (&range["lastkey"], &range["keystep"], &range["limit"]),
            (&Value::Int(0), &Value::Int(1), &Value::Int(0))
        );
    }
}

#[test]
fn command_docs_describe_every_command_and_its_arguments() {
    let server = Server::start();
    for command in COMMANDS {
        let name = command.name;
        let reply = map(&server.run(&format!("COMMAND DOCS {name}")));
        let docs = map(&reply[name]);
        assert!(text(&docs["summary"]).ends_with('.'), "{name}: {docs:?}");
        assert!(text(&docs["complexity"]).starts_with("O("), "{name}: {docs:?}");
        assert_eq!(text(&docs["since"]), "0.1.0", "{name}");
        assert_eq!(text(&docs["group"]), "module", "{name}");
        assert_eq!(text(&docs["module"]), "rl", "{name}");
        let arguments: Vec<String> = items(&docs["arguments"])
            .iter()
            .map(|argument| {
                let argument = map(argument);
                let optional = argument.get("flags").is_some_and(|flags| texts(flags).contains("optional"));
                text(&argument["name"]) + if optional { "?" } else { "" }
            })
            .collect();
        assert_eq!(arguments.join(" "), command.arguments, "{name}");
    }
}

#[test]
fn the_documented_optional_arguments_are_those_the_parser_takes() {
    let server = Server::start();
    for command in COMMANDS {
        let full = command.example.replace("{k}", "k");
        let least = usize::try_from(command.arity.abs()).unwrap();
        let words: Vec<&str> = full.split(' ').collect();
        server.run("FLUSHALL");
        assert!(server.send(&words).is_ok(), "{full}");
        assert!(command.name == "rl.peek" || server.send(&words[..least]).is_ok(), "{full}");
        assert!(server.send(&words[..least - 1]).is_err(), "{full}");
    }
}

#[test]
fn the_key_is_found_wherever_the_server_looks_for_it() {
    let server = Server::start();
    for command in COMMANDS {
        let call = command.example.replace("{k}", "the:key");
        assert_eq!(server.get::<Vec<String>>(&format!("COMMAND GETKEYS {call}")), ["the:key"], "{call}");
        let reply = server.run(&format!("COMMAND GETKEYSANDFLAGS {call}"));
        let key = items(&items(&reply)[0]).to_vec();
        assert_eq!(text(&key[0]), "the:key", "{call}");
        let flags = if command.writes { "RW access update" } else { "RO access" };
        assert_eq!(texts(&key[1]), set(flags), "{call}");
    }
}

#[test]
fn the_module_shows_its_name_and_version() {
    let server = Server::start();
    let reply = server.run("MODULE LIST");
    let module = items(&reply).iter().map(map).find(|module| text(&module["name"]) == "rl").expect("it is loaded");
    let numbers: Vec<i64> = env!("CARGO_PKG_VERSION").split('.').map(|number| number.parse().unwrap()).collect();
    assert_eq!(module["ver"], Value::Int(numbers[0] * 10_000 + numbers[1] * 100 + numbers[2]));
}

fn has_own_category(server: &Server) -> bool {
    server.get::<BTreeSet<String>>("ACL CAT").contains("ratelimit")
}

#[test]
fn the_category_ratelimit_holds_exactly_these_commands_where_a_module_can_have_one() {
    let server = Server::start();
    let (flavor, major, minor) = server.version();
    let can = match flavor {
        Flavor::Redis => (major, minor) >= (7, 4),
        Flavor::Valkey => major >= 8,
    };
    assert_eq!(has_own_category(&server), can, "{flavor:?} {major}.{minor}");
    if can {
        let commands: BTreeSet<String> = server.get("ACL CAT ratelimit");
        assert_eq!(commands, COMMANDS.iter().map(|command| command.name.to_owned()).collect());
    }
}

#[test]
fn access_rules_know_the_commands_and_their_keys() {
    let server = Server::start();
    let allowed = |user: &str, call: &str| -> bool {
        let reply: String = server.get(&format!("ACL DRYRUN {user} {call}"));
        if reply != "OK" {
            assert!(reply.contains("no permissions"), "{call}: {reply}");
        }
        reply == "OK"
    };
    server.run("ACL SETUSER named on nopass ~* +rl.fixed");
    server.run("ACL SETUSER all on nopass ~mine:* +@all");
    server.run("ACL SETUSER looker on nopass %R~mine:* +@all");
    for command in COMMANDS {
        let mine = command.example.replace("{k}", "mine:1");
        let other = command.example.replace("{k}", "other:1");
        assert_eq!(allowed("named", &mine), command.name == "rl.fixed", "{mine}");
        assert!(allowed("all", &mine), "{mine}");
        assert!(!allowed("all", &other), "{other}");
        assert_eq!(allowed("looker", &mine), !command.writes, "{mine}");
    }
    if has_own_category(&server) {
        server.run("ACL SETUSER category on nopass ~* +@ratelimit");
        server.run("ACL SETUSER reader on nopass ~* +@read");
        for command in COMMANDS {
            let call = command.example.replace("{k}", "k");
            assert!(allowed("category", &call), "{call}");
            assert_eq!(allowed("reader", &call), !command.writes, "{call}");
        }
        assert!(!allowed("category", "GET k"));
    }
}
