//! What is measured: the module's commands, and next to them plain commands, the floor and Lua scripts.

use crate::client::Client;
use anyhow::Result;
use serde::{Deserialize, Serialize};

/// Stands for the key among a subject's words.
pub const KEY: &str = "{key}";
/// Stands for a limit that differs from key to key.
const LIMIT: &str = "{limit}";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    TokenBucket,
    Gcra,
    Fixed,
    SlidingLog,
    SlidingCounter,
}

use Algorithm::{Fixed, Gcra, SlidingCounter, SlidingLog, TokenBucket};

impl Algorithm {
    pub const ALL: [Self; 5] = [TokenBucket, Gcra, Fixed, SlidingLog, SlidingCounter];

    /// As in `INFO rl` and, in upper case after `RL.`, the command.
    pub fn name(self) -> &'static str {
        match self {
            TokenBucket => "tokenbucket",
            Gcra => "gcra",
            Fixed => "fixed",
            SlidingLog => "slidinglog",
            SlidingCounter => "slidingcounter",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            TokenBucket => "token bucket",
            Gcra => "GCRA",
            Fixed => "fixed window",
            SlidingLog => "sliding log",
            SlidingCounter => "sliding counter",
        }
    }

    fn script(self) -> &'static str {
        match self {
            TokenBucket => include_str!("../lua/token_bucket.lua"),
            Gcra => include_str!("../lua/gcra.lua"),
            Fixed => include_str!("../lua/fixed_window.lua"),
            SlidingLog => include_str!("../lua/sliding_log.lua"),
            SlidingCounter => include_str!("../lua/sliding_counter.lua"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// A command of the module.
    Module,
    /// The no-op module command.
    Floor,
    /// A command of the server.
    Server,
    /// A script, by EVALSHA.
    Lua,
    /// A command of another module, given on the command line.
    Peer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Admitted,
    Refused,
    /// Not a limiter.
    Plain,
}

/// A log may hold no more by default.
const LOG_LIMIT: u64 = 1_000_000;

/// Limits in both vocabularies: the module's words and the script's numbers.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Capacity, burst or limit.
    limit: u64,
    /// The module's rate or window.
    module: &'static str,
    /// The script's tokens per second or window in milliseconds.
    lua: &'static str,
}

impl Limits {
    /// Calls are admitted up to `limit`, and usage accumulates: the state is never trivially idle.
    fn admitting(algorithm: Algorithm, limit: u64) -> Self {
        match algorithm {
            TokenBucket | Gcra => Self { limit, module: "1/m", lua: "0.0166666667" },
            Fixed | SlidingCounter => Self { limit, module: "1h", lua: "3600000" },
            SlidingLog if limit > LOG_LIMIT => Self { limit: LOG_LIMIT, module: "100ms", lua: "100" },
            SlidingLog => Self { limit: LOG_LIMIT, module: "60s", lua: "60000" },
        }
    }

    /// Once used up, refused for longer than a run takes; the waits that are replied are no longer than need be.
    fn refusing(algorithm: Algorithm, limit: u64) -> Self {
        match algorithm {
            TokenBucket | Gcra => Self { limit, module: "1/h", lua: "0.000277777778" },
            Fixed => Self { limit, module: "1h", lua: "3600000" },
            // A counter's aligned window may end during a run: its usage fades slowly enough in a day.
            SlidingCounter | SlidingLog => Self { limit, module: "1d", lua: "86400000" },
        }
    }
}

#[derive(Clone)]
pub struct Subject {
    pub family: Family,
    pub algorithm: Option<Algorithm>,
    pub outcome: Outcome,
    pub label: String,
    /// The command, with [`KEY`] for its key.
    pub words: Vec<String>,
    /// Makes a key what the command expects to find, by being called [`fills`](Self::fills) times.
    pub fill: Vec<String>,
    pub fills: u64,
}

impl Subject {
    pub fn plain(family: Family, words: &[&str], fill: &[&str]) -> Self {
        let label = match words {
            ["SET", .., "PX", _] => "SET PX".to_owned(),
            _ => words[0].to_owned(),
        };
        let own = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Self { family, algorithm: None, outcome: Outcome::Plain, label, words: own(words), fill: own(fill), fills: 1 }
    }

    /// The command of the module, or its twin in Lua if there is a script.
    fn limiter(script: Option<&str>, algorithm: Algorithm, outcome: Outcome, limits: Limits) -> Self {
        let call = |cost: u64| -> Vec<String> {
            let head: Vec<String> = match script {
                None => vec![command(algorithm), KEY.to_owned()],
                Some(sha) => ["EVALSHA", sha, "1", KEY].map(str::to_owned).to_vec(),
            };
            let interval = if script.is_some() { limits.lua } else { limits.module };
            [head, vec![limits.limit.to_string(), interval.to_owned(), cost.to_string()]].concat()
        };
        let refused = outcome == Outcome::Refused;
        // A log is filled with events of cost 1, as its callers would.
        let log = algorithm == SlidingLog;
        let (fill, fills) = match (refused, log) {
            (true, true) => (call(1), limits.limit),
            (true, false) => (call(limits.limit), 1),
            (false, _) => (call(1), 1),
        };
        let family = if script.is_some() { Family::Lua } else { Family::Module };
        let label = if script.is_some() { format!("Lua {}", algorithm.title()) } else { command(algorithm) };
        Self { family, algorithm: Some(algorithm), outcome, label, words: call(1), fill, fills }
    }

    /// What tells this subject from all others of a cell.
    pub fn id(&self) -> String {
        match self.outcome {
            Outcome::Admitted => format!("{}, admitted", self.label),
            Outcome::Refused => format!("{}, refused", self.label),
            Outcome::Plain => self.label.clone(),
        }
    }

