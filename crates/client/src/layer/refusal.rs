//! The answer to a caller that is refused.

use http::{
    HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};

use super::fields::{Policy, retry_seconds};
use crate::decision::{Decision, Source};

/// A refusal as an HTTP answer, with the fields of [`Policy`] and a body of `application/problem+json` (RFC 9457).
///
/// | refused by | status | `type` of the problem |
/// |---|---|---|
/// | the limit | 429 | `https://iana.org/assignments/http-problem-types#quota-exceeded` |
/// | [`Source::Closed`]: the server did not answer, which is not the caller's fault | 503 | `https://iana.org/assignments/http-problem-types#temporary-reduced-capacity` |
///
/// The body names the limit, and nothing of the subject, the key or the server:
///
/// ```
/// use std::time::Duration;
/// use limiter_client::{Decision, Limit, Retry, layer::{Policy, Refusal}};
///
/// let limit = Limit::fixed(5, Duration::from_secs(60))?;
/// let decision = Decision::refused(5, 0, Retry::After(Duration::from_millis(11_200)), Duration::from_secs(12));
/// let response: http::Response<String> = Refusal::new(Policy::new("orders", &limit), decision).into_response();
/// assert_eq!(response.status(), 429);
/// assert_eq!(response.headers()["retry-after"], "12");
/// assert_eq!(response.headers()["ratelimit"], r#""orders";r=0;t=12"#);
/// assert_eq!(
///     *response.body(),
///     r#"{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","#.to_owned()
///         + r#""title":"Request cannot be satisfied as assigned quota has been exceeded","#
///         + r#""status":429,"detail":"Try again in 12 seconds.","violated-policies":["orders"]}"#,
/// );
/// # Ok::<(), limiter_client::ArgumentError>(())
/// ```
///
/// A service that checks in a handler, because only the body tells who is meant, answers one itself, of
/// `Policy::from(&limiter)`; with the feature `axum` it is an `IntoResponse`.
#[derive(Clone, Debug)]
pub struct Refusal {
    policy: Policy,
    decision: Decision,
}

impl Refusal {
    /// The answer to a call that `decision` refused.
    #[must_use]
    pub const fn new(policy: Policy, decision: Decision) -> Self {
        Self { policy, decision }
    }

    /// What was decided.
    #[must_use]
    pub const fn decision(&self) -> &Decision {
        &self.decision
    }

    /// 429 Too Many Requests, or 503 Service Unavailable if the server did not answer.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        match self.decision.source {
            Source::Closed => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    /// The answer. Its extensions have the [`Decision`].
    #[must_use]
    pub fn into_response<B: From<String>>(self) -> Response<B> {
        let status = self.status();
        let wait = retry_seconds(&self.decision);
        let (kind, title, members) = if status == StatusCode::SERVICE_UNAVAILABLE {
            let title = "Request cannot be satisfied due to temporary server capacity constraints";
            ("temporary-reduced-capacity", title, wait.map_or_else(String::new, |wait| detail(&again(wait))))
        } else {
            let title = "Request cannot be satisfied as assigned quota has been exceeded";
            let never = || "The request costs more than can ever pass at once.".to_owned();
            let violated = format!(r#","violated-policies":["{}"]"#, json(self.policy.name()));
            ("quota-exceeded", title, detail(&wait.map_or_else(never, again)) + &violated)
        };
        let kind = format!("https://iana.org/assignments/http-problem-types#{kind}");
        let mut response = problem(status, &kind, title, &members);
        self.policy.write(&self.decision, response.headers_mut());
        response.extensions_mut().insert(self.decision);
        response
    }
}

fn detail(text: &str) -> String {
    format!(r#","detail":"{text}""#)
}

fn again(seconds: u64) -> String {
    format!("Try again in {seconds} second{}.", if seconds == 1 { "" } else { "s" })
}

/// A problem whose further members are JSON already, each after a comma. What is said of one caller is not for the next.
pub(super) fn problem<B: From<String>>(status: StatusCode, kind: &str, title: &str, members: &str) -> Response<B> {
    let body = format!(r#"{{"type":"{kind}","title":"{title}","status":{}{members}}}"#, status.as_u16());
    let mut response = Response::new(B::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Printable ASCII within a string of JSON.
fn json(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
