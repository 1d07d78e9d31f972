//! A cluster of three primaries.

use std::time::Duration;

use limiter_client::{
    Backend, Charge, Error, HashTag, Key, KeySpace, Limit, Options, Rate, RateLimit, RedisBackend, Secret, Subject,
    connection::RateLimitPipeline,
};

use crate::harness::{Cluster, wait_until};

fn nodes(cluster: &Cluster) -> Vec<String> {
    cluster.nodes().iter().map(|node| format!("redis://127.0.0.1:{}/", node.port())).collect()
}

/// How often the nodes sent somebody elsewhere.
fn redirections(cluster: &Cluster) -> usize {
    let count = |node: &crate::harness::Server| {
        let stats: String = node.get("INFO errorstats");
        let moved = stats.lines().find_map(|line| line.strip_prefix("errorstat_MOVED:count="));
        moved.map_or(0, |count| count.trim().parse().unwrap())
    };
    cluster.nodes().iter().map(count).sum()
}

#[tokio::test]
async fn every_command_finds_its_node() {
    let cluster = Cluster::start_with(0, |builder| builder);
    let backend = RedisBackend::connect_cluster(nodes(&cluster)).await.unwrap();
    let limit = Limit::token_bucket(10, Rate::per_second(1).unwrap()).unwrap();
    let day = Limit::fixed(100, Duration::from_secs(86_400)).unwrap();
    let charges = [Charge::new(limit, 1), Charge::new(day, 1)];
    let space = KeySpace::new("test", "shop", &Secret::new([7; 16]).unwrap()).unwrap().hash_tag(HashTag::Subject);
    for number in 0..30_u64 {
        let tenant = Subject::safe("tenant", &number);
        let user = Subject::hashed("user", "ada").within(&tenant);
        let keys = [space.key("all", &tenant).unwrap(), space.key("all", &user).unwrap()];
        let decision = backend.decide_all(&keys, &charges).await.unwrap();
        assert!(decision.allowed());
        assert_eq!(backend.adjust(&keys[1], 9, None).await.unwrap().unwrap().remaining, 90);
        assert_eq!(backend.decide(&keys[0], &limit, 4, Options::NONE).await.unwrap().remaining, 5);
        assert_eq!(backend.peek(&keys[0], &limit, 1, Options::NONE).await.unwrap().remaining, 4);
        let list = [space.key("list", &tenant).unwrap()];
        assert!(backend.decide_all(&list, &charges).await.unwrap().allowed());
    }
    assert_eq!(redirections(&cluster), 0);

    // Keys of different slots.
    let keys = ["a", "b"].map(Key::raw);
    let error = backend.decide_all(&keys, &charges).await.unwrap_err();
    assert!(matches!(error, Error::CrossSlot), "{error:?}");

    tokio::task::spawn_blocking(move || a_sync_connection(&cluster, &charges)).await.unwrap();
}

fn a_sync_connection(cluster: &Cluster, charges: &[Charge]) {
    let client = redis::cluster::ClusterClient::new(nodes(cluster)).unwrap();
    let mut connection = client.get_connection().unwrap();
    for number in 0..30 {
        let keys = [format!("{{{number}}}sync:a"), format!("{{{number}}}sync:b")];
        assert!(connection.rl_all(&keys, charges).unwrap().allowed());
        assert!(connection.rl_decide(&keys[0], &charges[0].limit, 1, &Options::NONE).unwrap().allowed);
    }
    assert_eq!(redirections(cluster), 0);
    assert!(matches!(connection.rl_all(&["a", "b"], charges), Err(Error::CrossSlot)));

    // A pipeline of several slots is one round trip a node.
    let mut pipeline = redis::cluster::cluster_pipe();
    for number in 0..30 {
        pipeline.rl_decide(format!("pipe:{number}"), &charges[0].limit, 1, &Options::NONE);
    }
    let decisions: Vec<limiter_client::Decision> = pipeline.query(&mut connection).unwrap();
    assert!(decisions.iter().all(|decision| decision.allowed));
    // RL.ALL in it is redirected, and decided all the same.
    let mut pipeline = redis::cluster::cluster_pipe();
    pipeline.rl_all(&["{1}pipe"], charges);
    let (decision,): (limiter_client::AllDecision,) = pipeline.query(&mut connection).unwrap();
    assert!(decision.allowed());
}

#[tokio::test]
async fn calls_go_on_where_a_replica_takes_over() {
    let mut cluster = Cluster::start_with(1, |builder| builder.config("cluster-node-timeout", 1_000));
    let backend = RedisBackend::connect_cluster(nodes(&cluster)).await.unwrap();
    let limit = Limit::fixed(1_000, Duration::from_secs(86_400)).unwrap();
    let key = Key::raw("foo");
    assert_eq!(backend.decide(&key, &limit, 1, Options::NONE).await.unwrap().remaining, 999);
    let slot = cluster.slots(&["foo".into()])[0];
    let port = cluster.owner(slot).port();
    cluster.owner(slot).wait_for_replicas(1);
    cluster.take(port).kill();
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    let decision = loop {
        match tokio::time::timeout(Duration::from_secs(1), backend.decide(&key, &limit, 1, Options::NONE)).await {
            Ok(Ok(decision)) => break decision,
            _ => assert!(tokio::time::Instant::now() < deadline, "no replica took over"),
        }
    };
    // A call that broke off may have been charged: the one that got through counts, and at most a few before it.
    assert!(decision.remaining <= 998 && decision.remaining >= 990, "{decision:?}");
    wait_until("the others are a cluster again", || {
        cluster.nodes().iter().all(|node| node.get::<String>("CLUSTER INFO").contains("cluster_state:ok"))
    });
}
