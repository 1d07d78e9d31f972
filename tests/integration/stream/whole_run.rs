//! Of a long random run: every command of the stream is one of ours, and tells absolute times.

use std::fs;

use super::Watched;
use crate::harness::{MS, START, Server, Traffic, commands_of};

#[test]
fn only_native_commands_with_absolute_times_are_sent() {
    let mut watched = Watched::start();
    Traffic::new(1).play(&watched.server, 4_000);
    let news = watched.stream.news();
    let absolute = |ms: &[u8]| {
        let ms: i64 = std::str::from_utf8(ms).unwrap().parse().unwrap();
        assert!(ms > START / MS - 100_000_000, "{ms}");
    };
    let is_record = |bytes: &[u8]| bytes.starts_with(b"RL\x01") || bytes.starts_with(b"RL\x02");
    let mut seen = [0; 6];
    for sent in &news {
        let words: Vec<&[u8]> = sent.0.iter().map(Vec::as_slice).collect();
        let kind = match words[..] {
            [b"SET", _, record, b"KEEPTTL"] => {
                assert!(is_record(record));
                0
            }
            [b"SET", _, record, b"PXAT", ms] => {
                assert!(is_record(record));
                absolute(ms);
                1
            }
            [b"APPEND", _, event] => {
                assert!([8, 16].contains(&event.len()));
                2
            }
            [b"SETRANGE", _, b"0", header] => {
                // With a block, or the room of one, 16 more.
                assert!(is_record(header) && header.len() == if header[2] == 1 { 28 } else { 44 });
                3
            }
            [b"PEXPIREAT", _, ms] => {
                absolute(ms);
                4
            }
            // The caller's, or of the server for keys that have expired.
            [b"DEL" | b"UNLINK", _] => 5,
            [b"MULTI"] | [b"EXEC"] => continue,
            _ => panic!("{}", sent.line()),
        };
        seen[kind] += 1;
    }
    assert!(seen.iter().all(|&count| count > 50), "{seen:?}");
}

#[test]
fn the_append_only_file_holds_what_the_stream_sends() {
    let server = Server::builder().config("appendonly", "yes").config("appendfsync", "always").start();
    server.run("DEBUG SET-ACTIVE-EXPIRE 0");
    let mut watched = Watched::watch(server);
    Traffic::new(2).play(&watched.server, 2_000);
    let sent = watched.stream.news();
    assert!(sent.len() > 500, "{}", sent.len());
    let folder = watched.server.folder().join("appendonlydir");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let [increment]: [_; 1] =
        files.filter(|path| path.to_str().unwrap().ends_with(".incr.aof")).collect::<Vec<_>>().try_into().unwrap();
    let written = commands_of(&fs::read(increment).unwrap());
    for (at, (written, sent)) in written.iter().zip(&sent).enumerate() {
        assert_eq!(written.line(), sent.line(), "command {at}");
    }
    assert_eq!(written.len(), sent.len());
}
