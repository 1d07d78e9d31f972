//! A server with all subjects prepared, and the measuring of one cell of the benchmark on it.

use crate::{
    client::Client,
    fill,
    load::{HOT, Keys, Load, Measured, Slice},
    progress::Progress,
    report::{Cell, Persistence, Row, Spread},
    server::{self, Options, Server},
    subject::{self, Family, Outcome, Subject},
};
use anyhow::{Context as _, Result, bail, ensure};
use std::{
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// How long and how often each subject of a cell is measured.
#[derive(Clone, Copy)]
pub struct Effort {
    pub rounds: usize,
    /// Seconds of one slice.
    pub slice: f64,
}

/// What a cell varies.
#[derive(Clone, Copy)]
pub struct Shape {
    pub keys: Keys,
    pub connections: u64,
    pub pipeline: u64,
    /// Events in each sliding log at the start, in the cells about those.
    pub events: Option<u64>,
}

pub struct Rig<'a> {
    client: Client,
    server: Server,
    _replica: Option<Server>,
    persistence: Persistence,
    load: &'a Load,
}

impl<'a> Rig<'a> {
    pub fn start(binary: &Path, modules: &[PathBuf], persistence: Persistence, load: &'a Load) -> Result<Self> {
        let arguments: &[&str] = match persistence {
            Persistence::AofEverysec => &["--appendonly", "yes", "--appendfsync", "everysec"],
            Persistence::None | Persistence::Replica => &["--appendonly", "no"],
        };
        let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
        let server = Server::start(binary, &Options { modules, arguments: &arguments, wrapper: &[] })?;
        let replica = match persistence {
            Persistence::Replica => Some(attach_replica(binary, &server)?),
            _ => None,
        };
        Ok(Self { client: server.client()?, server, _replica: replica, persistence, load })
    }

    pub fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Prepares the keys of each subject in a database of its own.
    pub fn prepare(&mut self, subjects: &[Subject], keys: Keys, progress: &mut Progress) -> Result<()> {
        for (database, subject) in subjects.iter().enumerate() {
            progress.say(&format!("preparing {}", subject.id()));
            self.client.text(&["SELECT", &database.to_string()])?;
            let range = match keys {
                Keys::Hot => HOT..HOT + 1,
                Keys::Many(count) => 0..count,
            };
            fill::fill(&mut self.client, subject, range)?;
        }
        Ok(())
    }

    /// Measures all subjects in turn, slice by slice, so that a drift of the machine hits all alike.
    pub fn cell(
        &mut self,
        subjects: &[Subject],
        shape: Shape,
        effort: Effort,
        progress: &mut Progress,
    ) -> Result<Cell> {
        let mut requests = Vec::new();
        let mut samples = vec![Vec::new(); subjects.len()];
        progress.cell(&describe(self.persistence, &shape));
        // The first slice warms up, and tells how many requests a slice takes.
        for (database, subject) in subjects.iter().enumerate() {
            progress.step(&format!("warming up {}", subject.id()));
            let trial = 500 * (shape.pipeline + 1);
            let sample = self.slice(subject, database, shape, trial)?;
            let wanted = sample.measured.requests_per_second * effort.slice;
            requests.push((wanted as u64).max(4 * shape.pipeline * shape.connections));
        }
        for round in 1..=effort.rounds {
            for (database, subject) in subjects.iter().enumerate() {
                progress.step(&format!("round {round} of {}: {}", effort.rounds, subject.id()));
                samples[database].push(self.slice(subject, database, shape, requests[database])?);
            }
        }
        let rows = subjects.iter().zip(&samples).map(|(subject, samples)| row(subject, samples)).collect();
        Ok(Cell {
            persistence: self.persistence,
            keys: match shape.keys {
                Keys::Hot => 1,
                Keys::Many(count) => count,
            },
            connections: shape.connections,
            pipeline: shape.pipeline,
            events: shape.events,
            rows,
        })
    }

    fn slice(&mut self, subject: &Subject, database: usize, shape: Shape, requests: u64) -> Result<Sample> {
        self.client.text(&["SELECT", &database.to_string()])?;
        self.expect_outcome(subject, shape)?;
        self.client.text(&["CONFIG", "RESETSTAT"])?;
        let before = self.counters(subject)?;
        let processor = self.processor_seconds()?;
        let measured = self.load.run(&Slice {
            port: self.server.port,
            database,
            words: &subject.words,
            keys: shape.keys,
            connections: shape.connections,
            pipeline: shape.pipeline,
            requests,
        })?;
        let processor = self.processor_seconds()? - processor;
        let calls = self.command_statistics(subject)?;
        let after = self.counters(subject)?;
        ensure!(calls.count >= requests, "{}: {} calls of {requests} arrived", subject.id(), calls.count);
        ensure!(calls.failed == 0, "{}: {} calls failed", subject.id(), calls.failed);
        if let (Some(before), Some(after)) = (before, after) {
            let others = after.other_outcome - before.other_outcome;
            ensure!(others == 0, "{}: {others} of {requests} calls had another outcome", subject.id());
        }
        self.expect_outcome(subject, shape)?;
        Ok(Sample { measured, call_us: calls.us_per_call, server_us: processor * 1e6 / calls.count as f64 })
    }

