//! What it sends to replicas and to the append-only file, to the byte.

use super::all;
use crate::harness::{M, MS, S, START, Server, Stream, shown};

const START_MS: i64 = START / MS;
const HOUR_MS: i64 = 3_600_000;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn small(numbers: &[u32]) -> String {
    numbers.iter().map(|number| hex(&number.to_le_bytes())).collect()
}

fn word(number: i64) -> String {
    hex(&number.to_le_bytes())
}

/// The head of a list: its table, each entry a length and a window.
fn head(entries: &[(i64, i64)]) -> String {
    let table: String = entries.iter().map(|(length, window)| word(window << 16 | length)).collect();
    format!("0x524c0206{:02x}{table}", entries.len())
}

fn gcra(at: i64, debt: i64, numbers: [u32; 4]) -> String {
    format!("524c0102{}{}{}", word(at), word(debt), small(&numbers))
}

fn fixed(start: i64, at: i64, numbers: [u32; 4]) -> String {
    format!("524c0103{}{}{}", word(start), word(at), small(&numbers))
}

#[test]
fn a_list_without_a_log_sends_one_set() {
    let server = Server::start();
    let mut stream = Stream::attach(&server);
    let call = "RL.ALL 1 k GCRA 9 1/m FIXED 5 1h";
    all(&server, call);
    let head = head(&[(36, 60_000), (36, HOUR_MS)]);
    let hour = u32::try_from(HOUR_MS).unwrap();
    let first = gcra(START, M, [9, 1, 60_000, 105_000]) + &fixed(START, START, [1, 5, hour, hour + 1_000]);
    let expiry = START_MS + HOUR_MS + 1_000;
    assert_eq!(stream.lines(), [format!("SET k {head}{first} PXAT {expiry}")]);
    server.set_clock(START + S);
    all(&server, call);
    let second = gcra(START + S, 2 * M - S, [9, 1, 60_000, 208_250]) + &fixed(START, START + S, [2, 5, hour, hour]);
    // The bucket moves its own expiry, which is not that of the key.
    assert_eq!(stream.lines(), [format!("SET k {head}{second} KEEPTTL")]);
    for silent in
        ["RL.ALL 1 k GCRA 9 1/m 9 FIXED 5 1h", "RL.ALL 1 k GCRA 9 1/m 0 FIXED 5 1h 0", "RL.ALL 1 k GCRA 9 1/m x"]
    {
        let _ = server.try_run(silent);
        assert_eq!(stream.lines(), [""; 0], "{silent}");
    }
}

#[test]
fn a_list_with_a_log_sends_what_comes_before_it_and_appends() {
    let server = Server::start();
    let mut stream = Stream::attach(&server);
    let call = "RL.ALL 1 k SLIDINGLOG 9 1m FIXED 5 1h";
    all(&server, call);
    let whole = stream.lines();
    assert_eq!(whole.len(), 1);
    let head = head(&[(0xffff, 60_000), (36, HOUR_MS)]);
    let hour = u32::try_from(HOUR_MS).unwrap();
    let log = format!("524c0104{}{}{}", small(&[9, 0]), word(60_000), word(START_MS + 90_000));
    let one = fixed(START, START, [1, 5, hour, hour + 1_000]);
    let expiry = START_MS + HOUR_MS + 1_000;
    assert_eq!(whole, [format!("SET k {head}{one}{log}{} PXAT {expiry}", word(START))]);
    server.set_clock(START + S);
    all(&server, call);
    let two = fixed(START, START + S, [2, 5, hour, hour]);
    let expected = [
        "MULTI".to_owned(),
        format!("APPEND k {}", shown(&(START + S).to_le_bytes())),
        format!("SETRANGE k 0 {head}{two}"),
        "EXEC".to_owned(),
    ];
    assert_eq!(stream.lines(), expected);
    // The log alone takes something.
    server.set_clock(START + 2 * S);
    all(&server, "RL.ALL 1 k SLIDINGLOG 9 1m FIXED 5 1h 0");
    assert_eq!(stream.lines(), [format!("APPEND k {}", shown(&(START + 2 * S).to_le_bytes()))]);
    // The other alone does.
    server.set_clock(START + 3 * S);
    all(&server, "RL.ALL 1 k SLIDINGLOG 9 1m 0 FIXED 5 1h");
    let three = fixed(START, START + 3 * S, [3, 5, hour, hour - 2_000]);
    assert_eq!(stream.lines(), [format!("SETRANGE k 0 {head}{three}")]);
}

#[test]
fn several_keys_send_an_effect_each_together() {
    let server = Server::start();
    let mut stream = Stream::attach(&server);
    all(&server, "RL.ALL 3 a b c FIXED 5 1h SLIDINGLOG 9 1m GCRA 5 1/s");
    let outline = |lines: Vec<String>| -> Vec<String> {
        lines.iter().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(outline(stream.lines()), ["MULTI", "SET a", "SET b", "SET c", "EXEC"]);
    all(&server, "RL.ALL 3 a b c FIXED 5 1h 0 SLIDINGLOG 9 1m GCRA 5 1/s");
    assert_eq!(outline(stream.lines()), ["MULTI", "APPEND b", "SET c", "EXEC"]);
    all(&server, "RL.ALL 3 a b c FIXED 5 1h 0 SLIDINGLOG 9 1m 0 GCRA 5 1/s");
    assert_eq!(outline(stream.lines()), ["SET c"]);
    all(&server, "RL.ALL 3 a b c FIXED 5 1h SLIDINGLOG 9 1m GCRA 5 1/s 5");
    assert_eq!(outline(stream.lines()), [""; 0]);
    // A limit that counts what another refuses.
    all(&server, "RL.ALL 2 a c FIXED 5 1h STRICT GCRA 5 1/s 5");
    assert_eq!(outline(stream.lines()), ["SET a"]);
}

#[test]
fn a_replica_and_an_append_only_file_hold_the_same_bytes_and_expiries() {
    let mut server = Server::builder().config("appendonly", "yes").start();
    let replica = Server::builder().without_module().replica_of(&server).start();
    server.wait_for_replicas(1);
    for turn in 0..12 {
        server.set_clock(START + turn * 7 * S);
        for call in [
            "RL.ALL 1 list TOKENBUCKET 5 1/s SLIDINGLOG 6 30s STRICT FIXED 9 1m BLOCK 20s",
            "RL.ALL 1 plain TOKENBUCKET 5 1/m 2 FIXED 9 1m",
            "RL.ALL 1 plain FIXED 9 1m SLIDINGCOUNTER 90 1m 3",
            "RL.ALL 1 plain FIXED 9 1m",
            "RL.ALL 2 one two SLIDINGLOG 4 30s GCRA 3 1/10s RESERVE 5s",
        ] {
            all(&server, call);
        }
    }
    server.wait_for_replicas(1);
    let keys = ["list", "plain", "one", "two"];
    let states: Vec<_> = keys.map(|key| server.state(key)).to_vec();
    assert_eq!(keys.map(|key| replica.state(key)).to_vec(), states);
    server.shutdown("NOSAVE");
    server.relaunch();
    assert_eq!(keys.map(|key| server.state(key)).to_vec(), states);
}
