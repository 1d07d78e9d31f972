//! Random sequences of calls: the server answers and stores what the core decides, byte by byte. The core itself is
//! held to an exact model by its own tests.

use limiter_core::{
    adjust::{self, AdjustError},
    block::{BLOCK_LEN, Block},
    call::Change,
    decision::{Decision, Retry},
    general::{self, Outcome},
    limit::LOG_LIMIT_DEFAULT,
    record::Algorithm,
    request,
    time::Timestamp,
};
use redis::Value;

use crate::harness::{Client, DAY, MS, Random, S, START, Server, five, peek_of};

/// What the key should hold.
#[derive(Default)]
struct Expected {
    record: Option<Vec<u8>>,
    expires_ms: i64,
}

impl Expected {
    fn apply(&mut self, change: Change<'_>, block: Option<Block>) {
        let mut record = self.record.clone().unwrap_or_default();
        let wrapped = |plain: &[u8]| block.map_or(plain.to_vec(), |block| block.wrap(plain).as_bytes().to_vec());
        let moved = match change {
            Change::None => return,
            Change::Replace { record: small, expiry } => {
                record = wrapped(small.as_bytes());
                expiry.moved.then_some(expiry.at_ms)
            }
            Change::Append { event, header, expiry_ms, .. } => {
                record.extend(event.as_bytes());
                if let Some(header) = header {
                    let header = wrapped(&header);
                    record[..header.len()].copy_from_slice(&header);
                }
                expiry_ms
            }
            Change::Rewrite { rewrite, expiry } => {
                let room = block.map_or(0, |_| BLOCK_LEN);
                record = vec![0; room + rewrite.len()];
                rewrite.write(&mut record[room..]);
                if let Some(block) = block {
                    block.put(&mut record);
                }
                expiry.moved.then_some(expiry.at_ms)
            }
        };
        self.record = Some(record);
        if let Some(at_ms) = moved {
            self.expires_ms = at_ms as i64;
        }
    }

    /// What `RL.ADJUST` answers.
    fn adjust(&mut self, delta: &str, now: Timestamp) -> Result<Option<Decision>, String> {
        let wrong = |error| format!("ERR {error}");
        let parsed = request::delta(delta.as_bytes()).map_err(|error| wrong(error.to_string()))?;
        let Some(record) = self.record.clone() else { return Ok(None) };
        match adjust::adjust(&record, parsed, now, LOG_LIMIT_DEFAULT) {
            Ok(outcome) => Ok(outcome.map(|outcome| {
                self.apply(outcome.change, outcome.block);
                outcome.decision
            })),
            Err(AdjustError::Excess(excess)) => Err(wrong(request::excessive(delta.as_bytes(), excess).to_string())),
            Err(error) => panic!("{error:?}"),
        }
    }
}

const AMOUNTS: [u64; 9] = [0, 1, 2, 3, 7, 10, 100, 5000, 1_000_000_000_000];
const TOKENS: [u64; 7] = [1, 2, 3, 7, 100, 1_000_000, 1_000_000_000_000];
const INTERVALS: [&str; 8] = ["1ms", "7ms", "1s", "10s", "1m", "1h", "1d", "3650d"];

/// The words that follow the key, but for the cost.
fn limits(random: &mut Random, algorithm: Algorithm) -> [String; 2] {
    let amount = random.of(&AMOUNTS);
    let interval = random.of(&INTERVALS);
    match algorithm {
        Algorithm::TokenBucket | Algorithm::Gcra => [amount.to_string(), format!("{}/{interval}", random.of(&TOKENS))],
        Algorithm::SlidingLog => [amount.min(LOG_LIMIT_DEFAULT + 1).to_string(), interval.into()],
        Algorithm::Fixed | Algorithm::SlidingCounter => [amount.to_string(), interval.into()],
    }
}

