//! Bar charts as SVG.

use crate::{
    report::{HEADLINE_PIPELINE, Persistence, Report},
    subject::{Algorithm, Family, Outcome},
};
use anyhow::Result;
use plotters::{prelude::*, style::text_anchor::*};
use std::path::Path;

const WIDTH: u32 = 800;
const LABEL: i32 = 240;
/// Room for the figure after the longest bar.
const FIGURE: i32 = 90;
const BAR: i32 = 14;
const COLOURS: [RGBColor; 3] = [RGBColor(31, 119, 180), RGBColor(255, 152, 60), RGBColor(140, 140, 140)];

/// Bars that stand under one label, one a series.
struct Group {
    label: String,
    values: Vec<f64>,
}

struct Chart<'a> {
    title: String,
    series: Vec<&'a str>,
    groups: Vec<Group>,
    decimals: usize,
}

pub fn draw(report: &Report, folder: &Path) -> Result<()> {
    let server = report.server.title();
    if let Some(chart) = ratios(report, &server) {
        chart.draw(&folder.join("ratio.svg"))?;
    }
    if let Some(chart) = latencies(report, &server) {
        chart.draw(&folder.join("latency.svg"))?;
    }
    memory(report, &server).draw(&folder.join("memory.svg"))
}

fn ratios<'a>(report: &Report, server: &str) -> Option<Chart<'a>> {
    let many = report.cell(Persistence::None, false, HEADLINE_PIPELINE)?;
    let hot = report.cell(Persistence::None, true, HEADLINE_PIPELINE)?;
    let mut groups = Vec::new();
    for outcome in [Outcome::Admitted, Outcome::Refused] {
        for algorithm in Algorithm::ALL {
            let label = many.limiter(Family::Module, algorithm, outcome)?.name.clone();
            let values = vec![many.against_lua(algorithm, outcome)?, hot.against_lua(algorithm, outcome)?];
            groups.push(Group { label, values });
        }
    }
    Some(Chart {
        title: format!("Throughput as a multiple of the Lua script's, pipeline {HEADLINE_PIPELINE}, {server}"),
        series: vec!["many keys", "one hot key"],
        groups,
        decimals: 1,
    })
}

fn latencies<'a>(report: &Report, server: &str) -> Option<Chart<'a>> {
    let cell = report.cell(Persistence::None, false, 1)?;
    let rows = cell.rows.iter().filter(|row| row.outcome != Outcome::Refused);
    let groups = rows.map(|row| Group {
        label: row.name.clone(),
        values: [row.p50_ms, row.p99_ms, row.p999_ms].map(|spread| spread.median).to_vec(),
    });
    Some(Chart {
        title: format!("Latency in ms, pipeline 1, {} connections, {server}", cell.connections),
        series: vec!["p50", "p99", "p99.9"],
        groups: groups.collect(),
        decimals: 3,
    })
}

fn memory<'a>(report: &Report, server: &str) -> Chart<'a> {
    let mut groups = Vec::new();
    for ours in report.memory.iter().filter(|memory| memory.family == Family::Module) {
        let Some(lua) = ours.algorithm.and_then(|algorithm| report.bytes(Family::Lua, algorithm, ours.events)) else {
            continue;
        };
        // A log's bytes by event, or they would dwarf all others.
        let divisor = ours.events.map_or(1.0, |events| events as f64);
        let label = ours.events.map_or_else(|| ours.name.clone(), |events| format!("an event of {events} in a log"));
        groups.push(Group { label, values: vec![ours.bytes_per_key / divisor, lua / divisor] });
    }
    Chart { title: format!("Bytes a key, {server}"), series: vec!["the module", "Lua"], groups, decimals: 0 }
}

impl Chart<'_> {
    fn draw(&self, path: &Path) -> Result<()> {
        let series = self.series.len() as i32;
        let group = series * BAR + 10;
        let height = 70 + group * self.groups.len() as i32;
        let root = SVGBackend::new(path, (WIDTH, height as u32)).into_drawing_area();
        root.fill(&WHITE)?;
        let font = |size: i32| ("sans-serif", size).into_font().color(&BLACK);
        let right = font(15).pos(Pos::new(HPos::Right, VPos::Center));
        let left = font(15).pos(Pos::new(HPos::Left, VPos::Center));
        root.draw(&Text::new(self.title.clone(), (12, 12), font(20)))?;
        for (index, name) in self.series.iter().enumerate() {
            let x = LABEL + index as i32 * 130;
            root.draw(&Rectangle::new([(x, 40), (x + BAR, 40 + BAR)], COLOURS[index].filled()))?;
            root.draw(&Text::new((*name).to_owned(), (x + BAR + 6, 47), left.clone()))?;
        }
        let longest = self.groups.iter().flat_map(|group| &group.values).copied().fold(f64::MIN_POSITIVE, f64::max);
        let scale = f64::from(WIDTH as i32 - LABEL - FIGURE) / longest;
        for (index, bars) in self.groups.iter().enumerate() {
            let top = 66 + index as i32 * group;
            root.draw(&Text::new(bars.label.clone(), (LABEL - 8, top + series * BAR / 2), right.clone()))?;
            for (index, value) in bars.values.iter().enumerate() {
                let y = top + index as i32 * BAR;
                let end = LABEL + (value * scale) as i32;
                root.draw(&Rectangle::new([(LABEL, y), (end, y + BAR - 2)], COLOURS[index].filled()))?;
                let figure = format!("{value:.*}", self.decimals);
                root.draw(&Text::new(figure, (end + 5, y + BAR / 2 - 1), left.clone()))?;
            }
        }
        root.present()?;
        Ok(())
    }
}
