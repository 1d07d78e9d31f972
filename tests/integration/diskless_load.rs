//! A replica that loads the primary's data set straight from the socket, and answers from the old one meanwhile.

use redis::Value;

use crate::harness::{Server, wait_until};

#[test]
fn a_replica_swaps_in_a_new_data_set_while_it_still_answers_from_the_old_one() {
    let primary = Server::builder().config("repl-diskless-sync", "yes").config("repl-backlog-size", "16kb").start();
    let replica = Server::builder()
        .replica_of(&primary)
        .config("repl-diskless-load", "swapdb")
        .config("key-load-delay", 500)
        .config("loading-process-events-interval-bytes", 1024)
        .start();
    primary.run("RL.FIXED k 5 1h 2");
    primary.wait_for_replicas(1);
    for number in 0..1_000 {
        primary.run(&format!("RL.SLIDINGLOG {number} 5 1h"));
    }
    primary.wait_for_replicas(1);

    // The replica loses its link, and more is written than the backlog holds: it needs everything anew.
    let mut client = primary.client();
    client.run("MULTI");
    client.run("CLIENT KILL TYPE replica");
    client.run(&format!("SET filler {}", "x".repeat(50_000)));
    client.run("RL.FIXED k 5 1h 2");
    client.run("EXEC");
    let mut seen = Vec::new();
    wait_until("the replica loads in the background", || replica.info("async_loading") == "1");
    while replica.info("async_loading") == "1" {
        seen.push(replica.five("RL.PEEK k 0")[2]);
        assert_ne!(replica.run("RL.INFO k"), Value::Nil);
    }
    assert!(seen.len() > 1 && seen[..seen.len() - 1].iter().all(|&remaining| remaining == 3), "{seen:?}");
    primary.wait_for_replicas(1);
    assert_eq!(replica.five("RL.PEEK k 0")[2], 1);
    assert_eq!(replica.get::<String>("DEBUG DIGEST"), primary.get::<String>("DEBUG DIGEST"));
    for server in [&primary, &replica] {
        assert!(!server.log().contains("Skipping diskless-load"), "{}", server.log());
    }
}
