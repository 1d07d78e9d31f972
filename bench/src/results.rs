//! Where results go, and what is said about how they came to be.

use crate::{artifacts, server::Identity};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::{env, fs, path::Path, thread};

/// The machine that a run was made on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    pub processor: String,
    pub cores: usize,
    pub memory_gib: f64,
    pub system: String,
    /// One-minute load average when the run began: other work on the machine shows here.
    pub load: String,
}

impl Machine {
    pub fn here() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let value = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once([':', '='])?.1.trim().trim_matches('"').to_owned())
        };
        let processor = value(&read("/proc/cpuinfo"), "model name")
            .or_else(|| artifacts::output("sysctl", &["-n", "machdep.cpu.brand_string"]));
        let memory = value(&read("/proc/meminfo"), "MemTotal");
        let kib: f64 = memory.and_then(|text| text.split(' ').next()?.parse().ok()).unwrap_or_default();
        let release = value(&read("/etc/os-release"), "PRETTY_NAME").unwrap_or_default();
        let kernel = artifacts::output("uname", &["-srm"]).unwrap_or_default();
        Self {
            processor: processor.unwrap_or_else(|| "unknown".to_owned()),
            cores: thread::available_parallelism().map_or(0, usize::from),
            memory_gib: (kib / 1024.0 / 1024.0 * 10.0).round() / 10.0,
            system: format!("{release}, {kernel}"),
            load: read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned(),
        }
    }
}

/// Now, in UTC.
pub fn date() -> String {
    artifacts::output("date", &["-u", "+%Y-%m-%d %H:%M UTC"]).unwrap_or_default()
}

/// How this run was asked for, with `PATH` for whatever lies elsewhere on another machine.
pub fn command_line() -> String {
    let anywhere = |word: &str| if word.starts_with('/') { "PATH".to_owned() } else { word.to_owned() };
    let shown = |word: String| match word.split_once('=') {
        _ if word.contains(' ') => format!("'{word}'"),
        Some((option, value)) => format!("{option}={}", anywhere(value)),
        None => anywhere(&word),
    };
    let arguments: Vec<String> = env::args().skip(1).map(shown).collect();
    format!("cargo run --release -p bench -- {}", arguments.join(" ")).trim_end_matches([' ', '-']).to_owned()
}

pub fn provenance(date: &str, command: &str, commit: &str, machine: &Machine, server: &Identity) -> String {
    format!(
        "- {date}, commit `{commit}`, `{command}`\n- {}, {} cores, {} GiB, {}; load average at the start {}\n- {}, \
         allocator {}",
        machine.processor,
        machine.cores,
        machine.memory_gib,
        machine.system,
        machine.load,
        server.title(),
        server.allocator,
    )
}

/// Writes a report as JSON and Markdown into the server's folder.
pub fn write(out: &Path, server: &Identity, name: &str, report: &impl Serialize, markdown: &str) -> Result<()> {
    let folder = out.join(server.slug());
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(format!("{name}.json")), serde_json::to_string_pretty(report)? + "\n")?;
    fs::write(folder.join(format!("{name}.md")), markdown)?;
    eprintln!("wrote {}", folder.join(name).display());
    Ok(())
}
