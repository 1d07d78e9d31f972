//! Memory a key, from used_memory.

use crate::{
    client::Client,
    fill,
    progress::Progress,
    report::Memory,
    server::{self, Options, Server},
    subject::{self, Algorithm, Outcome, Room, Scripts, Subject},
};
use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};

/// Log sizes, and how many keys of that size.
const LOGS: [(u64, u64); 2] = [(100, 2_000), (1_000, 300)];

pub fn measure(binary: &Path, modules: &[PathBuf], keys: u64, progress: &mut Progress) -> Result<Vec<Memory>> {
    let server = Server::start(binary, &Options { modules, ..Options::default() })?;
    let mut client = server.client()?;
    let scripts = Scripts::load(&mut client)?;
    progress.cell("memory a key");
    let mut found = Vec::new();
    for scripts in [None, Some(&scripts)] {
        for algorithm in Algorithm::ALL.into_iter().filter(|&algorithm| algorithm != Algorithm::SlidingLog) {
            // Two calls: a key has the layout of those that are in use.
            let subject =
                Subject { fills: 2, ..subject::limiter(scripts, algorithm, Outcome::Admitted, Room::Ordinary) };
            found.push(one(&mut client, &subject, None, keys, progress)?);
        }
        for (events, keys) in LOGS {
            let subject = subject::log_of(scripts, Outcome::Admitted, events);
            found.push(one(&mut client, &subject, Some(events), keys, progress)?);
        }
    }
    Ok(found)
}

fn one(
    client: &mut Client,
    subject: &Subject,
    events: Option<u64>,
    keys: u64,
    progress: &mut Progress,
) -> Result<Memory> {
    let name = match events {
        Some(events) => format!("{}, {events} events", subject.label),
        None => subject.label.clone(),
    };
    progress.step(&name);
    client.text(&["FLUSHALL", "SYNC"])?;
    let before = used(client)?;
    fill::fill_by_calls(client, subject, 0..keys)?;
    let bytes_per_key = (used(client)? - before) / keys as f64;
    Ok(Memory { name, family: subject.family, algorithm: subject.algorithm, events, keys, bytes_per_key })
}

pub fn steps() -> usize {
    2 * (Algorithm::ALL.len() - 1 + LOGS.len())
}

fn used(client: &mut Client) -> Result<f64> {
    let info = client.text(&["INFO", "memory"])?;
    Ok(server::field(&info, "used_memory").context("INFO has no used_memory")?.parse()?)
}
