//! Costs that are known only afterwards.

use std::{convert::Infallible, num::NonZeroU32, pin::pin, time::Duration};

use axum_core::{
    extract::{FromRequestParts, OptionalFromRequestParts},
    response::IntoResponse,
};
use http::{Request, Response, StatusCode};
use limiter_client::{
    Batched, Decision, FailurePolicy, KeySpace, Limit, Limiter, Retry, Secret,
    layer::{Policy, RateLimitLayer, Refusal, Tab},
    testing::{Answer, Asked, Scripted},
};
use tower::{Layer, Service, ServiceExt};

use super::{MINUTE, ada, allowed, by_name, field, gone, layer, limiter};

/// Answers with what it has cost in an extension, as a handler may.
async fn generate(_: Request<String>) -> Result<Response<String>, Infallible> {
    let mut response = Response::new("done".to_owned());
    response.extensions_mut().insert(Tokens(3));
    Ok(response)
}

#[derive(Clone, Copy)]
struct Tokens(u64);

fn by_tokens(layer: RateLimitLayer) -> RateLimitLayer {
    layer.cost(|_| 10).charge_after(|answer| answer.extensions.get::<Tokens>().map(|tokens| tokens.0))
}

fn adjustments(script: &Scripted) -> Vec<i64> {
    let delta = |asked: Asked| match asked {
        Asked::Adjust(key, delta, None) => {
            assert!(key.to_string().starts_with("rl:test:shop:orders:user:"), "{key}");
            Some(delta)
        }
        _ => None,
    };
    script.asked().into_iter().filter_map(delta).collect()
}

