//! Another version of the module, for upgrades: built from the same sources, but for what tells the two apart.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use super::artifacts::{once_a_run, scratch};

/// The version of [`next_version`] as `MODULE LIST` shows it.
pub const NEXT_VERSION: i64 = 90_807;
/// What its error for a foreign string says, and that of the present version does not.
pub const NEXT_WORDS: &str = "limiter state of the next version";

/// The `.so` of another version.
pub fn next_version() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| once_a_run("next-version", build))
}

fn build() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scratch = scratch();
    let there = scratch.join("next-version");
    let name = "redis_limiter_next";
    // One target folder for both, so that what they depend on is built once. Cargo tells packages of the same relative
    // path apart by their versions alone: each has to have another.
    let target = scratch.parent().unwrap();
    copy(&here.join("src"), &there.join("src"), &|path, text| match path.ends_with("error.rs") {
        true => replaced(&text, "that is not limiter state", &format!("that is not {NEXT_WORDS}")),
        false => text,
    });
    copy(&here.join("crates/core/src"), &there.join("crates/core/src"), &|_, text| text);
    copy(&here.join("crates/core/Cargo.toml"), &there.join("crates/core/Cargo.toml"), &|_, text| next_release(&text));
    copy(&here.join("Cargo.lock"), &there.join("Cargo.lock"), &|_, text| text);
    copy(&here.join("Cargo.toml"), &there.join("Cargo.toml"), &|_, text| next_manifest(&text, name));

    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--release", "--lib", "--offline", "--target-dir"])
        .arg(target)
        .current_dir(&there)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "the next version does not build:\n{}", String::from_utf8_lossy(&output.stderr));
    target.join("release").join(format!("{}{name}{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX))
}

/// The manifest with another version and another name for the file, and without the tests and the workspace's tools.
fn next_manifest(text: &str, name: &str) -> String {
    let text = replaced(&next_release(text), "[lib]\n", &format!("[lib]\nname = \"{name}\"\n"));
    let mut manifest = String::new();
    let mut keep = true;
    for line in text.lines() {
        if line.starts_with('[') {
            keep = !["[[test]]", "[[bench]]", "[dev-dependencies]"].contains(&line);
        }
        if keep && line.starts_with("members = ") {
            assert!(line.ends_with(']'), "the members of the workspace stand on one line");
            manifest += "members = [\"crates/core\"]\n";
        } else if keep {
            manifest = manifest + line + "\n";
        }
    }
    manifest
}

/// A package of another version.
fn next_release(manifest: &str) -> String {
    replaced(manifest, concat!("version = \"", env!("CARGO_PKG_VERSION"), "\""), "version = \"9.8.7\"")
}

#[track_caller]
fn replaced(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "'{from}' is there once");
    text.replacen(from, to, 1)
}

/// Copies a file, or a folder with all below it, and leaves what is already as it should be: cargo would build it anew.
fn copy(from: &Path, to: &Path, change: &dyn Fn(&Path, String) -> String) {
    if from.is_dir() {
        for entry in fs::read_dir(from).unwrap() {
            let name = entry.unwrap().file_name();
            copy(&from.join(&name), &to.join(&name), change);
        }
        return;
    }
    let text = change(from, fs::read_to_string(from).unwrap());
    if !fs::read_to_string(to).is_ok_and(|there| there == text) {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, text).unwrap();
    }
}
