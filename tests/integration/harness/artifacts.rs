//! What the servers load: the module and the clock, each built once a test run.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{self, Command},
    sync::OnceLock,
};

const CLOCK_SOURCE: &str = include_str!("../../clock/clock.c");
const NEIGHBOUR_SOURCE: &str = include_str!("../../neighbour/neighbour.c");
const CELL_SOURCE: &str = include_str!("../../neighbour/cell.c");

/// The module under test, built from the sources as they are now.
pub fn module_path() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| match env::var_os("RL_TEST_MODULE") {
        Some(path) => {
            fs::canonicalize(&path).unwrap_or_else(|error| panic!("RL_TEST_MODULE={}: {error}", path.display()))
        }
        None => once_a_run("module", build_module),
    })
}

/// The library that replaces the wall clock of a server.
pub fn clock_library() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| once_a_run("clock", || build_c("clock", CLOCK_SOURCE)))
}

/// A second module, which stores values of its own type and calls other modules' commands.
pub fn neighbour_module() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| once_a_run("neighbour", || build_c("neighbour", NEIGHBOUR_SOURCE)))
}

/// A module that has `CL.THROTTLE`, as redis-cell has, and is called `redis-cell`.
pub fn cell_module() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| once_a_run("cell", || build_c("cell", CELL_SOURCE)))
}

/// Runs `build`, whose result is a path. cargo-nextest starts one process a test, so the path is left in a file named
/// after the run for the other processes; cargo itself serialises those that come too early.
pub(super) fn once_a_run(what: &str, build: fn() -> PathBuf) -> PathBuf {
    let Ok(run) = env::var("NEXTEST_RUN_ID") else {
        return build();
    };
    let prefix = format!("{what}-of-run-");
    let note = scratch().join(format!("{prefix}{run}"));
    if let Ok(path) = fs::read_to_string(&note) {
        return PathBuf::from(path);
    }
    let path = build();
    // Notes of runs that are over.
    for entry in fs::read_dir(scratch()).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            let _ = fs::remove_file(entry.path());
        }
    }
    write_whole(&note, path.to_str().unwrap().as_bytes());
    path
}

fn build_module() -> PathBuf {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--release", "--lib", "--package", "redis-limiter"])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "the module does not build:\n{}", String::from_utf8_lossy(&output.stderr));
    let messages = String::from_utf8(output.stdout).unwrap();
    let name = format!("{}redis_limiter{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let path = messages
        .split('"')
        .find(|text| Path::new(text).file_name().is_some_and(|file| file == &*name))
        .unwrap_or_else(|| panic!("cargo names no {name}:\n{messages}"));
    PathBuf::from(path)
}

/// Builds `lib<name>.so` from one file, unless it was built from the same text.
fn build_c(name: &str, text: &str) -> PathBuf {
    let folder = scratch();
    let library = folder.join(format!("lib{name}{}", env::consts::DLL_SUFFIX));
    let stamp = folder.join(format!("{name}.c"));
    if library.exists() && fs::read_to_string(&stamp).is_ok_and(|built| built == text) {
        return library;
    }
    let unique = process::id();
    let source = folder.join(format!("{name}-{unique}.c"));
    let object = folder.join(format!("lib{name}-{unique}.tmp"));
    fs::write(&source, text).unwrap();
    let output = Command::new("cc")
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"])
        .args([&object, &source])
        .output()
        .expect("the C compiler `cc` is installed");
    assert!(output.status.success(), "{name}.c does not build:\n{}", String::from_utf8_lossy(&output.stderr));
    fs::rename(&object, &library).unwrap();
    fs::rename(&source, &stamp).unwrap();
    library
}

pub(super) fn scratch() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Never leaves a half-written file for another process to read, or a draft that it takes for a note of a run.
fn write_whole(path: &Path, bytes: &[u8]) {
    let name = path.file_name().unwrap_or_default().display();
    let draft = path.with_file_name(format!("draft-{}-{name}", process::id()));
    fs::write(&draft, bytes).unwrap();
    fs::rename(&draft, path).unwrap();
}
