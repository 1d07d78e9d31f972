//! One connection, and commands written as one would type them.

use std::{
    fmt::Write as _,
    io::{Read, Write as _},
    net::TcpStream,
};

use redis::{Cmd, Connection, ConnectionLike, FromRedisValue, ProtocolVersion, RedisResult, Value};

use super::server::Server;

/// A connection to a server, through the `redis` crate.
pub struct Client {
    connection: Connection,
}

impl Client {
    pub(super) fn connect(port: u16, protocol: ProtocolVersion) -> Self {
        Self::try_connect(port, protocol).unwrap()
    }

    fn try_connect(port: u16, protocol: ProtocolVersion) -> RedisResult<Self> {
        let address = redis::ConnectionAddr::Tcp("127.0.0.1".into(), port);
        let settings = redis::RedisConnectionInfo::default().set_protocol(protocol).set_skip_set_lib_name();
        let info = redis::IntoConnectionInfo::into_connection_info(address).unwrap().set_redis_settings(settings);
        let connection = redis::Client::open(info)?.get_connection()?;
        Ok(Self { connection })
    }

    /// Connects to whoever listens on this port of this machine.
    pub fn at(port: u16) -> Self {
        Self::connect(port, ProtocolVersion::RESP2)
    }

    /// The same, if there is somebody.
    pub fn try_at(port: u16) -> Option<Self> {
        Self::try_connect(port, ProtocolVersion::RESP2).ok()
    }

    /// The connection itself.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Sends a command of arbitrary bytes. An error is the server's text, code first.
    pub fn send<A: AsRef<[u8]>>(&mut self, words: &[A]) -> Result<Value, String> {
        result(self.connection.req_command(&packed(words)))
    }

    /// Sends a command written as in redis-cli: words, or double-quoted strings with `\xNN`, `\"` and `\\`.
    pub fn try_run(&mut self, command: &str) -> Result<Value, String> {
        self.send(&words(command))
    }

    /// The reply of a command that must not fail.
    #[track_caller]
    pub fn run(&mut self, command: &str) -> Value {
        match self.try_run(command) {
            Ok(value) => value,
            Err(error) => panic!("{command}: {error}"),
        }
    }

    /// The same as a Rust type.
    #[track_caller]
    pub fn get<T: FromRedisValue>(&mut self, command: &str) -> T {
        let value = self.run(command);
        match redis::from_redis_value(value) {
            Ok(value) => value,
            Err(error) => panic!("{command}: {error}"),
        }
    }

    /// The five integers a deciding command answers: allowed, limit, remaining, retry_after, reset_after.
    #[track_caller]
    pub fn five(&mut self, command: &str) -> [i64; 5] {
        five(self.run(command)).unwrap_or_else(|value| panic!("{command}: {value:?}"))
    }

    /// The integers of a reply that is an array of them, however many.
    #[track_caller]
    pub fn integers(&mut self, command: &str) -> Vec<i64> {
        self.get(command)
    }

    /// The error of a command that must fail.
    #[track_caller]
    pub fn error(&mut self, command: &str) -> String {
        match self.try_run(command) {
            Ok(value) => panic!("{command}: no error but {value:?}"),
            Err(error) => error,
        }
    }

    /// Sends commands in one write, and then reads their replies.
    pub fn pipeline<C: AsRef<str>>(&mut self, commands: &[C]) -> Vec<Result<Value, String>> {
        let mut bytes = Vec::new();
        for command in commands {
            bytes.extend(packed(&words(command.as_ref())).get_packed_command());
        }
        self.write(&bytes);
        commands.iter().map(|_| self.receive()).collect()
    }

    /// Sends bytes as they are; [`Client::receive`] reads one reply.
    pub fn write(&mut self, bytes: &[u8]) {
        self.connection.send_packed_command(bytes).unwrap();
    }

    /// Reads the next reply.
    pub fn receive(&mut self) -> Result<Value, String> {
        result(self.connection.recv_response())
    }
}

pub(super) fn packed<A: AsRef<[u8]>>(words: &[A]) -> Cmd {
    let mut command = Cmd::new();
    for word in words {
        command.arg(word.as_ref());
    }
    command
}

/// Sets errors of the server apart from its other replies, as it sent them: code first.
pub(super) fn result(reply: RedisResult<Value>) -> Result<Value, String> {
    let (code, details) = match &reply {
        Ok(Value::ServerError(error)) => (error.code(), error.details()),
        Ok(_) => return reply.map_err(|error| error.to_string()),
        Err(error) => match error.code() {
            Some(code) => (code, error.detail()),
            None => return Err(error.to_string()),
        },
    };
    Err(details.map_or(code.to_owned(), |details| format!("{code} {details}")))
}

/// A reply that is exactly an array of five integers.
pub fn five(value: Value) -> Result<[i64; 5], Value> {
    let Value::Array(items) = &value else {
        return Err(value);
    };
    let integers: Vec<i64> = items
        .iter()
        .filter_map(|item| match item {
            Value::Int(integer) => Some(*integer),
            _ => None,
        })
        .collect();
    if integers.len() != items.len() {
        return Err(value);
    }
    integers.try_into().map_err(|_| value)
}

/// What the server sends to a command under RESP `protocol`, byte for byte: client libraries make one null of several.
pub fn raw_reply(server: &Server, protocol: u8, command: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let hello = format!("HELLO {protocol}");
    for line in [&hello, "ECHO before", command, "ECHO after", "QUIT"] {
        stream.write_all(&packed(&words(line)).get_packed_command()).unwrap();
    }
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let reply = text.split("$6\r\nbefore\r\n").nth(1).and_then(|rest| rest.split("$5\r\nafter\r\n").next());
    reply.expect("both echoes").to_owned()
}

/// Splits a line as redis-cli does.
pub fn words(line: &str) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_word(quoted),
            None => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (rest.as_bytes()[..end].to_vec(), &rest[end..])
            }
        };
        words.push(word);
        rest = after.trim_start();
    }
    words
}

fn quoted_word(quoted: &str) -> (Vec<u8>, &str) {
    let mut word = Vec::new();
    let mut rest = quoted;
    loop {
        let character = rest.chars().next().expect("the quote is closed");
        rest = &rest[character.len_utf8()..];
        match character {
            '"' => return (word, rest),
            '\\' if rest.starts_with('x') => {
                word.push(u8::from_str_radix(&rest[1..3], 16).unwrap());
                rest = &rest[3..];
            }
            '\\' => {
                word.push(rest.as_bytes()[0]);
                rest = &rest[1..];
            }
            other => word.extend(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// Bytes as one quoted word for [`words`].
pub fn quoted(bytes: &[u8]) -> String {
    let mut word = String::from("\"");
    for byte in bytes {
        write!(word, "\\x{byte:02x}").unwrap();
    }
    word + "\""
}
