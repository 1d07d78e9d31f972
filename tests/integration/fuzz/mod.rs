//! Anything at all is thrown at a real server. It has to live, to answer in order, and to keep its replica in step.

mod commands;

use std::{
    env,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant, SystemTime},
};

use redis::Value;

use crate::harness::{Client, Server, wait_until};
use commands::{Commands, Words};

/// How many commands go out in one write.
const BATCH: usize = 64;
/// What a callback logs when it stopped a panic, and what it then replies.
const FAULTS: [&str; 2] = ["by a fault of the module", "internal error"];

/// A command, and what its reply is held to.
enum Sent {
    /// A call of the module.
    Call(Words),
    /// Whatever the server answers is right.
    Foreign(Words),
    /// Comes back as it is: the replies are in order.
    Echo(String),
    /// A call of the module by a script.
    Script(Words),
    /// A transaction that looks at a key, calls the module once on it, and looks again.
    Watched([Words; 7]),
}

impl Sent {
    fn random(commands: &mut Commands) -> Self {
        if commands.one_in(6) {
            return Self::Foreign(commands.foreign());
        }
        let call = commands.call();
        if commands.one_in(12) {
            let mut script: Words = ["EVAL", "return redis.pcall(unpack(ARGV))", "0"].map(Into::into).to_vec();
            script.extend(call);
            return Self::Script(script);
        }
        if commands.one_in(12) && call.len() > 1 {
            let look = [b"DUMP".to_vec(), call[1].clone()].to_vec();
            let dirty: Words = ["INFO", "persistence"].map(Into::into).to_vec();
            let [multi, exec]: [Words; 2] = ["MULTI", "EXEC"].map(|word| vec![word.into()]);
            return Self::Watched([multi, dirty.clone(), look.clone(), call, look, dirty, exec]);
        }
        Self::Call(call)
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Call(words) | Self::Foreign(words) | Self::Script(words) => pack(words, bytes),
            Self::Echo(token) => pack(&[b"ECHO".to_vec(), token.clone().into()], bytes),
            Self::Watched(commands) => commands.iter().for_each(|words| pack(words, bytes)),
        }
    }

    fn check(&self, client: &mut Client) {
        match self {
            Self::Foreign(_) => drop(client.receive()),
            Self::Echo(token) => assert_eq!(client.receive(), Ok(Value::BulkString(token.clone().into())), "in order"),
            Self::Call(words) => check_reply(&words[0], client.receive(), words),
            Self::Script(words) => check_reply(&words[3], client.receive(), words),
            Self::Watched(commands) => {
                let mut replies = commands.iter().map(|_| client.receive()).collect::<Vec<_>>();
                let Ok(Value::Array(mut items)) = replies.pop().unwrap() else {
                    // Too many or too few arguments: the server did not even queue it.
                    return;
                };
                if items.is_empty() {
                    return;
                }
                let reply = match items.remove(2) {
                    Value::ServerError(error) => Err(format!("{} {}", error.code(), error.details().unwrap_or(""))),
                    reply => Ok(reply),
                };
                let quiet =
                    reply.is_err() || ["PEEK", "INFO"].iter().any(|name| upper(&commands[3][0]).ends_with(name));
                // A key may expire in between: the clock moves.
                if quiet && items[2] != Value::Nil {
                    assert_eq!(items[1], items[2], "{} changed its key: {reply:?}", shown(&commands[3]));
                }
                check_reply(&commands[3][0], reply, &commands[3]);
            }
        }
    }
}

fn pack(words: &[Vec<u8>], bytes: &mut Vec<u8>) {
    bytes.extend(redis::Cmd::new().arg(words).get_packed_command());
}

fn upper(word: &[u8]) -> String {
    String::from_utf8_lossy(word).to_uppercase()
}

fn shown(words: &[Vec<u8>]) -> String {
    let cut = |word: &Vec<u8>| word[..word.len().min(120)].escape_ascii().to_string();
    words.iter().map(cut).collect::<Vec<_>>().join(" ")
}

