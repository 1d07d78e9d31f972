//! Examples in Markdown: fenced blocks of the kind `redis-cli`.
//!
//! A line that starts with `> ` is typed into redis-cli; what follows is what it prints. `# 6 seconds later` moves
//! the server's clock. Each block starts on an empty server. `redis-cli -3` is the same with RESP3.

use super::cli;
use crate::harness::{DAY, H, M, MS, S, Server};

/// One block of a document.
pub struct Example {
    /// Where it is, for messages.
    place: String,
    resp3: bool,
    steps: Vec<Step>,
}

enum Step {
    Wait(i64),
    Call { command: String, shown: Vec<String> },
}

/// All examples of a document.
pub fn examples(document: &str, text: &str) -> Vec<Example> {
    let mut examples = Vec::new();
    let mut open: Option<Example> = None;
    for (number, line) in text.lines().enumerate() {
        match &mut open {
            Some(_) if line.trim_end() == "```" => examples.extend(open.take()),
            Some(example) => example.line(line),
            None if line.starts_with("```redis-cli") => {
                open = Some(Example {
                    place: format!("{document}:{}", number + 1),
                    resp3: line.trim_end().ends_with(" -3"),
                    steps: Vec::new(),
                });
            }
            None => (),
        }
    }
    assert!(open.is_none(), "{document}: a block is not closed");
    examples
}

impl Example {
    fn line(&mut self, line: &str) {
        if let Some(command) = line.strip_prefix("> ") {
            self.steps.push(Step::Call { command: command.into(), shown: Vec::new() });
        } else if let Some(wait) = wait(line) {
            self.steps.push(Step::Wait(wait));
        } else if !line.is_empty() {
            match self.steps.last_mut() {
                Some(Step::Call { shown, .. }) => shown.push(line.into()),
                _ => panic!("{}: output without a command: {line}", self.place),
            }
        }
    }

    /// Whether what it shows depends on what happened before it.
    pub fn looks_at_statistics(&self) -> bool {
        self.calls("INFO")
    }

    /// Whether one of its lines begins with this command.
    pub fn calls(&self, name: &str) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Call { command, .. } if command.starts_with(name)))
    }

    /// Types the commands and compares what redis-cli would print.
    pub fn play(&self, server: &Server) {
        let mut client = if self.resp3 { server.client_resp3() } else { server.client() };
        for step in &self.steps {
            match step {
                Step::Wait(us) => server.advance(*us),
                Step::Call { command, shown } => {
                    let reply = client.try_run(command);
                    let printed = cli::print(command, &reply);
                    assert_eq!(
                        printed,
                        *shown,
                        "{}: {command}\nprints\n{}\nand the document shows\n{}",
                        self.place,
                        printed.join("\n"),
                        shown.join("\n")
                    );
                }
            }
        }
    }
}

/// `# 6 seconds later`, in microseconds.
fn wait(line: &str) -> Option<i64> {
    let words: Vec<&str> = line.strip_prefix("# ")?.split(' ').collect();
    let [amount, unit, "later"] = words[..] else { return None };
    let unit = match unit.trim_end_matches('s') {
        "m" => MS,
        "second" => S,
        "minute" => M,
        "hour" => H,
        "day" => DAY,
        _ => return None,
    };
    Some(amount.parse::<i64>().ok()? * unit)
}
