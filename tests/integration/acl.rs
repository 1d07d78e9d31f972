//! Users: who may call what, on which keys, and that a call needs no other right than its own.

use crate::harness::{Client, Flavor, Server, limiters, skip};

fn login(server: &Server, name: &str, rules: &str) -> Client {
    server.run(&format!("ACL SETUSER {name} reset on nopass {rules}"));
    let mut client = server.client();
    client.run(&format!("AUTH {name} any"));
    client
}

#[track_caller]
fn assert_barred(client: &mut Client, command: &str) {
    let error = client.error(command);
    assert!(error.starts_with("NOPERM "), "{command}: {error}");
}

/// Where a module's commands belong to no category, only their names and `@all` grant them.
fn has_categories(server: &Server) -> bool {
    server.try_run("ACL CAT ratelimit").is_ok()
}

#[test]
fn a_user_of_one_command_needs_no_right_to_the_native_commands_behind_it() {
    let mut primary = Server::builder().config("appendonly", "yes").start();
    let replica = Server::builder().without_module().replica_of(&primary).start();
    primary.wait_for_replicas(1);
    for (name, limits) in limiters(3) {
        let mut user = login(&primary, "limited", &format!("~{name} +rl.{name}"));
        for remaining in [2, 1] {
            assert_eq!(user.five(&format!("RL.{name} {name} {limits}"))[..3], [1, 3, remaining]);
        }
        assert_barred(&mut user, &format!("SET {name} x"));
        assert_barred(&mut user, &format!("RL.{name} other {limits}"));
        assert_barred(&mut user, &format!("RL.PEEK {name}"));
    }
    primary.wait_for_replicas(1);
    for (name, _) in limiters(3) {
        assert_eq!(replica.state(name), primary.state(name), "{name}");
    }
    primary.shutdown("NOSAVE");
    primary.relaunch();
    for (name, limits) in limiters(3) {
        assert_eq!(primary.five(&format!("RL.{name} {name} {limits}"))[..3], [1, 3, 0]);
    }
}

#[test]
fn a_decision_needs_to_read_and_write_its_key_and_a_look_only_to_read() {
    let server = Server::start();
    for (name, limits) in limiters(3) {
        let (call, peek) = (format!("RL.{name} k {limits}"), "RL.PEEK k".to_owned());
        let (foresee, info) = (format!("RL.PEEK k {name} {limits}"), "RL.INFO k".to_owned());
        server.run("DEL k");
        for (rules, decides, looks) in [
            ("%R~k", false, true),
            ("%W~k", false, false),
            ("%RW~k", true, true),
            ("%R~k %W~k", true, true),
            ("%R~k %W~*", false, true),
            ("~other", false, false),
        ] {
            let mut user = login(&server, "user", &format!("+@all {rules}"));
            for (command, allowed) in [(&call, decides), (&peek, looks), (&foresee, looks), (&info, looks)] {
                if allowed {
                    user.run(command);
                } else {
                    assert_barred(&mut user, command);
                }
                // A script and a transaction give no more than the user has.
                let words = command.split(' ').map(|word| format!("'{word}'")).collect::<Vec<_>>().join(",");
                let script = user.try_run(&format!("EVAL \"return redis.call({words})\" 0"));
                assert_eq!(script.is_ok(), allowed, "{rules}: {command} in a script: {script:?}");
                user.run("MULTI");
                assert_eq!(user.try_run(command).is_ok(), allowed, "{rules}: {command} in a transaction");
                assert_eq!(user.try_run("EXEC").is_ok(), allowed, "{rules}: {command} in a transaction");
            }
        }
    }
}

#[test]
fn a_right_that_is_taken_away_is_gone_at_once() {
    let server = Server::start();
    let mut user = login(&server, "user", "~* +rl.fixed +multi +exec");
    user.five("RL.FIXED k 5 1h");
    user.run("MULTI");
    user.run("RL.FIXED k 5 1h");
    server.run("ACL SETUSER user -rl.fixed");
    let replies = format!("{:?}", user.try_run("EXEC"));
    assert!(replies.contains("NOPERM"), "{replies}");
    assert_barred(&mut user, "RL.FIXED k 5 1h");
    assert_eq!(server.five("RL.FIXED k 5 1h 0")[..3], [1, 5, 4]);
}

#[test]
fn categories_sort_the_commands_as_the_servers_own() {
    let server = Server::start();
    if !has_categories(&server) {
        skip("this server has no ACL categories for modules");
        return;
    }
    for (name, limits) in limiters(3) {
        let call = format!("RL.{name} k {limits}");
        server.run("DEL k");
        for (rules, decides, looks) in [
            ("+@ratelimit", true, true),
            ("+@write", true, false),
            ("+@read", false, true),
            ("+@fast", true, true),
            ("+@all -@ratelimit", false, false),
            ("+@all -@write", false, true),
            ("+@ratelimit -@write", false, true),
            ("+@slow +@dangerous +@keyspace +@string", false, false),
        ] {
            let mut user = login(&server, "user", &format!("~* {rules}"));
            for (command, allowed) in [(&*call, decides), ("RL.PEEK k", looks), ("RL.INFO k", looks)] {
                if allowed {
                    user.run(command);
                } else {
                    assert_barred(&mut user, command);
                }
            }
        }
    }
}

#[test]
fn without_categories_a_name_or_all_grants_a_command() {
    let server = Server::start();
    if has_categories(&server) {
        assert_ne!(server.version(), (Flavor::Redis, 7, 0));
        skip("this server has ACL categories for modules");
        return;
    }
    for (rules, allowed) in
        [("+@all", true), ("+rl.fixed", true), ("+@write +@read +@fast", false), ("+rl.gcra", false)]
    {
        let mut user = login(&server, "user", &format!("~* {rules}"));
        assert_eq!(user.try_run("RL.FIXED k 5 1h").is_ok(), allowed, "{rules}");
    }
    assert!(server.error("ACL SETUSER user +@ratelimit").contains("Unknown command or category"));
    assert!(server.log().contains("this server has no ACL categories for modules"));
}
