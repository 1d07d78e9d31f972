//! The check in front of each request.

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response, StatusCode, request, response};
use tokio::time::sleep;
use tower_service::Service;

use super::{
    Rules,
    caller::Owned,
    refusal::{Refusal, problem},
    tab::Tab,
};
use crate::{decision::Decision, error::Error};

/// A service behind a limit, made by a [`RateLimitLayer`](super::RateLimitLayer).
///
/// Its answers have a body of the same type as the service's own, made from a `String` where the layer answers itself:
/// axum's `Body`, http-body-util's `Full`, a `String`.
#[derive(Clone)]
pub struct RateLimitService<S> {
    inner: S,
    rules: Arc<Rules>,
}

impl<S> RateLimitService<S> {
    pub(super) const fn new(inner: S, rules: Arc<Rules>) -> Self {
        Self { inner, rules }
    }
}

impl<S> fmt::Debug for RateLimitService<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RateLimitService({})", self.rules.policy.name())
    }
}

impl<S, RequestBody, ResponseBody> Service<Request<RequestBody>> for RateLimitService<S>
where
    S: Service<Request<RequestBody>, Response = Response<ResponseBody>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    RequestBody: Send + 'static,
    ResponseBody: From<String> + Send + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    /// Always ready: the service behind is asked for its readiness only for requests that are let in.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        // Never made ready here, so there is no readiness that a clone would lack.
        let inner = self.inner.clone();
        let rules = Arc::clone(&self.rules);
        Box::pin(async move {
            let (mut head, body) = request.into_parts();
            let Some(subject) = (rules.caller)(&head).0 else {
                return pass(inner, Request::from_parts(head, body)).await;
            };
            let cost = (rules.cost)(&head);
            let decision = match check(&rules, &subject, cost).await {
                Ok(decision) if decision.allowed => decision,
                Ok(decision) => return Ok(Refusal::new(rules.policy.clone(), decision).into_response()),
                Err(error) => return Ok(wrong(&rules, &error)),
            };
            let tab = (rules.tab || rules.charge_after.is_some())
                .then(|| Tab::new(Arc::clone(&rules), subject, &decision, cost));
            introduce(&rules, &mut head, decision, tab.as_ref());
            if let Some(wait) = decision.wait.filter(|wait| !wait.is_zero()) {
                sleep(wait).await;
            }
            let (mut answer, body) = pass(inner, Request::from_parts(head, body)).await?.into_parts();
            let decision = settle(&rules, tab, &answer).await.unwrap_or(decision);
            rules.policy.write(&decision, &mut answer.headers);
            Ok(Response::from_parts(answer, body))
        })
    }
}

/// Answers as the service itself does, as soon as it is ready.
async fn pass<S, RequestBody>(mut inner: S, request: Request<RequestBody>) -> Result<S::Response, S::Error>
where
    S: Service<Request<RequestBody>>,
{
    poll_fn(|context| inner.poll_ready(context)).await?;
    inner.call(request).await
}

async fn check(rules: &Rules, subject: &Owned, cost: u64) -> Result<Decision, Error> {
    let outer = subject.outer();
    rules.limiter.check(&subject.subject(outer.as_ref()), cost).await
}

/// What the handlers are told.
fn introduce(rules: &Rules, head: &mut request::Parts, decision: Decision, tab: Option<&Tab>) {
    head.extensions.insert(decision);
    if rules.tab
        && let Some(tab) = tab
    {
        head.extensions.insert(tab.clone());
    }
}

/// Charges what the answer says it has cost. In a task of its own: a caller that hangs up at this moment must not get around it.
async fn settle(rules: &Rules, tab: Option<Tab>, answer: &response::Parts) -> Option<Decision> {
    let cost = rules.charge_after.as_ref()?(answer)?;
    let tab = tab?;
    match tokio::spawn(async move { tab.settle(cost).await }).await {
        Ok(Ok(decision)) => decision,
        Ok(Err(error)) => {
            tracing::warn!(limiter = rules.policy.name(), kind = error.kind(), "the estimated cost stands");
            None
        }
        Err(_) => None,
    }
}

/// The answer where there is no verdict, because the question itself was wrong. Letting such a request in would be a way
/// around the limit.
fn wrong<ResponseBody: From<String>>(rules: &Rules, error: &Error) -> Response<ResponseBody> {
    let status = match error {
        // A name that no key can hold: it comes from the request.
        Error::Argument(error) if error.argument() == "subject" => StatusCode::BAD_REQUEST,
        _ => {
            tracing::error!(limiter = rules.policy.name(), kind = error.kind(), %error, "the request cannot be checked");
            StatusCode::INTERNAL_SERVER_ERROR
        }
    };
    problem(status, "about:blank", status.canonical_reason().unwrap_or_default(), "")
}
