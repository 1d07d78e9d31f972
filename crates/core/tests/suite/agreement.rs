//! The core and the model get the same calls, and must say the same to the microsecond.

use limiter_core::call;
use limiter_core::decision::{Decision, Retry};
use limiter_core::general::Extra;
use limiter_core::limit::LOG_LIMIT;
use limiter_core::options::Options;
use limiter_core::record::{self, Algorithm, Record};
use limiter_core::time::Timestamp;
use num_traits::ToPrimitive;

use crate::key::{Key, told};
use crate::model::adjust::Adjusted;
use crate::model::asked::{self, Block};
use crate::model::bucket::{self, Bucket};
use crate::model::fixed_window::{self, FixedWindow};
use crate::model::sliding_counter::{self, SlidingCounter};
use crate::model::sliding_log::{self, SlidingLog};
use crate::model::{Int, Verdict, Wait, int};
use crate::says::{Said, holds, same};
use crate::scenario::{Call, Numbers, Scenario, Told};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Model {
    Bucket(Bucket),
    Fixed(FixedWindow),
    Log(SlidingLog),
    Counter(SlidingCounter),
}

impl Model {
    pub fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::TokenBucket | Algorithm::Gcra => Self::Bucket(Bucket::default()),
            Algorithm::Fixed => Self::Fixed(FixedWindow::default()),
            Algorithm::SlidingLog => Self::Log(SlidingLog::default()),
            Algorithm::SlidingCounter => Self::Counter(SlidingCounter::default()),
        }
    }

    pub fn call(&mut self, numbers: &Numbers, now: &Int, cost: &Int) -> Verdict {
        let window = int(numbers.interval_us());
        match self {
            Self::Bucket(bucket) => bucket.call(&bucket_limit(numbers), now, cost),
            Self::Fixed(fixed) => {
                let aligned = numbers.offset_ms().map(|ms| int(ms) * 1_000);
                fixed.call(&fixed_window::Limit { limit: int(numbers.amount), window, aligned }, now, cost)
            }
            Self::Log(log) => {
                let limit = int(numbers.amount.min(LOG_LIMIT.max));
                log.call(&sliding_log::Limit { limit, window }, now, cost)
            }
            Self::Counter(counter) => {
                counter.call(&sliding_counter::Limit { limit: int(numbers.amount), window }, now, cost)
            }
        }
    }

    fn count(&mut self, numbers: &Numbers, now: &Int, cost: &Int) -> bool {
        let window = int(numbers.interval_us());
        match self {
            Self::Bucket(bucket) => bucket.count(&bucket_limit(numbers), now, cost),
            Self::Fixed(fixed) => {
                let aligned = numbers.offset_ms().map(|ms| int(ms) * 1_000);
                fixed.count(&fixed_window::Limit { limit: int(numbers.amount), window, aligned }, now, cost)
            }
            Self::Log(log) => {
                let limit = int(numbers.amount.min(LOG_LIMIT.max));
                log.count(&sliding_log::Limit { limit, window }, now, cost)
            }
            Self::Counter(counter) => {
                counter.count(&sliding_counter::Limit { limit: int(numbers.amount), window }, now, cost)
            }
        }
    }

    /// The limit of the last admitted call.
    pub fn stored_limit(&self) -> Option<Int> {
        match self {
            Self::Bucket(bucket) => bucket.stored.as_ref().map(|stored| stored.limit.capacity.clone()),
            Self::Fixed(fixed) => fixed.stored.as_ref().map(|stored| stored.limit.clone()),
            Self::Log(log) => log
                .stored
                .as_ref()
                .map(|stored| &stored.limit)
                .or(log.emptied.as_ref())
                .map(|limit| limit.limit.clone()),
            Self::Counter(counter) => counter.stored.as_ref().map(|stored| stored.limit.limit.clone()),
        }
    }

    /// Adjusts the usage; a log may hold so many events after it.
    pub fn adjust(&mut self, now: &Int, delta: &Int, blocked: bool, most: u64) -> Adjusted {
        match self {
            Self::Bucket(bucket) => bucket.adjust(now, delta, blocked),
            Self::Fixed(fixed) => fixed.adjust(now, delta),
            Self::Log(log) => log.adjust(now, delta, blocked, usize::try_from(most).expect("a log fits the memory")),
            Self::Counter(counter) => counter.adjust(now, delta, blocked),
        }
    }

    pub fn peek(&self, now: &Int, cost: &Int) -> Option<Verdict> {
        match self {
            Self::Bucket(bucket) => bucket.peek(now, cost),
            Self::Fixed(fixed) => fixed.peek(now, cost),
            Self::Log(log) => log.peek(now, cost),
            Self::Counter(counter) => counter.peek(now, cost),
        }
    }

    pub fn useful_until(&self) -> Option<Int> {
        match self {
            Self::Bucket(bucket) => bucket.stored.as_ref().map(bucket::Stored::useful_until),
            Self::Fixed(fixed) => fixed.stored.as_ref().map(fixed_window::Stored::useful_until),
            Self::Log(log) => log.stored.as_ref().map(sliding_log::Stored::useful_until),
            Self::Counter(counter) => counter.stored.as_ref().map(sliding_counter::Stored::useful_until),
        }
    }

    pub fn correct_the_clock(&mut self, now: &Int) -> bool {
        match self {
            Self::Bucket(bucket) => bucket.correct_the_clock(now),
            Self::Fixed(fixed) => fixed.correct_the_clock(now),
            Self::Log(log) => log.correct_the_clock(now),
            Self::Counter(counter) => counter.correct_the_clock(now),
        }
    }

    pub fn is_idle(&self, now: &Int) -> bool {
        match self {
            Self::Bucket(bucket) => bucket.is_idle(now),
            Self::Fixed(fixed) => fixed.is_idle(now),
            Self::Log(log) => log.is_idle(now),
            Self::Counter(counter) => counter.is_idle(now),
        }
    }
}

