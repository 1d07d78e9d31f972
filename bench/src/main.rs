//! The benchmark: measures the module side by side with Lua scripts, plain commands, and a command that does nothing.

mod artifacts;
mod bars;
mod callgrind;
mod charts;
mod client;
mod expiry;
mod fill;
mod growth;
mod guard;
mod instructions;
mod load;
mod markdown;
mod memory;
mod progress;
mod publish;
mod report;
mod results;
mod rig;
mod server;
mod subject;
mod suite;
mod tables;

use clap::{Args, Parser, Subcommand};
use std::{path::PathBuf, process::ExitCode};

#[derive(Parser)]
#[command(about = "Measures redis-limiter next to Lua scripts, plain commands and a no-op command", version)]
#[command(args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    everything: suite::Options,
}

#[derive(Subcommand)]
enum Command {
    /// Instructions per request under callgrind, as ratios to a no-op command
    Instructions(instructions::Options),
    /// Fail if the core's decisions or a command's ratio to the floor have grown
    Check(guard::Options),
    /// Cost by number of keys, connections and events, and latency while a million keys expire
    Growth(growth::Options),
    /// Write the results into README.md and docs/benchmarks.md
    Publish(publish::Options),
}

/// What every measurement needs to know.
#[derive(Args)]
struct Common {
    /// A server binary; may be repeated. Default: those in RL_BENCH_SERVERS, else those on PATH
    #[arg(long, value_name = "PATH")]
    server: Vec<PathBuf>,
    /// The module, if it is not to be built from the sources
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
    /// Where results are written, in a folder a server
    #[arg(long, value_name = "DIR", default_value_os_t = artifacts::workspace().join("bench/results"))]
    out: PathBuf,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        None => suite::run(&cli.everything),
        Some(Command::Instructions(options)) => instructions::run(&options),
        Some(Command::Check(options)) => guard::run(&options),
        Some(Command::Growth(options)) => growth::run(&options),
        Some(Command::Publish(options)) => publish::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
