//! What goes wrong is told apart.

use std::time::Duration;

use limiter_client::{
    Backend, Charge, Decision, Error, Key, Limit, Options, Rate, RateLimit, RedisBackend, Secret,
    connection::RateLimitPipeline,
};

use crate::harness::Server;

const MINUTE: Duration = Duration::from_secs(60);

fn limit() -> Limit {
    Limit::fixed(10, MINUTE).unwrap()
}

fn url(server: &Server) -> String {
    format!("redis://127.0.0.1:{}/", server.port())
}

#[test]
fn a_server_without_the_module_is_one() {
    let server = Server::builder().without_module().start();
    let mut client = server.client();
    let error = client.connection().rl_decide("k", &limit(), 1, &Options::NONE).unwrap_err();
    assert!(matches!(error, Error::NotLoaded), "{error:?}");
    assert_eq!(error.kind(), "not_loaded");
    assert!(error.to_string().contains("loadmodule"), "{error}");
    let error = client.connection().rl_all(&["k"], &[Charge::new(limit(), 1)]).unwrap_err();
    assert!(matches!(error, Error::NotLoaded), "{error:?}");
    let replied: redis::RedisResult<Vec<Decision>> =
        redis::pipe().rl_decide("k", &limit(), 1, &Options::NONE).query(client.connection());
    let error = Error::from(replied.unwrap_err());
    assert!(matches!(error, Error::NotLoaded), "{error:?}");
    let replied: redis::RedisResult<Vec<Decision>> =
        redis::pipe().atomic().rl_decide("k", &limit(), 1, &Options::NONE).query(client.connection());
    let error = Error::from(replied.unwrap_err());
    assert!(matches!(error, Error::NotLoaded), "{error:?}");
}

#[tokio::test]
async fn a_backend_says_at_the_start_whether_the_module_is_there() {
    let server = Server::builder().without_module().start();
    let error = RedisBackend::connect(url(&server)).await.unwrap_err();
    assert!(matches!(error, Error::NotLoaded), "{error:?}");
    let server = Server::start();
    let backend = RedisBackend::connect(url(&server)).await.unwrap();
    backend.probe().await.unwrap();
    assert_eq!(server.get::<i64>("DBSIZE"), 0);
    assert!(RedisBackend::connect_lazily("redis-of-mine").is_err());
}

#[tokio::test]
async fn a_key_that_holds_something_else_is_a_wrong_type() {
    let server = Server::start();
    let backend = RedisBackend::connect(url(&server)).await.unwrap();
    server.run("SET text hello");
    server.run("LPUSH list 1");
    server.run("RL.GCRA gcra 1 1");
    for key in ["text", "list", "gcra"] {
        let error = backend.decide(&Key::raw(key), &limit(), 1, Options::NONE).await.unwrap_err();
        assert!(matches!(error, Error::WrongType(_)), "{error:?}");
        assert!(error.is_callers());
        assert_eq!(error.kind(), "wrong_type");
    }
}

#[tokio::test]
async fn a_wrong_call_is_not_sent() {
    let server = Server::start();
    let backend = RedisBackend::connect(url(&server)).await.unwrap();
    let key = Key::raw("k");
    let calls = || server.info("total_commands_processed");
    let before: u64 = calls().parse().unwrap();
    let error = backend.decide(&key, &limit(), u64::MAX, Options::NONE).await.unwrap_err();
    assert!(matches!(error, Error::Argument(_)), "{error:?}");
    assert!(error.to_string().starts_with("cost: got 18446744073709551615"), "{error}");
    let booked = Options::NONE.reserve(MINUTE).unwrap();
    assert!(matches!(backend.peek(&key, &limit(), 1, booked).await, Err(Error::Argument(_))));
    assert!(matches!(backend.adjust(&key, i64::MAX, None).await, Err(Error::Argument(_))));
    assert!(matches!(backend.decide_all(&[], &[]).await, Err(Error::Argument(_))));
    let after: u64 = calls().parse().unwrap();
    // The question itself.
    assert_eq!(after - before, 1);
}

#[tokio::test]
async fn other_errors_of_the_server_keep_their_words() {
    let server = Server::start();
    let backend = RedisBackend::connect(url(&server)).await.unwrap();
    server.run("RL.TOKENBUCKET k 1 1/3650d");
    let error = backend.adjust(&Key::raw("k"), 1_000_000_000_000, None).await.unwrap_err();
    assert_eq!(error.kind(), "server");
    assert!(error.to_string().contains("delta: got '1000000000000'"), "{error}");
    server.run("CONFIG SET maxmemory 1");
    let fresh = backend.decide(&Key::raw("new"), &limit(), 1, Options::NONE).await.unwrap_err();
    assert_eq!(fresh.kind(), "server", "{fresh:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error_of_the_connection() {
    let backend = RedisBackend::connect_lazily("redis://127.0.0.1:1/").unwrap();
    let error = backend.decide(&Key::raw("k"), &limit(), 1, Options::NONE).await.unwrap_err();
    assert_eq!(error.kind(), "connection", "{error:?}");
    assert!(!error.is_callers());
}

#[test]
fn errors_are_one_line_that_says_what_to_do() {
    let argument = Limit::token_bucket(2_000, Rate::per(1, 3650 * 24 * 60 * MINUTE).unwrap()).unwrap_err();
    assert_eq!(argument.argument(), "rate");
    for error in [
        Error::NotLoaded,
        Error::Timeout(MINUTE),
        Error::Unavailable,
        Error::CrossSlot,
        Error::WrongType("key: got string".into()),
        Error::Argument(argument),
        Error::Argument(Secret::new("short").unwrap_err()),
        Error::Unexpected("nothing".into()),
    ] {
        assert!(!error.to_string().contains('\n') && error.to_string().len() > 20, "{error}");
    }
}
