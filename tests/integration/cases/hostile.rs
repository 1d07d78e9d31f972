//! Keys and arguments that are not what a limiter expects.

use crate::harness::{Client, Random, Server, five, neighbour_module, peek_of, quoted};

/// One admitted call of each kind of state.
const CALLS: [&str; 6] = [
    "RL.TOKENBUCKET k 10 10/s",
    "RL.GCRA k 10 10/s",
    "RL.FIXED k 10 1s",
    "RL.SLIDINGLOG k 10 1s",
    "RL.SLIDINGLOG k 10 1s 2",
    "RL.SLIDINGCOUNTER k 10 1s",
];
/// Commands that take any kind.
const LOOKS: [&str; 3] = ["RL.PEEK k", "RL.INFO k", "RL.PEEK k FIXED 10 1s"];

/// Every command on the key as it is: an answer or an error of the right kind, and nothing else.
fn assert_orderly(client: &mut Client, what: &str) {
    let commands: Vec<&str> = LOOKS.into_iter().chain(CALLS).collect();
    for (command, reply) in commands.iter().zip(client.pipeline(&commands)) {
        if let Err(error) = reply {
            let orderly = error.starts_with("WRONGTYPE ") || error.starts_with("ERR key: record version ");
            assert!(orderly, "{what}, {command}: {error}");
        }
    }
}

#[test]
fn c128_a_damaged_dump_is_refused_by_the_server_and_leaves_no_key() {
    let server = Server::start();
    for call in CALLS {
        server.run("FLUSHALL");
        server.five(call);
        let dump = server.state("k").0;
        server.run("DEL k");
        let restore = |payload: &[u8]| server.send(&[b"RESTORE", &b"k"[..], b"0", payload]);
        for length in 0..dump.len() {
            let error = restore(&dump[..length]).unwrap_err();
            assert!(error.contains("DUMP payload version or checksum are wrong"), "{call}: {error}");
        }
        for bit in 0..dump.len() * 8 {
            let mut flipped = dump.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(restore(&flipped).is_err(), "{call}: bit {bit}");
        }
        assert_eq!(server.get::<i64>("EXISTS k"), 0);
        restore(&dump).unwrap();
        assert_eq!(server.state("k").0, dump);
    }
}

#[test]
fn c128_a_damaged_record_is_answered_with_an_error_or_a_verdict() {
    let server = Server::start();
    let mut client = server.client();
    for call in CALLS {
        client.run("FLUSHALL");
        client.five(call);
        client.five(call);
        let record: Vec<u8> = client.get("GET k");
        let put = |client: &mut Client, bytes: &[u8]| client.run(&format!("SET k {}", quoted(bytes)));
        for length in 0..record.len() {
            put(&mut client, &record[..length]);
            assert_orderly(&mut client, &format!("{call} cut to {length} bytes"));
        }
        for bit in 0..record.len() * 8 {
            let mut flipped = record.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            put(&mut client, &flipped);
            assert_orderly(&mut client, &format!("{call} with bit {bit} flipped"));
        }
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            for from in 0..record.len() {
                let mut filled = record.clone();
                filled[from..].fill(byte);
                put(&mut client, &filled);
                assert_orderly(&mut client, &format!("{call} filled with {byte} from {from}"));
            }
        }
        for extra in [&b"\0"[..], b"1234567", b"12345678", b"1234567890123456"] {
            put(&mut client, &[&record, extra].concat());
            assert_orderly(&mut client, &format!("{call} with {extra:?} appended"));
        }
    }
}

#[test]
fn c136_a_key_that_is_no_limiter_is_a_wrongtype_error_and_left_alone() {
    let server = Server::start();
    for value in [
        r#"SET k """#,
        "SET k hello",
        "SET k 42",
        "SET k -1",
        "LPUSH k 1",
        "HSET k tokens 1",
        "SADD k 1",
        "ZADD k 1 1",
        "XADD k * a 1",
        "PFADD k 1",
        r#"SETRANGE k 1048575 "\x00""#,
    ] {
        server.run("DEL k");
        server.run(value);
        let before = server.state("k");
        let changes = server.info("rdb_changes_since_last_save");
        for command in LOOKS.into_iter().chain(CALLS) {
            let error = server.error(command);
            assert!(error.starts_with("WRONGTYPE "), "{value}, {command}: {error}");
        }
        assert_eq!(server.state("k"), before, "{value}");
        assert_eq!(server.info("rdb_changes_since_last_save"), changes, "{value}");
    }
}

fn with_neighbour() -> Server {
    Server::builder().config("loadmodule", neighbour_module().display()).start()
}

