//! The layer in front of an HTTP service: what it answers, what it asks, and what it leaves alone.

mod answers;
mod load;
mod settling;

use std::{
    convert::Infallible,
    future::{Ready, ready},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response};
use limiter_client::{
    Decision, Error, FailurePolicy, KeySpace, Limit, Limiter, Retry, Secret,
    layer::{Caller, RateLimitLayer, RateLimitService},
    testing::{Answer, Scripted},
};
use tower::{Layer, Service};

pub const MINUTE: Duration = Duration::from_secs(60);

/// A limit of 5 a minute that the script decides.
pub fn limiter(script: &Scripted, on_failure: FailurePolicy) -> Limiter {
    let secret = Secret::new("sixteen bytes or more").unwrap();
    let keys = KeySpace::new("test", "shop", &secret).unwrap();
    Limiter::builder("orders")
        .limit(Limit::fixed(5, MINUTE).unwrap())
        .key_space(keys)
        .on_failure(on_failure)
        .build(script.clone())
        .unwrap()
}

pub fn allowed(remaining: u64) -> Answer {
    Answer::Decision(Decision::allowed(5, remaining, MINUTE))
}

pub fn refused(wait: Duration) -> Answer {
    Answer::Decision(Decision::refused(5, 0, Retry::After(wait), MINUTE))
}

/// Everybody who says so in a header field; only tests may trust it.
pub fn by_name(request: &http::request::Parts) -> Caller {
    match request.headers.get("name") {
        Some(name) => Caller::hashed("user", name.as_bytes()),
        None => Caller::exempt(),
    }
}

pub fn layer(script: &Scripted) -> RateLimitLayer {
    RateLimitLayer::new(limiter(script, FailurePolicy::Closed), by_name)
}

pub fn ada() -> Request<String> {
    Request::builder().uri("/orders").header("name", "ada@example.org").body("the body".to_owned()).unwrap()
}

/// The service behind: answers "done" and counts. It is ready once for each call, and only the clone that was asked.
#[derive(Default)]
pub struct Shop {
    ready: bool,
    pub asked: Arc<AtomicUsize>,
    pub called: Arc<AtomicUsize>,
}

impl Clone for Shop {
    fn clone(&self) -> Self {
        Self { ready: false, asked: Arc::clone(&self.asked), called: Arc::clone(&self.called) }
    }
}

impl Service<Request<String>> for Shop {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = Ready<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<String>) -> Self::Future {
        assert!(std::mem::take(&mut self.ready), "called before it was ready");
        assert_eq!(request.body(), "the body");
        self.called.fetch_add(1, Ordering::SeqCst);
        ready(Ok(Response::new("done".to_owned())))
    }
}

pub fn behind(layer: &RateLimitLayer) -> RateLimitService<Shop> {
    layer.layer(Shop::default())
}

pub fn field<'a>(response: &'a Response<String>, name: &str) -> Option<&'a str> {
    response.headers().get(name).map(|value| value.to_str().unwrap())
}

pub fn gone() -> Answer {
    Answer::Error(Error::Timeout(Duration::from_millis(50)))
}
