//! A real cluster: servers that redis-cli has joined, and a client that follows their redirections.

use std::{thread, time::Duration};

use redis::{
    Cmd, ConnectionLike, Value,
    cluster::{ClusterClient, ClusterConnection, cluster_pipe},
};

use super::{
    builder::Builder,
    client::{packed, result, words},
    program::redis_cli,
    room::{free_port, wait_until},
    server::Server,
};

/// Primaries and replicas that are in agreement about who owns which slot.
pub struct Cluster {
    nodes: Vec<Server>,
}

impl Cluster {
    /// Three primaries, the module loaded, each with one replica.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(1, |builder| builder)
    }

    /// Three primaries with `replicas` replicas each; `configure` may change how every server is started.
    #[must_use]
    pub fn start_with(replicas: usize, configure: impl Fn(Builder) -> Builder) -> Self {
        let start = || {
            let builder = Server::builder()
                // Nodes agree on failures by their clocks.
                .system_clock()
                .config("cluster-enabled", "yes")
                .config("cluster-port", free_port())
                .config("cluster-replica-validity-factor", 0);
            configure(builder).start()
        };
        let cluster = Self { nodes: (0..3 * (1 + replicas)).map(|_| start()).collect() };
        let addresses: Vec<String> = cluster.ports().map(|port| format!("127.0.0.1:{port}")).collect();
        let mut arguments: Vec<&str> = vec!["--cluster", "create"];
        arguments.extend(addresses.iter().map(String::as_str));
        let count = replicas.to_string();
        arguments.extend(["--cluster-replicas", &count, "--cluster-yes"]);
        redis_cli(&arguments);
        cluster.wait_until_settled();
        wait_until("every node knows who replicates whom", || {
            let replicas_known = |node: &Server| node.get::<String>("CLUSTER NODES").matches("slave ").count();
            cluster.nodes.iter().all(|node| replicas_known(node) == 3 * replicas)
        });
        for node in cluster.primaries() {
            node.wait_for_replicas(replicas);
        }
        cluster
    }

    /// Waits until each node knows of all slots.
    pub fn wait_until_settled(&self) {
        wait_until("every node says that the cluster is well", || {
            self.nodes.iter().all(|node| {
                let info: String = node.get("CLUSTER INFO");
                info.contains("cluster_state:ok") && info.contains("cluster_slots_ok:16384")
            })
        });
    }

    fn ports(&self) -> impl Iterator<Item = u16> {
        self.nodes.iter().map(Server::port)
    }

    pub fn nodes(&self) -> &[Server] {
        &self.nodes
    }

    /// Takes a node out of the test's hands, to be killed: the others stay a cluster.
    pub fn take(&mut self, port: u16) -> Server {
        let index = self.ports().position(|other| other == port).expect("a node of the cluster");
        self.nodes.remove(index)
    }

    pub fn primaries(&self) -> impl Iterator<Item = &Server> {
        self.nodes.iter().filter(|node| node.info("role") == "master")
    }

    /// The replica of a primary.
    pub fn replica_of(&self, primary: &Server) -> &Server {
        let port = primary.port().to_string();
        let mut replicas = self.nodes.iter().filter(|node| node.info("role") == "slave");
        replicas.find(|node| node.info("master_port") == port).expect("the primary has a replica")
    }

    /// The primary that serves a slot, as its own view of the cluster has it.
    pub fn owner(&self, slot: u16) -> &Server {
        let owns = |node: &&Server| {
            let nodes: String = node.get("CLUSTER NODES");
            let me = nodes.lines().find(|line| line.contains("myself,master"));
            me.is_some_and(|line| line.split(' ').skip(8).any(|range| covers(range, slot)))
        };
        self.nodes.iter().find(owns).unwrap_or_else(|| panic!("nobody owns slot {slot}"))
    }

    /// The slot of each key.
    pub fn slots(&self, keys: &[String]) -> Vec<u16> {
        let questions: Vec<String> = keys.iter().map(|key| format!("CLUSTER KEYSLOT {key}")).collect();
        let replies = self.nodes[0].client().pipeline(&questions);
        replies.into_iter().map(|reply| redis::from_redis_value(reply.unwrap()).unwrap()).collect()
    }

    /// What lets threads open connections of their own.
    pub fn entrance(&self) -> Entrance {
        Entrance(self.ports().map(|port| format!("redis://127.0.0.1:{port}")).collect())
    }

    /// Runs `redis-cli --cluster` with a subcommand and its arguments.
    pub fn cli(&self, arguments: &[&str]) -> String {
        redis_cli(&[&["--cluster"], arguments].concat())
    }
}

/// The addresses of a cluster's nodes.
pub struct Entrance(Vec<String>);

impl Entrance {
    /// Opens a connection to the cluster.
    pub fn connect(&self) -> ClusterCaller {
        let client = ClusterClient::builder(self.0.iter().map(String::as_str))
            .retries(16)
            .min_retry_wait(2)
            .max_retry_wait(300)
            .build()
            .unwrap();
        // While a primary is down the client finds some slots without an owner.
        let connection = (0..50).find_map(|_| {
            let connection = client.get_connection();
            if connection.is_err() {
                thread::sleep(Duration::from_millis(100));
            }
            connection.ok()
        });
        ClusterCaller(connection.expect("the cluster can be connected to"))
    }
}

/// A connection to a whole cluster, which follows MOVED and ASK.
pub struct ClusterCaller(ClusterConnection);

impl ClusterCaller {
    /// See [`Client::send`](super::Client::send).
    pub fn send<A: AsRef<[u8]>>(&mut self, words: &[A]) -> Result<Value, String> {
        result(self.0.req_command(&packed(words)))
    }

    /// See [`Client::try_run`](super::Client::try_run).
    pub fn try_run(&mut self, command: &str) -> Result<Value, String> {
        self.send(&words(command))
    }

    /// Sends commands in as few writes as there are nodes; none of them may fail.
    pub fn pipeline(&mut self, commands: impl IntoIterator<Item = Cmd>) -> Vec<Value> {
        let mut pipeline = cluster_pipe();
        for command in commands {
            pipeline.add_command(command);
        }
        pipeline.query(&mut self.0).unwrap()
    }
}

/// Whether `range`, as `CLUSTER NODES` prints it, holds `slot`.
fn covers(range: &str, slot: u16) -> bool {
    let mut ends = range.splitn(2, '-').map(str::parse::<u16>);
    let (Some(Ok(first)), last) = (ends.next(), ends.next()) else {
        return false;
    };
    let last = last.map_or(first, |last| last.unwrap_or(first));
    (first..=last).contains(&slot)
}
