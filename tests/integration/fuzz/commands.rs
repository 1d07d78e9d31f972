//! Random commands: calls that are right, nearly right and wrong, and whatever may happen to their keys.

use crate::harness::{Client, Random, limiters};

pub type Words = Vec<Vec<u8>>;

/// Arguments at and beyond the edges, and nonsense.
const WORDS: &[&str] = &[
    "0",
    "1",
    "2",
    "5",
    "10",
    "100",
    "1000000",
    "999999999999",
    "1000000000000",
    "1000000000001",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-1",
    "-0",
    "+1",
    "01",
    "1.5",
    "1e3",
    " 1",
    "1 ",
    "0x10",
    "NaN",
    "1ms",
    "500ms",
    "1s",
    "60s",
    "1m",
    "1h",
    "1H",
    "22h",
    "1d",
    "3650d",
    "3651d",
    "0s",
    "0ms",
    "1us",
    "s",
    "ms",
    "1w",
    "-1s",
    "10/s",
    "600/m",
    "30/60s",
    "1/3650d",
    "1000000000000/1ms",
    "1/1000000ms",
    "0/s",
    "1/0s",
    "1/60",
    "/",
    "1/",
    "/s",
    "1//s",
    "ALIGNED",
    "aligned",
    "PARTIAL",
    "STRICT",
    "strict",
    "RESERVE",
    "BLOCK",
    "TOKENBUCKET",
    "gcra",
    "Fixed",
    "SLIDINGLOG",
    "slidingcounter",
    "LEAKYBUCKET",
    "",
    "%s%n%n",
    "*",
    "\r\n",
    "RL",
];

const COMMANDS: &[&str] = &[
    "RL.TOKENBUCKET",
    "RL.GCRA",
    "RL.FIXED",
    "RL.SLIDINGLOG",
    "RL.SLIDINGCOUNTER",
    "RL.THROTTLE",
    "RL.ADJUST",
    "RL.ALL",
    "RL.PEEK",
    "RL.INFO",
];

/// What happens to keys without the module.
const FOREIGN: &[&str] = &[
    "DEL {k}",
    "UNLINK {k}",
    "PERSIST {k}",
    "EXPIRE {k} 1",
    "PEXPIREAT {k} 1",
    "PEXPIRE {k} 100000",
    "RENAME {k} {k2}",
    "COPY {k} {k2} REPLACE",
    "SET {k} hello",
    "SET {k} 12345",
    "SET {k} RL",
    "SET {k} 1728000000000000000",
    "SET {k} 1728003600000000001",
    "SET {k} 9223372036854775807",
    "APPEND {k} x",
    "SETRANGE {k} 0 x",
    "SETRANGE {k} 2 \u{2}",
    "SETRANGE {k} 300 x",
    "SETBIT {k} 77 1",
    "INCR {k}",
    "LPUSH {k} a",
    "HSET {k} a b",
    "SADD {k} 1",
    "ZADD {k} 1 a",
    "XADD {k} * a b",
    "PFADD {k} a",
    "GETEX {k} PERSIST",
    "GETDEL {k}",
    "OBJECT FREQ {k}",
    "STRLEN {k}",
    "DUMP {k}",
    "SELECT 0",
    "WATCH {k}",
    "UNWATCH",
];

/// The source of all of it, as a seed repeats it.
pub struct Commands {
    random: Random,
    /// Records that the module itself has written, to be damaged.
    records: Vec<Vec<u8>>,
}

impl Commands {
    /// Takes samples of every kind of record on the way.
    pub fn new(seed: u64, client: &mut Client) -> Self {
        let mut calls: Vec<String> = limiters(3).iter().map(|(name, limits)| format!("{name} k {limits}")).collect();
        calls.extend([
            "TOKENBUCKET k 1000000000000 1000000000000/1ms 999999999999".into(),
            "FIXED k 1000000000000 3650d 5000000000 ALIGNED 22h".into(),
            "SLIDINGCOUNTER k 1000000000000 3650d 5000000000".into(),
            "SLIDINGLOG k 100 1h 7".into(),
            "GCRA k 1 1/h 1 BLOCK 1h".into(),
            "ALL 1 k GCRA 9 1/h FIXED 9 1d SLIDINGLOG 9 1h".into(),
            "ALL 1 k TOKENBUCKET 9 1/h SLIDINGCOUNTER 1 1h 1 BLOCK 1h".into(),
            "SLIDINGLOG k 1 1h 1 BLOCK 1h".into(),
        ]);
        let key = format!("sample:{seed}");
        let sample = |call: &String| {
            client.run(&format!("DEL {key}"));
            for _ in 0..3 {
                client.run(&format!("RL.{}", call.replacen(" k ", &format!(" {key} "), 1)));
            }
            client.get(&format!("GET {key}"))
        };
        let records = calls.iter().map(sample).collect();
        Self { random: Random::new(seed), records }
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.random.one_in(n)
    }

    /// A moment for the server's clock: mostly near the last one, sometimes anywhere. Not before the epoch, where servers
    /// count their clients in memory that is not theirs.
    pub fn moment(&mut self, now: i64) -> i64 {
        let step = 1_i64 << self.random.below(45);
        let moment = match self.random.below(20) {
            0 => self.random.below(1 << 61) as i64,
            1 => self.random.below(3) as i64,
            2 | 3 => now - step,
            _ => now + step,
        };
        moment.clamp(0, 1 << 61)
    }