fn bucket_limit(numbers: &Numbers) -> bucket::Limit {
    let (capacity, tokens) = (int(numbers.amount), int(numbers.filling_tokens()));
    bucket::Limit { capacity, tokens, period: int(numbers.interval_us()) }
}

/// A model under the numbers of one call.
#[derive(Clone)]
struct Under<'n> {
    model: Model,
    numbers: &'n Numbers,
}

impl asked::Limiter for Under<'_> {
    fn call(&mut self, now: &Int, cost: &Int) -> Verdict {
        self.model.call(self.numbers, now, cost)
    }

    fn count(&mut self, now: &Int, cost: &Int) -> bool {
        self.model.count(self.numbers, now, cost)
    }

    fn book(&mut self, now: &Int, cost: &Int, wait: &Int) -> Verdict {
        match &mut self.model {
            Model::Bucket(bucket) => bucket.book(&bucket_limit(self.numbers), now, cost, wait),
            _ => unreachable!("only buckets are asked to book"),
        }
    }

    fn correct_the_clock(&mut self, now: &Int) -> bool {
        self.model.correct_the_clock(now)
    }
}

fn model_options(options: &Options) -> asked::Options {
    asked::Options {
        partial: options.partial,
        strict: options.strict,
        reserve: options.reserve.map(|wait| int(wait.micros())),
        block: options.block.map(|length| int(length.micros())),
    }
}

pub fn exact(decision: &Decision) -> Verdict {
    Verdict {
        allowed: decision.allowed(),
        limit: int(decision.limit),
        remaining: int(decision.remaining()),
        retry: match decision.retry {
            Retry::Now => Wait::Now,
            Retry::After(wait) => Wait::After(int(wait.micros())),
            Retry::Never => Wait::Never,
        },
        reset: int(decision.reset.micros()),
    }
}

