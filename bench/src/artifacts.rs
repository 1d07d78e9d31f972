//! What a run needs built: the module, the floor module and the driver of the core's decisions.

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

pub fn workspace() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.parent().unwrap_or(crate_folder).to_owned()
}

/// The release build of the module, made from the sources as they are now, or the one that was named.
pub fn module(named: Option<&Path>) -> Result<PathBuf> {
    match named {
        Some(path) => fs::canonicalize(path).with_context(|| format!("no module at {}", path.display())),
        None => build(&["--package", "redis-limiter", "--lib"], "redis_limiter"),
    }
}

/// The program that runs the core's decisions in a loop.
pub fn decisions() -> Result<PathBuf> {
    build(&["--package", "decisions"], "decisions")
}

/// The no-op module, compiled against the header that the redis-module crate carries.
pub fn floor() -> Result<PathBuf> {
    let header = redis_module_source()?.join("src/include");
    let folder = workspace().join("target/bench");
    fs::create_dir_all(&folder)?;
    let library = folder.join("floor.so");
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let status = Command::new(&compiler)
        .args(["-O2", "-Wall", "-shared", "-fPIC", "-I"])
        .arg(header)
        .arg("-o")
        .arg(&library)
        .arg(workspace().join("bench/floor.c"))
        .status()
        .with_context(|| format!("cannot run the C compiler {compiler}"))?;
    if !status.success() {
        bail!("bench/floor.c does not compile");
    }
    Ok(library)
}

/// The commit that is measured, marked if the tree differs from it.
pub fn commit() -> String {
    output("git", &["describe", "--always", "--dirty"]).unwrap_or_else(|| "unknown".to_owned())
}

/// What a program prints, on one line; nothing if it fails or is not there.
pub fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).current_dir(workspace()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}

fn redis_module_source() -> Result<PathBuf> {
    let metadata = cargo(&["metadata", "--format-version", "1", "--locked"])?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let package = packages.iter().find(|package| package["name"] == "redis-module");
    let manifest = package.and_then(|package| package["manifest_path"].as_str());
    let manifest = Path::new(manifest.context("the workspace does not depend on redis-module")?);
    Ok(manifest.parent().context("a manifest lies in a folder")?.to_owned())
}

fn build(arguments: &[&str], target: &str) -> Result<PathBuf> {
    let options = ["build", "--release", "--locked", "--message-format", "json-render-diagnostics"];
    let messages = cargo(&[&options, arguments].concat())?;
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line)?;
        if message["reason"] == "compiler-artifact" && message["target"]["name"] == target {
            let file = message["executable"].as_str().or_else(|| message["filenames"][0].as_str());
            return Ok(file.context("cargo built no file")?.into());
        }
    }
    bail!("cargo built no {target}")
}

fn cargo(arguments: &[&str]) -> Result<String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(arguments).current_dir(workspace()).output()?;
    if !output.status.success() {
        bail!("cargo {}:\n{}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}
