//! Several keys in a cluster.

use crate::harness::Cluster;

#[test]
fn keys_of_several_slots_are_refused_and_keys_of_another_node_say_whose_they_are() {
    let cluster = Cluster::start_with(0, |builder| builder);
    let slot = cluster.slots(&["user0".into()])[0];
    let owner = cluster.owner(slot);
    let other = cluster.primaries().find(|node| node.port() != owner.port()).unwrap();
    let together = "RL.ALL 2 {user0}:tenant {user0}:all FIXED 5 1h GCRA 5 1";
    let moved = format!("MOVED {slot} 127.0.0.1:{}", owner.port());
    for call in [together, "RL.ALL 1 {user0}:k FIXED 5 1h GCRA 5 1"] {
        assert_eq!(other.error(call), moved, "{call}");
        let script = call.split(' ').map(|word| format!("'{word}'")).collect::<Vec<_>>().join(",");
        let error = other.error(&format!("EVAL \"return redis.call({script})\" 0"));
        assert!(error.contains("non local key"), "{call} in a script: {error}");
    }
    let apart = "RL.ALL 2 {user0}:tenant {user1}:all FIXED 5 1h GCRA 5 1";
    for node in [owner, other] {
        assert!(node.error(apart).starts_with("CROSSSLOT "), "{}", node.error(apart));
    }
    // The second key alone is enough.
    let foreign = "RL.ALL 1 {user1}:k FIXED 5 1h";
    let there = cluster.slots(&["user1".into()])[0];
    let not_there = cluster.primaries().find(|node| node.port() != cluster.owner(there).port()).unwrap();
    assert!(not_there.error(foreign).starts_with(&format!("MOVED {there} ")));
    assert_eq!(cluster.primaries().map(|node| node.get::<u32>("DBSIZE")).sum::<u32>(), 0, "nothing was decided");

    owner.run(together);
    assert_eq!(owner.get::<u32>("DBSIZE"), 2);
    let mut client = cluster.entrance().connect();
    client.try_run("RL.ALL 1 {user1}:k FIXED 5 1h GCRA 5 1").unwrap();
    client.try_run(together).unwrap();
    assert_eq!(owner.five("RL.PEEK {user0}:tenant 0")[..3], [1, 5, 3]);
}
