//! Random calls on many keys, for tests that compare what different servers make of them.

use super::{
    clock::{H, M, MS, S},
    random::Random,
    server::Server,
};

/// Every algorithm by its command.
const ALGORITHMS: [&str; 5] = ["TOKENBUCKET", "GCRA", "FIXED", "SLIDINGLOG", "SLIDINGCOUNTER"];

/// Every algorithm by its command, with limits that admit `n` calls an hour.
pub fn limiters(n: u64) -> [(&'static str, String); 5] {
    ALGORITHMS.map(|name| match name {
        "TOKENBUCKET" | "GCRA" => (name, format!("{n} {n}/h")),
        _ => (name, format!("{n} 1h")),
    })
}

/// A call of each algorithm on a limiter that runs full at 20, and on one that never does. Nothing is forgotten while a
/// test runs: a token takes a day, and windows last ten years.
pub fn load_calls() -> Vec<String> {
    let of = |n: u64| {
        ALGORITHMS.map(|name| match name {
            "TOKENBUCKET" | "GCRA" => format!("RL.{name} {name}:{n} {n} 1/1d"),
            _ => format!("RL.{name} {name}:{n} {n} 3650d"),
        })
    };
    [of(20), of(1_000_000)].concat()
}

/// A source of commands: all kinds of calls, alone and together, and the clock moved between them.
pub struct Traffic {
    random: Random,
}

impl Traffic {
    pub fn new(seed: u64) -> Self {
        Self { random: Random::new(seed) }
    }

    /// Plays `steps` of them on a server whose clock the test sets.
    pub fn play(&mut self, server: &Server, steps: usize) {
        let mut client = server.client();
        for _ in 0..steps {
            let _ = match self.random.below(20) {
                0 => {
                    client.run("MULTI");
                    for _ in 0..1 + self.random.below(4) {
                        client.run(&self.call());
                    }
                    client.try_run("EXEC")
                }
                1 => {
                    let call = self.call();
                    let [_, key, _] = parts(&call);
                    client.try_run(&format!("EVAL \"return redis.pcall(unpack(ARGV))\" 1 {key} {call}"))
                }
                2 => client.try_run(&format!("DEL {}", self.key())),
                3 => client.try_run(&format!("RL.PEEK {}", self.key())),
                4 | 5 => client.try_run(&self.adjustment()),
                _ => client.try_run(&self.call()),
            };
            let us = self.moment();
            server.advance(us);
        }
    }

    /// A call that decides, now and then one that is wrong.
    pub fn call(&mut self) -> String {
        let random = &mut self.random;
        let name = random.of(&ALGORITHMS);
        let key = if random.one_in(50) {
            format!("{}:0", random.of(&ALGORITHMS))
        } else {
            format!("{name}:{}", random.below(6))
        };
        let limit = random.of(&[0, 1, 2, 5, 20, 20, 100, 100, 5_000_000_000, 1_000_000_000_000_u64]);
        let limit = if name == "SLIDINGLOG" { limit.min(1_000) } else { limit };
        let window = match name {
            "SLIDINGLOG" => random.of(&["1s", "10s", "10s", "10s", "1m"]),
            _ => random.of(&["1ms", "20ms", "1s", "1s", "10s", "10s", "1m", "1h", "3650d"]),
        };
        let rate = random.of(&["1", "5/s", "5/s", "100/m", "7/h", "2000000000/s", "1/30d"]);
        let cost = random.of(&["", "", "", " 1", " 0", " 2", " 7", " -1"]);
        let mut options = String::new();
        if random.one_in(3) {
            let shortage = if name == "TOKENBUCKET" || name == "GCRA" { " RESERVE 100ms" } else { " PARTIAL" };
            options += random.of(&["", "", " PARTIAL", shortage]);
            options += random.of(&["", " STRICT"]);
            options += random.of(&["", "", "", " BLOCK 20ms", " BLOCK 1s"]);
        }
        match name {
            "TOKENBUCKET" | "GCRA" => format!("RL.{name} {key} {limit} {rate}{cost}{options}"),
            "FIXED" => {
                let cost = if cost.is_empty() { " 1" } else { cost };
                let aligned = random.of(&["", "", " ALIGNED", " ALIGNED 1ms"]);
                format!("RL.{name} {key} {limit} {window}{cost}{aligned}{options}")
            }
            _ => format!("RL.{name} {key} {limit} {window}{cost}{options}"),
        }
    }

    /// Usage put right, now and then by too much.
    fn adjustment(&mut self) -> String {
        let key = self.key();
        let all = 1_000_000_000_000_i64;
        let delta =
            if self.random.one_in(30) { -all } else { self.random.of(&[-20, -3, -1, -1, 0, 1, 1, 2, 5, 30, all]) };
        format!("RL.ADJUST {key} {delta}")
    }

    fn key(&mut self) -> String {
        format!("{}:{}", self.random.of(&ALGORITHMS), self.random.below(6))
    }

    fn moment(&mut self) -> i64 {
        let random = &mut self.random;
        let below = |random: &mut Random, us: i64| random.below(us as u64) as i64;
        match random.below(1_000) {
            0..950 => below(random, 20 * MS),
            950..990 => below(random, S),
            990..995 => below(random, M),
            995..996 => below(random, 3 * H),
            996..999 => -below(random, M),
            _ => -below(random, 3 * H),
        }
    }
}

fn parts(call: &str) -> [&str; 3] {
    let mut parts = call.splitn(3, ' ');
    [(); 3].map(|()| parts.next().unwrap())
}