#[test]
fn c136_a_value_of_another_modules_type_is_a_wrongtype_error_and_left_alone() {
    let server = with_neighbour();
    server.run("NEIGHBOUR.SET k");
    for command in LOOKS.into_iter().chain(CALLS) {
        let error = server.error(command);
        assert!(error.starts_with("WRONGTYPE "), "{command}: {error}");
    }
    assert_eq!(server.get::<String>("TYPE k"), "neighbour");
}

#[test]
fn c136_the_state_of_another_algorithm_is_a_wrongtype_error_that_names_both() {
    let server = Server::start();
    let name = |call: &str| call.split(' ').next().unwrap().trim_start_matches("RL.").to_lowercase();
    for first in CALLS {
        for second in CALLS {
            if name(first) == name(second) {
                continue;
            }
            server.run("FLUSHALL");
            server.five(first);
            let before = server.state("k");
            let peek = peek_of(second);
            for command in [second, &peek] {
                let error = server.error(command);
                assert!(error.starts_with("WRONGTYPE "), "{command}: {error}");
                let error = error.to_lowercase();
                assert!(error.contains(&name(first)) && error.contains(&name(second)), "{command}: {error}");
            }
            assert_eq!(server.state("k"), before);
        }
    }
}

#[test]
fn c138_no_arguments_whatever_end_the_server() {
    let server = Server::start();
    let mut client = server.client();
    let names = ["RL.TOKENBUCKET", "RL.GCRA", "RL.FIXED", "RL.SLIDINGLOG", "RL.SLIDINGCOUNTER", "RL.PEEK", "RL.INFO"];
    let huge = "9".repeat(400);
    let words: Vec<&[u8]> = [
        &b"k"[..],
        b"",
        b"\xff\xfe",
        b"a\0b",
        b"0",
        b"1",
        b"10",
        b"-1",
        b"+1",
        b"01",
        b"1.5",
        b"1e3",
        b" 1",
        b"1 ",
        b"9223372036854775807",
        b"9223372036854775808",
        b"-9223372036854775808",
        b"1000000000000",
        b"1000000000001",
        b"1s",
        b"1S",
        b"60s",
        b"1ms",
        b"0ms",
        b"3650d",
        b"3651d",
        b"10/s",
        b"10/1s",
        b"10/",
        b"/s",
        b"/",
        b"1/0s",
        b"1000000000000/1ms",
        b"1/3650d",
        b"ALIGNED",
        b"aligned",
        b"22h",
        b"%s%n%n",
        b"\r\n",
        b"nan",
        b"inf",
        b"TOKENBUCKET",
        b"gcra",
        b"FIXED",
        b"SLIDINGLOG",
        b"slidingcounter",
        b"PEEK",
        huge.as_bytes(),
    ]
    .to_vec();
    let mut random = Random::new(138);
    let mut admitted = 0;
    for _ in 0..20_000 {
        let count = random.below(13);
        let mut line = vec![random.of(&names).as_bytes()];
        line.extend((0..count).map(|_| random.of(&words)));
        match client.send(&line) {
            Ok(_) => admitted += 1,
            Err(error) => {
                let known = ["ERR ", "WRONGTYPE "].iter().any(|code| error.starts_with(code));
                assert!(known, "{line:?}: {error}");
            }
        }
    }
    assert!(admitted > 100, "the fuzz hardly ever makes sense: {admitted}");
    let long_key = vec![b'k'; 1 << 20];
    client.send(&[b"RL.FIXED", &long_key[..], b"1", b"1s"]).unwrap();
    client.send(&[b"RL.FIXED", &b"k"[..], &long_key, b"1s"]).unwrap_err();
    assert_eq!(client.get::<String>("PING"), "PONG");
}

#[test]
fn c138_called_by_another_module_a_command_answers_as_ever() {
    let server = with_neighbour();
    for call in CALLS {
        server.run("FLUSHALL");
        let relayed = five(server.run(&format!("NEIGHBOUR.CALL {call}"))).unwrap();
        server.run("FLUSHALL");
        assert_eq!(server.five(call), relayed, "{call}");
        server.run(&format!("NEIGHBOUR.CALL {}", peek_of(call)));
        server.run("NEIGHBOUR.CALL RL.INFO k");
        for wrong in [format!("{call} x y z"), call.replacen(" 10 ", " -1 ", 1), call.replacen(" k 10", "", 1)] {
            let relayed = server.error(&format!("NEIGHBOUR.CALL {wrong}"));
            assert!(relayed.starts_with("ERR "), "{wrong}: {relayed}");
        }
    }
    assert_eq!(server.run("NEIGHBOUR.CALL RL.PEEK nobody"), redis::Value::Nil);
}
