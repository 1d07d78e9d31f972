//! The programs that make the load: redis-benchmark, or memtier_benchmark where it is installed and works.

use crate::{
    artifacts, server,
    subject::{KEY, KEY_PREFIX},
};
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The keys that a slice of load touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// One key, beyond those of `Many`.
    Hot,
    /// This many, at random.
    Many(u64),
}

/// The index of the one hot key.
pub const HOT: u64 = 999_999_999_999;

/// A load to make.
pub struct Slice<'a> {
    pub port: u16,
    pub database: usize,
    pub words: &'a [String],
    pub keys: Keys,
    pub connections: u64,
    pub pipeline: u64,
    pub requests: u64,
}

/// What a slice of load measured; latencies are in milliseconds, from the sending of a pipeline to its last reply.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub requests_per_second: f64,
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
}

pub enum Load {
    RedisBenchmark(PathBuf),
    Memtier(PathBuf),
}

impl Load {
    /// memtier_benchmark if it is installed and makes a trial load on this server, else redis-benchmark.
    pub fn find(trial_port: u16) -> Result<Self> {
        if let Some(path) = server::on_path("memtier_benchmark") {
            let memtier = Self::Memtier(path);
            let words = ["SET", KEY, "1"].map(str::to_owned);
            let keys = Keys::Many(10);
            let trial = Slice {
                port: trial_port,
                database: 0,
                words: &words,
                keys,
                connections: 1,
                pipeline: 1,
                requests: 100,
            };
            match memtier.run(&trial) {
                Ok(_) => return Ok(memtier),
                Err(error) => {
                    eprintln!("memtier_benchmark is installed but not usable ({error:#}): redis-benchmark then")
                }
            }
        }
        let found = server::on_path("redis-benchmark").or_else(|| server::on_path("valkey-benchmark"));
        Ok(Self::RedisBenchmark(found.context("redis-benchmark is not on PATH; it comes with redis-server")?))
    }

    pub fn version(&self) -> String {
        let path = match self {
            Self::RedisBenchmark(path) | Self::Memtier(path) => path,
        };
        artifacts::output(&path.to_string_lossy(), &["--version"]).unwrap_or_else(|| path.display().to_string())
    }

    pub fn run(&self, slice: &Slice) -> Result<Measured> {
        match self {
            Self::RedisBenchmark(path) => redis_benchmark(path, slice),
            Self::Memtier(path) => memtier(path, slice),
        }
    }
}

fn redis_benchmark(program: &Path, slice: &Slice) -> Result<Measured> {
    let mut command = Command::new(program);
    let options = [
        ("-p", slice.port.to_string()),
        ("--dbnum", slice.database.to_string()),
        ("-c", slice.connections.to_string()),
        ("-P", slice.pipeline.to_string()),
        ("-n", slice.requests.to_string()),
        ("--precision", "3".to_owned()),
    ];
    for (name, value) in options {
        command.arg(name).arg(value);
    }
    let key = match slice.keys {
        Keys::Hot => crate::subject::key(HOT),
        Keys::Many(count) => {
            command.args(["-r", &count.to_string()]);
            format!("{KEY_PREFIX}__rand_int__")
        }
    };
    command.args(crate::subject::Subject::with_key(slice.words, &key));
    parse_redis_benchmark(&output(command)?)
}

fn parse_redis_benchmark(text: &str) -> Result<Measured> {
    // Progress is rewritten in place with carriage returns; the report follows.
    ensure!(!text.contains("Error from server"), "the server replied an error:\n{text}");
    let (_, distribution) =
        text.split_once("Latency by percentile distribution:").context("no latencies in the output")?;
    let mut latencies = Vec::new();
    for line in distribution.trim_start().lines() {
        // "99.902% <= 0.615 milliseconds (cumulative count 99905)"
        let Some((percent, rest)) = line.split_once("% <= ") else { break };
        let milliseconds = rest.split(' ').next().unwrap_or_default();
        latencies.push((percent.parse::<f64>()?, milliseconds.parse::<f64>()?));
    }
    // The distribution halves what is left at each line, so it names the first percentile not below.
    let percentile = |wanted: f64| {
        let found = latencies.iter().find(|(percent, _)| *percent >= wanted);
        found.map(|(_, milliseconds)| *milliseconds).with_context(|| format!("no percentile {wanted}"))
    };
    let rate = text.split("throughput summary:").nth(1).and_then(|rest| rest.split_whitespace().next());
    Ok(Measured {
        requests_per_second: rate.context("no throughput in the output")?.parse()?,
        p50: percentile(50.0)?,
        p99: percentile(99.0)?,
        p999: percentile(99.9)?,
    })
}

