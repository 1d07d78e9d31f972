//! Every command on real servers, in both protocols, on every kind of connection.

use std::time::Duration;

use limiter_client::{AsyncRateLimit, Limit, Options, Rate, RateLimit, Retry};

use crate::harness::Server;

#[test]
fn a_sync_connection_decides() {
    let server = Server::start();
    let limit = Limit::token_bucket(2, Rate::per_second(1).unwrap()).unwrap();
    let mut client = server.client();
    let decision = client.connection().rl_decide("k", &limit, 2, &Options::NONE).unwrap();
    assert!(decision.allowed);
    assert_eq!(decision.reset_after, Duration::from_secs(2));
    let decision = client.connection().rl_decide("k", &limit, 1, &Options::NONE).unwrap();
    assert_eq!(decision.retry_after, Retry::After(Duration::from_secs(1)));
}

#[tokio::test]
async fn an_async_connection_decides() {
    let server = Server::start();
    let limit = Limit::fixed(2, Duration::from_secs(60)).unwrap();
    let client = redis::Client::open(format!("redis://127.0.0.1:{}", server.port())).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let decision = connection.rl_decide("k", &limit, 3, &Options::NONE).await.unwrap();
    assert_eq!(decision.retry_after, Retry::Never);
}
