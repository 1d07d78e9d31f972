//! What a restart keeps: everything that was saved, and the time that passed meanwhile.

mod append_only;
mod elapsed;
mod killed;
mod other_server;
mod saved;

use crate::harness::{Server, wait_until};

/// Waits for a background save or rewrite that has been started.
fn wait_for_background(server: &Server) {
    let idle = |field: &str| server.info(field) == "0";
    wait_until("the background save is done", || {
        idle("rdb_bgsave_in_progress") && idle("aof_rewrite_in_progress") && idle("aof_rewrite_scheduled")
    });
    for status in ["rdb_last_bgsave_status", "aof_last_bgrewrite_status"] {
        assert_eq!(server.info(status), "ok");
    }
}

/// Runs `BGSAVE` or `BGREWRITEAOF` to its end.
fn in_background(server: &Server, command: &str) {
    server.run(command);
    wait_for_background(server);
}