/// The five integers as a reply has them: waits in milliseconds, rounded up.
pub fn reply(verdict: &Verdict) -> [i64; 5] {
    let ms = |wait: &Int| {
        let thousand = int(1_000);
        let up: Int = (wait + &thousand - 1) / thousand;
        up.to_i64().expect("a wait fits 64 bits")
    };
    let integer = |n: &Int| n.to_i64().expect("a count fits 64 bits");
    let retry = match &verdict.retry {
        Wait::Now => 0,
        Wait::After(wait) => ms(wait),
        Wait::Never => -1,
    };
    [i64::from(verdict.allowed), integer(&verdict.limit), integer(&verdict.remaining), retry, ms(&verdict.reset)]
}

/// The expiry is not before the state stops mattering, and not past the slack.
pub fn check_expiry(key: &Key, now: &Int, needed: &Int) -> Said {
    let at = int(key.expiry_ms.expect("a key that was written has an expiry")) * 1_000;
    let twice: Int = needed * 2 - now;
    let latest = twice.max(needed + 2_000_000);
    holds(*needed <= at && at <= latest, || format!("expires at {at}, needed until {needed}, at most {latest}"))?;
    same(&key.told_expiry_ms(), &key.expiry_ms, || "the expiry in the record".to_owned())
}

/// Writing what was read gives the same bytes.
pub fn check_round_trip(key: &Key) -> Said {
    let bytes = key.record.as_deref().expect("the key is there");
    let (algorithm, record) = record::decode(bytes).expect("what was written can be read");
    let again = match &record {
        Record::Bucket(stored) => record::encode_bucket(algorithm, stored),
        Record::Fixed(stored) => record::encode_fixed(stored),
        Record::Counter(stored) => record::encode_counter(stored),
        Record::Log(_) => return Ok(()),
    };
    let plain = again.as_bytes();
    let again = record::block(bytes).map_or(plain.to_vec(), |block| block.wrap(plain).as_bytes().to_vec());
    same(&again.as_slice(), &bytes, || "the record written again".to_owned())
}

/// What the record says of itself is what the model has.
pub fn check_report(key: &Key, model: &Model, now: u64) -> Said {
    let bytes = key.record.as_deref().expect("the key is there");
    let report = call::report(bytes, Timestamp::from_micros(now)).expect("what was written can be read");
    let updated = int(report.updated.micros());
    if let Some(peeked) = model.peek(&int(now), &int(0)) {
        same(&exact(&report.decision), &peeked, || "the report".to_owned())?;
    }
    match model {
        Model::Bucket(Bucket { stored: Some(stored) }) => {
            same(&updated, &stored.time, || "the time of the last admitted call".to_owned())
        }
        Model::Log(log @ SlidingLog { stored: Some(stored), .. }) => {
            same(&updated, stored.newest(), || "the time of the last admitted call".to_owned())?;
            let mut corrected = log.clone();
            corrected.correct_the_clock(&int(now));
            let living = corrected.counted(&stored.limit.window, &int(now)).len();
            let living = u64::try_from(living).expect("a count fits 64 bits");
            same(&report.events, &Some(living), || "the events that count".to_owned())
        }
        _ => Ok(()),
    }
}

/// What a look tells of a blocked key.
fn check_blocked(key: &Key, now: u64, cost: u64, block: &Block) -> Said {
    let peeked = key.peek(now, cost).expect("a blocked key is not idle");
    let left = block.ends() - int(now);
    same(&peeked.allowed(), &(cost == 0), || "a look at a blocked key".to_owned())?;
    same(&peeked.remaining(), &0, || "what is left while a key is blocked".to_owned())?;
    holds(int(peeked.reset.micros()) >= left, || "a reset before the block ends".to_owned())?;
    let report = call::report(key.record.as_deref().unwrap(), Timestamp::from_micros(now)).expect("it can be read");
    same(&report.blocked.map(|left| int(left.micros())), &Some(left), || "the block in the report".to_owned())
}

/// A key and the model of it.
pub struct Pair {
    pub key: Key,
    pub model: Model,
    pub block: Option<Block>,
    /// What the last call was told.
    pub told: Told,
}

