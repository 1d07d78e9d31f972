//! What is counted and logged: these names, these labels, one line for a change of state, and nothing of a subject.

use std::{
    collections::BTreeMap,
    fmt,
    num::NonZeroU32,
    sync::{Arc, Mutex},
    time::Duration,
};

use limiter_client::{
    Decision, Error, FailurePolicy, Limiter, Retry, Subject,
    testing::{Answer, Scripted},
};
use metrics::{
    Counter, CounterFn, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
    span,
};

use crate::policy::key_space;

const MINUTE: Duration = Duration::from_secs(60);
const ADDRESS: &str = "ada@example.org";

/// Keeps what is recorded, by name and labels.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<BTreeMap<String, Vec<f64>>>>);

struct One(Seen, String);

impl One {
    fn add(&self, value: f64) {
        self.0.0.lock().unwrap().entry(self.1.clone()).or_default().push(value);
    }
}

impl CounterFn for One {
    fn increment(&self, value: u64) {
        self.add(value as f64);
    }

    fn absolute(&self, _: u64) {
        panic!("a counter counts");
    }
}

impl HistogramFn for One {
    fn record(&self, value: f64) {
        self.add(value);
    }
}

impl Seen {
    fn one(&self, key: &Key) -> Arc<One> {
        let labels: Vec<String> = key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        Arc::new(One(self.clone(), format!("{}{{{}}}", key.name(), labels.join(","))))
    }

    /// How often each was recorded.
    fn counts(&self) -> BTreeMap<String, usize> {
        self.0.lock().unwrap().iter().map(|(name, values)| (name.clone(), values.len())).collect()
    }
}

impl Recorder for Seen {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.one(key))
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        panic!("no gauges")
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.one(key))
    }
}

/// Keeps each event as a line.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<(Level, String)>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0 += &format!("{}={value:?} ", field.name());
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("limiter_client")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push((*event.metadata().level(), line.0));
    }
}

/// Runs in tokio's time, and answers what was recorded and logged.
fn watched(run: impl AsyncFnOnce()) -> (Seen, Vec<(Level, String)>) {
    let (seen, lines) = (Seen::default(), Lines::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    tracing::subscriber::with_default(lines.clone(), || {
        metrics::with_local_recorder(&seen, || runtime.block_on(run()));
    });
    let lines = lines.0.lock().unwrap().clone();
    (seen, lines)
}

fn limiter(policy: FailurePolicy, backend: Scripted) -> Limiter {
    let builder = Limiter::builder("login").action("sign-in").limit("FIXED 5 1m".parse().unwrap());
    builder.key_space(key_space()).on_failure(policy).build(backend).unwrap()
}

async fn check(limiter: &Limiter) -> Decision {
    limiter.check(&Subject::hashed("email", ADDRESS), 1).await.unwrap()
}

#[test]
fn allowed_and_refused_calls_are_counted_with_latencies_and_waits() {
    let (seen, lines) = watched(async || {
        let yes = Answer::Decision(Decision::allowed(5, 4, MINUTE)).after(Duration::from_millis(20));
        let no = Answer::Decision(Decision::refused(5, 0, Retry::After(MINUTE), MINUTE));
        let limiter = limiter(FailurePolicy::Closed, Scripted::in_turn([yes, no]));
        for _ in 0..3 {
            check(&limiter).await;
        }
    });
    let labels = "limit=login,action=sign-in";
    let expected = [("allowed_total", 1), ("redis_latency", 3), ("rejected_total", 2), ("retry_after", 2)];
    let expected = expected.map(|(name, count)| (format!("rate_limiter_{name}{{{labels}}}"), count));
    assert_eq!(seen.counts(), BTreeMap::from(expected));
    let values = seen.0.lock().unwrap();
    // Seconds.
    assert_eq!(values[&format!("rate_limiter_retry_after{{{labels}}}")], [60.0, 60.0]);
    assert!((0.01..0.03).contains(&values[&format!("rate_limiter_redis_latency{{{labels}}}")][0]));

    assert_eq!(lines.len(), 2);
    for (level, line) in lines {
        assert_eq!(level, Level::DEBUG);
        assert!(line.contains("refused") && line.contains("login") && line.contains("sign-in"), "{line}");
    }
}

#[test]
fn fallbacks_are_counted_by_mode_and_errors_by_kind() {
    for (policy, mode) in [
        (FailurePolicy::Open, "open"),
        (FailurePolicy::Closed, "closed"),
        (FailurePolicy::local(NonZeroU32::MIN), "local"),
    ] {
        let (seen, _) = watched(async || {
            let limiter = limiter(policy, Scripted::in_turn([Answer::Error(Error::NotLoaded), Answer::Silence]));
            for _ in 0..9 {
                check(&limiter).await;
            }
        });
        let count = |name: &str, label: &str| {
            let key = format!("rate_limiter_{name}{{limit=login,action=sign-in{label}}}");
            seen.counts().get(&key).copied().unwrap_or(0)
        };
        assert_eq!(count("fallback_total", &format!(",mode={mode}")), 9);
        assert_eq!(count("error_total", ",kind=not_loaded"), 1);
        assert_eq!(count("error_total", ",kind=timeout"), 4);
        assert_eq!(count("error_total", ",kind=unavailable"), 4);
        assert_eq!(count("redis_latency", ""), 5);
        assert_eq!(count("allowed_total", "") + count("rejected_total", ""), 9);
    }
}

#[test]
fn a_change_of_state_is_one_line_and_no_line_names_a_subject() {
    let (_, lines) = watched(async || {
        let mut calls = 0;
        let backend = Scripted::new(move |_| {
            calls += 1;
            match calls {
                1..=6 => Answer::Error(Error::NotLoaded),
                _ => Answer::Decision(Decision::allowed(5, 4, MINUTE)),
            }
        });
        let limiter = limiter(FailurePolicy::Closed, backend);
        for _ in 0..1_000 {
            check(&limiter).await;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    let loud: Vec<_> = lines.iter().filter(|(level, _)| *level <= Level::INFO).collect();
    assert_eq!(loud.len(), 2, "{loud:?}");
    assert_eq!(loud[0].0, Level::WARN);
    assert!(loud[0].1.contains("closed") && loud[0].1.contains("not_loaded"), "{loud:?}");
    assert_eq!(loud[1].0, Level::INFO);
    assert!(lines.len() > 100);
    let key = key_space().key("login", &Subject::hashed("email", ADDRESS)).unwrap().to_string();
    let digest = key.rsplit(':').next().unwrap();
    for (_, line) in &lines {
        assert!(!line.contains("ada") && !line.contains("example") && !line.contains(digest), "{line}");
    }
}