#[tokio::test]
async fn the_answer_tells_what_it_has_cost() {
    let after = Answer::Decision(Decision::allowed(5, 2, Duration::from_secs(30)));
    let script = Scripted::in_turn([allowed(0), after]);
    let service = by_tokens(layer(&script)).layer(tower::service_fn(generate));
    let response = service.oneshot(ada()).await.unwrap();
    assert_eq!(adjustments(&script), [-7]);
    assert_eq!(field(&response, "ratelimit"), Some(r#""orders";r=2;t=30"#), "as it stands afterwards");
}

#[tokio::test]
async fn what_was_estimated_right_needs_no_adjustment() {
    let script = Scripted::always(allowed(4));
    let right = by_tokens(layer(&script)).cost(|_| 3).layer(tower::service_fn(generate));
    right.oneshot(ada()).await.unwrap();
    let silent = layer(&script).charge_after(|_| None).layer(tower::service_fn(generate));
    silent.oneshot(ada()).await.unwrap();
    assert!(adjustments(&script).is_empty());
}

#[tokio::test]
async fn a_failure_of_the_service_can_be_given_back() {
    let script = Scripted::always(allowed(4));
    let layer = layer(&script).charge_after(|answer| answer.status.is_server_error().then_some(0));
    let broken = layer.layer(tower::service_fn(|_: Request<String>| async {
        let mut response = Response::new(String::new());
        *response.status_mut() = StatusCode::BAD_GATEWAY;
        Ok::<_, Infallible>(response)
    }));
    broken.oneshot(ada()).await.unwrap();
    assert_eq!(adjustments(&script), [-1]);
}

#[tokio::test]
async fn who_was_let_in_without_a_server_is_charged_nothing_later() {
    let script = Scripted::always(gone());
    let open = by_tokens(RateLimitLayer::new(limiter(&script, FailurePolicy::Open), by_name));
    let response = open.layer(tower::service_fn(generate)).oneshot(ada()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert!(adjustments(&script).is_empty());
}

#[tokio::test]
async fn an_adjustment_that_fails_leaves_the_answer_alone() {
    let script = Scripted::in_turn([allowed(4), gone()]);
    let service = by_tokens(layer(&script)).layer(tower::service_fn(generate));
    let response = service.oneshot(ada()).await.unwrap();
    assert_eq!((response.status(), response.body().as_str()), (StatusCode::OK, "done"));
    assert_eq!(field(&response, "ratelimit"), Some(r#""orders";r=4;t=60"#), "as it stood at the check");
    assert_eq!(adjustments(&script), [-7]);
}

#[tokio::test]
async fn who_hangs_up_does_not_get_around_the_charge() {
    let adjusted = allowed(4).after(Duration::from_millis(20));
    let script = Scripted::in_turn([allowed(4), adjusted]);
    let mut service = layer(&script).charge_after(|_| Some(50)).layer(tower::service_fn(generate));
    let call = service.ready().await.unwrap().call(ada());
    // Gone while the adjustment is under way.
    let _ = tokio::time::timeout(Duration::from_millis(5), pin!(call)).await;
    tokio::time::timeout(Duration::from_secs(5), async {
        while adjustments(&script) != [49] {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn what_a_batch_let_in_is_settled_with_the_server_whatever_the_policy() {
    let mut batch = Decision::allowed(1_000, 900, MINUTE);
    batch.granted = Some(100);
    let script = Scripted::always(Answer::Decision(batch));
    let keys = KeySpace::new("test", "shop", &Secret::new("sixteen bytes or more").unwrap()).unwrap();
    let limiter = Limiter::builder("orders").limit(Limit::fixed(1_000, MINUTE).unwrap()).key_space(keys);
    let limiter = limiter.on_failure(FailurePolicy::local(NonZeroU32::MIN));
    let limiter = limiter.build(Batched::new(script.clone())).unwrap();
    let mut service =
        RateLimitLayer::new(limiter, by_name).charge_after(|_| Some(6)).layer(tower::service_fn(generate));
    for _ in 0..10 {
        let response = service.ready().await.unwrap().call(ada()).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
    }
    let settled: Vec<i64> = adjustments(&script).into_iter().filter(|delta| *delta > 0).collect();
    assert_eq!(settled, [5; 10]);
}

#[tokio::test]
async fn a_tab_is_settled_when_the_body_has_been_sent() {
    let script = Scripted::always(allowed(4));
    let layer = layer(&script).cost(|_| 10).keep_tab();
    let handler = tower::service_fn(|request: Request<String>| async move {
        let mut response = Response::new(String::new());
        response.extensions_mut().insert(request.extensions().get::<Tab>().cloned().unwrap());
        Ok::<_, Infallible>(response)
    });
    let response = layer.layer(handler).oneshot(ada()).await.unwrap();
    let tab = response.extensions().get::<Tab>().cloned().unwrap();
    assert_eq!((tab.charged(), adjustments(&script)), (10, vec![]));

    assert_eq!(tab.settle(25).await.unwrap().map(|decision| decision.remaining), Some(4));
    // Once more, when more has come; what was charged already is not charged again.
    tab.settle(30).await.unwrap();
    tab.clone().settle(30).await.unwrap();
    tab.settle(0).await.unwrap();
    assert_eq!((tab.charged(), adjustments(&script)), (0, vec![15, 5, -30]));
    assert!(tab.settle(u64::MAX).await.is_err());
    assert_eq!(tab.charged(), 0);
}

#[tokio::test]
async fn handlers_of_axum_take_the_tab_and_answer_refusals() {
    let (mut without, ()) = Request::new(()).into_parts();
    let missing = <Tab as FromRequestParts<()>>::from_request_parts(&mut without, &()).await.unwrap_err();
    assert_eq!(missing.into_response().status(), StatusCode::INTERNAL_SERVER_ERROR);
    let none = <Tab as OptionalFromRequestParts<()>>::from_request_parts(&mut without, &()).await.unwrap();
    assert!(none.is_none());

    let script = Scripted::always(allowed(4));
    let handler = tower::service_fn(|request: Request<String>| async move {
        let (mut parts, _) = request.into_parts();
        let tab = <Tab as FromRequestParts<()>>::from_request_parts(&mut parts, &()).await.unwrap();
        Ok::<_, Infallible>(Response::new(tab.charged().to_string()))
    });
    let response = layer(&script).cost(|_| 2).keep_tab().layer(handler).oneshot(ada()).await.unwrap();
    assert_eq!(response.body(), "2");

    let decision = Decision::refused(5, 0, Retry::After(MINUTE), MINUTE);
    let limiter = limiter(&script, FailurePolicy::Closed);
    let response = IntoResponse::into_response(Refusal::new(Policy::from(&limiter), decision));
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.headers()["retry-after"], "60");
}
