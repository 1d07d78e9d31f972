//! Counts the instructions of a whole server, per request, under callgrind.

use crate::{
    client::{self, Client},
    fill,
    server::{self, Identity, Options, Server},
    subject::{self, Outcome, Subject},
};
use anyhow::{Context as _, Result, bail, ensure};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Requests that are sent in one piece.
pub const PIPELINE: u64 = 32;
/// Batches in a segment; what is counted is a segment.
const BATCHES: u64 = 64;
const SEGMENTS: usize = 9;
/// The server's housekeeping runs by the clock, which knows nothing of callgrind's slowness: it is not counted.
const TIMERS: [&str; 2] = ["serverCron", "clientsTimeProc"];

/// Instructions per request over all segments, and the segments that differ most.
#[derive(Clone, Copy)]
pub struct Count {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

pub fn installed() -> bool {
    server::on_path("valgrind").is_some()
}

/// A server under callgrind.
pub struct Counter {
    // Before the server, so that the connection closes first.
    client: Client,
    server: Server,
    /// Where the profiles go, if they are to be kept.
    profiles: Option<PathBuf>,
}

impl Counter {
    pub fn start(binary: &Path, modules: &[PathBuf], profiles: Option<&Path>) -> Result<Self> {
        ensure!(installed(), "valgrind is not installed");
        // A server may come with a script that starts it.
        let wrapper = [
            "valgrind",
            "--tool=callgrind",
            "--trace-children=yes",
            "--instr-atstart=no",
            "--callgrind-out-file=cg.out",
        ];
        let server =
            Server::start(binary, &Options { modules, wrapper: &wrapper.map(str::to_owned), ..Options::default() })?;
        if let Some(folder) = profiles {
            fs::create_dir_all(folder)?;
        }
        Ok(Self { client: server.client()?, server, profiles: profiles.map(Path::to_owned) })
    }

    pub fn identity(&self) -> Result<Identity> {
        self.server.identity()
    }

    pub fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Prepares `keys` keys for the subject, then counts its command on them in turn.
    pub fn count(&mut self, subject: &Subject, keys: u64) -> Result<Count> {
        self.client.text(&["FLUSHALL", "SYNC"])?;
        fill::fill(&mut self.client, subject, 0..keys)?;
        let mut next = 0;
        for _ in 0..keys.div_ceil(PIPELINE).max(20) {
            self.batch(subject, keys, &mut next)?;
        }
        self.steer("ON")?;
        // The first batches under instrumentation are for callgrind to translate the code.
        for _ in 0..8 {
            self.batch(subject, keys, &mut next)?;
        }
        let mut counts = Vec::new();
        for _ in 0..SEGMENTS {
            self.steer("ZERO")?;
            for _ in 0..BATCHES {
                self.batch(subject, keys, &mut next)?;
            }
            self.steer("DUMP")?;
            counts.push(self.collect(&subject.id())? / (BATCHES * PIPELINE) as f64);
        }
        self.steer("OFF")?;
        counts.sort_by(f64::total_cmp);
        let mean = counts.iter().sum::<f64>() / SEGMENTS as f64;
        Ok(Count { mean, low: counts[0], high: counts[SEGMENTS - 1] })
    }

    fn batch(&mut self, subject: &Subject, keys: u64, next: &mut u64) -> Result<()> {
        let mut requests = Vec::new();
        for _ in 0..PIPELINE {
            client::encode(&subject::call(&subject.words, *next % keys), &mut requests);
            *next += 1;
        }
        self.client.pipeline(&requests, PIPELINE as usize, |reply| {
            let expected = match subject.outcome {
                Outcome::Admitted => Some(1),
                Outcome::Refused => Some(0),
                Outcome::Plain => return Ok(()),
            };
            ensure!(reply.first_integer() == expected, "{}: a call had another outcome", subject.id());
            Ok(())
        })
    }

    fn steer(&mut self, what: &str) -> Result<()> {
        self.client.text(&["FLOOR.COUNT", what]).map(drop)
    }

    /// Reads the dump that was just written and takes it away.
    fn collect(&self, id: &str) -> Result<f64> {
        let folder = self.server.folder.path();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !name.starts_with("cg.out.") {
                continue;
            }
            let text = fs::read_to_string(&path)?;
            let total = total(&text)? - TIMERS.map(|timer| inclusive(&text, timer)).iter().sum::<f64>();
            if let Some(profiles) = &self.profiles {
                let file = id.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
                fs::copy(&path, profiles.join(format!("callgrind.{file}")))?;
            }
            fs::remove_file(&path)?;
            return Ok(total);
        }
        bail!("callgrind wrote no profile into {}", folder.display())
    }
}

/// Counts one run of a program.
pub fn count_program(program: &Path, arguments: &[&str]) -> Result<f64> {
    let folder = tempfile::Builder::new().prefix("rl-bench-").tempdir()?;
    let file = folder.path().join("cg.out");
    let output = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(program)
        .args(arguments)
        .output()?;
    ensure!(output.status.success(), "{} failed:\n{}", program.display(), String::from_utf8_lossy(&output.stderr));
    total(&fs::read_to_string(&file)?)
}

fn total(profile: &str) -> Result<f64> {
    let line =
        profile.lines().find_map(|line| line.strip_prefix("totals: ").or_else(|| line.strip_prefix("summary: ")));
    Ok(line.context("a profile without its total")?.trim().parse()?)
}

/// What the calls of a function cost, with all that it calls.
///
/// In a profile a call is three lines: `cfn=(7) name`, where the name stands only the first time that any line has the
/// number 7; `calls=...`; and a line that ends with the cost.
fn inclusive(profile: &str, function: &str) -> f64 {
    let mut number = None;
    let mut cost = 0.0;
    let mut called = false;
    let mut lines = profile.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("cfn=").or_else(|| line.strip_prefix("fn=")) {
            let (id, name) = name.split_once(' ').unwrap_or((name, ""));
            if name == function {
                number = Some(id);
            }
            called = line.starts_with('c') && number == Some(id);
        } else if line.starts_with("calls=") {
            let spent = lines.next().and_then(|line| line.split(' ').next_back()?.parse::<f64>().ok());
            if called {
                cost += spent.unwrap_or_default();
            }
        }
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::{inclusive, total};

    const PROFILE: &str = "events: Ir\nfn=(1) loop\n3 5\ncfn=(2) serverCron\ncalls=1 9\n3 100\ncfn=(3) read\ncalls=2 \
                           9\n4 70\n\nfn=(2)\n1 100\n\nfn=(4) other\ncfn=(2)\ncalls=1 9\n8 11\n\ntotals: 300\n";

    #[test]
    fn the_calls_of_one_function_are_found_by_its_number() {
        assert_eq!(inclusive(PROFILE, "serverCron"), 111.0);
        assert_eq!(inclusive(PROFILE, "read"), 70.0);
        assert_eq!(inclusive(PROFILE, "absent"), 0.0);
    }

    #[test]
    fn the_total_is_read() {
        assert_eq!(total(PROFILE).unwrap(), 300.0);
    }
}
