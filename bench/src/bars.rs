//! What the module is held to, and whether a run met it.

use crate::{
    instructions,
    markdown::Table,
    report::{Cell, HEADLINE_PIPELINE, Persistence, Report},
    subject::{Algorithm, Family, Outcome},
};

/// At least this multiple of the script's throughput, at the headline load.
const LUA: [(Algorithm, f64); 4] =
    [(Algorithm::TokenBucket, 5.5), (Algorithm::Gcra, 5.5), (Algorithm::SlidingLog, 5.5), (Algorithm::Fixed, 3.0)];
const INCR_HEADLINE: f64 = 0.5;
const INCR_ONE_BY_ONE: f64 = 0.95;
const PEER: f64 = 1.6;
/// At most this multiple of the script's memory.
const BUCKET_MEMORY: f64 = 1.0;
const LOG_MEMORY: f64 = 0.25;
const LOG_MEMORY_EVENTS: u64 = 1_000;

/// The most instructions per request, as a multiple of the floor.
pub fn instructions(algorithm: Algorithm, outcome: Outcome) -> Option<f64> {
    match (algorithm, outcome) {
        (_, Outcome::Plain) => None,
        (Algorithm::SlidingLog, Outcome::Admitted) => Some(2.0),
        (Algorithm::SlidingLog, Outcome::Refused) => Some(1.35),
        (_, Outcome::Admitted) => Some(1.9),
        (_, Outcome::Refused) => Some(1.25),
    }
}

/// The most that sliding logs of different sizes may differ in instructions.
const LOG_FLATNESS: f64 = 1.1;

enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

struct Bar {
    what: String,
    bound: Bound,
    measured: f64,
    /// The same by processor time of the server instead of throughput, where both were measured: time that other work
    /// took from the server does not count in it.
    by_processor: Option<f64>,
}

impl Bar {
    fn met(&self) -> bool {
        match self.bound {
            Bound::AtLeast(bound) => self.measured >= bound,
            Bound::AtMost(bound) => self.measured <= bound,
        }
    }

    fn bound(&self) -> String {
        match self.bound {
            Bound::AtLeast(bound) => format!("at least {bound}"),
            Bound::AtMost(bound) => format!("at most {bound}"),
        }
    }
}

pub fn table(report: &Report) -> String {
    let mut table = Table::new(&["what", "bar", "measured", "by processor time", ""]);
    for bar in all(report) {
        table.row(vec![
            bar.what.clone(),
            bar.bound(),
            format!("{:.2}", bar.measured),
            bar.by_processor.map_or_else(String::new, |value| format!("{value:.2}")),
            if bar.met() { "met" } else { "missed" }.to_owned(),
        ]);
    }
    table.text()
}

/// What a run missed, one sentence each.
pub fn missed(report: &Report, counted: Option<&instructions::Report>) -> Vec<String> {
    let mut missed: Vec<String> = Vec::new();
    for bar in all(report).iter().filter(|bar| !bar.met()) {
        missed.push(format!("{}: {:.2}, the bar is {}", bar.what, bar.measured, bar.bound()));
    }
    for row in counted.iter().flat_map(|counted| &counted.rows).filter(|row| row.bar.is_some_and(|bar| row.ratio > bar))
    {
        let bar = row.bar.unwrap_or_default();
        missed.push(format!("instructions of {}: {:.2} times the floor, the bar is {bar}", row.name, row.ratio));
    }
    for outcome in [Outcome::Admitted, Outcome::Refused] {
        let of_all = counted.iter().flat_map(|counted| &counted.rows);
        let logs = of_all.filter(|row| row.events.is_some() && row.outcome == outcome).map(|row| row.instructions);
        let (low, high) = logs.fold((f64::MAX, 0.0_f64), |(low, high), count| (low.min(count), high.max(count)));
        if high > low * LOG_FLATNESS {
            let by = high / low;
            missed.push(format!("instructions of sliding logs, {outcome:?}, differ by a factor of {by:.2} with size"));
        }
    }
    missed
}

fn all(report: &Report) -> Vec<Bar> {
    let mut bars = Vec::new();
    let mut throughput = |cell: &Cell, algorithm: Algorithm, other: Option<String>, least: f64| {
        let Some(other) = other else { return };
        let Some(measured) = cell.against(algorithm, Outcome::Admitted, &other) else { return };
        let what = format!("{} to {other}, pipeline {}, {}", algorithm.title(), cell.pipeline, cell.keys_title());
        let by_processor = cell.by_processor(algorithm, Outcome::Admitted, &other);
        bars.push(Bar { what, bound: Bound::AtLeast(least), measured, by_processor });
    };
    for hot in [false, true] {
        let Some(cell) = report.cell(Persistence::None, hot, HEADLINE_PIPELINE) else { continue };
        for (algorithm, least) in LUA {
            let script = cell.limiter(Family::Lua, algorithm, Outcome::Admitted);
            throughput(cell, algorithm, script.map(|row| row.name.clone()), least);
        }
        for algorithm in Algorithm::ALL {
            throughput(cell, algorithm, Some("INCR".to_owned()), INCR_HEADLINE);
        }
        for peer in cell.rows.iter().filter(|row| row.family == Family::Peer) {
            throughput(cell, Algorithm::TokenBucket, Some(peer.name.clone()), PEER);
        }
    }
    for hot in [false, true] {
        let Some(cell) = report.cell(Persistence::None, hot, 1) else { continue };
        for algorithm in Algorithm::ALL {
            throughput(cell, algorithm, Some("INCR".to_owned()), INCR_ONE_BY_ONE);
        }
    }
    let mut memory = |what: String, ours: Algorithm, lua: Algorithm, events: Option<u64>, most: f64| {
        let (ours, lua) = (report.bytes(Family::Module, ours, events), report.bytes(Family::Lua, lua, events));
        if let (Some(ours), Some(lua)) = (ours, lua) {
            bars.push(Bar { what, bound: Bound::AtMost(most), measured: ours / lua, by_processor: None });
        }
    };
    for algorithm in [Algorithm::TokenBucket, Algorithm::Gcra] {
        let what = format!("memory of a {} key to the Lua token bucket's hash", algorithm.title());
        memory(what, algorithm, Algorithm::TokenBucket, None, BUCKET_MEMORY);
    }
    let what = format!("memory of a log of {LOG_MEMORY_EVENTS} events to the sorted set");
    memory(what, Algorithm::SlidingLog, Algorithm::SlidingLog, Some(LOG_MEMORY_EVENTS), LOG_MEMORY);
    bars
}
