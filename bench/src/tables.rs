//! The Markdown of a run: ratios first, absolute figures second.

use crate::{
    bars,
    markdown::Table,
    report::{Cell, HEADLINE_CONNECTIONS, HEADLINE_PIPELINE, Persistence, Report, Row},
    results,
    subject::{Algorithm, Family, Outcome},
};

pub fn markdown(report: &Report) -> String {
    let mut text = format!(
        "# Benchmark, {}\n\n{}\n- load by {}; medians of {} interleaved rounds of {} s a subject\n\n",
        report.server.title(),
        results::provenance(&report.date, &report.command, &report.commit, &report.machine, &report.server),
        report.load,
        report.rounds,
        report.slice_seconds,
    );
    let mut section = |title: &str, body: String| {
        if !body.is_empty() {
            text += &format!("## {title}\n\n{body}\n");
        }
    };
    section("Ratios", "![Throughput as a multiple of the Lua script's](ratio.svg)\n\n".to_owned() + &headline(report));
    section("Bars", bars::table(report));
    section(
        "Times the Lua script, by load, admitted",
        grid(report, |cell, algorithm| cell.against_lua(algorithm, Outcome::Admitted)),
    );
    section(
        "Times the Lua script, by load, refused",
        grid(report, |cell, algorithm| cell.against_lua(algorithm, Outcome::Refused)),
    );
    section(
        "Times INCR, by load, admitted",
        grid(report, |cell, algorithm| cell.against(algorithm, Outcome::Admitted, "INCR")),
    );
    section("Sliding logs by size", logs(report));
    section("Persistence and replication", persistence(report));
    section("Memory", "![Bytes a key](memory.svg)\n\n".to_owned() + &memory(report));
    section("Latency", "![Latency at pipeline 1](latency.svg)\n\n".to_owned() + &latency(report));
    section("Absolute figures", absolute(report));
    text
}

/// The module's commands at the headline load against everything else.
pub fn headline(report: &Report) -> String {
    let cells = [false, true].map(|hot| report.cell(Persistence::None, hot, HEADLINE_PIPELINE));
    let [Some(many), Some(hot)] = cells else { return String::new() };
    let peers: Vec<&str> =
        many.rows.iter().filter(|row| row.family == Family::Peer).map(|row| row.name.as_str()).collect();
    let mut columns = vec!["command", "Lua", "Lua, hot key", "INCR", "GET", "SET PX", "the floor"];
    columns.extend(&peers);
    let mut table = Table::new(&columns);
    for outcome in [Outcome::Admitted, Outcome::Refused] {
        for algorithm in Algorithm::ALL {
            let Some(ours) = many.limiter(Family::Module, algorithm, outcome) else { continue };
            let mut cells = vec![ours.name.clone(), ratio(many.against_lua(algorithm, outcome))];
            cells.push(ratio(hot.against_lua(algorithm, outcome)));
            for other in ["INCR", "GET", "SET PX", "FLOOR.FIVE"].iter().chain(&peers) {
                cells.push(ratio(many.against(algorithm, outcome, other)));
            }
            table.row(cells);
        }
    }
    format!(
        "Throughput as a multiple of what is named at the top of the column: pipeline {HEADLINE_PIPELINE}, \
         {HEADLINE_CONNECTIONS} connections, {}.\n\n{}",
        many.keys_title(),
        table.text()
    )
}

fn grid(report: &Report, value: impl Fn(&Cell, Algorithm) -> Option<f64>) -> String {
    let titles = Algorithm::ALL.map(Algorithm::title);
    let mut table = Table::new(&[&["load"], titles.as_slice()].concat());
    for cell in report.grid(Persistence::None) {
        let load = format!("pipeline {}, {} connections, {}", cell.pipeline, cell.connections, cell.keys_title());
        let values = Algorithm::ALL.map(|algorithm| ratio(value(cell, algorithm)));
        table.row([vec![load], values.to_vec()].concat());
    }
    table.text()
}

