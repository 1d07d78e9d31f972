//! What is counted and logged. Names of limits and of actions are all that labels and events have: nothing of a subject or a key.

use std::{borrow::Cow, time::Duration};

use metrics::{Key, Label, Level, Metadata, SharedString, Unit, with_recorder};

use crate::{
    breaker::Turn,
    decision::{Decision, Retry, Source},
    error::Error,
};

/// Calls that were let in, by the server, in this process, or by an open fallback.
pub const ALLOWED: &str = "rate_limiter_allowed_total";
/// Calls that were refused, by whomever.
pub const REJECTED: &str = "rate_limiter_rejected_total";
/// Calls that the server did not decide, by `kind`: see [`Error::kind`](crate::Error::kind).
pub const ERROR: &str = "rate_limiter_error_total";
/// Calls that were decided by the failure policy, by `mode`: `open`, `closed` or `local`.
pub const FALLBACK: &str = "rate_limiter_fallback_total";
/// How long the server took to answer, or not to, in seconds.
pub const LATENCY: &str = "rate_limiter_redis_latency";
/// The waits that refused callers were told, in seconds.
pub const RETRY_AFTER: &str = "rate_limiter_retry_after";

static METADATA: Metadata<'static> = Metadata::new(module_path!(), Level::INFO, Some(module_path!()));

const KINDS: [&str; 9] = [
    "not_loaded",
    "timeout",
    "unavailable",
    "cross_slot",
    "wrong_type",
    "argument",
    "unexpected",
    "connection",
    "server",
];

/// The metrics of one limiter, whose keys are made once. The recorder is asked for at each call: it may be installed later than the
/// limiter is built.
#[derive(Debug)]
pub(crate) struct Meters {
    limit: Cow<'static, str>,
    action: Cow<'static, str>,
    allowed: Key,
    rejected: Key,
    errors: [(&'static str, Key); KINDS.len()],
    open: Key,
    closed: Key,
    local: Key,
    latency: Key,
    retry_after: Key,
}

impl Meters {
    pub(crate) fn new(limit: String, action: String) -> Self {
        let labels = [
            Label::new("limit", SharedString::from(limit.clone())),
            Label::new("action", SharedString::from(action.clone())),
        ];
        let key = |name: &'static str| Key::from_parts(name, labels.to_vec());
        let with = |name: &'static str, label: &'static str, value: &'static str| {
            let mut labels = labels.to_vec();
            labels.push(Label::from_static_parts(label, value));
            Key::from_parts(name, labels)
        };
        describe();
        Self {
            allowed: key(ALLOWED),
            rejected: key(REJECTED),
            errors: KINDS.map(|kind| (kind, with(ERROR, "kind", kind))),
            open: with(FALLBACK, "mode", Source::Open.name()),
            closed: with(FALLBACK, "mode", Source::Closed.name()),
            local: with(FALLBACK, "mode", Source::Local.name()),
            latency: key(LATENCY),
            retry_after: key(RETRY_AFTER),
            limit: limit.into(),
            action: action.into(),
        }
    }

    /// The server answered or failed, so long after it was asked.
    pub(crate) fn took(&self, time: Duration) {
        record(&self.latency, time);
    }

    pub(crate) fn decided(&self, decision: &Decision) {
        if decision.allowed {
            count(&self.allowed);
            return;
        }
        count(&self.rejected);
        if let Retry::After(wait) = decision.retry_after {
            record(&self.retry_after, wait);
        }
        tracing::debug!(
            limit = %self.limit,
            action = %self.action,
            source = decision.source.name(),
            retry_after = ?decision.retry_after,
            "refused"
        );
    }

    pub(crate) fn erred(&self, error: &Error) {
        let kind = error.kind();
        if let Some((_, key)) = self.errors.iter().find(|(name, _)| *name == kind) {
            count(key);
        }
    }

    /// The failure policy is about to decide.
    pub(crate) fn fell_back(&self, mode: Source, kind: &'static str) {
        count(match mode {
            Source::Open => &self.open,
            Source::Closed => &self.closed,
            _ => &self.local,
        });
        tracing::debug!(limit = %self.limit, action = %self.action, mode = mode.name(), kind, "fell back");
    }

    /// The one line that a change of state is worth.
    pub(crate) fn turned(&self, turn: Option<Turn>, mode: Source, kind: &'static str) {
        match turn {
            None => {}
            Some(Turn::Opened) => tracing::warn!(
                limit = %self.limit,
                action = %self.action,
                mode = mode.name(),
                kind,
                "no decision from the server: the failure policy decides"
            ),
            Some(Turn::Closed) => tracing::info!(
                limit = %self.limit,
                action = %self.action,
                "the server decides again"
            ),
        }
    }
}

fn count(key: &Key) {
    with_recorder(|recorder| recorder.register_counter(key, &METADATA).increment(1));
}

fn record(key: &Key, time: Duration) {
    with_recorder(|recorder| recorder.register_histogram(key, &METADATA).record(time.as_secs_f64()));
}

fn describe() {
    with_recorder(|recorder| {
        let counters = [
            (ALLOWED, "Calls that were let in"),
            (REJECTED, "Calls that were refused"),
            (ERROR, "Calls that the server did not decide, by kind"),
            (FALLBACK, "Calls that the failure policy decided, by mode"),
        ];
        for (name, text) in counters {
            recorder.describe_counter(name.into(), Some(Unit::Count), text.into());
        }
        let histograms = [
            (LATENCY, "How long the server took to decide, in seconds"),
            (RETRY_AFTER, "Waits that refused callers were told, in seconds"),
        ];
        for (name, text) in histograms {
            recorder.describe_histogram(name.into(), Some(Unit::Seconds), text.into());
        }
    });
}
