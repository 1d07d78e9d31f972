//! How a server is to be started.

use std::{env, path::PathBuf};

use super::{
    clock::{Clock, START},
    server::Server,
};

/// Describes a server; [`Builder::start`] starts it.
#[derive(Clone)]
pub struct Builder {
    pub(super) binary: Option<PathBuf>,
    pub(super) image: Option<String>,
    pub(super) module: Option<Vec<String>>,
    pub(super) module_path: Option<PathBuf>,
    pub(super) clock: Option<Clock>,
    pub(super) config: Vec<(String, String)>,
    pub(super) arguments: Vec<String>,
    pub(super) variables: Vec<(String, String)>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            binary: env::var_os("RL_TEST_SERVER").map(PathBuf::from),
            image: env::var("RL_TEST_IMAGE").ok().filter(|image| !image.is_empty()),
            module: Some(Vec::new()),
            module_path: None,
            clock: Some(Clock::stopped_at(START)),
            config: Vec::new(),
            arguments: Vec::new(),
            variables: Vec::new(),
        }
    }
}

impl Builder {
    /// One more line of `redis.conf`: `.config("appendonly", "yes")`. Later lines win where the server lets them.
    /// The log level has to stay at `notice` or below: that is how the harness sees that a server is ready.
    #[must_use]
    pub fn config(mut self, name: &str, value: impl ToString) -> Self {
        self.config.push((name.into(), value.to_string()));
        self
    }

    /// An argument of the server's command line, after the configuration file: `.arg("--sentinel")`.
    #[must_use]
    pub fn arg(mut self, argument: &str) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// An environment variable of the server.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Starts the server without the module.
    #[must_use]
    pub fn without_module(mut self) -> Self {
        self.module = None;
        self
    }

    /// Starts the server with the module again, after [`Builder::without_module`].
    #[must_use]
    pub fn with_module(mut self) -> Self {
        self.module = Some(Vec::new());
        self
    }

    /// An argument on the `loadmodule` line.
    #[must_use]
    pub fn module_arg(mut self, argument: &str) -> Self {
        self.module.get_or_insert_default().push(argument.into());
        self
    }

    /// Loads this `.so` instead of the one built from the sources.
    #[must_use]
    pub fn module_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.module_path = Some(path.into());
        self
    }

    /// Runs another server binary than the one under test.
    #[must_use]
    pub fn binary(mut self, path: impl Into<PathBuf>) -> Self {
        self.binary = Some(path.into());
        self
    }

    /// Puts the server on this clock. The default is a clock of its own, stopped at [`START`].
    #[must_use]
    pub fn clock(mut self, clock: &Clock) -> Self {
        self.clock = Some(clock.clone());
        self
    }

    /// Leaves the server on the machine's clock.
    #[must_use]
    pub fn system_clock(mut self) -> Self {
        self.clock = None;
        self
    }

    /// Makes the server a replica, on its primary's clock unless [`Builder::clock`] follows. Starting it does not wait
    /// for the first synchronisation: [`Server::wait_for_replicas`] on the primary does.
    #[must_use]
    pub fn replica_of(mut self, primary: &Server) -> Self {
        self.clock = primary.description().clock.clone();
        self.config("replicaof", format!("127.0.0.1 {}", primary.port()))
    }

    /// Starts the server and waits until it accepts connections.
    #[must_use]
    pub fn start(self) -> Server {
        self.try_start().unwrap_or_else(|log| panic!("the server does not start:\n{log}"))
    }

    /// The same, or the log of a server that refused to start.
    pub fn try_start(self) -> Result<Server, String> {
        Server::launch(self)
    }
}
