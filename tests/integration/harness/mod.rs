//! Real servers for tests: started in a few milliseconds, on a clock the test sets, gone when dropped.
//!
//! ```ignore
//! let server = Server::start();                       // module loaded, clock stopped at START
//! assert_eq!(server.five("RL.FIXED k 1 60s"), [1, 1, 0, 0, 60_000]);
//! server.advance(60 * S);
//! assert_eq!(server.five("RL.FIXED k 1 60s"), [1, 1, 0, 0, 60_000]);
//!
//! let replica = Server::builder().without_module().replica_of(&server).start();
//! server.wait_for_replicas(1);
//!
//! let mut durable = Server::builder().config("appendonly", "yes").start();
//! durable.kill();                                      // as kill -9 does
//! durable.relaunch();                                  // same folder, same port
//! ```
//!
//! Dropping a [`Server`] kills it, removes its folder, and fails the test if the server died on its own or
//! logged a panic or a crash report.
//!
//! Environment:
//!
//! * `RL_TEST_SERVER`: path of the server binary, default `redis-server` on PATH. Inside the image, if there is one.
//! * `RL_TEST_IMAGE`: a container image to run the servers in instead, through testcontainers.
//! * `RL_TEST_MODULE`: path of a ready `.so` to test. Without it the tests build the module themselves, so that
//!   they never test a stale one.

mod artifacts;
mod builder;
mod client;
mod clock;
mod cluster;
mod load;
mod next_version;
mod process;
mod program;
mod random;
mod room;
mod server;
mod stream;
mod timeline;
mod traffic;

#[allow(unused_imports, reason = "part of the interface")]
pub use {
    artifacts::{cell_module, module_path, neighbour_module},
    builder::Builder,
    client::{Client, five, quoted, raw_reply, words},
    clock::{Clock, DAY, H, M, MS, S, START},
    cluster::{Cluster, Entrance},
    load::{Tally, under_load},
    next_version::{NEXT_VERSION, NEXT_WORDS, next_version},
    program::{exists, redis_cli, skip},
    random::Random,
    room::{free_port, wait_until},
    server::{Flavor, Server},
    stream::{Sent, Stream, commands_of, shown},
    timeline::{Step, assert_expiry, peek_of, play, play_unchecked},
    traffic::{Traffic, limiters, load_calls},
};
