//! Random calls of several limits: in one key and in keys of their own they are answered alike, and as the commands of
//! the single limits answer.

use redis::Value;

use crate::harness::{Client, MS, Random, S, START, Server};

const NAMES: [&str; 5] = ["TOKENBUCKET", "GCRA", "FIXED", "SLIDINGCOUNTER", "SLIDINGLOG"];
const INTERVALS: [&str; 6] = ["1ms", "7ms", "1s", "10s", "1m", "1h"];

/// A limit but for its amount, cost and options: its algorithm, and its window or the period of its rate.
type Kind = (&'static str, &'static str, u64);

fn words(random: &mut Random, (name, interval, tokens): Kind, amount: u64, cost: u64) -> String {
    let unit =
        if name.ends_with("BUCKET") || name == "GCRA" { format!("{tokens}/{interval}") } else { interval.into() };
    let aligned = if name == "FIXED" { random.of(&["", "", " ALIGNED", " ALIGNED 1ms"]) } else { "" };
    let aligned = if interval == "1ms" { "" } else { aligned };
    let options = match name {
        "TOKENBUCKET" | "GCRA" => {
            random.of(&["", "", "", " STRICT", " BLOCK 2s", " RESERVE 3s", " RESERVE 0ms STRICT"])
        }
        _ => random.of(&["", "", "", " STRICT", " BLOCK 2s", " STRICT BLOCK 1s"]),
    };
    format!("{name} {amount} {unit} {cost}{aligned}{options}")
}

fn integers(value: &Value) -> Vec<i64> {
    let Value::Array(items) = value else { panic!("no array: {value:?}") };
    items.iter().map(|item| if let Value::Int(integer) = item { *integer } else { panic!("{value:?}") }).collect()
}

