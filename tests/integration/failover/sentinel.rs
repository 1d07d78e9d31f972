//! Real sentinels notice that the primary is gone, and promote a replica.

use std::{thread, time::Duration};

use super::{CALLERS, difference, load_calls};
use crate::harness::{Client, Server, under_load, wait_until};

const NAME: &str = "limiters";

/// Milliseconds of silence after which a server counts as gone. On a busy machine nobody but the dead may look dead, so it
/// is short only while somebody is.
const SOON: u32 = 1_000;
const NEVER: u32 = 600_000;

fn set_patience(sentinels: &[Server], ms: u32) {
    for sentinel in sentinels {
        sentinel.run(&format!("SENTINEL SET {NAME} down-after-milliseconds {ms}"));
    }
}

fn sentinel(primary: &Server) -> Server {
    let monitor = format!("{NAME} 127.0.0.1 {} 2", primary.port());
    let sentinel = Server::builder()
        .without_module()
        .system_clock()
        .arg("--sentinel")
        .config("sentinel monitor", monitor)
        .config("sentinel down-after-milliseconds", format!("{NAME} {NEVER}"))
        .config("sentinel failover-timeout", format!("{NAME} 2000"))
        .config("sentinel parallel-syncs", format!("{NAME} 2"))
        .start();
    // Busier than usual, so that the test need not wait for what comes every ten seconds.
    sentinel.run("SENTINEL DEBUG info-period 200 publish-period 100 ask-period 100");
    sentinel
}

/// What a server takes itself for, over a connection of its own: sentinels close those of others.
fn role(server: &Server) -> Option<String> {
    let role = Client::try_at(server.port())?.try_run("ROLE").ok()?;
    let redis::Value::Array(role) = role else { return None };
    redis::from_redis_value(role.into_iter().next()?).ok()
}

/// The port of the present primary.
fn primary_port(sentinel: &mut Client) -> u16 {
    let (_, port): (String, u16) = sentinel.get(&format!("SENTINEL GET-MASTER-ADDR-BY-NAME {NAME}"));
    port
}

#[test]
fn limiters_go_on_under_sentinels() {
    let mut primary = Server::builder().system_clock().start();
    let replicas = [(); 2].map(|()| Server::builder().replica_of(&primary).start());
    primary.wait_for_replicas(2);
    let sentinels = [(); 3].map(|()| sentinel(&primary));
    wait_until("the sentinels know each other and the replicas", || {
        let known = |sentinel: &Server, what| {
            let list: Vec<redis::Value> = sentinel.get(&format!("SENTINEL {what} {NAME}"));
            list.len()
        };
        sentinels.iter().all(|sentinel| known(sentinel, "SENTINELS") == 2 && known(sentinel, "REPLICAS") == 2)
    });

    let calls = load_calls();
    let connect = || {
        let mut sentinel = sentinels[0].client();
        let mut client = Some(Client::at(primary_port(&mut sentinel)));
        move |call: &str| {
            let Some(present) = &mut client else {
                thread::sleep(Duration::from_millis(5));
                client = Client::try_at(primary_port(&mut sentinel));
                return Err("not connected".into());
            };
            let answer = present.try_run(call);
            if answer.is_err() {
                client = None;
            }
            answer
        }
    };
    let old_port = primary.port();
    let ((), tally) = under_load(CALLERS, &calls, connect, || {
        thread::sleep(Duration::from_millis(200));
        primary.kill();
        set_patience(&sentinels, SOON);
        let promoted = || replicas.iter().find(|replica| role(replica).as_deref() == Some("master"));
        wait_until("a replica is promoted", || promoted().is_some());
        let port = promoted().unwrap().port();
        wait_until("the sentinels agree", || {
            sentinels.iter().all(|sentinel| primary_port(&mut sentinel.client()) == port)
        });
        set_patience(&sentinels, NEVER);
    });
    let new_port = primary_port(&mut sentinels[0].client());
    assert_ne!(new_port, old_port);
    let new = replicas.iter().find(|replica| replica.port() == new_port).unwrap();
    new.forget_client();
    let (lost, unanswered) = difference(&tally.admitted, &new.used_by(&calls));
    assert!(lost <= CALLERS as u64, "{lost} calls are not charged");
    assert!(unanswered <= CALLERS as u64, "{unanswered} calls are charged that nobody was told of");
    assert_eq!(new.used_by(&calls)[..5], [20; 5]);

    // The old primary comes back, and is made a replica.
    primary.relaunch();
    wait_until("the old primary follows", || role(&primary).as_deref() == Some("slave"));
    replicas.iter().chain([&primary]).for_each(Server::forget_client);
    // Sentinels publish all the time, so that the replicas are never in step for long.
    new.run("RL.FIXED last 1 3650d");
    assert_eq!(new.get::<i64>("WAIT 2 20000"), 2);
    assert_eq!(new.records().len(), calls.len() + 1);
    for replica in replicas.iter().filter(|replica| replica.port() != new_port).chain([&primary]) {
        assert_eq!(replica.records(), new.records());
    }
}
