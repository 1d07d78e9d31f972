//! Limiters on real servers behind a network that fails: what a call costs then, who decides, and how it ends.

use std::time::Duration;

use limiter_client::{Batched, Decision, FailurePolicy, Limit, Limiter, Pacer, RedisBackend, Source, Subject};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    harness::{Cluster, Server},
    policy::key_space,
    proxy::{Network, Proxy},
};

/// Far more than a busy machine needs for an answer; a server that is gone is no matter of it.
const PATIENCE: Duration = Duration::from_millis(500);

fn server() -> Server {
    Server::builder().system_clock().start()
}

fn user() -> Subject<'static> {
    Subject::safe("user", &42_u32)
}

fn limit() -> Limit {
    "FIXED 1000000 1h".parse().unwrap()
}

async fn limiter(url: &str, timeout: Duration) -> Limiter {
    let backend = RedisBackend::connect(url).await.unwrap();
    let builder = Limiter::builder("orders").limit(limit()).key_space(key_space()).timeout(timeout);
    builder.on_failure(FailurePolicy::Open).build(backend).unwrap()
}

async fn check(limiter: &Limiter) -> Decision {
    limiter.check(&user(), 1).await.unwrap()
}

/// Calls until the server decides; how long that took.
async fn back(limiter: &Limiter) -> Duration {
    let start = Instant::now();
    while check(limiter).await.source != Source::Server {
        assert!(start.elapsed() < Duration::from_secs(20), "the server is back, and is not asked");
        sleep(Duration::from_millis(5)).await;
    }
    start.elapsed()
}

