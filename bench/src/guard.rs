//! `bench check`: a regression guard that is not a timing.
//!
//! It counts the instructions of the core's decisions, and those of a bucket and a log, admitted and refused, on a real
//! server as a ratio to the floor, against a committed baseline.

use crate::{
    Common, artifacts,
    callgrind::{self, Counter},
    server::{self, Identity},
    subject::{self, Algorithm, Outcome, Room, Subject},
};
use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fs, process::Command};

#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    common: Common,
    /// Write what was counted as the new baseline instead of comparing it; servers that are not there keep theirs
    #[arg(long)]
    update: bool,
}

/// The committed counts, and the compiler that they hold for.
#[derive(Serialize, Deserialize)]
struct Baseline {
    compiler: String,
    instructions: BTreeMap<String, f64>,
    /// A command's instructions as a multiple of the floor's, by server and command.
    of_the_floor: BTreeMap<String, BTreeMap<String, f64>>,
}

/// What the core may grow by before somebody has to say that it is worth it.
const TOLERANCE: f64 = 0.05;
/// What a command may: less, since most of it is the server's; and more than a run differs from the next on another
/// processor, where the C library copies memory in another way.
const OF_THE_FLOOR_TOLERANCE: f64 = 0.03;
const KEYS: u64 = 1_000;
const LOG_EVENTS: u64 = 100;
/// A server seeds its hash tables anew when it starts, and names that collide cost up to 2 %: the least of so many starts
/// has no collision, or always the same one.
const STARTS: u32 = 3;
/// Two run lengths; their difference leaves out start and preparation.
const RUNS: [u32; 2] = [1_000, 5_000];

pub fn run(options: &Options) -> Result<()> {
    if !callgrind::installed() {
        println!("SKIPPED: valgrind is not installed, no instructions were counted");
        return Ok(());
    }
    let path = artifacts::workspace().join("bench/baseline.json");
    let baseline = fs::read_to_string(&path).with_context(|| format!("no baseline at {}", path.display()))?;
    let baseline: Baseline = serde_json::from_str(&baseline)?;
    let mut counted = Baseline {
        compiler: artifacts::output("rustc", &["--version"]).unwrap_or_default(),
        instructions: count_decisions()?,
        of_the_floor: count_of_the_floor(options)?,
    };
    if options.update {
        for (server, ratios) in baseline.of_the_floor {
            counted.of_the_floor.entry(server).or_insert(ratios);
        }
        fs::write(&path, serde_json::to_string_pretty(&counted)? + "\n")?;
        println!("wrote {}", path.display());
        return Ok(());
    }
    let mut faults = compare(&baseline, &counted);
    faults.extend(compare_of_the_floor(&baseline, &counted));
    if faults.is_empty() {
        return Ok(());
    }
    bail!("{}\nIf the growth is worth it: make bench-check ARGS=--update", faults.join("\n"))
}

fn count_decisions() -> Result<BTreeMap<String, f64>> {
    let program = artifacts::decisions()?;
    let list = String::from_utf8(Command::new(&program).output()?.stdout)?;
    let mut instructions = BTreeMap::new();
    for case in list.lines() {
        let count = |times: u32| callgrind::count_program(&program, &[case, &times.to_string()]);
        let each = (count(RUNS[1])? - count(RUNS[0])?) / f64::from(RUNS[1] - RUNS[0]);
        instructions.insert(case.to_owned(), each.round());
    }
    Ok(instructions)
}

fn compare(baseline: &Baseline, counted: &Baseline) -> Vec<String> {
    let mut faults = Vec::new();
    for (case, &now) in &counted.instructions {
        let Some(&before) = baseline.instructions.get(case) else {
            faults.push(format!("{case} is not in the baseline"));
            continue;
        };
        let change = now / before - 1.0;
        println!("{case}: {now} instructions, baseline {before} ({:+.1} %)", change * 100.0);
        if change > TOLERANCE {
            faults.push(format!("{case} grew by {:.1} %, from {before} to {now} instructions", change * 100.0));
        }
    }
    let gone = baseline.instructions.keys().filter(|&case| !counted.instructions.contains_key(case));
    faults.extend(gone.map(|case| format!("{case} is in the baseline, but was not counted")));
    if !faults.is_empty() && baseline.compiler != counted.compiler {
        faults.push(format!("the baseline was made by {}, this is {}", baseline.compiler, counted.compiler));
    }
    faults
}

fn count_of_the_floor(options: &Options) -> Result<BTreeMap<String, BTreeMap<String, f64>>> {
    let modules = [artifacts::floor()?, artifacts::module(options.common.module.as_deref())?];
    let mut servers = BTreeMap::new();
    for binary in server::find(&options.common.server)? {
        let mut title = String::new();
        let mut least: BTreeMap<String, f64> = BTreeMap::new();
        for _ in 0..STARTS {
            let mut counter = Counter::start(&binary, &modules, None)?;
            title = release(&counter.identity()?);
            for subject in subjects() {
                let count = counter.count(&subject, KEYS)?.mean;
                least.entry(subject.id()).and_modify(|least| *least = least.min(count)).or_insert(count);
            }
        }
        let floor = least.remove(&subject::floor().id()).context("the floor was not counted")?;
        let ratios = least.into_iter().map(|(id, count)| (id, (count / floor * 1_000.0).round() / 1_000.0));
        servers.insert(title, ratios.collect());
    }
    Ok(servers)
}

fn subjects() -> Vec<Subject> {
    let of = |outcome| {
        [
            subject::limiter(None, Algorithm::TokenBucket, outcome, Room::Ordinary),
            subject::log_of(None, outcome, LOG_EVENTS),
        ]
    };
    [subject::floor()].into_iter().chain(of(Outcome::Admitted)).chain(of(Outcome::Refused)).collect()
}

/// The server without its patch level, which changes nothing that is counted.
fn release(server: &Identity) -> String {
    let title = server.title();
    title.rsplit_once('.').map_or(title.clone(), |(release, _)| release.to_owned())
}

fn compare_of_the_floor(baseline: &Baseline, counted: &Baseline) -> Vec<String> {
    let mut faults = Vec::new();
    for (server, ratios) in &counted.of_the_floor {
        for (command, &now) in ratios {
            let Some(&before) = baseline.of_the_floor.get(server).and_then(|ratios| ratios.get(command)) else {
                println!(
                    "{server}: {command}: {now:.3} times the floor; NOT COMPARED, the baseline has no such server"
                );
                continue;
            };
            let change = now / before - 1.0;
            println!("{server}: {command}: {now:.3} times the floor, baseline {before:.3} ({:+.1} %)", change * 100.0);
            if change > OF_THE_FLOOR_TOLERANCE {
                faults.push(format!("{server}: {command} costs {now:.3} times the floor, was {before:.3}"));
            }
        }
    }
    faults
}
