//! `bench check`: a regression guard that is not a timing.
//!
//! It counts the instructions of the core's decisions against a committed baseline, and those of one command, admitted
//! and refused, on a real server as a ratio to the floor.

use crate::{
    Common, artifacts, bars,
    callgrind::{self, Counter},
    server,
    subject::{self, Algorithm, Outcome, Room},
};
use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fs, process::Command};

#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    common: Common,
    /// Write the core's counts as the new baseline instead of comparing them
    #[arg(long)]
    update: bool,
}

/// The committed counts, and the compiler that they hold for.
#[derive(Serialize, Deserialize)]
struct Baseline {
    compiler: String,
    instructions: BTreeMap<String, f64>,
}

/// What the core may grow by before somebody has to say that it is worth it.
const TOLERANCE: f64 = 0.05;
const KEYS: u64 = 1_000;
/// Two run lengths; their difference leaves out start and preparation.
const RUNS: [u32; 2] = [1_000, 5_000];

pub fn run(options: &Options) -> Result<()> {
    if !callgrind::installed() {
        println!("SKIPPED: valgrind is not installed, no instructions were counted");
        return Ok(());
    }
    let counted = count_decisions()?;
    let path = artifacts::workspace().join("bench/baseline.json");
    if options.update {
        fs::write(&path, serde_json::to_string_pretty(&counted)? + "\n")?;
        println!("wrote {}", path.display());
        return Ok(());
    }
    let baseline = fs::read_to_string(&path).with_context(|| format!("no baseline at {}", path.display()))?;
    let mut faults = compare(&serde_json::from_str(&baseline)?, &counted);
    faults.extend(compare_with_floor(options)?);
    if faults.is_empty() {
        return Ok(());
    }
    bail!("{}\nIf the growth is worth it: cargo run -p bench -- check --update", faults.join("\n"))
}

fn count_decisions() -> Result<Baseline> {
    let program = artifacts::decisions()?;
    let list = String::from_utf8(Command::new(&program).output()?.stdout)?;
    let mut instructions = BTreeMap::new();
    for case in list.lines() {
        let count = |times: u32| callgrind::count_program(&program, &[case, &times.to_string()]);
        let each = (count(RUNS[1])? - count(RUNS[0])?) / f64::from(RUNS[1] - RUNS[0]);
        instructions.insert(case.to_owned(), each.round());
    }
    Ok(Baseline { compiler: artifacts::output("rustc", &["--version"]).unwrap_or_default(), instructions })
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

fn compare_with_floor(options: &Options) -> Result<Vec<String>> {
    let modules = [artifacts::floor()?, artifacts::module(options.common.module.as_deref())?];
    let mut faults = Vec::new();
    for binary in server::find(&options.common.server)? {
        let mut counter = Counter::start(&binary, &modules, None)?;
        let title = counter.identity()?.title();
        let floor = counter.count(&subject::floor(), KEYS)?.mean;
        println!("{title}: the floor is {floor:.0} instructions");
        for outcome in [Outcome::Admitted, Outcome::Refused] {
            let Some(bar) = bars::instructions(Algorithm::TokenBucket, outcome) else { continue };
            let subject = subject::limiter(None, Algorithm::TokenBucket, outcome, Room::Ordinary);
            let ratio = counter.count(&subject, KEYS)?.mean / floor;
            println!("{title}: {}: {ratio:.2} times the floor, bar {bar}", subject.id());
            if ratio > bar {
                faults.push(format!("{title}: {} costs {ratio:.2} times the floor, more than {bar}", subject.id()));
            }
        }
    }
    Ok(faults)
}