/// Calls until the breaker is open.
async fn until_open(limiter: &Limiter) {
    let start = Instant::now();
    while !limiter.breaker().is_open() {
        assert!(start.elapsed() < Duration::from_secs(10), "the server is gone, and is still asked");
        check(limiter).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_the_network_does_calls_are_answered_in_time_and_the_server_is_found_again() {
    let server = server();
    let proxy = Proxy::to(server.port()).await;
    let limiter = limiter(&proxy.url(), PATIENCE).await;
    for network in [Network::Stalls, Network::Slow(2 * PATIENCE), Network::Cuts, Network::Resets] {
        back(&limiter).await;
        proxy.set(network);
        let mut longest = Duration::ZERO;
        let start = Instant::now();
        while !limiter.breaker().is_open() {
            assert!(start.elapsed() < Duration::from_secs(10), "{network:?}");
            let mut calls = JoinSet::new();
            for _ in 0..10 {
                let limiter = limiter.clone();
                calls.spawn(async move {
                    let start = Instant::now();
                    check(&limiter).await;
                    start.elapsed()
                });
            }
            longest = longest.max(calls.join_all().await.into_iter().max().unwrap());
        }
        assert!(longest < PATIENCE + Duration::from_millis(300), "{network:?}: {longest:?}");

        // The breaker is open: most calls cost nothing.
        let mut quick = 0;
        for _ in 0..200 {
            let start = Instant::now();
            assert_eq!(check(&limiter).await.source, Source::Open);
            quick += u32::from(start.elapsed() < Duration::from_millis(2));
        }
        assert!(quick > 150, "{network:?}: {quick}");
        proxy.set(Network::Works);
        back(&limiter).await;
        assert!(!limiter.breaker().is_open());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_comes_back_meets_one_probe_and_one_connection_a_client() {
    let server = server();
    let proxy = Proxy::to(server.port()).await;
    let mut limiters = Vec::new();
    for _ in 0..8 {
        limiters.push(limiter(&proxy.url(), PATIENCE).await);
    }
    for limiter in &limiters {
        assert_eq!(check(limiter).await.source, Source::Server);
    }
    proxy.set(Network::Resets);
    let mut opening = JoinSet::new();
    for limiter in limiters.clone() {
        opening.spawn(async move { until_open(&limiter).await });
    }
    opening.join_all().await;
    let calls = |server: &Server| {
        let stats = server.info("cmdstat_rl.fixed");
        stats.split(['=', ',']).nth(1).unwrap().parse::<u64>().unwrap()
    };
    let before = (proxy.connections(), calls(&server));
    proxy.set(Network::Stalls);
    // Everybody calls all the time, and yet each asks one question.
    let mut load = JoinSet::new();
    for limiter in &limiters {
        for _ in 0..20 {
            let limiter = limiter.clone();
            load.spawn(async move {
                let start = Instant::now();
                while start.elapsed() < Duration::from_millis(1_000) {
                    check(&limiter).await;
                    sleep(Duration::from_millis(1)).await;
                }
            });
        }
    }
    load.join_all().await;
    let (connections, asked) = (proxy.connections() - before.0, calls(&server) - before.1);
    // Setting up takes an answer as well: in a second there are at most a few attempts.
    assert!(connections <= 8 * 4, "{connections} connections");
    assert!(asked <= 8 * 6, "{asked} questions");
    proxy.set(Network::Works);
    for limiter in &limiters {
        back(limiter).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_calls_at_once_are_all_decided_by_the_server() {
    let server = server();
    let limiter = limiter(&format!("redis://127.0.0.1:{}/", server.port()), Duration::from_secs(20)).await;
    let mut calls = JoinSet::new();
    for _ in 0..10_000 {
        let limiter = limiter.clone();
        calls.spawn(async move { check(&limiter).await });
    }
    let decisions = calls.join_all().await;
    assert!(decisions.iter().all(|decision| decision.allowed && decision.source == Source::Server));
    let left = decisions.iter().map(|decision| decision.remaining).min().unwrap();
    assert_eq!(left, 1_000_000 - 10_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_are_dropped_at_any_moment_leave_the_connection_and_the_breaker_as_they_were() {
    let server = server();
    let proxy = Proxy::to(server.port()).await;
    let limiter = limiter(&proxy.url(), PATIENCE).await;
    proxy.set(Network::Slow(Duration::from_millis(10)));
    for wait in 0..60 {
        let call = tokio::time::timeout(Duration::from_micros(500 * (wait % 30)), check(&limiter));
        if let Ok(decision) = call.await {
            assert_eq!(decision.source, Source::Server);
        }
    }
    proxy.set(Network::Works);
    assert!(!limiter.breaker().is_open());
    assert_eq!(check(&limiter).await.source, Source::Server);
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_restarts_without_the_module_is_one_that_does_not_decide() {
    let mut server = server();
    let limiter = limiter(&format!("redis://127.0.0.1:{}/", server.port()), PATIENCE).await;
    assert_eq!(check(&limiter).await.source, Source::Server);
    server.kill();
    server.relaunch_with(|builder| builder.without_module());
    until_open(&limiter).await;
    assert_eq!(check(&limiter).await.source, Source::Open);
    server.kill();
    server.relaunch_with(|builder| builder.with_module());
    back(&limiter).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_loses_a_primary_decides_again_after_the_failover() {
    let mut cluster = Cluster::start_with(1, |builder| builder.config("cluster-node-timeout", 1_000));
    let nodes: Vec<String> = cluster.nodes().iter().map(|node| format!("redis://127.0.0.1:{}/", node.port())).collect();
    let backend = RedisBackend::connect_cluster(nodes).await.unwrap();
    let builder = Limiter::builder("orders").limit(limit()).key_space(key_space()).timeout(PATIENCE);
    let limiter = builder.on_failure(FailurePolicy::Open).build(backend).unwrap();
    assert_eq!(check(&limiter).await.source, Source::Server);

    let slot = cluster.slots(&[limiter.key(&user()).unwrap().to_string()])[0];
    let port = cluster.owner(slot).port();
    let mut primary = cluster.take(port);
    primary.kill();
    let start = Instant::now();
    assert_eq!(check(&limiter).await.source, Source::Open);
    assert!(start.elapsed() < 2 * PATIENCE);
    back(&limiter).await;
    let decision = check(&limiter).await;
    assert!(decision.remaining < 1_000_000 - 1, "{decision:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_of_a_real_server_add_up_and_save_nine_trips_of_ten() {
    let server = server();
    let url = format!("redis://127.0.0.1:{}/", server.port());
    let limit: Limit = "FIXED 5000 1h".parse().unwrap();
    let mut limiters = Vec::new();
    let mut batches = Vec::new();
    for _ in 0..3 {
        let backend = Batched::new(RedisBackend::connect(url.as_str()).await.unwrap());
        batches.push(backend.clone());
        let builder = Limiter::builder("orders").limit(limit).key_space(key_space()).timeout(10 * PATIENCE);
        limiters.push(builder.on_failure(FailurePolicy::Closed).build(backend).unwrap());
    }
    let mut calls = JoinSet::new();
    for turn in 0..8_000 {
        let limiter = limiters[turn % 3].clone();
        calls.spawn(async move { check(&limiter).await.allowed });
        if turn % 500 == 0 {
            sleep(Duration::from_millis(5)).await;
        }
    }
    let passed = calls.join_all().await.into_iter().filter(|allowed| *allowed).count();
    for batch in &batches {
        batch.close().await;
    }
    let key = limiters[0].key(&user()).unwrap();
    let used: Vec<i64> = server.integers(&format!("RL.PEEK {key} FIXED 5000 1h 0"));
    assert_eq!(used[2], 5_000 - passed as i64, "{passed} passed");
    let stats = server.info("cmdstat_rl.fixed");
    let trips: usize = stats.split(['=', ',']).nth(1).unwrap().parse().unwrap();
    // What one process holds the others do not have.
    assert!(passed >= 2_500 && trips * 10 <= 8_000, "{passed} passed, {trips} trips");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pacer_on_a_real_server_spaces_calls_and_takes_back_what_was_dropped() {
    let server = server();
    let backend = RedisBackend::connect(format!("redis://127.0.0.1:{}/", server.port())).await.unwrap();
    let builder = Limiter::builder("mails").limit("GCRA 1 10/s".parse().unwrap()).key_space(key_space());
    let limiter = builder.timeout(PATIENCE).on_failure(FailurePolicy::Closed).build(backend).unwrap();
    let pacer = Pacer::new(limiter, Duration::from_secs(5)).unwrap();
    let start = Instant::now();
    for _ in 0..4 {
        assert!(pacer.pace(&user(), 1).await.unwrap().allowed);
    }
    assert!(start.elapsed() >= Duration::from_millis(300), "{:?}", start.elapsed());
    for _ in 0..10 {
        assert!(tokio::time::timeout(Duration::from_millis(5), pacer.pace(&user(), 1)).await.is_err());
    }
    sleep(Duration::from_millis(50)).await;
    let key = pacer.limiter().key(&user()).unwrap();
    let debt = server.integers(&format!("RL.PEEK {key} GCRA 1 10/s 0"))[4];
    assert!(debt <= 100, "{debt} ms are booked");
}
