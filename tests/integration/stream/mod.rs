//! What each command sends to replicas and to the append-only file: to the byte, and nothing else.

mod adjusted;
mod clock_rule;
mod effects;
mod log;
mod options;
mod records;
mod silence;
mod whole_run;
mod wrapping;

use crate::harness::{Server, Stream};

/// A server and a reader of its stream.
struct Watched {
    server: Server,
    stream: Stream,
}

impl Watched {
    fn start() -> Self {
        Self::watch(Server::start())
    }

    fn watch(server: Server) -> Self {
        let stream = Stream::attach(&server);
        Self { server, stream }
    }

    /// What has been sent since the last look.
    fn sent(&mut self) -> Vec<String> {
        self.stream.lines()
    }

    /// Runs a command that must be admitted, and holds what it sends against `expected`.
    #[track_caller]
    fn admitted(&mut self, command: &str, expected: &[String]) {
        assert_eq!(self.server.integers(command)[0], 1, "{command}");
        assert_eq!(self.sent(), expected, "{command}");
    }

    /// Runs a command that must be refused, and holds what it sends against `expected`.
    #[track_caller]
    fn refused(&mut self, command: &str, expected: &[String]) {
        assert_eq!(self.server.integers(command)[0], 0, "{command}");
        assert_eq!(self.sent(), expected, "{command}");
    }

    /// Runs a command, whatever it answers, that must send nothing.
    #[track_caller]
    fn silent(&mut self, command: &str) {
        let reply = self.server.try_run(command);
        assert_eq!(self.sent(), [""; 0], "{command}: {reply:?}");
    }
}

/// Several effects of one call, script or transaction.
fn wrapped<const N: usize>(effects: [String; N]) -> Vec<String> {
    [&["MULTI".to_owned()][..], &effects, &["EXEC".to_owned()]].concat()
}