impl Pair {
    pub fn new(algorithm: Algorithm) -> Self {
        Self { key: Key::new(algorithm), model: Model::new(algorithm), block: None, told: Told::default() }
    }

    /// The block that the key is under at a moment.
    pub fn present(&self, at: &Int) -> Option<Block> {
        self.block.as_ref().map(|block| block.corrected(at)).filter(|block| *at < block.ends())
    }

    /// Looks at both.
    pub fn look(&self, now: u64, cost: u64) -> Said {
        let at = int(now);
        if let Some(block) = &self.present(&at) {
            return check_blocked(&self.key, now, cost, block);
        }
        let peeked = self.key.peek(now, cost).map(|decision| exact(&decision));
        same(&peeked, &self.model.peek(&at, &int(cost)), || "peek".to_owned())?;
        same(&self.key.is_idle(now), &self.model.is_idle(&at), || "idle".to_owned())
    }

    /// Makes a call on both.
    pub fn call(&mut self, call: &Call, now: u64) -> Result<Decision, String> {
        let Self { key, model, block, told: last } = self;
        let cost = call.cost.resolve(last);
        let options = call.asks.resolve(last, key.is_bucket());
        let (at, weight) = (int(now), int(cost));
        let calling = |what| format!("{what} call {:?} {options:?} at {now} us, cost {cost}", call.numbers);

        let before = key.clone();
        let limit = key.limit(&call.numbers);
        let (decision, extra) = if options.is_none() {
            (key.call_under(&limit, now, cost).expect("what was written can be read"), None)
        } else {
            key.ask(&limit, now, cost, &options).expect("what was written can be read")
        };
        let mut under = Under { model: model.clone(), numbers: &call.numbers };
        let expected = asked::ask(&mut under, block, &at, &weight, &model_options(&options));
        *model = under.model;
        same(&exact(&decision), &expected.verdict, || calling("the verdict of"))?;
        same(&decision.reply(), &reply(&expected.verdict), || calling("the reply to"))?;
        let number = extra.map(|extra| match extra {
            Extra::Granted(granted) => int(granted),
            Extra::Wait(wait) => int(wait.micros()),
        });
        same(&number, &expected.extra, || calling("the sixth element for"))?;
        same(&(*key != before), &expected.stored, || calling("bytes changed by"))?;
        *last = told(&decision, &call.numbers, key.is_bucket());
        if *key != before {
            // A log may hold no event, and a block.
            let useful_until = self.model.useful_until().unwrap_or(at);
            self.check_written(now, &useful_until).map_err(|error| format!("{error} after {}", calling("the")))?;
        }
        self.check_told(now).map_err(|error| format!("{error} after {}", calling("the")))?;
        Ok(decision)
    }

    /// What was written at a moment, and is useful until another.
    pub fn check_written(&self, now: u64, useful_until: &Int) -> Said {
        let at = int(now);
        let lasts = self.block.as_ref().filter(|block| at < block.ends());
        let needed = lasts.map_or(useful_until.clone(), |block| block.ends().max(useful_until.clone()));
        check_expiry(&self.key, &at, &needed)?;
        check_round_trip(&self.key)
    }

    /// What the record tells.
    pub fn check_told(&self, now: u64) -> Said {
        if self.key.record.is_none() || self.block.is_some() {
            return Ok(());
        }
        check_report(&self.key, &self.model, now)
    }
}

/// Makes the calls of a scenario on a key and on the model.
pub fn agree(algorithm: Algorithm, scenario: &Scenario) -> Said {
    let mut pair = Pair::new(algorithm);
    let mut now = scenario.start;
    for (index, call) in scenario.calls.iter().enumerate() {
        now = call.pause.resolve(now, &pair.told);
        let cost = call.cost.resolve(&pair.told);
        pair.look(now, cost).map_err(|error| format!("{error} at {now} us, before call {index}"))?;
        pair.call(call, now).map_err(|error| format!("call {index}: {error}"))?;
    }
    Ok(())
}
