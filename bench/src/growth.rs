//! `bench growth`: what happens to the cost as keys, connections and logs grow, and while a million keys expire.

use crate::{
    Common, artifacts,
    callgrind::{self, Counter},
    expiry,
    load::{Keys, Load},
    markdown::Table,
    progress::Progress,
    report::{Cell, HEADLINE_CONNECTIONS, HEADLINE_PIPELINE, Persistence},
    results::{self, Machine},
    rig::{Effort, Rig, Shape},
    server::{self, Identity, Options as ServerOptions, Server},
    subject::{self, Algorithm, Outcome, Room, Subject},
};
use anyhow::Result;
use clap::Args;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    common: Common,
    /// Smaller sizes, in a minute a server
    #[arg(long)]
    quick: bool,
}

struct Plan {
    effort: Effort,
    keys: &'static [u64],
    connections: &'static [u64],
    events: &'static [u64],
    /// Numbers of keys under callgrind, where a million takes its time to make.
    counted: &'static [u64],
    expiring: u64,
}

const FULL: Plan = Plan {
    effort: Effort { rounds: 7, slice: 0.3 },
    keys: &[1_000, 100_000, 1_000_000, 5_000_000],
    connections: &[1, 10, 100, 1_000, 5_000],
    events: &[100, 1_000, 10_000, 100_000, 1_000_000],
    counted: &[1_000, 100_000, 1_000_000],
    expiring: 1_000_000,
};

const QUICK: Plan = Plan {
    effort: Effort { rounds: 3, slice: 0.1 },
    keys: &[1_000, 100_000],
    connections: &[1, 100],
    events: &[100, 100_000],
    counted: &[1_000, 100_000],
    expiring: 100_000,
};

#[derive(Serialize, Deserialize)]
pub struct Report {
    pub date: String,
    pub command: String,
    pub commit: String,
    pub machine: Machine,
    pub server: Identity,
    pub load: String,
    pub keys: Vec<Cell>,
    pub connections: Vec<Cell>,
    pub logs: Vec<Cell>,
    /// Instructions per request by number of keys; empty without valgrind.
    pub counted: Vec<Counted>,
    pub expiring: u64,
    pub expiry: Vec<expiry::Latencies>,
}

#[derive(Serialize, Deserialize)]
pub struct Counted {
    pub keys: u64,
    pub get: f64,
    /// RL.FIXED: its expiry stays while a window is open, so calls cost the same whether they are a key's second or tenth.
    pub fixed: f64,
}

pub fn run(options: &Options) -> Result<()> {
    let modules = [artifacts::floor()?, artifacts::module(options.common.module.as_deref())?];
    let plan = if options.quick { &QUICK } else { &FULL };
    for binary in server::find(&options.common.server)? {
        let report = measure(&binary, &modules, plan)?;
        let text = report.markdown();
        println!("{text}");
        results::write(&options.common.out, &report.server, "growth", &report, &text)?;
    }
    Ok(())
}

fn measure(binary: &Path, modules: &[PathBuf], plan: &Plan) -> Result<Report> {
    let machine = Machine::here();
    let trial = Server::start(binary, &ServerOptions::default())?;
    let (server, load) = (trial.identity()?, Load::find(trial.port)?);
    drop(trial);
    let bucket = subject::limiter(None, Algorithm::TokenBucket, Outcome::Admitted, Room::Endless);
    let get = subject::yardsticks().swap_remove(0);
    let subjects = [get, bucket.clone()];
    let cells = (plan.keys.len() + plan.connections.len()) * subjects.len() + plan.events.len();
    let mut progress = Progress::new(&server.title(), cells * (plan.effort.rounds + 1));
    let mut grow = |subjects: &[Subject], shapes: &[Shape]| -> Result<Vec<Cell>> {
        let mut cells = Vec::new();
        for &shape in shapes {
            let mut rig = Rig::start(binary, modules, Persistence::None, &load)?;
            rig.prepare(subjects, shape.keys, &mut progress)?;
            cells.push(rig.cell(subjects, shape, plan.effort, &mut progress)?);
        }
        Ok(cells)
    };
    let usual = Shape {
        keys: Keys::Many(100_000),
        connections: HEADLINE_CONNECTIONS,
        pipeline: HEADLINE_PIPELINE,
        events: None,
    };
    let by_keys: Vec<Shape> = plan.keys.iter().map(|&keys| Shape { keys: Keys::Many(keys), ..usual }).collect();
    let by_connections: Vec<Shape> =
        plan.connections.iter().map(|&connections| Shape { connections, pipeline: 1, ..usual }).collect();
    let keys = grow(&subjects, &by_keys)?;
    let connections = grow(&subjects, &by_connections)?;
    let mut logs = Vec::new();
    for &events in plan.events {
        let shape = Shape { keys: Keys::Hot, events: Some(events), ..usual };
        logs.extend(grow(&[subject::log_of(None, Outcome::Refused, events)], &[shape])?);
    }
    progress.cell(&format!("{} keys expire", plan.expiring));
    let expiry = expiry::measure(binary, modules, &bucket, plan.expiring, &mut progress)?;
    let fixed = subject::limiter(None, Algorithm::Fixed, Outcome::Admitted, Room::Ordinary);
    let mut counted = Vec::new();
    for &keys in plan.counted.iter().filter(|_| callgrind::installed()) {
        progress.say(&format!("counting instructions over {keys} keys"));
        let mut counter = Counter::start(binary, modules, None)?;
        let [get, fixed] = [counter.count(&subjects[0], keys)?.mean, counter.count(&fixed, keys)?.mean];
        counted.push(Counted { keys, get, fixed });
    }
    drop(progress);
    Ok(Report {
        date: results::date(),
        command: results::command_line(),
        commit: artifacts::commit(),
        machine,
        server,
        load: load.version(),
        keys,
        connections,
        logs,
        counted,
        expiring: plan.expiring,
        expiry,
    })
}

