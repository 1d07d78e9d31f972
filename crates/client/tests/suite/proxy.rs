//! A network between a client and its server, that can be made to fail.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, tcp::OwnedReadHalf, tcp::OwnedWriteHalf},
    sync::watch,
    time::sleep,
};

/// What the network does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    Works,
    /// Every answer takes so much longer.
    Slow(Duration),
    /// Nothing arrives, and no connection breaks.
    Stalls,
    /// Connections are closed, and closed again when they are set up anew.
    Cuts,
    /// The same with a reset instead of an end.
    Resets,
}

/// Runs as long as it is there.
pub struct Proxy {
    port: u16,
    network: watch::Sender<Network>,
    connections: Arc<AtomicU64>,
    task: tokio::task::JoinHandle<()>,
}

impl Proxy {
    pub async fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (network, seen) = watch::channel(Network::Works);
        let connections = Arc::new(AtomicU64::new(0));
        let count = connections.clone();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(connection(client, server, seen.clone()));
            }
        });
        Self { port, network, connections, task }
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    pub fn set(&self, network: Network) {
        self.network.send_replace(network);
    }

    /// How many connections were set up so far.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        self.network.send_replace(Network::Cuts);
    }
}

async fn connection(client: TcpStream, server: u16, mut network: watch::Receiver<Network>) {
    let broken = |network: &Network| matches!(network, Network::Cuts | Network::Resets);
    if !broken(&network.borrow()) {
        let Ok(server) = TcpStream::connect(("127.0.0.1", server)).await else { return };
        let _ = server.set_nodelay(true);
        let _ = client.set_nodelay(true);
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        let mut ends = network.clone();
        tokio::select! {
            () = pump(&mut from_client, &mut to_server, None) => {}
            () = pump(&mut from_server, &mut to_client, Some(network.clone())) => {}
            _ = ends.wait_for(broken) => {}
        }
        if *network.borrow_and_update() == Network::Resets {
            let _ = to_client.as_ref().set_zero_linger();
        }
        return;
    }
    if *network.borrow() == Network::Resets {
        let _ = client.set_zero_linger();
    }
}

/// Answers, which have a `network`, are held up; questions are not.
async fn pump(from: &mut OwnedReadHalf, to: &mut OwnedWriteHalf, mut network: Option<watch::Receiver<Network>>) {
    let mut room = vec![0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut room).await {
        if let Some(network) = &mut network {
            let now = *network.borrow_and_update();
            match now {
                Network::Slow(delay) => sleep(delay).await,
                Network::Stalls => drop(network.wait_for(|network| *network != Network::Stalls).await),
                _ => {}
            }
        }
        if to.write_all(&room[..count]).await.is_err() {
            return;
        }
    }
}
