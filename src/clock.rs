//! The only place that reads time: once a command.

use limiter_core::time::Timestamp;

use crate::ffi;

/// Now, by the server's clock.
///
/// Where the server has one instant for a whole command, transaction or script (Redis 7.2 and later, Valkey), that; else
/// the system's clock, which is the server's too. A clock before the epoch stands at it.
#[inline(always)]
pub fn now() -> Timestamp {
    let micros = match ffi::cached_microseconds() {
        Some(micros) => micros,
        None => ffi::system_microseconds(),
    };
    Timestamp::from_micros(u64::try_from(micros).unwrap_or(0))
}
