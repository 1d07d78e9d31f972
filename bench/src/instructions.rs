//! `bench instructions`: instructions per request, and as a ratio to the floor of the same run.

use crate::{
    Common, artifacts, bars,
    callgrind::{Counter, PIPELINE},
    markdown::Table,
    results::{self, Machine},
    server::{self, Identity},
    subject::{self, Algorithm, Family, Outcome, Room, Scripts, Subject},
};
use anyhow::Result;
use clap::Args;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    common: Common,
    /// Only the rows whose name contains this, and the floor
    #[arg(long)]
    only: Option<String>,
    /// Keep callgrind's profile of each row in this folder, for callgrind_annotate
    #[arg(long, value_name = "DIR")]
    profiles: Option<PathBuf>,
    /// A command of a module given with --peer-module, with {key} for its key; may be repeated
    #[arg(long, value_name = "WORDS")]
    peer_command: Vec<String>,
    /// Another module to load
    #[arg(long, value_name = "PATH")]
    peer_module: Option<PathBuf>,
}

#[derive(Serialize, Deserialize)]
pub struct Report {
    pub date: String,
    pub command: String,
    pub commit: String,
    pub machine: Machine,
    pub server: Identity,
    pub pipeline: u64,
    pub rows: Vec<Row>,
}

#[derive(Serialize, Deserialize)]
pub struct Row {
    pub name: String,
    pub family: Family,
    pub algorithm: Option<Algorithm>,
    pub outcome: Outcome,
    /// What tells it from the plain call, if anything does.
    pub note: String,
    /// Events in each log when counting starts.
    pub events: Option<u64>,
    pub instructions: f64,
    /// The segments that differ most.
    pub low: f64,
    pub high: f64,
    /// To the floor with as many arguments.
    pub ratio: f64,
    /// The most that the ratio should be.
    pub bar: Option<f64>,
}

/// Log sizes, and the number of logs of that size.
const LOGS: [(u64, u64); 3] = [(100, 1_000), (10_000, 20), (100_000, 3)];
const KEYS: u64 = 1_000;

pub fn run(options: &Options) -> Result<()> {
    let module = artifacts::module(options.common.module.as_deref())?;
    let mut modules = vec![artifacts::floor()?, module];
    modules.extend(options.peer_module.clone());
    for binary in server::find(&options.common.server)? {
        let mut counter = Counter::start(&binary, &modules, options.profiles.as_deref())?;
        let server = counter.identity()?;
        eprintln!("{}: counting instructions under callgrind", server.title());
        let rows = measure(&mut counter, options)?;
        let report = Report {
            date: results::date(),
            command: results::command_line(),
            commit: artifacts::commit(),
            machine: Machine::here(),
            server,
            pipeline: PIPELINE,
            rows,
        };
        let text = report.markdown();
        println!("{text}");
        if options.only.is_none() {
            results::write(&options.common.out, &report.server, "instructions", &report, &text)?;
        }
    }
    Ok(())
}

fn measure(counter: &mut Counter, options: &Options) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    // One row a number of arguments; the ratio of each other row is to the floor with as many.
    let mut floors: Vec<(usize, f64)> = Vec::new();
    for (subject, note, events, keys) in plan(&Scripts::load(counter.client())?, options) {
        let name = if note.is_empty() { subject.id() } else { format!("{}, {note}", subject.id()) };
        let wanted = options.only.as_ref().is_none_or(|part| name.to_lowercase().contains(&part.to_lowercase()));
        if !wanted && subject.family != Family::Floor {
            continue;
        }
        let count = counter.count(&subject, keys)?;
        if subject.family == Family::Floor {
            floors.push((subject.words.len(), count.mean));
        }
        let of_its_length = floors.iter().find(|(length, _)| *length == subject.words.len());
        let floor = of_its_length.or(floors.first()).map_or(count.mean, |(_, floor)| *floor);
        let ratio = count.mean / floor;
        eprintln!("  {name}: {:.0} ({ratio:.2})", count.mean);
        rows.push(Row {
            name,
            family: subject.family,
            algorithm: subject.algorithm,
            outcome: subject.outcome,
            note,
            events,
            instructions: count.mean,
            low: count.low,
            high: count.high,
            ratio,
            bar: row_bar(&subject),
        });
    }
    Ok(rows)
}