fn play(server: &Server, client: &mut Client, random: &mut Random) {
    let count = 1 + random.below(4) as usize;
    let mut kinds: Vec<Kind> = Vec::new();
    while kinds.len() < count {
        let kind = (random.of(&NAMES), random.of(&INTERVALS), random.of(&[1, 3, 10]));
        // One log at most, and no two that a call could take for each other.
        if kinds.iter().all(|other| other.0 != kind.0) {
            kinds.push(kind);
        }
    }
    let amount = |random: &mut Random| random.of(&[1_u64, 2, 3, 5, 10, 100]);
    let mut amounts: Vec<u64> = kinds.iter().map(|_| amount(random)).collect();
    let keys = (0..count).map(|at| format!("k{at}")).collect::<Vec<_>>().join(" ");
    let (mut now, mut told) = (START, [0_i64; 2]);
    for _ in 0..30 {
        let [retry, reset] = told;
        now += match random.below(10) {
            0..4 => 0,
            4 => retry.max(0) * MS,
            5 => (retry.max(0) * MS - random.below(1_500) as i64).max(0),
            6 => reset * MS,
            7 => random.below(reset.max(1) as u64) as i64 * MS,
            // Only forward: a key of its own may be gone when the clock steps back, and a part of a list is not.
            _ => random.below(3 * S as u64) as i64,
        };
        server.set_clock(now);
        if random.one_in(6) {
            let at = random.below(count as u64) as usize;
            amounts[at] = amount(random);
        }
        if random.one_in(3) {
            adjust(client, random, count);
            continue;
        }
        let costs: Vec<u64> = kinds.iter().map(|_| random.of(&[0, 1, 1, 1, 1, 2, 3, 11])).collect();
        let limits: Vec<String> = (0..count).map(|at| words(random, kinds[at], amounts[at], costs[at])).collect();
        let list = limits.join(" ");
        let what = format!("at {now}: {list}");

        // What each says alone, and what it leaves behind.
        let mut alone = Vec::new();
        for (at, limit) in limits.iter().enumerate() {
            client.run(&format!("DEL c{at}"));
            client.run(&format!("COPY k{at} c{at}"));
            let peeked = integers(&client.run(&format!("RL.PEEK k{at} {limit}")));
            let (name, rest) = limit.split_once(' ').unwrap();
            let called = integers(&client.run(&format!("RL.{name} c{at} {rest}")));
            assert_eq!(peeked, called, "{what}");
            alone.push(called);
        }
        let records = |client: &mut Client, key: char| -> Vec<(Option<Vec<u8>>, i64)> {
            (0..count)
                .map(|at| (client.get(&format!("GET {key}{at}")), client.get(&format!("PEXPIRETIME {key}{at}"))))
                .collect()
        };
        let before = records(client, 'k');

        let peeked = client.run(&format!("RL.PEEK one ALL {list}"));
        let in_one = client.run(&format!("RL.ALL 1 one {list}"));
        assert_eq!(peeked, in_one, "a look, {what}");
        let in_many = if count > 1 {
            client.run(&format!("RL.ALL {count} {keys} {list}"))
        } else {
            client.run(&format!("RL.ALL 1 k0 {list}"))
        };
        assert_eq!(in_one, in_many, "{what}");

        let Value::Array(items) = in_many else { panic!("no array") };
        let whole = integers(&Value::Array(items[..6].to_vec()));
        let Value::Array(each) = &items[6] else { panic!("no array") };
        let each: Vec<Vec<i64>> = each.iter().map(integers).collect();
        let allowed = alone.iter().all(|five| five[0] == 1);
        assert_eq!(whole[0], i64::from(allowed), "{what}");
        let after = records(client, 'k');
        let called = records(client, 'c');
        for at in 0..count {
            let passes = alone[at][0] == 1;
            if allowed || !passes {
                assert_eq!(each[at], alone[at][..5], "limit {at}, {what}");
                assert_eq!(after[at], called[at], "limit {at}, {what}");
            } else {
                assert_eq!(each[at][..2], [1, amounts[at] as i64], "limit {at}, {what}");
                let strict = limits[at].contains("STRICT");
                if !strict {
                    assert!(each[at][2] >= alone[at][2] || after[at] == before[at], "limit {at}, {what}");
                }
            }
        }
        // The binding limit.
        let binding = if allowed {
            let times = |at: usize| each[at][2].checked_div(costs[at] as i64).unwrap_or(i64::MAX);
            (0..count).min_by_key(|&at| (times(at), at)).unwrap()
        } else {
            let wait = |at: usize| if alone[at][3] == -1 { i64::MAX } else { alone[at][3] };
            let longest = (0..count).map(wait).max().unwrap();
            // A limit that passes and counts what others refuse may itself ask for the longest wait of the next call.
            let found = whole[5] as usize - 1;
            let counts = |at: usize| alone[at][0] == 1 && limits[at].contains("STRICT");
            if counts(found) {
                assert!(whole[3] >= longest, "{what}");
            } else {
                assert_eq!([wait(found), whole[3]], [longest, alone[found][3]], "{what}");
            }
            found
        };
        assert_eq!(whole[5] as usize, binding + 1, "{what}");
        assert_eq!(whole[1..3], each[binding][1..3], "{what}");
        assert_eq!(whole[3] == 0, allowed, "{what}");
        assert_eq!(whole[4], each.iter().map(|five| five[4]).max().unwrap(), "{what}");
        told = [whole[3], whole[4]];
    }
}

/// Puts the usage of one limit or of all right, in the list and in the keys of their own.
fn adjust(client: &mut Client, random: &mut Random, count: usize) {
    let delta = random.of(&[-1_000, -2, -1, 0, 1, 2, 7, 1_000_000_i64]);
    if random.one_in(3) {
        let in_one = client.run(&format!("RL.ADJUST one {delta}"));
        let alone: Vec<_> = (0..count).map(|at| client.run(&format!("RL.ADJUST k{at} {delta}"))).collect();
        let used: Vec<_> = alone.iter().filter(|reply| **reply != Value::Nil).map(integers).collect();
        match used.iter().map(|five| five[4]).max() {
            None => assert_eq!(in_one, Value::Nil, "{delta}"),
            Some(reset) => {
                let whole = integers(&in_one);
                assert_eq!([whole[0], whole[3], whole[4]], [1, 0, reset], "{delta}");
            }
        }
        return;
    }
    let at = random.below(count as u64) as usize;
    let in_one = client.try_run(&format!("RL.ADJUST one {delta} LIMIT {}", at + 1));
    let alone = client.try_run(&format!("RL.ADJUST k{at} {delta}"));
    assert_eq!(in_one, alone, "adjusting limit {at} by {delta}");
}

#[test]
fn limits_in_one_key_and_in_keys_of_their_own_say_what_each_says_alone() {
    let server = Server::start();
    let mut client = server.client();
    let mut random = Random::new(5);
    for _ in 0..80 {
        client.run("FLUSHALL");
        play(&server, &mut client, &mut random);
    }
}
