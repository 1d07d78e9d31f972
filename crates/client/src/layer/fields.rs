//! The fields of an HTTP answer that tell a caller where it stands.

use std::time::Duration;

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{Entry, RETRY_AFTER},
};

use crate::{
    decision::{Decision, Retry, Source},
    limit::Limit,
    limiter::Limiter,
};

/// `RateLimit-Policy`: the limit as it stands in the documentation.
pub const RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// `RateLimit`: what is left of it.
pub const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// A limit as callers are told of it, by the Internet-Draft [RateLimit header fields for HTTP][draft], revision 11.
///
/// | field | value |
/// |---|---|
/// | `RateLimit-Policy` | `"name";q=LIMIT;w=WINDOW`: the limit, and its window in seconds; for a bucket the time in which it fills |
/// | `RateLimit` | `"name";r=REMAINING;t=WAIT`: [`Decision::remaining`], and [`Decision::reset_after`] in seconds, or on a refusal what `Retry-After` says |
/// | `Retry-After` | on a refusal, the seconds to wait, at least 1; absent if no wait helps |
///
/// All times are rounded up, so that who waits that long is not early. If nobody decided, because the server did not answer,
/// what is left is not known, and `RateLimit` is absent. There is no partition key (`pk`): it would tell whose limit it is.
///
/// [draft]: https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
#[derive(Clone, Debug)]
pub struct Policy {
    name: String,
    quoted: String,
    advertised: HeaderValue,
}

impl Policy {
    /// What callers are told of `limit` under this name, of which only printable ASCII is used.
    #[must_use]
    pub fn new(name: &str, limit: &Limit) -> Self {
        let name: String = name.chars().filter(|letter| matches!(letter, ' '..='~')).collect();
        let quoted = format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
        // A window of zero seconds is not allowed; a longer one promises less.
        let window = whole_seconds(limit.window()).max(1);
        let advertised = field(format!("{quoted};q={};w={window}", limit.max()));
        Self { name, quoted, advertised }
    }

    /// The name of the limit.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds the fields for `decision` to those of an answer. What other limits said there stays; of several `Retry-After` the
    /// longest does.
    pub fn write(&self, decision: &Decision, headers: &mut HeaderMap) {
        headers.append(RATELIMIT_POLICY, self.advertised.clone());
        let retry_after = retry_seconds(decision);
        if matches!(decision.source, Source::Server | Source::Memory | Source::Local) {
            let wait = retry_after.unwrap_or_else(|| whole_seconds(decision.reset_after));
            headers.append(RATELIMIT, field(format!("{};r={};t={wait}", self.quoted, decision.remaining)));
        }
        if let Some(seconds) = retry_after {
            write_retry_after(seconds, headers);
        }
    }
}

/// What callers are told of a limiter.
impl From<&Limiter> for Policy {
    fn from(limiter: &Limiter) -> Self {
        Self::new(limiter.name(), limiter.limit())
    }
}

/// What `Retry-After` says to a refused caller: seconds, rounded up, at least 1; `None` if no wait helps, or none is needed.
#[must_use]
pub fn retry_seconds(decision: &Decision) -> Option<u64> {
    match decision.retry_after {
        Retry::After(wait) if !decision.allowed => Some(whole_seconds(wait).max(1)),
        _ => None,
    }
}

fn write_retry_after(seconds: u64, headers: &mut HeaderMap) {
    match headers.entry(RETRY_AFTER) {
        Entry::Vacant(entry) => {
            entry.insert(HeaderValue::from(seconds));
        }
        Entry::Occupied(mut entry) => {
            let stands = entry.get().to_str().ok().and_then(|text| text.parse::<u64>().ok());
            if stands.is_some_and(|stands| stands < seconds) {
                entry.insert(HeaderValue::from(seconds));
            }
        }
    }
}

/// Seconds, rounded up.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0))
}

/// Printable ASCII is always a value.
fn field(text: String) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail, and says where")]
mod tests {
    use super::*;
    use crate::limit::Rate;

    const MS: Duration = Duration::from_millis(1);

    fn shown(limit: &Limit, decision: &Decision) -> Vec<(String, String)> {
        let mut headers = HeaderMap::new();
        Policy::new("orders", limit).write(decision, &mut headers);
        let text = |(name, value): (&HeaderName, &HeaderValue)| (name.to_string(), value.to_str().unwrap().to_owned());
        headers.iter().map(text).collect()
    }

    fn value(limit: &Limit, decision: &Decision, name: &HeaderName) -> Option<String> {
        shown(limit, decision).into_iter().find(|(other, _)| other == name.as_str()).map(|(_, value)| value)
    }

