//! Where a server runs: as a child process, or in a container that shares the host's network and the server's folder.

use std::{
    fs,
    io::{ErrorKind, Write},
    os::unix::fs::MetadataExt,
    path::Path,
    process::{Child, Command, Stdio, exit},
};

use testcontainers::{
    Container, GenericImage, ImageExt, TestcontainersError,
    core::{Mount, error::ClientError},
    runners::SyncRunner,
};

use super::{artifacts, builder::Builder};

/// A server that was started.
pub enum Process {
    Local(Child),
    Contained(Box<Container<GenericImage>>),
}

impl Process {
    /// Starts the server in `folder`, which holds its `redis.conf`.
    pub fn spawn(builder: &Builder, folder: &Path) -> Self {
        match &builder.image {
            None => Self::local(builder, folder),
            Some(image) => Self::contained(builder, folder, image),
        }
    }

    fn local(builder: &Builder, folder: &Path) -> Self {
        let binary = builder.binary.clone().unwrap_or_else(|| "redis-server".into());
        let output = fs::File::options().create(true).append(true).open(folder.join("output")).unwrap();
        let mut command = Command::new(&binary);
        command
            .arg(folder.join("redis.conf"))
            .args(&builder.arguments)
            .envs(variables(builder))
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output);
        match command.spawn() {
            Ok(child) => Self::Local(child),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                panic!("there is no server {}: install redis-server, or name one in RL_TEST_SERVER", binary.display())
            }
            Err(error) => panic!("{}: {error}", binary.display()),
        }
    }

    fn contained(builder: &Builder, folder: &Path, image: &str) -> Self {
        let (name, tag) = match image.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => (name, tag),
            _ => (image, "latest"),
        };
        let binary = builder.binary.as_ref().map_or_else(
            || "$(command -v redis-server || command -v valkey-server)".to_owned(),
            |path| format!("'{}'", path.display()),
        );
        // What it prints goes where a local server's does: before it has a log, that is where it says why it stops.
        let script = format!(r#"exec {binary} "$@" >>"${{1%/*}}/output" 2>&1"#);
        let config = folder.join("redis.conf").display().to_string();
        let arguments = ["-c".into(), script, "server".into(), config];
        let owner = fs::metadata(folder).unwrap();
        let mut request = GenericImage::new(name, tag)
            .with_entrypoint("/bin/sh")
            .with_cmd(arguments.into_iter().chain(builder.arguments.iter().cloned()))
            .with_network("host")
            .with_user(format!("{}:{}", owner.uid(), owner.gid()));
        for (name, value) in variables(builder) {
            request = request.with_env_var(name, value);
        }
        for path in mounts(builder, folder) {
            request = request.with_mount(Mount::bind_mount(&path, &path));
        }
        match request.start() {
            Ok(container) => Self::Contained(Box::new(container)),
            Err(TestcontainersError::Client(ClientError::Init(_) | ClientError::Configuration(_))) => no_docker(),
            Err(error) if !docker_answers() => {
                let _ = error;
                no_docker()
            }
            Err(error) => panic!("{image}: {error}"),
        }
    }

    /// False once the server has ended, for whatever reason.
    pub fn is_running(&mut self) -> bool {
        match self {
            Self::Local(child) => child.try_wait().unwrap().is_none(),
            Self::Contained(container) => container.is_running().unwrap_or(false),
        }
    }

    /// Ends the server the hard way, and waits until it is gone.
    pub fn kill(self) {
        match self {
            Self::Local(mut child) => {
                let _ = child.kill();
                child.wait().unwrap();
            }
            Self::Contained(container) => container.rm().unwrap(),
        }
    }

    /// The process on this machine, if it is one.
    pub fn id(&self) -> Option<u32> {
        match self {
            Self::Local(child) => Some(child.id()),
            Self::Contained(_) => None,
        }
    }
}

fn variables(builder: &Builder) -> Vec<(String, String)> {
    let mut variables = builder.variables.clone();
    if let Some(clock) = &builder.clock {
        let library = artifacts::clock_library().display().to_string();
        variables.push(("LD_PRELOAD".into(), library));
        variables.push((clock.variable().into(), clock.path().display().to_string()));
    }
    variables
}

/// Everything the server reads or writes, at the same place inside a container as outside.
fn mounts(builder: &Builder, folder: &Path) -> Vec<String> {
    let mut paths = vec![folder.to_owned(), artifacts::module_path().to_owned()];
    paths.extend(builder.module_path.clone());
    paths.extend(builder.config.iter().filter(|(name, _)| name == "loadmodule").map(|(_, path)| path.into()));
    if let Some(clock) = &builder.clock {
        paths.push(clock.path().to_owned());
        paths.push(artifacts::clock_library().to_owned());
    }
    // Other modules, which a test may load later.
    paths.push(Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned());
    // Docker takes no path twice.
    paths.sort();
    paths.dedup();
    paths.iter().map(|path| path.display().to_string()).collect()
}

fn docker_answers() -> bool {
    Command::new("docker")
        .arg("version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Ends the test run: no test can do anything here, and none of them found a fault.
fn no_docker() -> ! {
    // Not `eprintln!`, which the test runner would swallow.
    let _ = writeln!(std::io::stderr(), "skipped: no Docker");
    exit(0)
}
