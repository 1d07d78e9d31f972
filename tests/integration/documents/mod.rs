//! What the documents say is what happens: examples, links, targets, settings and snippets.

mod cli;
mod example;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use crate::harness::{START, Server};

/// The documents that a reader may trust.
const DOCUMENTS: [&str; 11] = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "crates/client/README.md",
    "docs/benchmarks.md",
    "docs/clients.md",
    "docs/commands.md",
    "docs/design.md",
    "docs/operations.md",
    "docs/recipes.md",
    "docs/redis-cell.md",
];

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_example_in_the_documents_answers_what_it_shows() {
    let server = Server::start();
    let drop_in = Server::builder().config("rl.cl-throttle", "yes").start();
    let mut played = 0;
    for document in DOCUMENTS {
        for example in example::examples(document, &read(document)) {
            if example.looks_at_statistics() {
                // They count from when the module was loaded.
                example.play(&Server::start());
            } else {
                let server = if example.calls("CL.THROTTLE") { &drop_in } else { &server };
                server.run("FLUSHALL");
                server.set_clock(START);
                example.play(server);
            }
            played += 1;
        }
    }
    assert!(played >= 15, "only {played} examples were found");
}

#[test]
fn every_command_has_a_chapter_with_an_example() {
    let server = Server::start();
    let names: Vec<String> = server.get("COMMAND LIST FILTERBY MODULE rl");
    assert!(names.len() >= 7, "{names:?}");
    let text = read("docs/commands.md");
    for name in names.iter().map(|name| name.to_uppercase()) {
        assert!(text.contains(&format!("\n## {name}\n")), "docs/commands.md has no chapter {name}");
        assert!(text.contains(&format!("\n> {name} ")), "docs/commands.md shows no call of {name}");
        assert!(read("README.md").contains(&format!("`{name} ")), "README.md does not list {name}");
    }
}

#[test]
fn every_recipe_shows_its_calls_and_is_in_the_table() {
    let text = read("docs/recipes.md");
    let (table, recipes) = text.split_once("\n## ").expect("a recipe");
    let recipes: Vec<&str> = recipes.split("\n## ").collect();
    assert!(recipes.len() >= 7, "only {} recipes", recipes.len());
    for recipe in recipes {
        let (title, _) = recipe.split_once('\n').unwrap();
        assert!(!example::examples(title, recipe).is_empty(), "{title} shows no call");
        let anchor = anchors(&format!("## {title}")).pop_first().unwrap();
        assert!(table.contains(&format!("(#{anchor})")), "{title} is not in the table");
    }
}

#[test]
fn links_between_the_documents_lead_somewhere() {
    for document in DOCUMENTS {
        let folder = Path::new(document).parent().unwrap();
        for target in read(document).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            if path.contains("://") {
                continue;
            }
            let path = if path.is_empty() { Path::new(document).to_owned() } else { folder.join(path) };
            let full = Path::new(env!("CARGO_MANIFEST_DIR")).join(&path);
            assert!(full.exists(), "{document} links to {target}");
            if !anchor.is_empty() {
                let anchors = anchors(&read(path.to_str().unwrap()));
                assert!(anchors.contains(anchor), "{document} links to {target}, {path:?} has {anchors:?}");
            }
        }
    }
}

/// The anchors of a document's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    headings
        .map(|heading| {
            let kept = heading.to_lowercase().replace(' ', "-");
            kept.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
        })
        .collect()
}

#[test]
fn make_targets_that_the_documents_name_exist() {
    let makefile = read("Makefile");
    let mut named = 0;
    for document in DOCUMENTS {
        let text = read(document);
        for target in text
            .split("make ")
            .skip(1)
            .filter_map(|rest| rest.split(|c: char| !(c == '-' || c.is_ascii_lowercase())).next())
            .filter(|target| !target.is_empty())
        {
            // "make sure" is English; a target is named in code, right after a backtick or at the start of a line.
            let in_code = [format!("`make {target}"), format!("\nmake {target}"), format!("$ make {target}")];
            if in_code.iter().any(|code| text.contains(code)) {
                assert!(makefile.contains(&format!("\n{target}:")), "{document} names `make {target}`");
                named += 1;
            }
        }
    }
    assert!(named >= 5, "only {named} targets are named");
}

/// What redis.conf.example says of a setting of the module.
struct Knob {
    name: String,
    value: String,
    default: String,
    range: Range,
}

enum Range {
    Numbers { min: i64, max: i64 },
    Switch,
}

fn knobs(text: &str) -> Vec<Knob> {
    let mut remarks = Vec::new();
    let mut knobs = Vec::new();
    for line in text.lines() {
        if let Some(remark) = line.strip_prefix('#') {
            remarks.push(remark.trim());
            continue;
        }
        if let Some((name, value)) = line.split_once(' ').filter(|(name, _)| name.starts_with("rl.")) {
            let remark = |what: &str| {
                let text = remarks.iter().find_map(|remark| remark.strip_prefix(what)?.strip_prefix(':'));
                text.unwrap_or_else(|| panic!("redis.conf.example gives no {what} for {name}")).trim()
            };
            assert!(!remark("unit").is_empty());
            assert!(remarks.iter().any(|remark| remark.starts_with(&format!("{name}: "))), "{name} is not explained");
            let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{name}: {text}"));
            let range = match remark("range") {
                "yes or no" => Range::Switch,
                range => {
                    let (min, max) = range.split_once(" to ").expect("a range");
                    Range::Numbers { min: number(min), max: number(max) }
                }
            };
            knobs.push(Knob { name: name.into(), value: value.into(), default: remark("default").into(), range });
        }
        remarks.clear();
    }
    knobs
}

#[test]
fn redis_conf_example_has_every_knob_with_its_true_default_and_range() {
    let server = Server::start();
    let settings: BTreeMap<String, String> = server.get("CONFIG GET rl.*");
    let knobs = knobs(&read("redis.conf.example"));
    let documented: BTreeMap<String, String> =
        knobs.iter().map(|knob| (knob.name.clone(), knob.default.clone())).collect();
    assert_eq!(settings, documented);
    for Knob { name, value, default, range } in &knobs {
        assert_eq!(value, default, "{name}");
        match range {
            Range::Numbers { min, max } => {
                for (value, is_accepted) in [(min - 1, false), (*min, true), (*max, true), (max + 1, false)] {
                    let reply = server.try_run(&format!("CONFIG SET {name} {value}"));
                    assert_eq!(reply.is_ok(), is_accepted, "{name} {value}: {reply:?}");
                }
            }
            Range::Switch => {
                for (value, is_accepted) in [("yes", true), ("no", true), ("1", false), ("maybe", false)] {
                    let reply = Server::builder().config(name, value).try_start();
                    assert_eq!(reply.is_ok(), is_accepted, "{name} {value}: {:?}", reply.err());
                }
            }
        }
    }
}

#[test]
fn a_server_starts_with_redis_conf_example() {
    let mut builder = Server::builder();
    let mut loaded = 0;
    for line in read("redis.conf.example").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, value) = line.split_once(' ').expect("a name and a value");
        match name {
            // The harness loads the module itself, from where it was built.
            "loadmodule" => {
                assert!(value.starts_with('/') && value.ends_with("/libredis_limiter.so"), "{line}");
                loaded += 1;
            }
            // It has its own of these.
            "bind" | "port" => (),
            _ => builder = builder.config(name, value),
        }
    }
    assert_eq!(loaded, 1);
    let server = builder.start();
    assert_eq!(server.five("RL.FIXED k 1 60s"), [1, 1, 0, 0, 60_000]);
}
