//! Connections that break, and come back by themselves.

use std::time::Duration;

use limiter_client::{Backend, Error, Key, Limit, Options, RedisBackend, Result, connection::SentinelConnection};
use tokio::time::{Instant, sleep, timeout};

use crate::harness::{Client, Server, wait_until};

fn limit() -> Limit {
    Limit::fixed(1_000_000, Duration::from_secs(86_400)).unwrap()
}

async fn call(backend: &impl Backend) -> Result<u64> {
    let decide =
        timeout(Duration::from_millis(200), async { backend.decide(&Key::raw("k"), &limit(), 1, Options::NONE).await });
    match decide.await {
        Ok(decision) => decision.map(|decision| decision.remaining),
        Err(_) => Err(Error::Timeout(Duration::from_millis(200))),
    }
}

/// Calls until it is answered.
async fn back(backend: &impl Backend) -> u64 {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        match call(backend).await {
            Ok(remaining) => return remaining,
            Err(error) => assert!(Instant::now() < deadline, "the server is back, and yet: {error}"),
        }
        sleep(Duration::from_millis(20)).await;
    }
}

fn url(server: &Server) -> String {
    format!("redis://127.0.0.1:{}/", server.port())
}

#[tokio::test]
async fn a_server_that_restarts_is_found_again() {
    let mut server = Server::builder().config("appendonly", "yes").config("appendfsync", "always").start();
    let backend = RedisBackend::connect(url(&server)).await.unwrap();
    assert_eq!(call(&backend).await.unwrap(), 999_999);
    server.kill();
    for _ in 0..3 {
        let error = call(&backend).await.unwrap_err();
        assert!(matches!(error.kind(), "connection" | "timeout"), "{error:?}");
    }
    server.relaunch();
    assert_eq!(back(&backend).await, 999_998);

    // Without the module this time.
    server.kill();
    server.relaunch_with(|builder| builder.without_module());
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let error = call(&backend).await.unwrap_err();
        if matches!(error, Error::NotLoaded) {
            break;
        }
        assert!(Instant::now() < deadline, "{error}");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_connection_that_the_server_closes_is_made_anew() {
    let server = Server::start();
    let backend = RedisBackend::connect(url(&server)).await.unwrap();
    assert_eq!(call(&backend).await.unwrap(), 999_999);
    for _ in 0..3 {
        server.run("CLIENT KILL TYPE normal SKIPME yes");
        back(&backend).await;
    }
}

#[tokio::test]
async fn a_connection_that_the_server_closes_while_nobody_calls_costs_no_call() {
    let server = Server::start();
    let backend = RedisBackend::connect(url(&server)).await.unwrap();
    for left in (999_990..1_000_000).rev() {
        assert_eq!(call(&backend).await.unwrap(), left);
        server.run("CLIENT KILL TYPE normal SKIPME yes");
        // What the server keeps of it shows that the next one stands.
        let deadline = Instant::now() + Duration::from_secs(10);
        while server.get::<String>("CLIENT LIST TYPE normal").lines().count() < 2 {
            assert!(Instant::now() < deadline, "no new connection");
            sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test]
async fn a_service_may_start_before_its_server() {
    let mut server = Server::start();
    server.kill();
    let backend = RedisBackend::connect_lazily(url(&server)).unwrap();
    assert!(call(&backend).await.is_err());
    server.relaunch();
    assert_eq!(back(&backend).await, 999_999);
}

const NAME: &str = "limiters";

fn sentinel(primary: &Server) -> Server {
    let sentinel = Server::builder()
        .without_module()
        .system_clock()
        .arg("--sentinel")
        .config("sentinel monitor", format!("{NAME} 127.0.0.1 {} 1", primary.port()))
        .config("sentinel down-after-milliseconds", format!("{NAME} 60000"))
        .config("sentinel failover-timeout", format!("{NAME} 2000"))
        .start();
    // Busier than usual, so that the test need not wait for what comes every ten seconds.
    sentinel.run("SENTINEL DEBUG info-period 200 publish-period 100 ask-period 100");
    sentinel
}

fn fail_over(sentinel: &Server) {
    wait_until("the replica is fit to be promoted", || sentinel.try_run(&format!("SENTINEL FAILOVER {NAME}")).is_ok());
}

struct Trio {
    primary: Server,
    replica: Server,
    sentinel: Server,
    backend: RedisBackend<SentinelConnection>,
}

async fn trio() -> Trio {
    let primary = Server::builder().system_clock().start();
    let replica = Server::builder().replica_of(&primary).start();
    primary.wait_for_replicas(1);
    let sentinel = sentinel(&primary);
    wait_until("the sentinel knows the replica", || {
        sentinel.get::<Vec<redis::Value>>(&format!("SENTINEL REPLICAS {NAME}")).len() == 1
    });
    let address = redis::ConnectionAddr::Tcp("127.0.0.1".into(), sentinel.port());
    let backend = RedisBackend::connect_sentinel([address], NAME).await.unwrap();
    Trio { primary, replica, sentinel, backend }
}

#[tokio::test(flavor = "multi_thread")]
async fn sentinels_are_followed_to_another_primary() {
    let Trio { primary, replica, sentinel, backend } = trio().await;
    assert_eq!(call(&backend).await.unwrap(), 999_999);

    // A failover that somebody asks for: the old primary lives on as a replica, and refuses.
    primary.run("WAIT 1 1000");
    fail_over(&sentinel);
    let promoted = || role(&replica).as_deref() == Some("master");
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut remaining = 999_999;
    while !promoted() || remaining > 999_990 {
        assert!(Instant::now() < deadline, "no failover, {remaining}");
        if let Ok(now) = call(&backend).await {
            remaining = now;
        }
        sleep(Duration::from_millis(50)).await;
    }
    replica.forget_client();
    primary.forget_client();

    wait_until("the old primary follows", || role(&primary).as_deref() == Some("slave"));
    let before = back(&backend).await;
    assert_eq!(back(&backend).await, before - 1);
    assert_eq!(replica.get::<i64>("EXISTS k"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_stands_still_is_left_for_another() {
    let Trio { primary, replica, sentinel, backend } = trio().await;
    assert_eq!(call(&backend).await.unwrap(), 999_999);
    primary.run("WAIT 1 1000");
    // It closes nothing and answers nobody.
    primary.run("CLIENT PAUSE 60000 ALL");
    fail_over(&sentinel);
    wait_until("the replica is promoted", || role(&replica).as_deref() == Some("master"));
    assert_eq!(back(&backend).await, 999_998);
    replica.forget_client();
    assert_eq!(replica.get::<i64>("EXISTS k"), 1);
}

/// Its role; `None` if it does not say, as a server does not while it changes roles and drops its connections.
fn role(server: &Server) -> Option<String> {
    let role = Client::try_at(server.port())?.try_run("ROLE").ok()?;
    let role: Vec<redis::Value> = redis::from_redis_value(role).ok()?;
    redis::from_redis_value(role.into_iter().next()?).ok()
}
