//! `bench publish`: writes the results of all servers into the documents, between their marks.

use crate::{
    artifacts, bars, growth, instructions,
    markdown::Table,
    report::{HEADLINE_CONNECTIONS, HEADLINE_PIPELINE, Persistence, Report},
    results::Machine,
    subject::{Algorithm, Family, Outcome},
    tables::{self, ratio},
};
use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde::de::DeserializeOwned;
use std::{
    fs,
    path::{Path, PathBuf},
};

#[derive(Args)]
pub struct Options {
    /// Where the results are
    #[arg(long, value_name = "DIR", default_value_os_t = artifacts::workspace().join("bench/results"))]
    out: PathBuf,
}

const BEGIN: &str = "<!-- measured:begin";
const END: &str = "<!-- measured:end -->";

/// What is known about one server.
struct Measured {
    folder: String,
    benchmark: Report,
    instructions: Option<instructions::Report>,
    growth: Option<growth::Report>,
}

pub fn run(options: &Options) -> Result<()> {
    let mut servers = Vec::new();
    for entry in fs::read_dir(&options.out).with_context(|| format!("no results in {}", options.out.display()))? {
        let path = entry?.path();
        let Some(benchmark) = read(&path.join("benchmark.json"))? else { continue };
        servers.push(Measured {
            folder: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            benchmark,
            instructions: read(&path.join("instructions.json"))?,
            growth: read(&path.join("growth.json"))?,
        });
    }
    servers.sort_by(|a, b| a.folder.cmp(&b.folder));
    if servers.is_empty() {
        bail!("no results in {}: run the benchmark first", options.out.display());
    }
    replace(&artifacts::workspace().join("README.md"), &readme(&servers))?;
    replace(&artifacts::workspace().join("docs/benchmarks.md"), &document(&servers))
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    if !path.exists() {
        return Ok(None);
    }
    let report = serde_json::from_str(&fs::read_to_string(path)?);
    Ok(Some(report.with_context(|| format!("{} is not of this version", path.display()))?))
}

/// Puts `text` between the marks of a document.
fn replace(path: &Path, text: &str) -> Result<()> {
    let document = fs::read_to_string(path)?;
    let marks = || format!("{} has no {BEGIN} ... --> and {END}", path.display());
    let begin = document.find(BEGIN).with_context(marks)?;
    let start = begin + document[begin..].find("-->\n").with_context(marks)? + 4;
    let end = start + document[start..].find(END).with_context(marks)?;
    fs::write(path, format!("{}{text}{}", &document[..start], &document[end..]))?;
    println!("wrote {}", path.display());
    Ok(())
}

fn readme(servers: &[Measured]) -> String {
    let first = &servers[0];
    // A quick run has fewer keys than a full one.
    let keys = |measured: &Measured| {
        let keys = measured.benchmark.cells.first().map_or(0, |cell| cell.keys);
        format!("{keys} keys on {}", measured.benchmark.server.title())
    };
    format!(
        "Throughput as a multiple of the Lua script that does the same, by `EVALSHA`, measured side by side in one run: \
         pipeline {HEADLINE_PIPELINE}, {HEADLINE_CONNECTIONS} connections, {}; {}; `make bench`.\n\n{}\n\
         ![Throughput as a multiple of the Lua script's](bench/results/{}/ratio.svg)\n\n{}\
         All loads, latencies, memory, absolute figures and what falls short: [docs/benchmarks.md](docs/benchmarks.md).\n",
        servers.iter().map(keys).collect::<Vec<_>>().join(", "),
        machine(&first.benchmark.machine),
        throughput(servers),
        first.folder,
        // Calls in their plain form, and the largest logs.
        instruction_ratios(servers, |row| row.note.is_empty() || row.events == Some(100_000)),
    )
}

fn machine(machine: &Machine) -> String {
    format!("{}, {} cores, {}", machine.processor, machine.cores, machine.system)
}

fn throughput(servers: &[Measured]) -> String {
    let titles: Vec<String> = servers.iter().map(|server| server.benchmark.server.title()).collect();
    let mut table = Table::new(&columns(&titles));
    for outcome in [Outcome::Admitted, Outcome::Refused] {
        for algorithm in Algorithm::ALL {
            let mut name = String::new();
            let mut cells = Vec::new();
            for server in servers {
                let cell = server.benchmark.cell(Persistence::None, false, HEADLINE_PIPELINE);
                if let Some(row) = cell.and_then(|cell| cell.limiter(Family::Module, algorithm, outcome)) {
                    name.clone_from(&row.name);
                }
                cells.push(ratio(cell.and_then(|cell| cell.against_lua(algorithm, outcome))));
            }
            table.row([vec![name], cells].concat());
        }
    }
    table.text()
}

fn columns(titles: &[String]) -> Vec<&str> {
    let titles = titles.iter().map(String::as_str);
    [""].into_iter().chain(titles).collect()
}

fn instruction_ratios(servers: &[Measured], wanted: impl Fn(&instructions::Row) -> bool) -> String {
    let reports: Vec<&instructions::Report> =
        servers.iter().filter_map(|server| server.instructions.as_ref()).collect();
    let Some(first) = reports.first() else { return String::new() };
    let titles: Vec<String> = reports.iter().map(|report| report.server.title()).collect();
    let mut table = Table::new(&columns(&titles));
    for row in first.rows.iter().filter(|row| wanted(row)) {
        let cells = reports.iter().map(|report| {
            let same = report.rows.iter().find(|other| other.name == row.name);
            same.map_or_else(|| "-".to_owned(), |row| format!("{:.2}", row.ratio))
        });
        table.row([vec![row.name.clone()], cells.collect()].concat());
    }
    format!(
        "Instructions of the whole server per request, as a multiple of a module command that does nothing, with as many \
         arguments and the same reply (`make bench-instructions`):\n\n{}\n",
        table.text()
    )
}

fn document(servers: &[Measured]) -> String {
    let mut text = format!(
        "### Throughput, as a multiple of the Lua script's\n\nPipeline {HEADLINE_PIPELINE}, {HEADLINE_CONNECTIONS} \
         connections, many keys.\n\n{}\n### Instructions\n\n{}",
        throughput(servers),
        instruction_ratios(servers, |_| true)
    );
    for server in servers {
        let report = &server.benchmark;
        let folder = format!("../bench/results/{}", server.folder);
        text += &format!(
            "### {}\n\n{}, {}; load average at the start {}. [All loads]({folder}/benchmark.md)",
            report.server.title(),
            report.date,
            machine(&report.machine),
            report.machine.load,
        );
        for (name, title, there) in [
            ("instructions", "instructions", server.instructions.is_some()),
            ("growth", "growth", server.growth.is_some()),
        ] {
            if there {
                text += &format!(", [{title}]({folder}/{name}.md)");
            }
        }
        text += &format!(
            ".\n\n{}\n![Throughput as a multiple of the Lua script's]({folder}/ratio.svg)\n\n\
             ![Latency at pipeline 1]({folder}/latency.svg)\n\n{}\n![Bytes a key]({folder}/memory.svg)\n\n",
            tables::headline(report),
            tables::memory(report),
        );
        let missed = bars::missed(report, server.instructions.as_ref());
        if missed.is_empty() {
            text += "Every bar of [bench/src/bars.rs](../bench/src/bars.rs) is met.\n\n";
        } else {
            let list: Vec<String> = missed.iter().map(|line| format!("- {line}\n")).collect();
            text += &format!("Short of the bars of [bench/src/bars.rs](../bench/src/bars.rs):\n\n{}\n", list.concat());
        }
    }
    text
}
