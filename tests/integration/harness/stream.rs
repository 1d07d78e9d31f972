//! The replication stream as a replica receives it, read by the test itself.

use std::{
    fmt::Write as _,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

use super::{client::Client, server::Server};

/// A replica that keeps no data: it writes down the commands it is sent.
pub struct Stream {
    reader: BufReader<TcpStream>,
    /// Publishes how far the stream is to be read.
    marker: Client,
    marks: u64,
}

/// One command of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent(pub Vec<Vec<u8>>);

/// What the primary sends of its own accord, whatever the commands.
const HOUSEKEEPING: [&[u8]; 3] = [b"SELECT", b"PING", b"REPLCONF"];
const MARK: &[u8] = b"how far the stream was read";

impl Stream {
    /// Attaches to a server, and passes over the data it has so far.
    pub fn attach(server: &Server) -> Self {
        let connection = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut stream = Self { reader: BufReader::new(connection), marker: server.client(), marks: 0 };
        for introduction in ["REPLCONF listening-port 1\r\n", "REPLCONF capa psync2\r\n"] {
            stream.tell(introduction);
            assert_eq!(stream.line(), "+OK");
        }
        stream.tell("PSYNC ? -1\r\n");
        let answer = stream.line();
        assert!(answer.starts_with("+FULLRESYNC "), "{answer}");
        // Blank lines come while the server prepares the data.
        let announced = std::iter::from_fn(|| Some(stream.line())).find(|line| !line.is_empty()).unwrap();
        let length = announced.strip_prefix('$').and_then(|length| length.parse().ok());
        stream.bytes(length.unwrap_or_else(|| panic!("no length of the data but {announced}")));
        stream.tell("REPLCONF ACK 0\r\n");
        stream.news();
        stream
    }

    /// Everything sent since the last call, but for housekeeping.
    pub fn news(&mut self) -> Vec<Sent> {
        self.marks += 1;
        let mark = self.marks.to_string();
        self.marker.send(&[b"PUBLISH", MARK, mark.as_bytes()]).unwrap();
        let mut news = Vec::new();
        loop {
            let Sent(words) = self.command();
            if words == [b"PUBLISH", MARK, mark.as_bytes()] {
                return news;
            }
            if !HOUSEKEEPING.contains(&words[0].to_ascii_uppercase().as_slice()) {
                news.push(Sent(words));
            }
        }
    }

    /// The same, as lines to compare: see [`Sent::line`].
    pub fn lines(&mut self) -> Vec<String> {
        self.news().iter().map(Sent::line).collect()
    }

    fn command(&mut self) -> Sent {
        let header = self.line();
        let count: usize = header.strip_prefix('*').and_then(|count| count.parse().ok()).expect("an array");
        let word = |_| {
            let header = self.line();
            let length = header.strip_prefix('$').and_then(|length| length.parse().ok()).expect("a string");
            let word = self.bytes(length);
            assert_eq!(self.line(), "");
            word
        };
        Sent((0..count).map(word).collect())
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.reader.read_line(&mut line).unwrap(), 0, "the primary closed the connection");
        line.trim_end().to_owned()
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.reader.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn tell(&mut self, text: &str) {
        self.reader.get_mut().write_all(text.as_bytes()).unwrap();
    }
}

impl Sent {
    /// The command as one line: its words, those that are not plain text in hexadecimal.
    pub fn line(&self) -> String {
        self.0.iter().map(|word| shown(word)).collect::<Vec<_>>().join(" ")
    }

    /// The command's name in upper case.
    pub fn name(&self) -> String {
        String::from_utf8_lossy(&self.0[0]).to_uppercase()
    }

    /// How many bytes its words have.
    pub fn size(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }
}

/// Commands as they stand in an append-only file, but for SELECT and the server's remarks.
pub fn commands_of(mut file: &[u8]) -> Vec<Sent> {
    let mut commands = Vec::new();
    while let Some(end) = file.windows(2).position(|two| two == b"\r\n") {
        let (line, rest) = (std::str::from_utf8(&file[..end]).unwrap(), &file[end + 2..]);
        file = rest;
        if let Some(count) = line.strip_prefix('*') {
            commands.push(Sent(Vec::with_capacity(count.parse().unwrap())));
        } else if let Some(length) = line.strip_prefix('$') {
            let (word, rest) = file.split_at(length.parse().unwrap());
            commands.last_mut().unwrap().0.push(word.to_vec());
            file = &rest[2..];
        } else {
            assert!(line.starts_with('#'), "{line}");
        }
    }
    commands.retain(|command| !HOUSEKEEPING.contains(&command.0[0].to_ascii_uppercase().as_slice()));
    commands
}

/// A word of a command: as it is, or in hexadecimal.
pub fn shown(word: &[u8]) -> String {
    match std::str::from_utf8(word) {
        Ok(text) if !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic()) => text.to_owned(),
        _ => word.iter().fold(String::from("0x"), |mut hex, byte| {
            write!(hex, "{byte:02x}").unwrap();
            hex
        }),
    }
}
