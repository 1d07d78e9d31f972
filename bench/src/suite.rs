//! `bench`: everything side by side in one run, on each server.

use crate::{
    Common, artifacts, charts,
    load::{Keys, Load},
    memory,
    progress::Progress,
    report::{Cell, HEADLINE_CONNECTIONS, HEADLINE_PIPELINE, Persistence, Report},
    results::{self, Machine},
    rig::{Effort, Rig, Shape},
    server::{self, Options as ServerOptions, Server},
    subject::{self, Algorithm, Outcome, Room, Scripts, Subject},
    tables,
};
use anyhow::Result;
use clap::Args;
use std::{
    path::{Path, PathBuf},
    time::Instant,
};

#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    common: Common,
    /// A minute or two a server instead of a quarter of an hour: fewer loads, fewer and shorter rounds
    #[arg(long)]
    quick: bool,
    /// Another module to load and measure
    #[arg(long, value_name = "PATH")]
    peer_module: Option<PathBuf>,
    /// A command of it, with {key} for its key, such as 'CL.THROTTLE {key} 1000000 1000 60'; may be repeated
    #[arg(long, value_name = "WORDS", requires = "peer_module")]
    peer_command: Vec<String>,
}

/// What is measured, and how thoroughly.
struct Plan {
    effort: Effort,
    keys: u64,
    pipelines: &'static [u64],
    connections: &'static [u64],
    /// Pipelines with a file or a replica to write to.
    persistent_pipelines: &'static [u64],
    /// Log sizes, and how many logs of that size: enough of them that the calls of a run hardly lengthen them.
    logs: &'static [(u64, u64)],
}

const FULL: Plan = Plan {
    effort: Effort { rounds: 7, slice: 0.15 },
    keys: 100_000,
    pipelines: &[1, 16, HEADLINE_PIPELINE, 64],
    connections: &[1, HEADLINE_CONNECTIONS],
    persistent_pipelines: &[1, HEADLINE_PIPELINE],
    logs: &[(100, 10_000), (10_000, 100), (100_000, 20)],
};

const QUICK: Plan = Plan {
    effort: Effort { rounds: 3, slice: 0.1 },
    keys: 10_000,
    pipelines: &[1, HEADLINE_PIPELINE],
    connections: &[HEADLINE_CONNECTIONS],
    persistent_pipelines: &[HEADLINE_PIPELINE],
    logs: &[(100, 2_000), (10_000, 20)],
};

pub fn run(options: &Options) -> Result<()> {
    let mut modules = vec![artifacts::floor()?, artifacts::module(options.common.module.as_deref())?];
    modules.extend(options.peer_module.clone());
    let plan = if options.quick { &QUICK } else { &FULL };
    for binary in server::find(&options.common.server)? {
        let started = Instant::now();
        let report = measure(&binary, &modules, plan, options)?;
        let text = tables::markdown(&report);
        println!("{text}");
        results::write(&options.common.out, &report.server, "benchmark", &report, &text)?;
        charts::draw(&report, &options.common.out.join(report.server.slug()))?;
        eprintln!("{}: {:.0} s", report.server.title(), started.elapsed().as_secs_f64());
    }
    Ok(())
}

fn measure(binary: &Path, modules: &[PathBuf], plan: &Plan, options: &Options) -> Result<Report> {
    let machine = Machine::here();
    let trial = Server::start(binary, &ServerOptions::default())?;
    let (server, load) = (trial.identity()?, Load::find(trial.port)?);
    drop(trial);
    let of_a_cell = 4 + 4 * Algorithm::ALL.len() + options.peer_command.len();
    let cells = 2 * plan.pipelines.len() * plan.connections.len() + 2 * plan.persistent_pipelines.len();
    let steps = (cells * of_a_cell + plan.logs.len() * 4) * (plan.effort.rounds + 1) + memory::steps();
    let mut progress = Progress::new(&server.title(), steps);
    let mut cells = Vec::new();
    for persistence in Persistence::ALL {
        let mut rig = Rig::start(binary, modules, persistence, &load)?;
        let scripts = Scripts::load(rig.client())?;
        let main = persistence == Persistence::None;
        let (key_sets, pipelines, connections): (&[Keys], _, _) = if main {
            (&[Keys::Many(plan.keys), Keys::Hot], plan.pipelines, plan.connections)
        } else {
            (&[Keys::Many(plan.keys)], plan.persistent_pipelines, &[HEADLINE_CONNECTIONS][..])
        };
        for &keys in key_sets {
            let subjects = subjects(&scripts, keys, &options.peer_command);
            rig.prepare(&subjects, keys, &mut progress)?;
            for &pipeline in pipelines {
                for &connections in connections {
                    let shape = Shape { keys, connections, pipeline, events: None };
                    cells.push(rig.cell(&subjects, shape, plan.effort, &mut progress)?);
                }
            }
        }
        if main {
            logs(&mut rig, &scripts, plan, &mut cells, &mut progress)?;
        }
    }
    let memory = memory::measure(binary, modules, plan.keys, &mut progress)?;
    drop(progress);
    Ok(Report {
        date: results::date(),
        command: results::command_line(),
        commit: artifacts::commit(),
        machine,
        server,
        load: load.version(),
        rounds: plan.effort.rounds,
        slice_seconds: plan.effort.slice,
        cells,
        memory,
    })
}

fn subjects(scripts: &Scripts, keys: Keys, peers: &[String]) -> Vec<Subject> {
    let mut subjects = subject::yardsticks();
    for outcome in [Outcome::Admitted, Outcome::Refused] {
        for scripts in [None, Some(scripts)] {
            for algorithm in Algorithm::ALL {
                // Of many keys each is called seldom: its log holds a minute.
                let spread_log = algorithm == Algorithm::SlidingLog && keys != Keys::Hot;
                let room = if spread_log { Room::Ordinary } else { Room::Endless };
                subjects.push(subject::limiter(scripts, algorithm, outcome, room));
            }
        }
    }
    subjects.extend(peers.iter().map(|line| subject::peer(line)));
    subjects
}

fn logs(rig: &mut Rig, scripts: &Scripts, plan: &Plan, cells: &mut Vec<Cell>, progress: &mut Progress) -> Result<()> {
    for &(events, count) in plan.logs {
        rig.client().text(&["FLUSHALL", "SYNC"])?;
        let mut subjects = Vec::new();
        for outcome in [Outcome::Admitted, Outcome::Refused] {
            for scripts in [None, Some(scripts)] {
                subjects.push(subject::log_of(scripts, outcome, events));
            }
        }
        let keys = Keys::Many(count);
        rig.prepare(&subjects, keys, progress)?;
        let shape =
            Shape { keys, connections: HEADLINE_CONNECTIONS, pipeline: HEADLINE_PIPELINE, events: Some(events) };
        cells.push(rig.cell(&subjects, shape, plan.effort, progress)?);
    }
    rig.client().text(&["FLUSHALL", "SYNC"])?;
    Ok(())
}
