//! The latency of a client while very many keys expire at once.

use crate::{
    client::{self, Client},
    fill,
    progress::Progress,
    server::{Options, Server},
    subject::{self, Subject},
};
use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

#[derive(Serialize, Deserialize)]
pub struct Latencies {
    pub what: String,
    /// From the moment of expiry until no key was left; without expiry, how long was measured.
    pub seconds: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub p999_ms: f64,
    pub longest_ms: f64,
}

/// Not among the keys that expire.
const PROBES: u64 = 500_000_000_000;
const QUIET: Duration = Duration::from_secs(5);

pub fn measure(
    binary: &Path,
    modules: &[PathBuf],
    bucket: &Subject,
    keys: u64,
    progress: &mut Progress,
) -> Result<Vec<Latencies>> {
    let set = subject::yardsticks().swap_remove(0);
    let mut found = Vec::new();
    for (what, expiring) in [("nothing", None), ("keys of SET", Some(&set)), ("keys of RL.TOKENBUCKET", Some(bucket))] {
        progress.say(what);
        let server = Server::start(binary, &Options { modules, ..Options::default() })?;
        let mut client = server.client()?;
        if let Some(subject) = expiring {
            fill::fill(&mut client, subject, 0..keys)?;
            expire_all(&mut client, keys)?;
        }
        let (mut latencies, seconds) = probe(&mut client, bucket, expiring.is_some())?;
        latencies.sort_unstable();
        let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
        found.push(Latencies {
            what: what.to_owned(),
            seconds,
            p50_ms: at(0.5),
            p99_ms: at(0.99),
            p999_ms: at(0.999),
            longest_ms: at(1.0),
        });
    }
    Ok(found)
}

/// Gives all keys the same moment of expiry, and waits for it.
fn expire_all(client: &mut Client, keys: u64) -> Result<()> {
    // Time enough to tell every key, at 20,000 a second on a slow machine.
    let lead = Duration::from_millis(2_000 + keys / 20);
    let at = SystemTime::now() + lead;
    let at_ms = at.duration_since(UNIX_EPOCH)?.as_millis().to_string();
    client.send_all((0..keys).map(|index| vec!["PEXPIREAT".to_owned(), subject::key(index), at_ms.clone()]))?;
    match at.duration_since(SystemTime::now()) {
        Ok(left) => thread::sleep(left),
        Err(_) => bail!("this machine is too slow to set {keys} expiries in {lead:?}"),
    }
    Ok(())
}

/// Sends a GET and a limiter's call in turn, until the expired keys are gone or, without any, for a while.
fn probe(client: &mut Client, bucket: &Subject, expiring: bool) -> Result<(Vec<Duration>, f64)> {
    let requests = [0, 1].map(|index| {
        let key = subject::key(PROBES + index);
        let mut request = Vec::new();
        match index {
            0 => client::encode(&["GET", &key], &mut request),
            _ => client::encode(&Subject::with_key(&bucket.words, &key), &mut request),
        }
        request
    });
    let started = Instant::now();
    let mut latencies = Vec::new();
    loop {
        for _ in 0..500 {
            for request in &requests {
                let sent = Instant::now();
                client.pipeline(request, 1, |_| Ok(()))?;
                latencies.push(sent.elapsed());
            }
        }
        // The limiter's own key stays.
        let done = if expiring { client.integer(&["DBSIZE"])? <= 1 } else { started.elapsed() >= QUIET };
        if done {
            return Ok((latencies, started.elapsed().as_secs_f64()));
        }
        if started.elapsed() > Duration::from_secs(120) {
            bail!("expired keys were still there after two minutes");
        }
    }
}
