//! Every way to save, loaded with the module and without it.

use redis::Value;

use super::in_background;
use crate::harness::{Builder, MS, S, Server, Traffic, limiters, module_path};

/// How data is kept over a restart.
struct Way {
    name: &'static str,
    config: &'static [(&'static str, &'static str)],
    /// Saves, while the server runs.
    save: fn(&Server),
    /// How the server then ends: by these words to SHUTDOWN, or killed.
    shutdown: Option<&'static str>,
}

const AOF: (&str, &str) = ("appendonly", "yes");
const ALWAYS: (&str, &str) = ("appendfsync", "always");
const NATIVE_BASE: (&str, &str) = ("aof-use-rdb-preamble", "no");

const WAYS: [Way; 8] = [
    Way { name: "SAVE", config: &[], save: |server| drop(server.run("SAVE")), shutdown: None },
    Way { name: "BGSAVE", config: &[], save: |server| in_background(server, "BGSAVE"), shutdown: None },
    Way { name: "SHUTDOWN SAVE", config: &[], save: |_| (), shutdown: Some("SAVE") },
    Way { name: "AOF, always", config: &[AOF, ALWAYS], save: |_| (), shutdown: None },
    Way { name: "AOF, everysec", config: &[AOF], save: |_| (), shutdown: Some("NOSAVE") },
    Way { name: "AOF, rewritten", config: &[AOF, ALWAYS], save: rewrite_in_the_middle, shutdown: None },
    Way {
        name: "AOF, rewritten as commands",
        config: &[AOF, ALWAYS, NATIVE_BASE],
        save: rewrite_in_the_middle,
        shutdown: None,
    },
    Way { name: "both", config: &[AOF, ("save", "1 1")], save: |_| (), shutdown: Some("SAVE") },
];

/// So that the file has a base and what came after it.
fn rewrite_in_the_middle(server: &Server) {
    in_background(server, "BGREWRITEAOF");
    Traffic::new(8).play(server, 300);
}

/// What one who looks is told of each key.
fn looks(server: &Server) -> Vec<[Value; 2]> {
    let keys = server.records().into_iter().map(|(key, ..)| key);
    keys.map(|key| [server.run(&format!("RL.PEEK {key}")), server.run(&format!("RL.INFO {key}"))]).collect()
}

#[test]
fn bytes_expiry_and_answers_survive_with_the_module_and_without() {
    for way in &WAYS {
        let builder = way.config.iter().fold(Server::builder(), |builder, (name, value)| builder.config(name, value));
        let mut server = builder.start();
        Traffic::new(7).play(&server, 700);
        (way.save)(&server);
        let (records, answers) = (server.records(), looks(&server));
        assert!(records.len() > 5, "{}: {} keys", way.name, records.len());

        end(&mut server, way);
        server.relaunch();
        assert_eq!(server.records(), records, "{}", way.name);
        assert_eq!(looks(&server), answers, "{}", way.name);

        end(&mut server, way);
        server.relaunch_with(Builder::without_module);
        assert!(server.error("RL.PEEK k").contains("unknown command"));
        assert_eq!(server.records(), records, "{}, without the module", way.name);

        // And what a server without the module has saved in its turn, with the module loaded later.
        end(&mut server, way);
        server.relaunch();
        server.run(&format!("MODULE LOAD {}", module_path().display()));
        assert_eq!(server.records(), records, "{}, with the module again", way.name);
        assert_eq!(looks(&server), answers, "{}, with the module again", way.name);
    }
}

fn end(server: &mut Server, way: &Way) {
    match way.shutdown {
        Some(how) => server.shutdown(how),
        None => server.kill(),
    }
}

#[test]
fn a_used_up_limiter_refuses_after_a_restart() {
    // C124 (b) and (c).
    for config in [&[][..], &[AOF, ALWAYS]] {
        let builder = config.iter().fold(Server::builder(), |builder, (name, value)| builder.config(name, value));
        let mut server = builder.start();
        for (name, limits) in limiters(3) {
            for remaining in [2, 1, 0] {
                assert_eq!(server.five(&format!("RL.{name} {name} {limits}"))[..3], [1, 3, remaining]);
            }
        }
        if config.is_empty() {
            server.shutdown("SAVE");
        } else {
            server.kill();
        }
        server.advance(S);
        server.relaunch();
        assert_eq!(server.five("RL.GCRA GCRA 3 3/h"), [0, 3, 0, 1_199_000, 3_599_000]);
        for (name, limits) in limiters(3) {
            let [allowed, _, remaining, retry, _] = server.five(&format!("RL.{name} {name} {limits}"));
            assert_eq!([allowed, remaining], [0, 0], "{name}");
            server.advance((retry - 1) * MS);
            assert_eq!(server.five(&format!("RL.{name} {name} {limits}"))[0], 0, "{name}");
            server.advance(MS);
            assert_eq!(server.five(&format!("RL.{name} {name} {limits}"))[0], 1, "{name}");
            server.advance(-retry * MS);
        }
    }
}
