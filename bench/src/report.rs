//! What a run measured, and the questions that tables and charts ask of it.

use crate::{
    results::Machine,
    server::Identity,
    subject::{Algorithm, Family, Outcome},
};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub struct Report {
    pub date: String,
    pub command: String,
    pub commit: String,
    pub machine: Machine,
    pub server: Identity,
    /// The program that made the load, with its version.
    pub load: String,
    pub rounds: usize,
    pub slice_seconds: f64,
    pub cells: Vec<Cell>,
    pub memory: Vec<Memory>,
}

/// All subjects under one load.
#[derive(Serialize, Deserialize)]
pub struct Cell {
    pub persistence: Persistence,
    /// 1 is one hot key.
    pub keys: u64,
    pub connections: u64,
    pub pipeline: u64,
    /// Events in each sliding log at the start, in the cells about those.
    pub events: Option<u64>,
    pub rows: Vec<Row>,
}

#[derive(Serialize, Deserialize)]
pub struct Row {
    pub name: String,
    pub family: Family,
    pub algorithm: Option<Algorithm>,
    pub outcome: Outcome,
    pub requests_per_second: Spread,
    pub p50_ms: Spread,
    pub p99_ms: Spread,
    pub p999_ms: Spread,
    /// Time in the command, as INFO commandstats has it.
    pub call_us: Spread,
    /// Processor time of the whole server per request.
    pub server_us: Spread,
}

#[derive(Serialize, Deserialize)]
pub struct Memory {
    pub name: String,
    pub family: Family,
    pub algorithm: Option<Algorithm>,
    pub events: Option<u64>,
    pub keys: u64,
    /// used_memory by key, with the key's name, its expiry and its share of the tables.
    pub bytes_per_key: f64,
}

/// The rounds' median, and how far they lie apart.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Spread {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Persistence {
    None,
    AofEverysec,
    Replica,
}

impl Persistence {
    pub const ALL: [Self; 3] = [Self::None, Self::AofEverysec, Self::Replica];

    pub fn title(self) -> &'static str {
        match self {
            Self::None => "AOF off",
            Self::AofEverysec => "AOF everysec",
            Self::Replica => "a replica attached",
        }
    }
}

impl Spread {
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
        Self { median: at(values.len() / 2), low: at(0), high: at(values.len().saturating_sub(1)) }
    }
}

/// The cell that headline figures come from, with one hot key or many.
pub const HEADLINE_PIPELINE: u64 = 32;
pub const HEADLINE_CONNECTIONS: u64 = 50;

impl Report {
    /// The cells of the grid without the ones about log sizes.
    pub fn grid(&self, persistence: Persistence) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(move |cell| cell.persistence == persistence && cell.events.is_none())
    }

    pub fn cell(&self, persistence: Persistence, hot: bool, pipeline: u64) -> Option<&Cell> {
        self.grid(persistence).find(|cell| {
            (cell.keys == 1) == hot && cell.pipeline == pipeline && cell.connections == HEADLINE_CONNECTIONS
        })
    }

    /// Bytes a key of a limiter, the module's or the script's.
    pub fn bytes(&self, family: Family, algorithm: Algorithm, events: Option<u64>) -> Option<f64> {
        let found = self
            .memory
            .iter()
            .find(|memory| memory.family == family && memory.algorithm == Some(algorithm) && memory.events == events);
        found.map(|memory| memory.bytes_per_key)
    }
}

impl Cell {
    pub fn limiter(&self, family: Family, algorithm: Algorithm, outcome: Outcome) -> Option<&Row> {
        self.rows.iter().find(|row| row.family == family && row.algorithm == Some(algorithm) && row.outcome == outcome)
    }

    pub fn named(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// Throughput of the module's command as a multiple of another row's.
    pub fn against(&self, algorithm: Algorithm, outcome: Outcome, other: &str) -> Option<f64> {
        let ours = self.limiter(Family::Module, algorithm, outcome)?;
        Some(ours.requests_per_second.median / self.named(other)?.requests_per_second.median)
    }

    /// The same by the server's processor time per request.
    pub fn by_processor(&self, algorithm: Algorithm, outcome: Outcome, other: &str) -> Option<f64> {
        let ours = self.limiter(Family::Module, algorithm, outcome)?;
        Some(self.named(other)?.server_us.median / ours.server_us.median)
    }

    /// Throughput of the module's command as a multiple of its script's.
    pub fn against_lua(&self, algorithm: Algorithm, outcome: Outcome) -> Option<f64> {
        let lua = self.limiter(Family::Lua, algorithm, outcome)?;
        self.against(algorithm, outcome, &lua.name)
    }

    pub fn keys_title(&self) -> String {
        if self.keys == 1 { "1 hot key".to_owned() } else { format!("{} keys", self.keys) }
    }
}
