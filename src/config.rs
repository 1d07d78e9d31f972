//! The module's settings: `CONFIG GET rl.*`.

use std::sync::atomic::{AtomicU64, Ordering};

use limiter_core::limit::{LOG_LIMIT, LOG_LIMIT_DEFAULT};

use crate::ffi::load::{Loading, NumericSetting, Refusal};

static LOG_LIMIT_MAX: AtomicU64 = AtomicU64::new(LOG_LIMIT_DEFAULT);

/// `rl.sliding-log-max-limit`: the largest limit, in events, that `RL.SLIDINGLOG` accepts.
const SLIDING_LOG_MAX_LIMIT: NumericSetting = NumericSetting {
    name: c"sliding-log-max-limit",
    default: LOG_LIMIT_DEFAULT,
    min: LOG_LIMIT.min,
    max: LOG_LIMIT.max,
    value: &LOG_LIMIT_MAX,
};

/// Registers the settings and applies those of the configuration file or of `MODULE LOADEX`.
pub fn register(loading: &Loading) -> Result<(), Refusal> {
    loading.register_settings(&[&SLIDING_LOG_MAX_LIMIT])
}

/// The present value of `rl.sliding-log-max-limit`.
#[inline]
pub fn log_limit_max() -> u64 {
    LOG_LIMIT_MAX.load(Ordering::Relaxed)
}
