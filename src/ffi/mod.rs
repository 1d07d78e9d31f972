//! The only `unsafe`: small safe wrappers over the server's module API.
//!
//! The API is a table of function pointers that the server fills when it loads the module. [`load`] checks, before
//! anything else runs, that those used here without a test are filled; the others are tested where they are used.

// SAFETY of every `unsafe` block in here rests on three facts, which each block refers to:
// (api)   the pointer was found filled at load, and is not written after;
// (alive) contexts, arguments and keys come from the server in this very call, whose lifetime bounds their use;
// (main)  commands run on the server's main thread, one at a time.

mod context;
mod key;
pub mod load;
mod main_thread;
mod register;
mod strings;
pub mod unload;

pub use context::{Arguments, Command, Context, Field, Handler, InfoSection, cached_microseconds, system_microseconds};
pub use key::{Growth, KeyType, ReadKey, Value, WriteKey};
pub use main_thread::MainThread;
pub use register::{Access, Argument, ArgumentKind, CommandSpec, Keys, create};
pub use strings::{KeyName, SharedString};

/// A function of the module API that was found filled at load; `unsafe` to name, by (api).
macro_rules! api {
    ($name:ident) => {
        redis_module::raw::$name.unwrap_unchecked()
    };
}
use api;
