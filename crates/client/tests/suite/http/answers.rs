//! Status, fields and bodies.

use std::{convert::Infallible, time::Duration};

use http::{Request, StatusCode};
use limiter_client::{
    Decision, FailurePolicy, Retry,
    layer::{Caller, RateLimitLayer},
    testing::{Answer, Asked, Scripted},
};
use tower::{Layer, ServiceExt};

use super::{MINUTE, Shop, ada, allowed, behind, by_name, field, gone, layer, limiter, refused};

#[tokio::test]
async fn an_allowed_request_is_served_and_told_where_it_stands() {
    let script = Scripted::always(allowed(4));
    let response = behind(&layer(&script)).oneshot(ada()).await.unwrap();
    assert_eq!((response.status(), response.body().as_str()), (StatusCode::OK, "done"));
    assert_eq!(field(&response, "ratelimit-policy"), Some(r#""orders";q=5;w=60"#));
    assert_eq!(field(&response, "ratelimit"), Some(r#""orders";r=4;t=60"#));
    assert_eq!(field(&response, "retry-after"), None);
}

#[tokio::test]
async fn a_refused_request_is_told_to_wait_in_whole_seconds() {
    let script = Scripted::always(refused(Duration::from_millis(1_001)));
    let response = behind(&layer(&script)).oneshot(ada()).await.unwrap();
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(field(&response, "retry-after"), Some("2"));
    assert_eq!(field(&response, "ratelimit-policy"), Some(r#""orders";q=5;w=60"#));
    assert_eq!(field(&response, "ratelimit"), Some(r#""orders";r=0;t=2"#));
    assert_eq!(field(&response, "content-type"), Some("application/problem+json"));
    assert_eq!(field(&response, "cache-control"), Some("no-store"));
    assert_eq!(
        response.body(),
        "{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\",\
         \"title\":\"Request cannot be satisfied as assigned quota has been exceeded\",\"status\":429,\
         \"detail\":\"Try again in 2 seconds.\",\"violated-policies\":[\"orders\"]}"
    );
}

#[tokio::test]
async fn a_wait_of_a_millisecond_is_a_second() {
    let script = Scripted::always(refused(Duration::from_millis(1)));
    let response = behind(&layer(&script)).oneshot(ada()).await.unwrap();
    assert_eq!(field(&response, "retry-after"), Some("1"));
    assert!(response.body().contains("Try again in 1 second."));
}

#[tokio::test]
async fn a_request_that_costs_too_much_for_ever_is_told_no_wait() {
    let script = Scripted::always(Answer::Decision(Decision::refused(5, 3, Retry::Never, MINUTE)));
    let response = behind(&layer(&script).cost(|_| 6)).oneshot(ada()).await.unwrap();
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(field(&response, "retry-after"), None);
    assert_eq!(field(&response, "ratelimit"), Some(r#""orders";r=3;t=60"#));
    assert!(response.body().contains("more than can ever pass"));
}

#[tokio::test]
async fn nothing_of_the_subject_is_in_an_answer() {
    for answer in [allowed(4), refused(MINUTE), gone()] {
        let response = behind(&layer(&Scripted::always(answer))).oneshot(ada()).await.unwrap();
        let all = format!("{:?} {}", response.headers(), response.body());
        for leak in ["ada", "example", "rl:", "user", "test:"] {
            assert!(!all.contains(leak), "{leak} in {all}");
        }
    }
}

#[tokio::test]
async fn who_is_exempt_is_not_asked_for_and_not_told() {
    let script = Scripted::always(refused(MINUTE));
    let request = Request::new("the body".to_owned());
    let response = behind(&layer(&script)).oneshot(request).await.unwrap();
    assert_eq!((response.status(), response.headers().len()), (StatusCode::OK, 0));
    assert_eq!(script.asked(), []);
}

#[tokio::test]
async fn the_closures_say_who_pays_and_how_much() {
    let script = Scripted::always(allowed(0));
    let of_tenant = |_: &http::request::Parts| Caller::safe("user", &7_u64).within(Caller::safe("tenant", &1_u64));
    let layer = RateLimitLayer::new(limiter(&script, FailurePolicy::Closed), of_tenant)
        .cost(|request| request.headers.len() as u64 * 3);
    behind(&layer).oneshot(ada()).await.unwrap();
    match script.asked().as_slice() {
        [Asked::Decide(key, charge)] => {
            assert_eq!(key.to_string(), "rl:test:shop:orders:user:1/7");
            assert_eq!(charge.cost, 3);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn without_a_server_the_failure_policy_decides() {
    let script = Scripted::always(gone());
    let open = RateLimitLayer::new(limiter(&script, FailurePolicy::Open), by_name);
    let response = behind(&open).oneshot(ada()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(field(&response, "ratelimit"), None, "nobody knows what is left");
    assert_eq!(field(&response, "ratelimit-policy"), Some(r#""orders";q=5;w=60"#));

    let response = behind(&layer(&script)).oneshot(ada()).await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(field(&response, "ratelimit"), None);
    assert!(field(&response, "retry-after").is_some_and(|wait| wait.parse::<u64>().unwrap() >= 1));
    assert!(response.body().contains("#temporary-reduced-capacity"), "{}", response.body());
    assert!(!response.body().contains("violated"), "{}", response.body());
}

#[tokio::test]
async fn a_request_that_cannot_be_checked_does_not_pass() {
    let script = Scripted::always(allowed(4));
    let long = RateLimitLayer::new(limiter(&script, FailurePolicy::Open), |_| Caller::hashed("user", [b'a'; 5_000]));
    let response = behind(&long).oneshot(ada()).await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    assert_eq!(field(&response, "content-type"), Some("application/problem+json"));

    let dear = RateLimitLayer::new(limiter(&script, FailurePolicy::Open), by_name).cost(|_| u64::MAX);
    let response = behind(&dear).oneshot(ada()).await.unwrap();
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
}

#[tokio::test]
async fn two_layers_tell_of_two_limits() {
    let (outer, inner) = (Scripted::always(allowed(9)), Scripted::in_turn([allowed(4), refused(MINUTE)]));
    let service = layer(&outer).layer(layer(&inner).layer(Shop::default()));
    let response = service.clone().oneshot(ada()).await.unwrap();
    let items: Vec<_> = response.headers().get_all("ratelimit").iter().collect();
    assert_eq!(items, [r#""orders";r=4;t=60"#, r#""orders";r=9;t=60"#]);

    let response = service.oneshot(ada()).await.unwrap();
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(field(&response, "retry-after"), Some("60"));
    assert_eq!(response.headers().get_all("ratelimit").iter().count(), 2);
}

#[tokio::test]
async fn handlers_see_the_verdict() {
    let script = Scripted::always(allowed(4));
    let handler = tower::service_fn(|request: Request<String>| async move {
        let decision = request.extensions().get::<Decision>().copied().unwrap();
        Ok::<_, Infallible>(http::Response::new(format!("{} left", decision.remaining)))
    });
    let response = layer(&script).layer(handler).oneshot(ada()).await.unwrap();
    assert_eq!(response.body(), "4 left");
}
