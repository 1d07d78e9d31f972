//! The wall clock of one or more servers, set by the test.

use std::{
    env, fs,
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

/// One millisecond, in the clock's microseconds.
pub const MS: i64 = 1_000;
/// One second.
pub const S: i64 = 1_000 * MS;
/// One minute.
pub const M: i64 = 60 * S;
/// One hour.
pub const H: i64 = 60 * M;
/// One day.
pub const DAY: i64 = 24 * H;
/// Where clocks start: 20,000 days after the epoch, a multiple of every window the tests use, and far from today so
/// that nothing passes by reading the machine's clock.
pub const START: i64 = 20_000 * DAY;

/// A clock that stands still until it is set. Clones are the same clock, so servers can share one.
#[derive(Clone)]
pub struct Clock(Arc<Inner>);

struct Inner {
    path: PathBuf,
    file: File,
    now: Mutex<i64>,
    running: bool,
}

impl Clock {
    /// A clock that stands at `us` microseconds since the epoch.
    pub fn stopped_at(us: i64) -> Self {
        Self::new(us, false)
    }

    /// The machine's clock plus `us`, running: for servers that talk to each other about time (sentinels, clusters).
    /// [`Clock::set`] and [`Clock::advance`] then move the offset.
    pub fn running_ahead_by(us: i64) -> Self {
        Self::new(us, true)
    }

    fn new(us: i64, running: bool) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("redis-limiter-clock-{}-{count}", process::id());
        let path = env::temp_dir().join(name);
        let file = File::create(&path).unwrap();
        let clock = Self(Arc::new(Inner { path, file, now: Mutex::new(us), running }));
        clock.set(us);
        clock
    }

    /// Microseconds since the epoch (or the offset of a running clock).
    pub fn now(&self) -> i64 {
        *self.0.now.lock().unwrap()
    }

    /// Sets the clock, forward or back.
    pub fn set(&self, us: i64) {
        let mut now = self.0.now.lock().unwrap();
        *now = us;
        self.0.file.write_all_at(&us.to_ne_bytes(), 0).unwrap();
    }

    /// Moves the clock by `us`, which may be negative.
    pub fn advance(&self, us: i64) {
        self.set(self.now().checked_add(us).unwrap());
    }

    pub(super) fn path(&self) -> &Path {
        &self.0.path
    }

    /// What tells the preloaded library about the file.
    pub(super) fn variable(&self) -> &'static str {
        if self.0.running { "RL_TEST_CLOCK_OFFSET" } else { "RL_TEST_CLOCK" }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
