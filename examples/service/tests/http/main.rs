//! The service as its callers see it: a process of its own in front of a real server, asked by real HTTP clients.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail, and says where"
)]

mod service;
// The servers that the module's own tests run on.
#[allow(dead_code, unused_imports, reason = "an interface for every suite, whichever of them are there")]
#[path = "../../../../tests/integration/harness/mod.rs"]
mod harness;

use std::{
    process::Command,
    time::{Duration, Instant},
};

use harness::{S, Server, exists, module_path, skip, wait_until};
use service::{Answer, Service};

#[test]
fn a_user_has_a_burst_and_then_waits() {
    let server = Server::start();
    let service = Service::start(&server);
    for remaining in (0..5).rev() {
        let answer = service.get("/api/hello", Some("token-of-ada"));
        assert_eq!((answer.status, answer.body.as_str()), (200, "Hello, Ada!\n"));
        let used = 5 - remaining;
        assert_eq!(answer.fields("ratelimit")[0], format!("\"users\";r={remaining};t={}", used * 2));
        assert_eq!(answer.fields("ratelimit")[1], format!("\"addresses\";r={};t=20", 100 - used));
        assert_eq!(answer.fields("ratelimit-policy"), [r#""users";q=5;w=10"#, r#""addresses";q=100;w=10"#]);
        assert_eq!(answer.field("retry-after"), None);
    }
    let answer = service.get("/api/hello", Some("token-of-ada"));
    assert_eq!(answer.status, 429);
    assert_eq!(answer.field("retry-after"), Some("2"));
    assert_eq!(answer.field("content-type"), Some("application/problem+json"));
    assert!(answer.body.contains(r#""violated-policies":["users"]"#), "{}", answer.body);

    assert_eq!(service.get("/api/hello", Some("token-of-grace")).status, 200, "another user");
    // Who waits as long as it is told is let in.
    server.advance(2 * S);
    assert_eq!(service.get("/api/hello", Some("token-of-ada")).status, 200);
}

#[test]
fn who_has_no_token_is_charged_by_address_and_costs_no_user_anything() {
    let server = Server::start();
    let service = Service::start(&server);
    for _ in 0..100 {
        let answer = service.get("/api/hello", Some("a guess"));
        assert_eq!(answer.status, 401);
        assert!(answer.fields("ratelimit")[0].starts_with("\"addresses\";"));
    }
    let answer = service.get("/api/hello", Some("token-of-ada"));
    assert_eq!(answer.status, 429, "the check by address comes before the look at the token");
    assert!(answer.body.contains(r#""violated-policies":["addresses"]"#), "{}", answer.body);
    let keys: Vec<String> = server.get("KEYS *");
    assert_eq!(keys.len(), 1, "{keys:?}");
    assert!(keys[0].starts_with("rl:example:service:addresses:address:"), "{keys:?}");
    assert!(!keys[0].contains("127.0.0.1"), "{keys:?}");
}

#[test]
fn a_report_is_charged_what_it_has_cost() {
    let server = Server::start();
    let service = Service::start(&server);
    let answer = service.get("/api/report", Some("token-of-ada"));
    assert_eq!(answer.status, 200);
    // Estimated at 3, and 2 when it was done.
    assert_eq!(answer.fields("ratelimit")[0], r#""users";r=3;t=4"#);
    assert_eq!(server.get::<i64>("EXISTS rl:example:service:users:user:1"), 1);
    assert_eq!(server.five("RL.PEEK rl:example:service:users:user:1 0")[2], 3);
}

#[test]
fn metrics_tell_of_limits_and_not_of_users() {
    let server = Server::start();
    let service = Service::start(&server);
    for _ in 0..6 {
        service.get("/api/hello", Some("token-of-ada"));
    }
    let metrics = service.get("/metrics", None);
    assert_eq!((metrics.status, metrics.fields("ratelimit").len()), (200, 0));
    assert_eq!(metrics.metric("rate_limiter_allowed_total", "users"), 5);
    assert_eq!(metrics.metric("rate_limiter_rejected_total", "users"), 1);
    assert_eq!(metrics.metric("rate_limiter_allowed_total", "addresses"), 6);
    assert!(metrics.body.contains("rate_limiter_redis_latency"), "{}", metrics.body);
    for leak in ["Ada", "token", "127.0.0.1", "rl:"] {
        assert!(!metrics.body.contains(leak), "{leak} in {}", metrics.body);
    }
}

#[test]
fn without_a_server_each_limit_fails_as_it_was_told_to_and_comes_back_by_itself() {
    let mut server = Server::start();
    let service = Service::impatient(&server, "200");
    wait_until("the server decides", || service.get("/api/hello", Some("token-of-ada")).status == 200);
    server.kill();

    // By address it lets everybody in, by user nobody.
    let answer = service.get("/api/hello", Some("token-of-ada"));
    assert_eq!(answer.status, 503);
    assert!(answer.body.contains("#temporary-reduced-capacity"), "{}", answer.body);
    assert!(answer.fields("ratelimit").is_empty(), "nobody knows what is left");
    assert_eq!(service.get("/api/hello", Some("a guess")).status, 401);
    assert_eq!(service.get("/health", None).status, 200);

    // No request waits for a server that is known to be gone.
    for _ in 0..10 {
        service.get("/api/hello", Some("token-of-ada"));
    }
    let start = Instant::now();
    for _ in 0..20 {
        assert_eq!(service.get("/api/hello", Some("token-of-ada")).status, 503);
    }
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());

    server.relaunch();
    wait_until("the service decides again", || service.get("/api/hello", Some("token-of-ada")).status == 200);
    let metrics = service.get("/metrics", None);
    assert!(metrics.body.contains(r#"mode="closed""#), "{}", metrics.body);
    assert!(metrics.body.contains(r#"mode="open""#), "{}", metrics.body);
}

#[test]
fn curl_and_python_see_the_same() {
    let server = Server::start();
    let service = Service::start(&server);
    let url = format!("{}/api/hello", service.url());
    if exists("curl") {
        let output = Command::new("curl")
            .args(["--silent", "--include", "--header", "Authorization: Bearer token-of-ada", &url])
            .output()
            .unwrap();
        let answer = Answer::parse(&String::from_utf8_lossy(&output.stdout));
        assert_eq!((answer.status, answer.body.as_str()), (200, "Hello, Ada!\n"));
        assert_eq!(answer.fields("ratelimit")[0], r#""users";r=4;t=2"#);
    } else {
        skip("curl is not installed");
    }
    if exists("python3") {
        let script = "import sys, urllib.request, urllib.error\n\
             request = urllib.request.Request(sys.argv[1], headers={'Authorization': 'Bearer token-of-grace'})\n\
             for _ in range(6):\n    \
                 try: urllib.request.urlopen(request)\n    \
                 except urllib.error.HTTPError as error: print(error.code, error.headers['Retry-After'])";
        let output = Command::new("python3").args(["-c", script, &url]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "429 2\n", "{output:?}");
    } else {
        skip("python3 is not installed");
    }
}

#[test]
fn one_command_starts_the_server_and_the_service() {
    let service = Service::with_a_server(module_path());
    let answer = service.get("/api/hello", Some("token-of-ada"));
    assert_eq!(answer.status, 200);
    assert!(answer.fields("ratelimit")[0].starts_with("\"users\";r=4;"), "{:?}", answer.fields("ratelimit"));
}
