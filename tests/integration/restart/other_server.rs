//! Files that one server has written, loaded by another: with `RL_TEST_SERVER_OTHER`, the path of its binary.

use std::{env, fs};

use crate::harness::{Builder, Server, Traffic, skip};

/// The server under test and the other one.
fn pair() -> Option<[Builder; 2]> {
    match env::var("RL_TEST_SERVER_OTHER") {
        _ if env::var("RL_TEST_IMAGE").is_ok_and(|image| !image.is_empty()) => {
            skip("a server in a container shares no files with another");
            None
        }
        Ok(other) if !other.is_empty() => Some([Server::builder(), Server::builder().binary(other)]),
        _ => {
            skip("RL_TEST_SERVER_OTHER names no other server");
            None
        }
    }
}

/// Writes files under `writer`, and loads them under `reader`.
fn assert_carried(writer: &Builder, reader: &Builder, config: &[(&str, &str)], shutdown: &str) {
    let configured =
        |builder: &Builder| config.iter().fold(builder.clone(), |all, (name, value)| all.config(name, value));
    let mut server = configured(writer).start();
    let written_by = server.version();
    Traffic::new(9).play(&server, 700);
    let records = server.records();
    assert!(records.len() > 5, "{} keys", records.len());
    server.shutdown(shutdown);
    let clock = server.clock().clone();
    server.relaunch_with(|_| configured(reader).clock(&clock));
    assert_eq!(server.records(), records, "written by {written_by:?}, loaded by {:?}", server.version());
    for (key, ..) in &records {
        assert!(server.get::<Vec<redis::Value>>(&format!("RL.INFO {key}")).len() > 10, "{key}");
    }
}

/// The first bytes of a snapshot: `REDIS` or `VALKEY`, and the version of the format.
fn snapshot_format(builder: &Builder) -> (&'static str, u32) {
    let server = builder.clone().without_module().start();
    server.run("SAVE");
    let snapshot = fs::read(server.folder().join("dump.rdb")).unwrap();
    let name = ["REDIS", "VALKEY"].into_iter().find(|name| snapshot.starts_with(name.as_bytes())).unwrap();
    (name, String::from_utf8_lossy(&snapshot[name.len()..9]).parse().unwrap())
}

/// Whether a server that writes `own` promises to load `file`: not the snapshots of a newer version, and Valkey not
/// those of a Redis from after the two parted.
fn loads(own: (&str, u32), file: (&str, u32)) -> bool {
    (own.0 == file.0 && file.1 <= own.1) || (own.0 == "VALKEY" && file.0 == "REDIS" && file.1 <= 11)
}

#[test]
fn a_snapshot_of_an_older_server_is_loaded_by_a_newer() {
    let Some([this, other]) = pair() else { return };
    let formats = [snapshot_format(&this), snapshot_format(&other)];
    for (writer, reader, [written, own]) in [(&this, &other, formats), (&other, &this, [formats[1], formats[0]])] {
        if loads(own, written) {
            assert_carried(writer, reader, &[], "SAVE");
            assert_carried(writer, reader, &[("appendonly", "yes")], "NOSAVE");
        }
    }
}

#[test]
fn an_append_only_file_of_commands_is_loaded_by_any_server() {
    let Some([this, other]) = pair() else { return };
    let commands = [("appendonly", "yes"), ("aof-use-rdb-preamble", "no")];
    assert_carried(&this, &other, &commands, "NOSAVE");
    assert_carried(&other, &this, &commands, "NOSAVE");
}
