//! A small client that sends exactly the bytes it is given, so that instructions per request mean something.

use anyhow::{Context as _, Result, bail};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

/// Requests that are in flight together while keys are prepared.
const BATCH: usize = 256;

pub enum Reply {
    Text(String),
    Integer(i64),
    Null,
    Array(Vec<Reply>),
}

impl Reply {
    /// The reply as an integer, or the first element of an array of them: whether a limiter allowed the call.
    pub fn first_integer(&self) -> Option<i64> {
        match self {
            Self::Integer(n) => Some(*n),
            Self::Array(items) => items.first().and_then(Self::first_integer),
            Self::Text(_) | Self::Null => None,
        }
    }
}

pub struct Client {
    reader: BufReader<TcpStream>,
}

impl Client {
    pub fn connect(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(300)))?;
        Ok(Self { reader: BufReader::with_capacity(1 << 16, stream) })
    }

    pub fn call<W: AsRef<[u8]>>(&mut self, words: &[W]) -> Result<Reply> {
        let mut request = Vec::new();
        encode(words, &mut request);
        self.send(&request)?;
        self.receive()
    }

    pub fn text<W: AsRef<[u8]>>(&mut self, words: &[W]) -> Result<String> {
        match self.call(words)? {
            Reply::Text(text) => Ok(text),
            _ => bail!("expected a text reply"),
        }
    }

    pub fn integer<W: AsRef<[u8]>>(&mut self, words: &[W]) -> Result<i64> {
        self.call(words)?.first_integer().context("expected an integer reply")
    }

    /// Sends encoded requests in one piece and hands each of the `count` replies to `check`.
    pub fn pipeline(
        &mut self,
        requests: &[u8],
        count: usize,
        mut check: impl FnMut(Reply) -> Result<()>,
    ) -> Result<()> {
        self.send(requests)?;
        for _ in 0..count {
            let reply = self.receive()?;
            check(reply)?;
        }
        Ok(())
    }

    /// Sends many commands, a batch at a time; any error reply is an error.
    pub fn send_all<W: AsRef<[u8]>>(&mut self, commands: impl Iterator<Item = Vec<W>>) -> Result<()> {
        let mut requests = Vec::new();
        let mut count = 0;
        for words in commands {
            encode(&words, &mut requests);
            count += 1;
            if count == BATCH {
                self.pipeline(&requests, count, |_| Ok(()))?;
                requests.clear();
                count = 0;
            }
        }
        self.pipeline(&requests, count, |_| Ok(()))
    }

    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.reader.get_mut().write_all(bytes)?)
    }

    fn receive(&mut self) -> Result<Reply> {
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        let Some((kind, rest)) = line.trim_end().split_at_checked(1) else { bail!("the server closed the connection") };
        match kind {
            "+" => Ok(Reply::Text(rest.to_owned())),
            "-" => bail!("the server replied: {rest}"),
            ":" => Ok(Reply::Integer(rest.parse()?)),
            "$" if rest == "-1" => Ok(Reply::Null),
            "$" => {
                let mut bytes = vec![0; rest.parse::<usize>()? + 2];
                self.reader.read_exact(&mut bytes)?;
                bytes.truncate(bytes.len() - 2);
                Ok(Reply::Text(String::from_utf8_lossy(&bytes).into_owned()))
            }
            "*" if rest == "-1" => Ok(Reply::Null),
            "*" => Ok(Reply::Array((0..rest.parse::<usize>()?).map(|_| self.receive()).collect::<Result<_>>()?)),
            _ => bail!("unknown reply: {line:?}"),
        }
    }
}

/// Appends one command in the protocol's form.
pub fn encode<W: AsRef<[u8]>>(words: &[W], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        let word = word.as_ref();
        out.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
}
