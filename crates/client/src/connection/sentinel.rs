//! A connection to whichever server the sentinels name as the primary.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use redis::{
    AsyncConnectionConfig, Cmd, ErrorKind, Pipeline, RedisError, RedisFuture, RedisResult, ServerErrorKind, Value,
    aio::{ConnectionLike, MultiplexedConnection},
    sentinel::SentinelClient,
};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use super::AsyncRateLimit;

/// How long a failed attempt to connect stands before the next one may start.
const PAUSE: Duration = Duration::from_millis(100);
/// How often a connection is asked whether its server still answers, and how long it may take to.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// A connection to the primary that sentinels name, which follows them after a failover. Clones are the same connection.
///
/// The sentinels are asked anew when the connection breaks, when its server has become a replica, and when it has not
/// answered for a second or two. Meanwhile calls wait for the new connection; none is sent twice.
///
/// ```no_run
/// use limiter_client::{RedisBackend, connection::SentinelConnection};
/// use redis::sentinel::{SentinelClientBuilder, SentinelServerType};
///
/// # fn example(password: &str) -> limiter_client::Result<()> {
/// let sentinels = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(|host| redis::ConnectionAddr::Tcp(host.into(), 26_379));
/// let client = SentinelClientBuilder::new(sentinels, "limiters", SentinelServerType::Master)?
///     .set_client_to_redis_password(password)
///     .build()?;
/// let backend = RedisBackend::new(SentinelConnection::new(client));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SentinelConnection(Arc<Shared>);

struct Shared {
    sentinels: tokio::sync::Mutex<SentinelClient>,
    config: AsyncConnectionConfig,
    current: Mutex<Attempt>,
}

/// A connection, or one that is being made.
#[derive(Clone)]
struct Attempt {
    started: Instant,
    outcome: watch::Receiver<Option<RedisResult<MultiplexedConnection>>>,
}

impl SentinelConnection {
    /// Connects in the background. Calls wait for the connection, or get the error that there is none.
    ///
    /// Has to be called within a tokio runtime. The client has to be one for the primary.
    #[must_use]
    pub fn new(sentinels: SentinelClient) -> Self {
        let (_, never) = watch::channel(None);
        let shared = Arc::new(Shared {
            sentinels: tokio::sync::Mutex::new(sentinels),
            config: AsyncConnectionConfig::new(),
            current: Mutex::new(Attempt { started: Instant::now(), outcome: never }),
        });
        *shared.current() = shared.connect();
        tokio::spawn(heartbeat(Arc::downgrade(&shared)));
        Self(shared)
    }
}

impl Shared {
    fn current(&self) -> MutexGuard<'_, Attempt> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the sentinels and connects, in a task of its own: whoever waits may give up, and others still get the connection.
    fn connect(self: &Arc<Self>) -> Attempt {
        let (sender, outcome) = watch::channel(None);
        let shared = Arc::clone(self);
        tokio::spawn(async move {
            let connection = shared.sentinels.lock().await.get_async_connection_with_config(&shared.config).await;
            sender.send_replace(Some(connection));
        });
        Attempt { started: Instant::now(), outcome }
    }

    /// Puts a new attempt in the place of `failed`, unless somebody else did.
    fn replace(self: &Arc<Self>, failed: &Attempt) {
        let mut current = self.current();
        if current.outcome.same_channel(&failed.outcome) {
            *current = self.connect();
        }
    }

    /// The connection, once it is there, and the attempt that it comes from.
    async fn connection(self: &Arc<Self>) -> RedisResult<(MultiplexedConnection, Attempt)> {
        let mut attempt = self.current().clone();
        if let Some(Err(error)) = &*attempt.outcome.borrow() {
            if attempt.started.elapsed() < PAUSE {
                return Err(error.clone());
            }
            self.replace(&attempt);
        }
        attempt = self.current().clone();
        let mut receiver = attempt.outcome.clone();
        let outcome = receiver.wait_for(Option::is_some).await.map(|outcome| outcome.clone());
        match outcome {
            Ok(Some(connection)) => Ok((connection?, attempt)),
            _ => Err((ErrorKind::Io, "the runtime that was to connect is gone").into()),
        }
    }

    fn look_at<T>(self: &Arc<Self>, result: &RedisResult<T>, attempt: &Attempt) {
        if let Err(error) = result
            && is_over(error)
        {
            self.replace(attempt);
        }
    }
}

/// Whether another connection has to be made: this one is gone, or its server is no primary any more.
fn is_over(error: &RedisError) -> bool {
    error.is_unrecoverable_error() || error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly)
}

/// A server that has stopped without closing its connections is noticed by its silence.
async fn heartbeat(shared: Weak<Shared>) {
    loop {
        sleep(HEARTBEAT).await;
        let Some(shared) = shared.upgrade() else { return };
        let attempt = shared.current().clone();
        let Some(Ok(mut connection)) = attempt.outcome.borrow().clone() else { continue };
        match timeout(HEARTBEAT, connection.req_packed_command(&redis::cmd("PING"))).await {
            Ok(Err(error)) if !is_over(&error) && !error.is_timeout() => {}
            Ok(Ok(_)) => {}
            _ => shared.replace(&attempt),
        }
    }
}

impl ConnectionLike for SentinelConnection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let (mut connection, attempt) = self.0.connection().await?;
            let result = connection.req_packed_command(cmd).await.and_then(Value::extract_error);
            self.0.look_at(&result, &attempt);
            result
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let (mut connection, attempt) = self.0.connection().await?;
            let result = connection.req_packed_commands(pipeline, offset, count).await;
            self.0.look_at(&result, &attempt);
            result
        })
    }

    fn get_db(&self) -> i64 {
        0
    }
}

impl AsyncRateLimit for SentinelConnection {}

impl fmt::Debug for SentinelConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SentinelConnection(..)")
    }
}
