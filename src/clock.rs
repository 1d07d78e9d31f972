//! The only place that reads time: once a command.

use std::time::{SystemTime, UNIX_EPOCH};

use limiter_core::time::Timestamp;

use crate::ffi;

/// Now, by the server's clock.
///
/// Where the server has one instant for a whole command, transaction or script (Redis 7.2 and later, Valkey), that; else
/// the system's clock, which is the server's too. A clock before the epoch stands at it.
#[inline]
pub fn now() -> Timestamp {
    let micros = ffi::cached_microseconds().unwrap_or_else(|| {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX)
    });
    Timestamp::from_micros(micros)
}
