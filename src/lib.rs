//! Rate limiting as native commands for Redis and Valkey.
//!
//! The server loads this library as the module `rl`. Each command is one atomic decision, taken by `limiter-core` on
//! the server's clock; this crate parses, opens the key, propagates the effect, stores it and replies.

mod clock;
mod command;
mod config;
mod error;
mod ffi;
mod stats;
mod store;

use ffi::load::{Loading, Refusal};
use ffi::unload::Unloading;

/// The module's name, as `MODULE LIST` and `MODULE UNLOAD` know it.
const NAME: &core::ffi::CStr = c"rl";

/// The module's version as one number, as `MODULE LIST` shows it: 1.2.3 is 10203.
const VERSION: i32 = version_number(env!("CARGO_PKG_VERSION"));

/// Registers everything the module offers.
fn load(loading: &Loading) -> Result<(), Refusal> {
    loading.refuse_arguments()?;
    // Before anything else takes memory from the server: see `ffi::Argument`.
    for command in command::TABLE {
        loading.create(command)?;
    }
    loading.require_commands(&store::COMMANDS)?;
    config::register(loading)?;
    loading.set_options();
    store::prepare();
    loading.add_acl_category(command::ACL_CATEGORY);
    if config::cl_throttle() {
        let taken = |refusal: Refusal| refusal.advise("; unload that module first, or set rl.cl-throttle to no");
        loading.create(&command::CL_THROTTLE).map_err(taken)?;
        loading.describe(&command::CL_THROTTLE)?;
    }
    for command in command::TABLE {
        loading.describe(command)?;
    }
    loading.register_info()
}

/// Gives back what [`load`] took; refuses while the server would not survive it.
fn unload(unloading: &Unloading) -> Result<(), Refusal> {
    unloading.refuse_if_acl_names_commands(command::is_ours)?;
    unloading.refuse_if_commands_are_queued()?;
    store::release();
    Ok(())
}

/// `major.minor.patch` as one number, two digits for each after the first.
const fn version_number(text: &str) -> i32 {
    let (mut rest, mut total, mut part) = (text.as_bytes(), 0_i32, 0_i32);
    while let [byte, tail @ ..] = rest {
        if *byte == b'.' {
            total = total.wrapping_add(part).wrapping_mul(100);
            part = 0;
        } else {
            part = part.wrapping_mul(10).wrapping_add(byte.wrapping_sub(b'0') as i32);
        }
        rest = tail;
    }
    total.wrapping_add(part)
}
