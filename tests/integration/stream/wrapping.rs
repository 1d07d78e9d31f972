//! Effects of one transaction or script arrive together, and in order; a single one is not wrapped.

use super::Watched;
use crate::harness::{M, START, Server};

/// How a caller makes several calls at once.
#[derive(Clone, Copy, Debug)]
enum Form {
    Transaction,
    Script,
    Function,
}

const LIBRARY: &str = "#!lua name=many\n\
    local function each(keys, args)\n\
    for _, line in ipairs(args) do\n\
    local words = {} for word in string.gmatch(line, '%S+') do table.insert(words, word) end\n\
    redis.call(unpack(words))\n\
    end end\n\
    redis.register_function('each', each)";

fn run(server: &Server, form: Form, commands: &[&str]) {
    let mut client = server.client();
    let body = LIBRARY.split_once("args)\n").unwrap().1.split_once(" end\nredis.register").unwrap().0;
    let reply = match form {
        Form::Transaction => {
            client.run("MULTI");
            commands.iter().for_each(|command| assert_eq!(client.get::<String>(command), "QUEUED"));
            client.try_run("EXEC")
        }
        Form::Script => client.send(&[&["EVAL", &body.replace("args", "ARGV"), "0"], commands].concat()),
        Form::Function => client.send(&[&["FCALL", "each", "0"], commands].concat()),
    };
    reply.unwrap_or_else(|error| panic!("{form:?} {commands:?}: {error}"));
}

/// The commands of the stream, each without its values.
fn outline(watched: &mut Watched) -> Vec<String> {
    let first_words = |line: &String| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    watched.sent().iter().map(first_words).collect()
}

#[test]
fn transactions_scripts_and_functions_send_effects_and_wrap_several_once() {
    for form in [Form::Transaction, Form::Script, Form::Function] {
        let mut watched = Watched::start();
        watched.server.send(&["FUNCTION", "LOAD", LIBRARY]).unwrap();
        watched.sent();
        let mut sends = |commands: &[&str], expected: &[&str]| {
            run(&watched.server, form, commands);
            assert_eq!(outline(&mut watched), expected, "{form:?} {commands:?}");
        };
        sends(&["RL.FIXED a 1 1h", "RL.FIXED a 1 1h"], &["SET a"]);
        sends(&["RL.FIXED a 1 1h", "RL.PEEK a", "RL.GCRA new 1 1 2"], &[]);
        sends(&["RL.FIXED b 1 1h", "RL.GCRA c 1 1/h"], &["MULTI", "SET b", "SET c", "EXEC"]);
        sends(
            &["INCR n", "RL.SLIDINGLOG d 9 1h", "RL.SLIDINGLOG d 9 1h", "RL.FIXED a 1 1h", "INCR n"],
            &["MULTI", "INCR n", "SET d", "APPEND d", "INCR n", "EXEC"],
        );
        // Another limit changes the header, another window the expiry too.
        sends(&["RL.SLIDINGLOG d 8 1h"], &["MULTI", "APPEND d", "SETRANGE d", "EXEC"]);
        sends(
            &["RL.SLIDINGLOG d 8 6h", "RL.TOKENBUCKET e 1 1/h", "RL.SLIDINGCOUNTER f 1 1h"],
            &["MULTI", "APPEND d", "SETRANGE d", "PEXPIREAT d", "SET e", "SET f", "EXEC"],
        );
    }
}

#[test]
fn one_instant_holds_for_a_whole_transaction_or_script_where_the_server_has_one() {
    // C116: the clock stands, so these five calls are of one instant on every server.
    for form in [Form::Transaction, Form::Script, Form::Function] {
        let mut watched = Watched::start();
        watched.server.send(&["FUNCTION", "LOAD", LIBRARY]).unwrap();
        watched.sent();
        run(&watched.server, form, &["RL.GCRA k 3 3/m"; 5]);
        assert_eq!(outline(&mut watched), ["MULTI", "SET k", "SET k", "SET k", "EXEC"]);
        assert_eq!(watched.server.five("RL.PEEK k"), [0, 3, 0, 20_000, 60_000]);
    }
}

#[test]
fn a_key_that_expires_before_a_transaction_is_deleted_within_it() {
    for form in [Form::Transaction, Form::Script, Form::Function] {
        let mut watched = Watched::start();
        watched.server.run("CONFIG SET lazyfree-lazy-expire no");
        watched.server.run("DEBUG SET-ACTIVE-EXPIRE 0");
        watched.server.send(&["FUNCTION", "LOAD", LIBRARY]).unwrap();
        watched.server.run("RL.FIXED k 1 1s");
        watched.sent();
        watched.server.set_clock(START + M);
        run(&watched.server, form, &["RL.FIXED k 1 1s", "RL.FIXED k 1 1s"]);
        assert_eq!(outline(&mut watched), ["MULTI", "DEL k", "SET k", "EXEC"], "{form:?}");
    }
}

#[test]
fn calls_of_a_pipeline_are_sent_one_by_one() {
    let mut watched = Watched::start();
    watched.server.client().pipeline(&["RL.SLIDINGLOG k 3 1h"; 5]);
    assert_eq!(outline(&mut watched), ["SET k", "APPEND k", "APPEND k"]);
}

#[test]
fn a_transaction_that_watch_aborts_sends_nothing() {
    let mut watched = Watched::start();
    let mut client = watched.server.client();
    client.run("WATCH k");
    watched.server.run("RL.FIXED k 2 1h");
    client.run("MULTI");
    client.run("RL.FIXED k 2 1h");
    assert_eq!(client.run("EXEC"), redis::Value::Nil);
    assert_eq!(outline(&mut watched), ["SET k"]);
}

#[test]
fn effects_go_to_the_database_of_the_caller() {
    let server = Server::start();
    let replica = Server::builder().without_module().replica_of(&server).start();
    let mut client = server.client();
    client.run("SELECT 3");
    client.run("RL.FIXED k 2 1h");
    server.wait_for_replicas(1);
    assert_eq!(replica.get::<i64>("EXISTS k"), 0);
    let mut on_replica = replica.client();
    on_replica.run("SELECT 3");
    assert_eq!(on_replica.get::<Vec<u8>>("GET k"), client.get::<Vec<u8>>("GET k"));
}
