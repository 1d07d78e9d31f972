//! A small HTTP service in front of Redis with the module, behind two limits: `make service`.
//!
//! ```sh
//! curl -i -H 'Authorization: Bearer token-of-ada' http://127.0.0.1:8080/api/hello
//! ```
//!
//! Settings are environment variables: `REDIS_URL`, `LISTEN` (an address, port 0 for any), `LIMIT_SECRET`,
//! `LIMIT_TIMEOUT_MS`, `RUST_LOG`.

mod auth;
mod handlers;
mod limits;

use std::{env, error::Error, net::SocketAddr, time::Duration};

use axum::{Router, middleware, routing::get};
use limiter_client::measure::{LATENCY, RETRY_AFTER};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
use tokio::{net::TcpListener, time};

use limits::Limits;

/// How often the exporter tidies its distributions.
const TIDY: Duration = Duration::from_secs(5);
/// Seconds, up to the timeout of a call.
const LATENCY_BUCKETS: [f64; 8] = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05];
/// Seconds.
const RETRY_BUCKETS: [f64; 6] = [0.1, 0.5, 1.0, 2.0, 5.0, 10.0];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let log = env::var("RUST_LOG").unwrap_or_else(|_| "info".to_owned());
    tracing_subscriber::fmt().with_env_filter(log).with_writer(std::io::stderr).init();
    let exporter = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Full(LATENCY.to_owned()), &LATENCY_BUCKETS)?
        .set_buckets_for_metric(Matcher::Full(RETRY_AFTER.to_owned()), &RETRY_BUCKETS)?
        .install_recorder()?;
    let tidied = exporter.clone();
    tokio::spawn(async move {
        loop {
            time::sleep(TIDY).await;
            tidied.run_upkeep();
        }
    });

    let redis = env::var("REDIS_URL").unwrap_or_else(|_| "redis://127.0.0.1:6379".to_owned());
    let secret = env::var("LIMIT_SECRET").unwrap_or_else(|_| "only for trying it out".to_owned());
    let timeout = env::var("LIMIT_TIMEOUT_MS").map_or(Ok(50), |ms| ms.parse())?;
    let limits = Limits::new(&redis, &secret, Duration::from_millis(timeout))?;

    let api = Router::new()
        .route("/api/hello", get(handlers::hello))
        .route("/api/report", get(handlers::report))
        // The last layer is the outermost: by address, then who it is, then by user.
        .layer(limits.by_user())
        .layer(middleware::from_fn(auth::authenticate))
        .layer(limits.by_address());
    let app = Router::new()
        .route("/health", get(|| async { "ok" }))
        .route("/metrics", get(|| async move { exporter.render() }))
        .merge(api);

    let listen = env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:8080".to_owned());
    let listener = TcpListener::bind(&listen).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let service = app.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, service).with_graceful_shutdown(stopped()).await?;
    Ok(())
}

/// Ready when the process is asked to end.
async fn stopped() {
    use tokio::signal::unix::{SignalKind, signal};
    let terminated = async {
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => signal.recv().await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = terminated => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}
