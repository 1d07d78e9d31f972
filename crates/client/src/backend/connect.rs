//! Connections with the settings that a limiter needs, which are not those of the `redis` crate.

use std::time::Duration;

use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};

use super::RedisBackend;
use crate::error::{Error, Result};

/// How long setting up one TCP connection may take.
#[cfg(any(feature = "connection-manager", feature = "cluster"))]
const CONNECT: Duration = Duration::from_secs(1);
/// How long a server may take to answer before the connection says so. Who asks has less patience.
#[cfg(any(feature = "connection-manager", feature = "cluster"))]
const RESPONSE: Duration = Duration::from_millis(500);
/// How long [`RedisBackend::connect`] and its like try.
const START: Duration = Duration::from_secs(5);
/// How long a connection may be silent about what was sent before the kernel gives it up: a server whose machine is gone says
/// nothing at all.
#[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
const SILENCE: Duration = Duration::from_secs(5);

fn tcp() -> TcpSettings {
    let keepalive = TcpKeepalive::new().with_time(Duration::from_secs(10)).with_interval(Duration::from_secs(3));
    // Without `nodelay` a command may wait for the acknowledgement of the one before.
    let settings = TcpSettings::default().set_nodelay(true).set_keepalive(keepalive);
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    let settings = settings.set_user_timeout(SILENCE);
    settings
}

/// Asks for the first time.
async fn started<C: crate::AsyncRateLimit + Clone + Sync + 'static>(
    backend: RedisBackend<C>,
) -> Result<RedisBackend<C>> {
    match tokio::time::timeout(START, backend.probe()).await {
        Ok(outcome) => outcome.map(|()| backend),
        Err(_) => Err(Error::Timeout(START)),
    }
}

#[cfg(feature = "connection-manager")]
#[cfg_attr(docsrs, doc(cfg(feature = "connection-manager")))]
impl RedisBackend<redis::aio::ConnectionManager> {
    /// Connects to one server, over a connection that is set up again when it breaks. It speaks RESP3, whatever the address
    /// says, so that a connection that the server closed while nobody called costs no call.
    ///
    /// A `ConnectionManager` of your own, for [`RedisBackend::new`], wants `?protocol=resp3` in its address for that.
    ///
    /// ```no_run
    /// use limiter_client::RedisBackend;
    ///
    /// # async fn example() -> limiter_client::Result<()> {
    /// let backend = RedisBackend::connect("redis://127.0.0.1/").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotLoaded`] if the server has no module; [`Error::Timeout`] after 5 s, or [`Error::Redis`], if there is none.
    pub async fn connect(server: impl redis::IntoConnectionInfo) -> Result<Self> {
        started(Self::connect_lazily(server)?).await
    }

    /// The same without waiting: a service can start while its server is away. [`RedisBackend::probe`] tells whether it is
    /// there.
    ///
    /// Has to be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// An address that is none.
    pub fn connect_lazily(server: impl redis::IntoConnectionInfo) -> Result<Self> {
        let server = server.into_connection_info()?;
        // In RESP3 the connection learns at once that the server has closed it, and is set up again before the next call; in
        // RESP2 it would learn from that call, which would fail.
        let settings = server.redis_settings().clone().set_protocol(redis::ProtocolVersion::RESP3);
        let client = redis::Client::open(server.set_redis_settings(settings).set_tcp_settings(tcp()))?;
        let config = redis::aio::ConnectionManagerConfig::new()
            .set_connection_timeout(Some(CONNECT))
            .set_response_timeout(Some(RESPONSE))
            .set_min_delay(Duration::from_millis(50))
            .set_max_delay(Duration::from_millis(500));
        Ok(Self::new(client.get_connection_manager_lazy(config)?))
    }
}

#[cfg(feature = "cluster")]
#[cfg_attr(docsrs, doc(cfg(feature = "cluster")))]
impl RedisBackend<redis::cluster_async::ClusterConnection> {
    /// Connects to a cluster, of which these nodes are known.
    ///
    /// A command that is redirected (MOVED, ASK) is sent again, and so is one whose connection breaks under it, up to three times
    /// while somebody waits for it: rarely, a call is charged twice.
    ///
    /// # Errors
    ///
    /// [`Error::NotLoaded`] if a node has no module; [`Error::Redis`] if no node answers.
    pub async fn connect_cluster<N: redis::IntoConnectionInfo>(nodes: impl IntoIterator<Item = N>) -> Result<Self> {
        let client = redis::cluster::ClusterClient::builder(nodes)
            .connection_timeout(CONNECT)
            .response_timeout(RESPONSE)
            .tcp_settings(tcp())
            .retries(3)
            .min_retry_wait(2)
            .max_retry_wait(100)
            .build()?;
        started(Self::new(client.get_async_connection().await?)).await
    }
}

#[cfg(feature = "sentinel")]
#[cfg_attr(docsrs, doc(cfg(feature = "sentinel")))]
impl RedisBackend<crate::connection::SentinelConnection> {
    /// Connects to the primary that these sentinels know by the name `primary`, and follows them after a failover.
    ///
    /// For a user, a password or TLS, build a `redis::sentinel::SentinelClient` and hand
    /// [`SentinelConnection::new`](crate::connection::SentinelConnection::new) to [`RedisBackend::new`].
    ///
    /// # Errors
    ///
    /// [`Error::NotLoaded`] if the primary has no module; [`Error::Redis`] if no sentinel names one.
    pub async fn connect_sentinel(
        sentinels: impl IntoIterator<Item = redis::ConnectionAddr>,
        primary: &str,
    ) -> Result<Self> {
        use redis::sentinel::{SentinelClientBuilder, SentinelServerType};
        let client = SentinelClientBuilder::new(sentinels, primary, SentinelServerType::Master)?
            .set_client_to_redis_tcp_settings(tcp())
            .set_client_to_sentinel_tcp_settings(tcp())
            .build()?;
        started(Self::new(crate::connection::SentinelConnection::new(client))).await
    }
}
