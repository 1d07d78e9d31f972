//! What the module is held to, and whether this run met it.

use crate::{
    markdown::Table,
    report::{HEADLINE_PIPELINE, Persistence, Report},
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

enum Bar {
    AtLeast(f64),
    AtMost(f64),
}

pub fn table(report: &Report) -> String {
    let mut table = Table::new(&["what", "bar", "measured", ""]);
    let mut row = |what: String, bar: Bar, measured: Option<f64>| {
        let Some(measured) = measured else { return };
        let (bound, met) = match bar {
            Bar::AtLeast(bound) => (format!("at least {bound}"), measured >= bound),
            Bar::AtMost(bound) => (format!("at most {bound}"), measured <= bound),
        };
        table.row(vec![what, bound, format!("{measured:.2}"), if met { "met" } else { "missed" }.to_owned()]);
    };
    for hot in [false, true] {
        let Some(cell) = report.cell(Persistence::None, hot, HEADLINE_PIPELINE) else { continue };
        let load = format!("pipeline {}, {}", cell.pipeline, cell.keys_title());
        for (algorithm, bar) in LUA {
            let what = format!("{} to its Lua script, {load}", algorithm.title());
            row(what, Bar::AtLeast(bar), cell.against_lua(algorithm, Outcome::Admitted));
        }
        for algorithm in Algorithm::ALL {
            let what = format!("{} to INCR, {load}", algorithm.title());
            row(what, Bar::AtLeast(INCR_HEADLINE), cell.against(algorithm, Outcome::Admitted, "INCR"));
        }
        for peer in cell.rows.iter().filter(|row| row.family == Family::Peer) {
            let what = format!("token bucket to {}, {load}", peer.name);
            let measured = cell.against(Algorithm::TokenBucket, Outcome::Admitted, &peer.name);
            row(what, Bar::AtLeast(PEER), measured);
        }
    }
    if let Some(cell) = report.cell(Persistence::None, false, 1) {
        for algorithm in Algorithm::ALL {
            let what = format!("{} to INCR, pipeline 1, {}", algorithm.title(), cell.keys_title());
            row(what, Bar::AtLeast(INCR_ONE_BY_ONE), cell.against(algorithm, Outcome::Admitted, "INCR"));
        }
    }
    let memory = |ours: Algorithm, lua: Algorithm, events| {
        Some(report.bytes(Family::Module, ours, events)? / report.bytes(Family::Lua, lua, events)?)
    };
    for algorithm in [Algorithm::TokenBucket, Algorithm::Gcra] {
        let what = format!("memory of a {} key to the Lua token bucket's hash", algorithm.title());
        row(what, Bar::AtMost(BUCKET_MEMORY), memory(algorithm, Algorithm::TokenBucket, None));
    }
    let what = format!("memory of a log of {LOG_MEMORY_EVENTS} events to the sorted set");
    let log = memory(Algorithm::SlidingLog, Algorithm::SlidingLog, Some(LOG_MEMORY_EVENTS));
    row(what, Bar::AtMost(LOG_MEMORY), log);
    table.text()
}