/// A verdict is five integers that make sense together, or six where an option has one more to tell; a look may also be
/// null or a map, and an adjustment null; all else is an error.
fn check_reply(command: &[u8], reply: Result<Value, String>, sent: &[Vec<u8>]) {
    let what = || format!("{}: {reply:?}", shown(sent));
    match &reply {
        Err(error) => {
            let known = ["ERR ", "WRONGTYPE ", "EXECABORT "].iter().any(|code| error.starts_with(code));
            assert!(known && error.len() < 700 && FAULTS.iter().all(|fault| !error.contains(fault)), "{}", what());
        }
        Ok(Value::Nil) => assert!(["RL.PEEK", "RL.INFO", "RL.ADJUST"].contains(&&*upper(command)), "{}", what()),
        Ok(Value::Map(_)) => assert_eq!(upper(command), "RL.INFO", "{}", what()),
        Ok(Value::Array(items)) if upper(command) == "RL.INFO" => assert_eq!(items.len() % 2, 0, "{}", what()),
        // The integers of the whole, those of each limit, and perhaps a wait.
        Ok(Value::Array(items)) if upper(command) == "RL.ALL" => {
            let Some(Value::Array(each)) = items.get(6) else { panic!("{}", what()) };
            let integer = |value: &Value| matches!(value, Value::Int(-1..));
            let (whole, wait) = (&items[..6], &items[7..]);
            assert!(whole.iter().chain(wait).all(integer) && wait.len() <= 1, "{}", what());
            for one in each {
                let Value::Array(five) = one else { panic!("{}", what()) };
                assert!(five.len() == 5 && five.iter().all(integer), "{}", what());
            }
            let allowed = |value: &Value| *value == Value::Int(1);
            assert!(
                !allowed(&items[0]) || each.iter().all(|one| matches!(one, Value::Array(five) if allowed(&five[0])))
            );
        }
        Ok(Value::Boolean(false)) => {}
        Ok(value) => {
            let five = crate::harness::five(match value {
                Value::Array(items) if items.len() == 6 => {
                    assert!(matches!(items[5], Value::Int(0..)), "{}", what());
                    Value::Array(items[..5].to_vec())
                }
                value => value.clone(),
            });
            let Ok([mut allowed, limit, remaining, mut retry, reset]) = five else { panic!("{}", what()) };
            if upper(command) == "RL.THROTTLE" {
                // In redis-cell's words: 0 is allowed, and then there is no wait to tell.
                allowed = 1 - allowed;
                retry += if allowed == 1 { 1 } else { 0 };
            }
            let verdict = match allowed {
                1 => retry == 0,
                0 => retry == -1 || retry > 0,
                _ => false,
            };
            assert!(verdict && (0..=limit).contains(&remaining) && reset >= 0, "{}", what());
        }
    }
}

#[test]
fn whatever_it_is_sent_the_server_lives_answers_in_order_and_keeps_its_replica_in_step() {
    let number =
        |name: &str| env::var(name).ok().map(|text| text.parse::<u64>().unwrap_or_else(|_| panic!("{name}={text}")));
    let seconds = number("RL_FUZZ_SECONDS").unwrap_or(10);
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let seed = number("RL_FUZZ_SEED").unwrap_or(since_epoch.as_micros() as u64);
    println!("RL_FUZZ_SEED={seed}");
    let server = Server::builder().config("proto-max-bulk-len", "64mb").start();
    let replica = Server::builder().without_module().replica_of(&server).start();
    server.wait_for_replicas(1);

    let deadline = Instant::now() + Duration::from_secs(seconds);
    let stop = AtomicBool::new(false);
    let sent = AtomicU64::new(0);
    let connection = |index: u64| {
        let mut client = if index.is_multiple_of(2) { server.client() } else { server.client_resp3() };
        let mut commands = Commands::new(seed + index, &mut client);
        while Instant::now() < deadline && !stop.load(Ordering::Relaxed) {
            let mut batch = Vec::new();
            for number in 0..BATCH {
                batch.push(Sent::random(&mut commands));
                batch.push(Sent::Echo(format!("{index}.{number}")));
            }
            let mut bytes = Vec::new();
            batch.iter().for_each(|sent| sent.write(&mut bytes));
            client.write(&bytes);
            batch.iter().for_each(|sent| sent.check(&mut client));
            sent.fetch_add(BATCH as u64, Ordering::Relaxed);
            if index == 0 {
                server.set_clock(commands.moment(server.clock().now()));
            }
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|index| scope.spawn(move || connection(index))).collect();
        for thread in threads {
            if let Err(panic) = thread.join() {
                stop.store(true, Ordering::Relaxed);
                std::panic::resume_unwind(panic);
            }
        }
    });
    let log = server.log();
    assert!(FAULTS.iter().all(|fault| !log.contains(fault)), "{log}");
    let sent = sent.into_inner();
    println!("{sent} commands");
    assert!(sent > 1_000, "only {sent} commands in {seconds} s");
    wait_until("the replica holds what the server holds", || {
        server.get::<String>("DEBUG DIGEST") == replica.get::<String>("DEBUG DIGEST")
    });
}
