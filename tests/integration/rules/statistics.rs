//! `INFO rl`.

use std::collections::BTreeMap;

use crate::harness::Server;

const ALGORITHMS: [(&str, &str); 5] =
    [("tokenbucket", "1/1h"), ("gcra", "1/1h"), ("fixed", "1h"), ("slidinglog", "1h"), ("slidingcounter", "1h")];

fn counts(server: &Server) -> BTreeMap<String, u64> {
    let info: String = server.get("INFO rl");
    let mut lines = info.lines().filter(|line| !line.is_empty());
    assert_eq!(lines.next(), Some("# rl_stats"), "{info}");
    lines
        .map(|line| {
            let (name, value) = line.split_once(':').unwrap();
            (name.to_owned(), value.parse().unwrap())
        })
        .collect()
}

#[test]
fn info_counts_verdicts_and_errors_of_each_algorithm() {
    let server = Server::start();
    let names: Vec<String> = ALGORITHMS
        .iter()
        .flat_map(|(name, _)| ["allowed", "refused", "errors"].map(|ending| format!("rl_{name}_{ending}")))
        .collect();
    let before = counts(&server);
    assert_eq!(before.len(), 15 + 3 + 2);
    assert!(names.iter().all(|name| before[name] == 0), "{before:?}");

    server.run("SET string hello");
    for (turn, (name, unit)) in ALGORITHMS.into_iter().enumerate() {
        let call = format!("RL.{name} {name} 3 {unit}");
        for _ in 0..turn + 4 {
            server.five(&call);
        }
        server.five(&format!("{call} 0"));
        server.five(&format!("{call} 4"));
        for wrong in [format!("{call} x"), format!("RL.{name} k -1 {unit}"), format!("RL.{name} string 3 {unit}")] {
            server.error(&wrong);
        }
        // These are not counted.
        server.five(&format!("RL.PEEK {name}"));
        server.five(&format!("RL.PEEK other {name} 3 {unit}"));
        server.run(&format!("RL.INFO {name}"));
        server.error("RL.PEEK string");
        server.error("RL.INFO string");

        let now = counts(&server);
        assert_eq!(now[&format!("rl_{name}_allowed")], 4, "{name}");
        assert_eq!(now[&format!("rl_{name}_refused")], turn as u64 + 2, "{name}");
        assert_eq!(now[&format!("rl_{name}_errors")], 3, "{name}");
    }
    let total: u64 = counts(&server).values().sum();
    assert_eq!(total, 5 * (4 + 2 + 3) + (1 + 2 + 3 + 4));

    // They live as long as the process.
    server.run("FLUSHALL");
    server.run("CONFIG RESETSTAT");
    assert_eq!(counts(&server).values().sum::<u64>(), total);
}

#[test]
fn the_section_is_part_of_the_servers_own_views() {
    let server = Server::start();
    for view in ["INFO modules", "INFO everything", "INFO rl_stats"] {
        let info: String = server.get(view);
        assert!(info.contains("# rl_stats\r\n") && info.contains("\r\nrl_gcra_refused:0\r\n"), "{view}: {info}");
    }
    let default: String = server.get("INFO");
    assert!(!default.contains("rl_stats"));
}
