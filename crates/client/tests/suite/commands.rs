//! Every command on a real server, in both protocols, on every kind of connection.

use std::time::Duration;

use limiter_client::{
    AllDecision, AsyncRateLimit, Charge, Decision, Info, Limit, Options, Rate, RateLimit, Retry,
    connection::RateLimitPipeline, decision::Throttled,
};

use crate::harness::{S, Server};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

fn bucket() -> Limit {
    Limit::token_bucket(10, Rate::per_second(1).unwrap()).unwrap()
}

fn url(server: &Server, protocol: &str) -> String {
    format!("redis://127.0.0.1:{}/?protocol={protocol}", server.port())
}

#[test]
fn a_sync_connection_has_every_command() {
    for protocol in ["resp2", "resp3"] {
        let server = Server::start();
        let mut connection = redis::Client::open(url(&server, protocol)).unwrap().get_connection().unwrap();
        let limits = [
            bucket(),
            Limit::gcra(10, Rate::per_second(1).unwrap()).unwrap(),
            Limit::fixed(10, MINUTE).unwrap(),
            Limit::sliding_log(10, MINUTE).unwrap(),
            Limit::sliding_counter(10, MINUTE).unwrap(),
        ];
        for limit in limits {
            let key = limit.algorithm().name();
            assert_eq!(connection.rl_info(key).unwrap(), None);
            assert_eq!(connection.rl_peek(key, 1).unwrap(), None);
            assert_eq!(connection.rl_adjust(key, 1, None).unwrap(), None);
            let seen = connection.rl_peek_call(key, &limit, 4, &Options::NONE).unwrap();
            let decision = connection.rl_decide(key, &limit, 4, &Options::NONE).unwrap();
            assert_eq!(decision, seen);
            assert_eq!((decision.allowed, decision.limit, decision.remaining), (true, 10, 6));
            let adjusted = connection.rl_adjust(key, -1, None).unwrap().unwrap();
            assert_eq!(adjusted.remaining, 7);
            let refused = connection.rl_decide(key, &limit, 8, &Options::NONE).unwrap();
            assert!(matches!(refused.retry_after, Retry::After(wait) if wait >= SECOND), "{refused:?}");
            assert_eq!(connection.rl_peek(key, 8).unwrap(), Some(refused));
            let info = connection.rl_info(key).unwrap().unwrap();
            assert_eq!(info.limits[0].limit, limit);
            assert_eq!((info.limits[0].used, info.limits[0].remaining), (3, 7));
        }
    }
}

#[test]
fn options_have_their_answers() {
    let server = Server::start();
    let mut client = server.client();
    let connection = client.connection();
    let partial = Options::NONE.partial();
    let decision = connection.rl_decide("p", &bucket(), 25, &partial).unwrap();
    assert_eq!((decision.allowed, decision.granted, decision.wait), (true, Some(10), None));
    assert_eq!(connection.rl_decide("p", &bucket(), 25, &partial).unwrap().granted, Some(0));
    let reserve = Options::NONE.reserve(3 * SECOND).unwrap();
    let decision = connection.rl_decide("p", &bucket(), 2, &reserve).unwrap();
    assert_eq!((decision.allowed, decision.granted, decision.wait), (true, None, Some(2 * SECOND)));
    let decision = connection.rl_decide("p", &bucket(), 2, &reserve).unwrap();
    assert_eq!((decision.allowed, decision.wait), (false, Some(Duration::ZERO)));
    assert_eq!(decision.retry_after, Retry::After(SECOND));

    let block = Options::NONE.block(MINUTE).unwrap();
    let login = Limit::fixed(1, SECOND).unwrap();
    assert!(connection.rl_decide("b", &login, 1, &block).unwrap().allowed);
    assert_eq!(connection.rl_decide("b", &login, 1, &block).unwrap().retry_after, Retry::After(MINUTE));
    server.advance(2 * S);
    let info = connection.rl_info("b").unwrap().unwrap();
    assert_eq!(info.limits[0].blocked, Some(58 * SECOND));
}

#[test]
fn several_limits_are_charged_together() {
    for protocol in ["resp2", "resp3"] {
        let server = Server::start();
        let mut connection = redis::Client::open(url(&server, protocol)).unwrap().get_connection().unwrap();
        let charges = [Charge::new(bucket(), 6), Charge::new(Limit::fixed(100, MINUTE).unwrap(), 1)];
        let decision = connection.rl_all(&["k"], &charges).unwrap();
        assert!(decision.allowed());
        assert_eq!((decision.binding, decision.whole.limit), (0, 10));
        let refused = connection.rl_all(&["k"], &charges).unwrap();
        assert_eq!(refused.whole.retry_after, Retry::After(2 * SECOND));
        assert_eq!((refused.binding, refused.each[0].allowed, refused.each[1].allowed), (0, false, true));
        assert_eq!(refused.each[1].remaining, 99);
        assert_eq!(connection.rl_peek_all("k", &charges).unwrap(), refused);
        let info = connection.rl_info("k").unwrap().unwrap();
        assert_eq!(info.limits.iter().map(|usage| usage.used).collect::<Vec<_>>(), [6, 1]);

        // One limit of the list, or every one.
        assert_eq!(connection.rl_adjust("k", -4, Some(0)).unwrap().unwrap().remaining, 8);
        connection.rl_adjust("k", 1, None).unwrap();
        let info = connection.rl_info("k").unwrap().unwrap();
        assert_eq!(info.limits.iter().map(|usage| usage.used).collect::<Vec<_>>(), [3, 2]);

        let keys = ["a", "b"];
        let booked = Options::NONE.reserve(MINUTE).unwrap();
        let charges = [Charge { options: booked, ..charges[0] }, charges[1]];
        assert!(connection.rl_all(&keys, &charges).unwrap().allowed());
        let decision = connection.rl_all(&keys, &charges).unwrap();
        assert_eq!((decision.allowed(), decision.whole.wait), (true, Some(2 * SECOND)));
        assert_eq!(connection.rl_info("b").unwrap().unwrap().limits[0].used, 2);
    }
}