fn row_bar(subject: &Subject) -> Option<f64> {
    let algorithm = subject.algorithm.filter(|_| subject.family == Family::Module)?;
    bars::instructions(algorithm, subject.outcome)
}

/// A subject, its note, events in each log, and the number of keys.
type Planned = (Subject, String, Option<u64>, u64);

fn plan(scripts: &Scripts, options: &Options) -> Vec<Planned> {
    let mut plan: Vec<Planned> = Vec::new();
    let mut add = |subject: Subject, note: &str, events, keys| {
        plan.push((subject, note.to_owned(), events, keys));
    };
    let cost_left_out =
        |subject: Subject| Subject { words: subject.words[..subject.words.len() - 1].to_vec(), ..subject };
    add(subject::floor(), "", None, KEYS);
    add(cost_left_out(subject::floor()), "cost left out", None, KEYS);
    for subject in subject::yardsticks().into_iter().filter(|subject| subject.family == Family::Server) {
        add(subject, "", None, KEYS);
    }
    for outcome in [Outcome::Admitted, Outcome::Refused] {
        for algorithm in Algorithm::ALL.into_iter().filter(|&algorithm| algorithm != Algorithm::SlidingLog) {
            add(subject::limiter(None, algorithm, outcome, Room::Ordinary), "", None, KEYS);
        }
        for (events, keys) in LOGS {
            add(subject::log_of(None, outcome, events), &format!("{events} events"), Some(events), keys);
        }
        let bucket = subject::limiter(None, Algorithm::TokenBucket, outcome, Room::Ordinary);
        add(cost_left_out(bucket), "cost left out", None, KEYS);
    }
    for outcome in [Outcome::Admitted, Outcome::Refused] {
        let bucket = subject::limiter(None, Algorithm::TokenBucket, outcome, Room::Ordinary);
        add(subject::varied(bucket), "another limit for each key", None, KEYS);
    }
    for outcome in [Outcome::Admitted, Outcome::Refused] {
        for count in [1, 2, 4] {
            add(subject::all(count, outcome), "cost left out", None, KEYS);
        }
    }
    // Few keys, so that a key is called again long before its expiry has to move, however slow the machine.
    add(subject::idle_bucket(), "idle between calls", None, PIPELINE);
    add(
        subject::limiter(None, Algorithm::SlidingLog, Outcome::Admitted, Room::Endless),
        "one key, window of 100 ms rolling",
        None,
        1,
    );
    for outcome in [Outcome::Admitted, Outcome::Refused] {
        add(subject::limiter(Some(scripts), Algorithm::TokenBucket, outcome, Room::Ordinary), "", None, KEYS);
    }
    for line in &options.peer_command {
        add(subject::peer(line), "", None, KEYS);
    }
    plan
}

impl Report {
    pub fn markdown(&self) -> String {
        let mut table = Table::new(&["command", "ratio to the floor", "bar", "instructions", "low to high"]);
        for row in &self.rows {
            table.row(vec![
                row.name.clone(),
                format!("{:.2}", row.ratio),
                row.bar
                    .map_or_else(String::new, |bar| format!("{bar}{}", if row.ratio > bar { ", missed" } else { "" })),
                format!("{:.0}", row.instructions),
                format!("{:.0} to {:.0}", row.low, row.high),
            ]);
        }
        format!(
            "# Instructions per request, {}\n\n{}\n\nUser-mode instructions of the whole server under callgrind, at \
             pipeline {}, on keys that exist. The floor is a no-op module command with as many arguments and the same \
             reply.\n\n{}",
            self.server.title(),
            results::provenance(&self.date, &self.command, &self.commit, &self.machine, &self.server),
            self.pipeline,
            table.text(),
        )
    }
}