    /// One call must have the outcome that the subject is named after.
    fn expect_outcome(&mut self, subject: &Subject, shape: Shape) -> Result<()> {
        let expected = match subject.outcome {
            Outcome::Admitted => 1,
            Outcome::Refused => 0,
            Outcome::Plain => return Ok(()),
        };
        let key = subject::key(if shape.keys == Keys::Hot { HOT } else { 0 });
        let allowed = self.client.integer(&Subject::with_key(&subject.words, &key))?;
        ensure!(allowed == expected, "{}: a call had another outcome", subject.id());
        Ok(())
    }

    /// The module's own count of calls that the subject should not have.
    fn counters(&mut self, subject: &Subject) -> Result<Option<Counters>> {
        let (Family::Module, Some(algorithm)) = (subject.family, subject.algorithm) else { return Ok(None) };
        let info = self.client.text(&["INFO", "rl"])?;
        let of = |what: &str| -> Result<u64> {
            let name = format!("rl_{}_{what}", algorithm.name());
            Ok(server::field(&info, &name).with_context(|| format!("INFO has no {name}"))?.parse()?)
        };
        let other = if subject.outcome == Outcome::Refused { "allowed" } else { "refused" };
        Ok(Some(Counters { other_outcome: of(other)? + of("errors")? }))
    }

    fn processor_seconds(&mut self) -> Result<f64> {
        let info = self.client.text(&["INFO", "cpu"])?;
        let of = |name: &str| -> Result<f64> { Ok(server::field(&info, name).context("INFO cpu")?.parse()?) };
        Ok(of("used_cpu_sys")? + of("used_cpu_user")?)
    }

    fn command_statistics(&mut self, subject: &Subject) -> Result<Calls> {
        let info = self.client.text(&["INFO", "commandstats"])?;
        let line = server::field(&info, &format!("cmdstat_{}", subject.words[0].to_lowercase()));
        let line = line.with_context(|| format!("no statistics of {}", subject.words[0]))?;
        let of = |name: &str| -> f64 {
            let value = line.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
            value.and_then(|value| value.parse().ok()).unwrap_or_default()
        };
        let failed = of("failed_calls") + of("rejected_calls");
        Ok(Calls { count: of("calls") as u64, failed: failed as u64, us_per_call: of("usec") / of("calls") })
    }
}

struct Counters {
    other_outcome: u64,
}

struct Calls {
    count: u64,
    failed: u64,
    us_per_call: f64,
}

#[derive(Clone, Copy)]
struct Sample {
    measured: Measured,
    call_us: f64,
    server_us: f64,
}

fn row(subject: &Subject, samples: &[Sample]) -> Row {
    let spread = |value: fn(&Sample) -> f64| Spread::of(samples.iter().map(value).collect());
    Row {
        name: subject.id(),
        family: subject.family,
        algorithm: subject.algorithm,
        outcome: subject.outcome,
        requests_per_second: spread(|sample| sample.measured.requests_per_second),
        p50_ms: spread(|sample| sample.measured.p50),
        p99_ms: spread(|sample| sample.measured.p99),
        p999_ms: spread(|sample| sample.measured.p999),
        call_us: spread(|sample| sample.call_us),
        server_us: spread(|sample| sample.server_us),
    }
}

/// A replica that has not loaded the module: what the module sends needs none.
fn attach_replica(binary: &Path, primary: &Server) -> Result<Server> {
    let arguments = ["--replicaof".to_owned(), "127.0.0.1".to_owned(), primary.port.to_string()];
    let replica = Server::start(binary, &Options { modules: &[], arguments: &arguments, wrapper: &[] })?;
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut client = replica.client()?;
    while server::field(&client.text(&["INFO", "replication"])?, "master_link_status") != Some("up") {
        if Instant::now() > deadline {
            bail!("the replica did not connect within a minute");
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(replica)
}

fn describe(persistence: Persistence, shape: &Shape) -> String {
    let keys = match shape.keys {
        Keys::Hot => "1 hot key".to_owned(),
        Keys::Many(count) => format!("{count} keys"),
    };
    let events = shape.events.map(|events| format!(", logs of {events} events")).unwrap_or_default();
    format!("{}, pipeline {}, {} connections, {keys}{events}", persistence.title(), shape.pipeline, shape.connections)
}