    #[test]
    fn times_are_whole_seconds_rounded_up() {
        let limit = Limit::fixed(5, Duration::from_secs(60)).unwrap();
        for (wait, seconds) in [(1, "1"), (999, "1"), (1_000, "1"), (1_001, "2"), (59_001, "60")] {
            let wait = Retry::After(MS.saturating_mul(wait));
            let refused = Decision::refused(5, 0, wait, Duration::from_secs(60));
            assert_eq!(value(&limit, &refused, &RETRY_AFTER).as_deref(), Some(seconds));
            assert_eq!(value(&limit, &refused, &RATELIMIT), Some(format!("\"orders\";r=0;t={seconds}")));
        }
        let microsecond = Decision::refused(5, 0, Retry::After(Duration::from_micros(1)), MS);
        assert_eq!(value(&limit, &microsecond, &RETRY_AFTER).as_deref(), Some("1"));
    }

    #[test]
    fn an_allowed_call_is_told_what_is_left_and_when_all_is() {
        let limit = Limit::fixed(5, Duration::from_secs(60)).unwrap();
        let allowed = Decision::allowed(5, 4, Duration::from_millis(59_500));
        let expected = [("ratelimit-policy", "\"orders\";q=5;w=60"), ("ratelimit", "\"orders\";r=4;t=60")];
        assert_eq!(shown(&limit, &allowed), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let untouched = Decision::allowed(5, 5, Duration::ZERO);
        assert_eq!(value(&limit, &untouched, &RATELIMIT).as_deref(), Some("\"orders\";r=5;t=0"));
    }

    #[test]
    fn a_window_is_the_time_to_fill_and_never_zero() {
        let policy = |limit: &Limit| value(limit, &Decision::allowed(0, 0, MS), &RATELIMIT_POLICY).unwrap();
        let bucket = Limit::token_bucket(10, Rate::per(3, Duration::from_secs(1)).unwrap()).unwrap();
        assert_eq!(policy(&bucket), "\"orders\";q=10;w=4");
        let closed = Limit::token_bucket(0, Rate::per_second(1).unwrap()).unwrap();
        assert_eq!(policy(&closed), "\"orders\";q=0;w=1");
        let short = Limit::fixed(10, Duration::from_millis(100)).unwrap();
        assert_eq!(policy(&short), "\"orders\";q=10;w=1");
    }

    #[test]
    fn no_wait_is_told_where_none_helps() {
        let limit = Limit::fixed(5, Duration::from_secs(60)).unwrap();
        let never = Decision::refused(5, 3, Retry::Never, Duration::from_secs(7));
        assert_eq!(value(&limit, &never, &RETRY_AFTER), None);
        assert_eq!(value(&limit, &never, &RATELIMIT).as_deref(), Some("\"orders\";r=3;t=7"));
    }

    #[test]
    fn what_nobody_knows_is_not_told() {
        let limit = Limit::fixed(5, Duration::from_secs(60)).unwrap();
        let open = Decision::allowed(5, 5, Duration::ZERO).by(Source::Open);
        assert_eq!(value(&limit, &open, &RATELIMIT), None);
        assert_eq!(value(&limit, &open, &RATELIMIT_POLICY).as_deref(), Some("\"orders\";q=5;w=60"));
        let wait = Retry::After(Duration::from_secs(1));
        let closed = Decision::refused(5, 0, wait, Duration::ZERO).by(Source::Closed);
        assert_eq!(value(&limit, &closed, &RATELIMIT), None);
        assert_eq!(value(&limit, &closed, &RETRY_AFTER).as_deref(), Some("1"));
    }

    #[test]
    fn several_limits_stand_side_by_side_and_the_longest_wait_counts() {
        let mut headers = HeaderMap::new();
        let limit = Limit::fixed(5, Duration::from_secs(60)).unwrap();
        for (name, seconds) in [("minute", 30), ("hour", 1_800), ("day", 10)] {
            let wait = Retry::After(Duration::from_secs(seconds));
            Policy::new(name, &limit).write(&Decision::refused(5, 0, wait, Duration::ZERO), &mut headers);
        }
        assert_eq!(headers.get_all(RATELIMIT).iter().count(), 3);
        assert_eq!(headers.get_all(RATELIMIT_POLICY).iter().count(), 3);
        assert_eq!(headers.get_all(RETRY_AFTER).iter().collect::<Vec<_>>(), ["1800"]);
    }

    #[test]
    fn a_name_is_a_string_of_the_structured_fields() {
        let limit = Limit::fixed(5, Duration::from_secs(60)).unwrap();
        let policy = Policy::new("a\"b\\c\u{e9}\n", &limit);
        assert_eq!(policy.advertised, r#""a\"b\\c";q=5;w=60"#);
    }
}
