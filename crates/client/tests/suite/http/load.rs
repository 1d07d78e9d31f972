//! What is asked, and when: of the service behind, of the body, of the server.

use std::{
    future::poll_fn,
    pin::pin,
    sync::atomic::Ordering,
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response, StatusCode};
use limiter_client::{
    Decision,
    testing::{Answer, Scripted},
};
use tokio::time::Instant;
use tower::{Layer, Service, ServiceExt, limit::ConcurrencyLimitLayer};

use super::{MINUTE, Shop, ada, allowed, layer, refused};

#[tokio::test]
async fn a_refused_request_takes_nothing_of_the_service_behind() {
    let shop = Shop::default();
    let (asked, called) = (shop.asked.clone(), shop.called.clone());
    let script = Scripted::in_turn([refused(MINUTE), allowed(4)]);
    let mut service = layer(&script).layer(shop);
    let response = service.ready().await.unwrap().call(ada()).await.unwrap();
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!((asked.load(Ordering::SeqCst), called.load(Ordering::SeqCst)), (0, 0));

    service.ready().await.unwrap().call(ada()).await.unwrap();
    assert_eq!((asked.load(Ordering::SeqCst), called.load(Ordering::SeqCst)), (1, 1));
}

#[tokio::test]
async fn a_busy_service_is_waited_for_after_the_check() {
    // One permit, which another request holds.
    let limited = ConcurrencyLimitLayer::new(1).layer(Shop::default());
    let mut other = limited.clone();
    other.ready().await.unwrap();

    let script = Scripted::in_turn([allowed(4), refused(MINUTE)]);
    let mut service = layer(&script).layer(limited);
    let mut waiting = pin!(service.ready().await.unwrap().call(ada()));
    assert!(poll_once(waiting.as_mut()).await.is_pending());
    assert_eq!(script.asked().len(), 1, "the check has been made");

    let response = service.ready().await.unwrap().call(ada()).await.unwrap();
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS, "a refusal does not wait for a permit");

    drop(other);
    assert_eq!(waiting.await.unwrap().status(), StatusCode::OK);
}

/// Polls a future once.
async fn poll_once<F: Future>(mut future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
}

#[tokio::test]
async fn a_request_that_is_dropped_while_it_is_checked_never_reaches_the_service() {
    let shop = Shop::default();
    let (asked, called) = (shop.asked.clone(), shop.called.clone());
    let script = Scripted::always(Answer::Silence);
    let mut service = layer(&script).layer(shop);
    {
        let mut call = pin!(service.ready().await.unwrap().call(ada()));
        assert!(poll_once(call.as_mut()).await.is_pending());
    }
    assert_eq!(script.asked().len(), 1);
    assert_eq!((asked.load(Ordering::SeqCst), called.load(Ordering::SeqCst)), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_booked_ahead_is_held_back_until_it_is_due() {
    let mut booked = Decision::allowed(5, 0, MINUTE);
    booked.wait = Some(Duration::from_secs(2));
    let script = Scripted::always(Answer::Decision(booked));
    let start = Instant::now();
    let response = layer(&script).layer(Shop::default()).oneshot(ada()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(start.elapsed(), Duration::from_secs(2));
}

/// A service that never gets ready.
#[derive(Clone)]
struct Broken;

impl Service<Request<String>> for Broken {
    type Response = Response<String>;
    type Error = &'static str;
    type Future = std::future::Ready<Result<Response<String>, &'static str>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        Poll::Ready(Err("broken"))
    }

    fn call(&mut self, _: Request<String>) -> Self::Future {
        unreachable!("it is not ready")
    }
}

#[tokio::test]
async fn errors_of_the_service_behind_are_its_own() {
    let mut service = layer(&Scripted::always(allowed(4))).layer(Broken);
    let error = service.ready().await.unwrap().call(ada()).await.unwrap_err();
    assert_eq!(error, "broken");
}