fn memtier(program: &Path, slice: &Slice) -> Result<Measured> {
    let folder = tempfile::Builder::new().prefix("rl-bench-").tempdir()?;
    let report = folder.path().join("report.json");
    let (first, last, prefix) = match slice.keys {
        Keys::Hot => (HOT, HOT, KEY_PREFIX.to_owned()),
        // memtier does not pad numbers: the leading 1 of every key's number does it.
        Keys::Many(count) => {
            (1_000_000_000_000, 1_000_000_000_000 + count - 1, KEY_PREFIX.trim_end_matches('1').to_owned())
        }
    };
    let words: Vec<&str> = crate::subject::Subject::with_key(slice.words, "__key__");
    let mut command = Command::new(program);
    let options = [
        ("--server", "127.0.0.1".to_owned()),
        ("--port", slice.port.to_string()),
        ("--select-db", slice.database.to_string()),
        ("--threads", "1".to_owned()),
        ("--clients", slice.connections.to_string()),
        ("--pipeline", slice.pipeline.to_string()),
        ("--requests", slice.requests.div_ceil(slice.connections).to_string()),
        ("--command", words.join(" ")),
        ("--command-key-pattern", "R".to_owned()),
        ("--key-prefix", prefix),
        ("--key-minimum", first.to_string()),
        ("--key-maximum", last.to_string()),
        ("--print-percentiles", "50,99,99.9".to_owned()),
        ("--json-out-file", report.display().to_string()),
    ];
    for (name, value) in options {
        command.arg(format!("{name}={value}"));
    }
    command.arg("--hide-histogram");
    output(command)?;
    parse_memtier(&fs::read_to_string(report)?)
}

fn parse_memtier(text: &str) -> Result<Measured> {
    let report: Value = serde_json::from_str(text)?;
    let totals = &report["ALL STATS"]["Totals"];
    let percentile = |name: &str| {
        let found = totals["Percentile Latencies"][name].as_f64();
        found.with_context(|| format!("no {name} in memtier's report"))
    };
    Ok(Measured {
        requests_per_second: totals["Ops/sec"].as_f64().context("no Ops/sec in memtier's report")?,
        p50: percentile("p50.00")?,
        p99: percentile("p99.00")?,
        p999: percentile("p99.90")?,
    })
}

fn output(mut command: Command) -> Result<String> {
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("{command:?} failed:\n{text}{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{parse_memtier, parse_redis_benchmark};

    #[test]
    fn redis_benchmark_reports_are_read_past_their_progress() {
        let text = "INCR: rps=0.0 (overall: nan) avg_msec=nan\r====== INCR k ======\n  60000 requests completed\n\n\
             Latency by percentile distribution:\n0.000% <= 0.351 milliseconds (cumulative count 16)\n\
             50.000% <= 1.375 milliseconds (cumulative count 30016)\n98.438% <= 8.719 milliseconds (cumulative count 1)\n\
             99.219% <= 10.487 milliseconds (cumulative count 2)\n99.902% <= 13.831 milliseconds (cumulative count 3)\n\
             100.000% <= 14.455 milliseconds (cumulative count 60000)\n\nCumulative distribution of latencies:\n\
             0.000% <= 0.103 milliseconds (cumulative count 0)\n\nSummary:\n  throughput summary: 405405.41 requests per \
             second\n";
        let measured = parse_redis_benchmark(text).unwrap();
        assert_eq!(
            (measured.requests_per_second, measured.p50, measured.p99, measured.p999),
            (405_405.41, 1.375, 10.487, 13.831)
        );
    }

    #[test]
    fn an_error_reply_fails_the_slice() {
        assert!(parse_redis_benchmark("Error from server: ERR cost: got 'x'\n").is_err());
    }

    #[test]
    fn memtier_reports_are_read_from_their_totals() {
        let text = r#"{"ALL STATS": {"Totals": {"Count": 100, "Ops/sec": 1234.5, "Percentile Latencies":
            {"p50.00": 0.2, "p99.00": 0.9, "p99.90": 1.5}}}}"#;
        let measured = parse_memtier(text).unwrap();
        assert_eq!((measured.requests_per_second, measured.p50, measured.p999), (1234.5, 0.2, 1.5));
    }
}
