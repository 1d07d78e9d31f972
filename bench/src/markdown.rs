//! Markdown tables: the first column names the row, the others are numbers.

pub struct Table {
    lines: Vec<String>,
}

impl Table {
    pub fn new(columns: &[&str]) -> Self {
        let rule = columns.iter().enumerate().map(|(i, _)| if i == 0 { "---|" } else { "---:|" });
        Self { lines: vec![format!("| {} |", columns.join(" | ")), format!("|{}", rule.collect::<String>())] }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.lines.push(format!("| {} |", cells.join(" | ")));
    }

    pub fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }
}
