//! Coming from redis-cell: its command, its replies, its keys and its clients, on this module.

mod client;
mod keys;
mod replies;
mod switch;

use crate::harness::{Builder, Server, cell_module, module_path};

/// A server with the module, and `CL.THROTTLE` among its commands.
fn drop_in() -> Server {
    Server::builder().config("rl.cl-throttle", "yes").start()
}

/// A server with another module that owns `CL.THROTTLE`, and without ours.
fn cell() -> Builder {
    Server::builder().without_module().config("loadmodule", cell_module().display())
}

/// Loads our module with these words after its path.
fn load(settings: &str) -> String {
    format!("MODULE LOADEX {} {settings}", module_path().display())
}

const ON: &str = "CONFIG rl.cl-throttle yes";

/// The script of docs/redis-cell.md that turns a key back into what redis-cell reads.
fn way_back() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/redis-cell.md");
    let text = std::fs::read_to_string(path).unwrap();
    let script = text.split_once("```lua\n").and_then(|(_, rest)| rest.split_once("```")).expect("a script");
    script.0.to_owned()
}