    /// A call of the module.
    pub fn call(&mut self) -> Words {
        let mut command = self.random.of(COMMANDS).to_owned();
        if self.one_in(5) {
            command = command.to_lowercase();
        }
        let mut words = vec![command.clone().into_bytes(), self.key()];
        if self.one_in(8) {
            // Any number of anything.
            words.truncate(1 + self.random.below(2) as usize);
            for _ in 0..self.random.below(12) {
                words.push(self.word());
            }
            return words;
        }
        match command.to_uppercase().strip_prefix("RL.").unwrap() {
            "INFO" => {}
            "THROTTLE" => {
                let limits = [&["0", "1", "9", "999999"][..], &["1", "7", "1000000"], &["1", "60", "86400"]];
                words.extend(limits.map(|choice| self.random.of(choice).into()));
                if self.one_in(2) {
                    words.push(self.random.of(&["0", "1", "2", "10", "1000000000000"]).into());
                }
            }
            "ALL" => {
                let limits = 1 + self.random.below(4);
                let keys = if self.one_in(3) { limits } else { 1 };
                words.truncate(1);
                words.push(keys.to_string().into_bytes());
                words.extend((0..keys).map(|_| self.key()));
                for _ in 0..limits {
                    let (name, limits) = self.limits();
                    words.push(name.into());
                    words.extend(limits.into_iter().filter(|word| word != b"PARTIAL"));
                }
            }
            "ADJUST" => words.push(self.random.of(&["0", "1", "-1", "7", "-3", "-100", "1000000000000"]).into()),
            "PEEK" if self.one_in(2) => {
                let (name, limits) = self.limits();
                words.push(name.into());
                words.extend(limits);
            }
            "PEEK" => words.extend((0..self.random.below(2)).map(|_| b"1".to_vec())),
            name => words.extend(self.limits_of(name)),
        }
        // Nearly right: one word is another.
        if self.one_in(4) {
            let index = self.random.below(words.len() as u64) as usize;
            if index > 0 {
                words[index] = self.word();
            }
        }
        words
    }

    fn limits(&mut self) -> (&'static str, Words) {
        let name = self.random.of(&["TOKENBUCKET", "GCRA", "FIXED", "SLIDINGLOG", "SLIDINGCOUNTER"]);
        (name, self.limits_of(name))
    }

    fn limits_of(&mut self, name: &str) -> Words {
        let mut words = vec![self.random.of(&["0", "1", "3", "10", "1000", "1000000"])];
        words.push(match name {
            "TOKENBUCKET" | "GCRA" => self.random.of(&["1", "10/s", "1/h", "7/3ms", "1/1d", "1000000/m"]),
            _ => self.random.of(&["1ms", "7ms", "1s", "1m", "1h", "1d", "3650d"]),
        });
        if self.one_in(2) {
            words.push(self.random.of(&["0", "1", "2", "3", "10", "999", "1000000000000"]));
        }
        if name == "FIXED" && self.one_in(3) {
            words.push("ALIGNED");
        }
        if self.one_in(3) {
            words.extend(self.random.of(&[&["PARTIAL"][..], &["RESERVE", "1s"], &["RESERVE", "3650d"], &[]]));
            words.extend(self.random.of(&[&["STRICT"][..], &[]]));
            words.extend(self.random.of(&[&["BLOCK", "1ms"][..], &["BLOCK", "10s"], &["block", "3650d"], &[], &[]]));
        }
        words.into_iter().map(Into::into).collect()
    }

    /// Something else that a client may do to a key.
    pub fn foreign(&mut self) -> Words {
        match self.random.below(4) {
            0 => vec![b"SET".to_vec(), self.key(), self.damaged()],
            1 => vec![b"SET".to_vec(), self.key(), self.damaged(), b"PX".to_vec(), b"100000".to_vec()],
            2 => vec![b"SET".to_vec(), self.key(), self.bytes(80)],
            _ => {
                let command = self.random.of(FOREIGN);
                let word = |word: &str| match word {
                    "{k}" | "{k2}" => self.key(),
                    other => other.into(),
                };
                command.split(' ').map(word).collect()
            }
        }
    }

    /// Few keys, so that all kinds of state meet all kinds of calls.
    pub fn key(&mut self) -> Vec<u8> {
        match self.random.below(200) {
            0 => self.bytes(200),
            1 => Vec::new(),
            2 if self.one_in(20) => vec![b'k'; 1_000_000],
            number => format!("key:{}", number % 24).into_bytes(),
        }
    }

    fn word(&mut self) -> Vec<u8> {
        match self.random.below(20) {
            0 => self.bytes(100),
            1 => vec![b'9'; self.random.below(400) as usize],
            2 if self.one_in(50) => vec![b'7'; 100_000],
            _ => self.random.of(WORDS).into(),
        }
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        (0..self.random.below(most)).map(|_| self.random.below(256) as u8).collect()
    }

    /// A record of the module with a little harm done to it.
    fn damaged(&mut self) -> Vec<u8> {
        let index = self.random.below(self.records.len() as u64) as usize;
        let mut record = self.records[index].clone();
        for _ in 0..1 + self.random.below(3) {
            let at = self.random.below(record.len().max(1) as u64) as usize;
            match self.random.below(8) {
                0 => record.truncate(at),
                1 => record.extend(self.bytes(40)),
                2 => record.insert(at, 0),
                3 if record.len() > 3 => record[3] = self.random.below(32) as u8,
                4 | 5 => {
                    // A whole field at one of its edges.
                    let field =
                        self.random.of(&[0, 1, u64::from(u32::MAX), 1 << 53, 1 << 62, u64::MAX, 1_728_000_000_000_000]);
                    let width = self.random.of(&[4, 8]);
                    let start = 4 + self.random.below(8) as usize * 4;
                    if let Some(place) = record.get_mut(start..start + width) {
                        place.copy_from_slice(&field.to_le_bytes()[..width]);
                    }
                }
                _ => {
                    if let Some(byte) = record.get_mut(at) {
                        *byte ^= 1 << self.random.below(8);
                    }
                }
            }
        }
        record
    }
}
