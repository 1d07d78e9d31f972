//! Errors about what a key holds.

use redis::Value;

use crate::harness::{Server, peek_of, quoted};

const CALLS: [&str; 6] = [
    "RL.TOKENBUCKET k 10 10/s",
    "RL.GCRA k 10 10/s",
    "RL.FIXED k 10 1s",
    "RL.SLIDINGLOG k 10 1s",
    "RL.SLIDINGLOG k 10 1s 2",
    "RL.SLIDINGCOUNTER k 10 1s",
];

#[test]
fn a_record_of_a_newer_version_is_an_error_that_names_both_and_the_key_is_left_alone() {
    let server = Server::start();
    for call in CALLS {
        server.run("FLUSHALL");
        server.five(call);
        let mut record: Vec<u8> = server.get("GET k");
        assert_eq!(&record[..3], b"RL\x01", "{call}");
        for version in [3, 4, 127, 255] {
            record[2] = version;
            server.run(&format!("SET k {} PX 100000", quoted(&record)));
            let before = server.state("k");
            let error = format!("ERR key: record version {version} is newer than 2, the newest this module reads");
            for command in [call, &peek_of(call), "RL.PEEK k", "RL.INFO k"] {
                assert_eq!(server.error(command), error, "{command}");
            }
            assert_eq!(server.state("k"), before, "{call}");
        }
    }
}

#[test]
fn errors_come_in_the_order_arguments_first() {
    let server = Server::start();
    server.run("SET k hello");
    assert!(server.error("RL.FIXED k x 1s").starts_with("ERR limit: "));
    assert!(server.error("RL.FIXED k 1 1s").starts_with("WRONGTYPE "));
}

#[test]
fn an_error_of_one_command_leaves_its_neighbours_in_a_pipeline_and_a_transaction_alone() {
    let server = Server::start();
    let mut client = server.client();
    let commands = ["RL.FIXED k 2 60s", "RL.FIXED k x 60s", "RL.FIXED k 2 60s", "RL.GCRA k 1 1", "RL.FIXED k 2 60s"];
    let replies = client.pipeline(&commands);
    let verdicts: Vec<bool> = replies.iter().map(Result::is_ok).collect();
    assert_eq!(verdicts, [true, false, true, false, true]);

    client.run("DEL k");
    client.run("MULTI");
    for command in commands {
        client.run(command);
    }
    let Value::Array(replies) = client.run("EXEC") else {
        panic!("no array");
    };
    let verdicts: Vec<bool> = replies.iter().map(|reply| !matches!(reply, Value::ServerError(_))).collect();
    assert_eq!(verdicts, [true, false, true, false, true]);
}