/// Plays one sequence on `k`, a key that does not exist.
fn play(server: &Server, client: &mut Client, random: &mut Random, algorithm: Algorithm) {
    let mut expected = Expected::default();
    let mut usual = limits(random, algorithm);
    let (mut now, mut told) = (START, [0_i64; 3]);
    for _ in 0..40 {
        let [remaining, retry, reset] = told;
        now += match random.below(12) {
            0..4 => 0,
            4 => retry,
            5 => (retry - 1).max(0),
            6 => reset,
            7 => (reset - 1).max(0),
            8 => random.below(reset.max(1) as u64) as i64,
            9 => random.below(3 * S as u64) as i64,
            10 => -(random.below(2 * reset.max(1) as u64) as i64),
            _ => random.of(&[1, MS - 1, DAY, -1, -S, -DAY]),
        };
        // Far from the ends of time, which the core's own tests visit.
        now = now.clamp(START / 2, START * 100);
        if random.one_in(12) {
            usual = limits(random, algorithm);
        }
        let [amount, unit] = if random.one_in(8) { limits(random, algorithm) } else { usual.clone() };
        let remaining = remaining.max(0) as u64;
        let cost = random.of(&[0, 1, 1, 1, 2, 5, remaining, remaining + 1]).min(1_000_000_000_000);
        let aligned = match (algorithm, random.below(4)) {
            (Algorithm::Fixed, 0) => " ALIGNED",
            (Algorithm::Fixed, 1) => " ALIGNED 1ms",
            _ => "",
        };
        let name = algorithm.name().to_uppercase();
        let options = random.of(&["", "", "", " STRICT", " PARTIAL", " BLOCK 2s", " STRICT BLOCK 1ms", " RESERVE 5s"]);
        let options = if options == " RESERVE 5s" && !name.contains("TOKEN") && name != "GCRA" { "" } else { options };
        let command = format!("RL.{name} k {amount} {unit} {cost}{aligned}{options}");

        server.set_clock(now);
        if now / MS > expected.expires_ms {
            expected = Expected::default();
        }
        if random.one_in(3) {
            let delta = random.of(&["1", "-1", "3", "-2", "0", "-1000000", "1000000000000", "x"]);
            let replies = client.pipeline(&[&format!("RL.ADJUST k {delta}"), "GET k", "PEXPIRETIME k"]);
            let [reply, stored, expires] = <[_; 3]>::try_from(replies).unwrap();
            let what = format!("at {now}: adjust by {delta}");
            let wanted = expected.adjust(delta, Timestamp::from_micros(now as u64));
            let reply = reply.map(|reply| if reply == Value::Nil { None } else { Some(five(reply).unwrap()) });
            assert_eq!(reply, wanted.map(|decision| decision.map(|decision| decision.reply())), "{what}");
            check(&expected, stored, expires, &what);
            continue;
        }
        let mut replies = client.pipeline(&[&peek_of(&command), &command, "GET k", "PEXPIRETIME k"]).into_iter();
        let (peeked, reply) = (replies.next().unwrap(), replies.next().unwrap());
        let what = format!("at {now}: {command}");
        assert_eq!(peeked, reply, "{what}");

        let mut words = command.split(' ').skip(2).map(str::as_bytes);
        match request::call(algorithm, &mut words, LOG_LIMIT_DEFAULT) {
            Err(request::RequestError::Argument(error)) => assert_eq!(reply, Err(format!("ERR {error}")), "{what}"),
            Err(error) => panic!("{what}: {error:?}"),
            Ok(call) => {
                let record = expected.record.clone();
                let at = Timestamp::from_micros(now as u64);
                let outcome = general::decide(record.as_deref(), &call.limit, at, call.cost, &call.options);
                let Outcome { decision, extra, change, block, .. } = outcome.unwrap();
                let numbers = decision.reply().into_iter().chain(extra.map(|extra| extra.reply()));
                assert_eq!(reply.unwrap(), Value::Array(numbers.map(Value::Int).collect()), "{what}");
                let retry = if let Retry::After(span) = decision.retry { span.micros() } else { 0 };
                told = [decision.reply()[2], retry as i64, decision.reset.micros() as i64];
                expected.apply(change, block);
            }
        }
        check(&expected, replies.next().unwrap(), replies.next().unwrap(), &what);
    }
}

fn check(expected: &Expected, stored: Result<Value, String>, expires: Result<Value, String>, what: &str) {
    let stored: Option<Vec<u8>> = redis::from_redis_value(stored.unwrap()).unwrap();
    assert_eq!(stored, expected.record, "{what}");
    let expires_ms = if stored.is_some() { expected.expires_ms } else { -2 };
    assert_eq!(expires, Ok(Value::Int(expires_ms)), "{what}");
}

#[test]
fn the_server_answers_and_stores_what_the_core_decides() {
    let server = Server::start();
    let mut client = server.client();
    let mut random = Random::new(2);
    for _ in 0..60 {
        for algorithm in Algorithm::ALL {
            client.run("FLUSHALL");
            play(&server, &mut client, &mut random, algorithm);
        }
    }
}
