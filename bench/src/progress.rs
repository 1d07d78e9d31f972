//! Shows how far a run has come: on one line of a terminal, or a line a cell elsewhere.

use std::io::{IsTerminal as _, Write as _};

pub struct Progress {
    terminal: bool,
    total: usize,
    done: usize,
    server: String,
    cell: String,
}

impl Progress {
    /// `total` is the number of steps to come.
    pub fn new(server: &str, total: usize) -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            total,
            done: 0,
            server: server.to_owned(),
            cell: String::new(),
        }
    }

    /// Enters a cell.
    pub fn cell(&mut self, description: &str) {
        self.cell = description.to_owned();
        if !self.terminal {
            eprintln!("[{}] {}: {}", self.percent(), self.server, self.cell);
        }
    }

    /// Another step begins.
    pub fn step(&mut self, what: &str) {
        self.line(what);
        self.done += 1;
    }

    /// Something that was not counted as a step.
    pub fn say(&mut self, what: &str) {
        self.line(what);
    }

    fn percent(&self) -> String {
        format!("{:3} %", self.done * 100 / self.total.max(1))
    }

    fn line(&self, what: &str) {
        if self.terminal {
            // Carriage return, and clear what an earlier, longer line left.
            eprint!("\r\x1b[K[{}] {}: {}: {what}", self.percent(), self.server, self.cell);
            let _ = std::io::stderr().flush();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.terminal {
            eprint!("\r\x1b[K");
        }
    }
}