#[test]
fn redis_cell_is_understood() {
    let server = Server::start();
    let mut client = server.client();
    let decision = client.connection().rl_throttle("k", 15, 30, 60, 16).unwrap();
    assert_eq!(decision, Decision::allowed(16, 0, 32 * SECOND));
    let decision = client.connection().rl_throttle("k", 15, 30, 60, 1).unwrap();
    assert_eq!(decision.retry_after, Retry::After(2 * SECOND));
    assert_eq!(client.connection().rl_throttle("k", 15, 30, 60, 17).unwrap().retry_after, Retry::Never);
}

#[test]
fn a_client_of_its_own_is_a_connection_too() {
    let server = Server::start();
    let mut client = redis::Client::open(url(&server, "resp3")).unwrap();
    assert!(client.rl_decide("k", &bucket(), 1, &Options::NONE).unwrap().allowed);
}

#[tokio::test]
async fn an_async_connection_has_every_command() {
    for protocol in ["resp2", "resp3"] {
        let server = Server::start();
        let client = redis::Client::open(url(&server, protocol)).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let seen = connection.rl_peek_call("k", &bucket(), 4, &Options::NONE).await.unwrap();
        let decision = connection.rl_decide("k", &bucket(), 4, &Options::NONE).await.unwrap();
        assert_eq!(decision, seen);
        assert_eq!(connection.rl_adjust("k", 2, None).await.unwrap().unwrap().remaining, 4);
        assert_eq!(connection.rl_peek("k", 1).await.unwrap().unwrap().remaining, 3);
        assert_eq!(connection.rl_info("k").await.unwrap().unwrap().limits[0].used, 6);
        assert!(connection.rl_throttle("t", 1, 1, 1, 1).await.unwrap().allowed);
        let charges = [Charge::new(bucket(), 1), Charge::new(Limit::fixed(100, MINUTE).unwrap(), 1)];
        let seen = connection.rl_peek_all("a", &charges).await.unwrap();
        assert_eq!(connection.rl_all(&["a"], &charges).await.unwrap(), seen);
        let granted = connection.rl_decide("k", &bucket(), 9, &Options::NONE.partial()).await.unwrap().granted;
        assert_eq!(granted, Some(4));
    }
}

#[tokio::test]
async fn a_pipeline_has_every_command() {
    let server = Server::start();
    let client = redis::Client::open(url(&server, "resp3")).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let charges = [Charge::new(bucket(), 1), Charge::new(Limit::fixed(100, MINUTE).unwrap(), 1)];
    let partial = Options::NONE.partial();
    type Replies =
        (Decision, Decision, Option<Decision>, Option<Decision>, Option<Info>, AllDecision, AllDecision, Throttled);
    let (first, seen, adjusted, peeked, info, looked, all, throttled): Replies = redis::pipe()
        .rl_decide("k", &bucket(), 4, &Options::NONE)
        .rl_peek_call("k", &bucket(), 7, &partial)
        .rl_adjust("k", -4, None)
        .rl_peek("k", 1)
        .rl_info("k")
        .rl_peek_all("a", &charges)
        .rl_all(&["a"], &charges)
        .rl_throttle("t", 1, 1, 1, 1)
        .query_async(&mut connection)
        .await
        .unwrap();
    assert_eq!(first.remaining, 6);
    assert_eq!(seen.to_call_with(&partial).granted, Some(6));
    assert_eq!(adjusted.unwrap().remaining, 10);
    // All was given back.
    assert_eq!(peeked, None);
    assert_eq!(info.unwrap().limits[0].used, 0);
    assert_eq!(looked, all);
    assert!(throttled.0.allowed);
}

#[test]
fn a_pipeline_is_one_transaction_if_it_is_to_be() {
    let server = Server::start();
    let mut client = server.client();
    let decisions: Vec<Decision> = redis::pipe()
        .atomic()
        .rl_decide("k", &bucket(), 4, &Options::NONE)
        .rl_decide("k", &bucket(), 7, &Options::NONE)
        .query(client.connection())
        .unwrap();
    assert_eq!(decisions.iter().map(|decision| decision.allowed).collect::<Vec<_>>(), [true, false]);
}