impl Report {
    fn markdown(&self) -> String {
        let provenance = results::provenance(&self.date, &self.command, &self.commit, &self.machine, &self.server);
        format!(
            "# Growth, {}\n\n{provenance}\n- load by {}\n\n## Keys\n\nPipeline {HEADLINE_PIPELINE}, \
             {HEADLINE_CONNECTIONS} connections. GET shows what the machine's caches have to do with it.\n\n{}\n{}\n\
             ## Connections\n\nPipeline 1, 100000 keys.\n\n{}\n## Refused on a full sliding log\n\nOne key, pipeline \
             {HEADLINE_PIPELINE}.\n\n{}\n## While {} keys expire\n\nLatency of one client that sends GET and \
             RL.TOKENBUCKET in turn, in ms, while all keys expire in the same millisecond; next to it the same with \
             as many keys of SET, and with nothing expiring.\n\n{}",
            self.server.title(),
            self.load,
            against_get(&self.keys, "keys", |cell| cell.keys),
            self.counted(),
            against_get(&self.connections, "connections", |cell| cell.connections),
            self.logs(),
            self.expiring,
            self.expiry(),
        )
    }

    fn counted(&self) -> String {
        let mut table = Table::new(&["keys", "RL.FIXED, instructions", "GET, instructions"]);
        for counted in &self.counted {
            let values = [counted.fixed, counted.get].map(|value| format!("{value:.0}")).to_vec();
            table.row([vec![counted.keys.to_string()], values].concat());
        }
        table.text()
    }

    fn logs(&self) -> String {
        let mut table = Table::new(&["events", "us in the call", "server us/request", "k requests/s"]);
        for cell in &self.logs {
            let Some(row) = cell.rows.first() else { continue };
            table.row(vec![
                cell.events.unwrap_or_default().to_string(),
                format!("{:.2}", row.call_us.median),
                format!("{:.2}", row.server_us.median),
                format!("{:.1}", row.requests_per_second.median / 1e3),
            ]);
        }
        table.text()
    }

    fn expiry(&self) -> String {
        let columns = ["expiring", "seconds until all are gone", "p50", "p99", "p99.9", "longest"];
        let mut table = Table::new(&columns);
        for latencies in &self.expiry {
            let values = [latencies.p50_ms, latencies.p99_ms, latencies.p999_ms, latencies.longest_ms];
            let values = values.map(|value| format!("{value:.3}")).to_vec();
            let head = vec![latencies.what.clone(), format!("{:.1}", latencies.seconds)];
            table.row([head, values].concat());
        }
        table.text()
    }
}

fn against_get(cells: &[Cell], what: &str, size: impl Fn(&Cell) -> u64) -> String {
    let columns = [
        what,
        "RL.TOKENBUCKET to GET, server time",
        "server us/request",
        "us in the call",
        "k requests/s",
        "GET: server us/request",
    ];
    let mut table = Table::new(&columns);
    for cell in cells {
        let [get, bucket] = cell.rows.as_slice() else { continue };
        table.row(vec![
            size(cell).to_string(),
            format!("{:.2}", bucket.server_us.median / get.server_us.median),
            format!("{:.2}", bucket.server_us.median),
            format!("{:.2}", bucket.call_us.median),
            format!("{:.1}", bucket.requests_per_second.median / 1e3),
            format!("{:.2}", get.server_us.median),
        ]);
    }
    table.text()
}