    /// The words with their key in place.
    pub fn with_key<'a>(words: &'a [String], key: &'a str) -> Vec<&'a str> {
        words.iter().map(|word| if word == KEY { key } else { word }).collect()
    }
}

/// The words of a call on key `index`.
pub fn call(words: &[String], index: u64) -> Vec<String> {
    let place = |word: &String| match word.as_str() {
        KEY => key(index),
        LIMIT => (100 + index % 900).to_string(),
        word => word.to_owned(),
    };
    words.iter().map(place).collect()
}

/// The name of key `index`: 20 bytes, as redis-benchmark writes it.
pub fn key(index: u64) -> String {
    format!("{KEY_PREFIX}{index:012}")
}

/// Begins every key, so that memtier, which does not pad numbers, can name the same ones.
pub const KEY_PREFIX: &str = "bench:k1";

/// The SHA1 of each script on one server.
pub struct Scripts([String; 5]);

impl Scripts {
    pub fn load(client: &mut Client) -> Result<Self> {
        let mut hashes = <[String; 5]>::default();
        for (hash, algorithm) in hashes.iter_mut().zip(Algorithm::ALL) {
            *hash = client.text(&["SCRIPT", "LOAD", algorithm.script()])?;
        }
        Ok(Self(hashes))
    }

    fn of(&self, algorithm: Algorithm) -> &str {
        &self.0[algorithm as usize]
    }
}

fn command(algorithm: Algorithm) -> String {
    format!("RL.{}", algorithm.name().to_uppercase())
}

/// GET, INCR, SET PX and the floor.
pub fn yardsticks() -> Vec<Subject> {
    vec![
        Subject::plain(Family::Server, &["GET", KEY], &["SET", KEY, "1"]),
        Subject::plain(Family::Server, &["INCR", KEY], &["INCR", KEY]),
        Subject::plain(Family::Server, &["SET", KEY, "1", "PX", "60000"], &["SET", KEY, "1", "PX", "60000"]),
        floor(),
    ]
}

pub fn floor() -> Subject {
    let words = ["FLOOR.FIVE", KEY, "100", "1/m", "1"];
    Subject::plain(Family::Floor, &words, &words)
}

/// The command of another module, as given on the command line.
pub fn peer(line: &str) -> Subject {
    let words: Vec<&str> = line.split_whitespace().collect();
    Subject::plain(Family::Peer, &words, &words)
}

/// How many calls a key admits where calls are to be admitted.
#[derive(Clone, Copy)]
pub enum Room {
    /// As many as a limit in the field: for a few calls a key.
    Ordinary,
    /// As many as a run can make on one key; in a log, which has to hold them, those of a tenth of a second.
    Endless,
}

/// The module's command, or its twin in Lua if there are scripts.
pub fn limiter(scripts: Option<&Scripts>, algorithm: Algorithm, outcome: Outcome, room: Room) -> Subject {
    let limits = match (outcome, room) {
        (Outcome::Refused, _) => Limits::refusing(algorithm, 10),
        (_, Room::Ordinary) => Limits::admitting(algorithm, 100),
        (_, Room::Endless) => Limits::admitting(algorithm, 1_000_000_000),
    };
    Subject::limiter(scripts.map(|scripts| scripts.of(algorithm)), algorithm, outcome, limits)
}

/// Sliding logs that hold `events` when the measuring starts: the module's, or the script's if there are scripts.
pub fn log_of(scripts: Option<&Scripts>, outcome: Outcome, events: u64) -> Subject {
    let full = Limits::refusing(SlidingLog, events);
    let limits = if outcome == Outcome::Refused { full } else { Limits { limit: LOG_LIMIT, ..full } };
    let script = scripts.map(|scripts| scripts.of(SlidingLog));
    Subject { fills: events, ..Subject::limiter(script, SlidingLog, outcome, limits) }
}

/// `RL.ALL` of the first `count` of four limits, in one key.
pub fn all(count: usize, outcome: Outcome) -> Subject {
    let limits = [
        ["TOKENBUCKET", "100", "1/m"],
        ["FIXED", "1000", "1h"],
        ["SLIDINGCOUNTER", "10000", "1d"],
        ["GCRA", "100", "1/m"],
    ];
    let head = ["RL.ALL", "1", KEY].map(str::to_owned);
    let words = |refusing: bool| {
        let mut words = head.to_vec();
        for limit in &limits[..count] {
            words.extend(limit.map(str::to_owned));
        }
        if refusing {
            // The last limit of the list is used up by the first call.
            let last = words.len() - 2;
            (words[last], words[last + 1]) =
                ("1".to_owned(), if count == 2 || count == 3 { "1d" } else { "1/h" }.to_owned());
        }
        words
    };
    let words = words(outcome == Outcome::Refused);
    Subject {
        family: Family::Module,
        algorithm: None,
        outcome,
        label: format!("RL.ALL of {count}"),
        fill: words.clone(),
        words,
        fills: 1,
    }
}

/// The subject with limits that differ from key to key.
pub fn varied(subject: Subject) -> Subject {
    let limit = subject.words[2].clone();
    let vary = |words: &[String]| {
        words.iter().map(|word| if *word == limit { LIMIT.to_owned() } else { word.clone() }).collect()
    };
    Subject { words: vary(&subject.words), fill: vary(&subject.fill), ..subject }
}

/// A bucket that refills faster than it is called: its state is idle each time.
pub fn idle_bucket() -> Subject {
    let limits = Limits { limit: 100, module: "1000/s", lua: "1000" };
    Subject::limiter(None, TokenBucket, Outcome::Admitted, limits)
}
