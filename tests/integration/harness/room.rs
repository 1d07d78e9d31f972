//! What a server needs of the machine: a port, a folder, and time.

use std::{
    env, fs,
    net::TcpListener,
    path::PathBuf,
    process,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// How long the harness waits for anything that takes real time.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Polls until `condition` holds, and fails the test if it does not within a bounded time.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A port that nobody listened on a moment ago.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// A new folder for a server's files.
pub fn new_folder() -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("redis-limiter-test-{}-{count}", process::id());
        let folder = env::temp_dir().join(name);
        if fs::create_dir(&folder).is_ok() {
            return folder;
        }
    }
}