fn logs(report: &Report) -> String {
    let mut table = Table::new(&["sliding log", "times the Lua script", "times the smallest log", "k requests/s"]);
    let mut any = false;
    for outcome in [Outcome::Admitted, Outcome::Refused] {
        let mut smallest = None;
        for cell in &report.cells {
            let Some(events) = cell.events else { continue };
            let Some(ours) = cell.limiter(Family::Module, Algorithm::SlidingLog, outcome) else { continue };
            let rate = ours.requests_per_second.median;
            let to_smallest = rate / *smallest.get_or_insert(rate);
            let to_lua = ratio(cell.against_lua(Algorithm::SlidingLog, outcome));
            let name = format!("{}, {events} events", ours.name);
            table.row(vec![name, to_lua, format!("{to_smallest:.2}"), thousands(rate)]);
            any = true;
        }
    }
    if any { table.text() } else { String::new() }
}

fn persistence(report: &Report) -> String {
    let mut table = Table::new(&["", "pipeline", "command", "times the Lua script", "times INCR", "k requests/s"]);
    for persistence in Persistence::ALL {
        for pipeline in [1, HEADLINE_PIPELINE] {
            let Some(cell) = report.cell(persistence, false, pipeline) else { continue };
            for algorithm in Algorithm::ALL {
                let Some(ours) = cell.limiter(Family::Module, algorithm, Outcome::Admitted) else { continue };
                table.row(vec![
                    persistence.title().to_owned(),
                    pipeline.to_string(),
                    ours.name.clone(),
                    ratio(cell.against_lua(algorithm, Outcome::Admitted)),
                    ratio(cell.against(algorithm, Outcome::Admitted, "INCR")),
                    thousands(ours.requests_per_second.median),
                ]);
            }
        }
    }
    table.text()
}

/// Bytes a key, next to the script's.
pub fn memory(report: &Report) -> String {
    let mut table = Table::new(&["state", "bytes a key", "the script's", "ratio"]);
    for memory in report.memory.iter().filter(|memory| memory.family == Family::Module) {
        let Some(algorithm) = memory.algorithm else { continue };
        let lua = report.bytes(Family::Lua, algorithm, memory.events);
        table.row(vec![
            memory.name.clone(),
            format!("{:.0}", memory.bytes_per_key),
            lua.map_or_else(dash, |lua| format!("{lua:.0}")),
            ratio(lua.map(|lua| memory.bytes_per_key / lua)),
        ]);
    }
    let keys = report.memory.first().map_or(0, |memory| memory.keys);
    format!("used_memory over {keys} keys (logs: fewer), names of 20 bytes, with expiry.\n\n{}", table.text())
}

fn latency(report: &Report) -> String {
    let Some(cell) = report.cell(Persistence::None, false, 1) else { return String::new() };
    let mut table = Table::new(&["command", "p50 ms", "p99 ms", "p99.9 ms"]);
    for row in &cell.rows {
        let values = [row.p50_ms, row.p99_ms, row.p999_ms].map(|spread| format!("{:.3}", spread.median));
        table.row([vec![row.name.clone()], values.to_vec()].concat());
    }
    format!("Pipeline 1, {} connections, {}.\n\n{}", cell.connections, cell.keys_title(), table.text())
}

fn absolute(report: &Report) -> String {
    let mut text = String::new();
    for cell in &report.cells {
        let events = cell.events.map(|events| format!(", logs of {events} events")).unwrap_or_default();
        let title = format!(
            "{}, pipeline {}, {} connections, {}{events}",
            cell.persistence.title(),
            cell.pipeline,
            cell.connections,
            cell.keys_title()
        );
        let columns = [
            "command",
            "k requests/s",
            "low to high",
            "server us/request",
            "us in the call",
            "p50 ms",
            "p99 ms",
            "p99.9 ms",
        ];
        let mut table = Table::new(&columns);
        for row in &cell.rows {
            table.row(absolute_row(row));
        }
        text += &format!("<details><summary>{title}</summary>\n\n{}\n</details>\n\n", table.text());
    }
    text
}

fn absolute_row(row: &Row) -> Vec<String> {
    let rate = row.requests_per_second;
    vec![
        row.name.clone(),
        thousands(rate.median),
        format!("{} to {}", thousands(rate.low), thousands(rate.high)),
        format!("{:.2}", row.server_us.median),
        format!("{:.2}", row.call_us.median),
        format!("{:.3}", row.p50_ms.median),
        format!("{:.3}", row.p99_ms.median),
        format!("{:.3}", row.p999_ms.median),
    ]
}

fn thousands(value: f64) -> String {
    format!("{:.1}", value / 1e3)
}

pub fn ratio(value: Option<f64>) -> String {
    value.map_or_else(dash, |value| format!("{value:.2}"))
}

fn dash() -> String {
    "-".to_owned()
}
