//! The module's settings: `CONFIG GET rl.*`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use limiter_core::limit::{LOG_LIMIT, LOG_LIMIT_DEFAULT};

use crate::ffi::load::{Loading, NumericSetting, Refusal, SwitchSetting};

static LOG_LIMIT_MAX: AtomicU64 = AtomicU64::new(LOG_LIMIT_DEFAULT);
static CL_THROTTLE_ON: AtomicBool = AtomicBool::new(false);

/// `rl.sliding-log-max-limit`: the largest limit, in events, that `RL.SLIDINGLOG` accepts.
const SLIDING_LOG_MAX_LIMIT: NumericSetting = NumericSetting {
    name: c"sliding-log-max-limit",
    default: LOG_LIMIT_DEFAULT,
    min: LOG_LIMIT.min,
    max: LOG_LIMIT.max,
    value: &LOG_LIMIT_MAX,
};

/// `rl.cl-throttle`: whether `RL.THROTTLE` is also called `CL.THROTTLE`, as redis-cell's command is.
const CL_THROTTLE: SwitchSetting = SwitchSetting { name: c"cl-throttle", default: false, value: &CL_THROTTLE_ON };

/// Registers the settings and applies those of the configuration file or of `MODULE LOADEX`.
pub fn register(loading: &Loading) -> Result<(), Refusal> {
    loading.register_settings(&[&SLIDING_LOG_MAX_LIMIT], &[&CL_THROTTLE])
}

/// The present value of `rl.sliding-log-max-limit`.
#[inline]
pub fn log_limit_max() -> u64 {
    LOG_LIMIT_MAX.load(Ordering::Relaxed)
}

/// Whether `CL.THROTTLE` is a command of ours.
pub fn cl_throttle() -> bool {
    CL_THROTTLE_ON.load(Ordering::Relaxed)
}
