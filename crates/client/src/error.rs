//! Why there is no answer.

use std::{error, fmt, time::Duration};

use limiter_core::limit::Bound;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no decision. A refusal is a decision, and no error.
///
/// ```
/// use limiter_client::Error;
///
/// fn advice(error: &Error) -> &'static str {
///     match error {
///         Error::NotLoaded => "load the module",
///         Error::Timeout(_) | Error::Unavailable => "look at the server",
///         error if error.is_callers() => "look at the call",
///         _ => "look at the connection",
///     }
/// }
/// assert_eq!(advice(&Error::CrossSlot), "look at the call");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The server does not know the command: the module is not loaded there, or is older than this crate.
    NotLoaded,
    /// The server did not answer in this time.
    Timeout(Duration),
    /// The server was not asked, since it did not answer lately.
    Unavailable,
    /// The keys of one call lie in different slots of a cluster.
    CrossSlot,
    /// The key holds something else: another type, or the state of another algorithm. The server's words.
    WrongType(String),
    /// An argument is out of its range; nothing was sent.
    Argument(ArgumentError),
    /// The server's reply is not one that the command has.
    Unexpected(String),
    /// Any other error, of the connection or of the server.
    Redis(redis::RedisError),
}

impl Error {
    /// A word for it in metrics and logs, one of few: `not_loaded`, `timeout`, `unavailable`, `cross_slot`, `wrong_type`,
    /// `argument`, `unexpected`, `connection` or `server`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotLoaded => "not_loaded",
            Self::Timeout(_) => "timeout",
            Self::Unavailable => "unavailable",
            Self::CrossSlot => "cross_slot",
            Self::WrongType(_) => "wrong_type",
            Self::Argument(_) => "argument",
            Self::Unexpected(_) => "unexpected",
            Self::Redis(error) if error.is_timeout() => "timeout",
            Self::Redis(error) if error.clone().into_server_errors().is_some() => "server",
            Self::Redis(_) => "connection",
        }
    }

    /// Whether the call itself is wrong: it will fail again, wherever it is sent, and says nothing of the server.
    #[must_use]
    pub const fn is_callers(&self) -> bool {
        matches!(self, Self::CrossSlot | Self::WrongType(_) | Self::Argument(_))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLoaded => f.write_str(
                "the server does not know the command: load the module redis-limiter there (loadmodule \
                 libredis_limiter.so), or update it",
            ),
            Self::Timeout(time) => write!(f, "the server did not answer within {time:?}"),
            Self::Unavailable => f.write_str("the server was not asked, since it did not answer lately"),
            Self::CrossSlot => f.write_str(
                "the keys of one call lie in different slots of the cluster: give them one hash tag, such as {42}",
            ),
            Self::WrongType(words) => write!(f, "the key holds something else: {words}"),
            Self::Argument(error) => error.fmt(f),
            Self::Unexpected(what) => write!(f, "the server's reply is not one that the command has: {what}"),
            Self::Redis(error) => error.fmt(f),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Redis(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ArgumentError> for Error {
    fn from(error: ArgumentError) -> Self {
        Self::Argument(error)
    }
}

/// Tells apart what the server says; of the errors of a pipeline, the first.
impl From<redis::RedisError> for Error {
    fn from(error: redis::RedisError) -> Self {
        if let Some((_, said)) = error.clone().into_server_errors().as_deref().and_then(<[_]>::first) {
            let details = said.details().unwrap_or_default();
            return match said.code() {
                "CROSSSLOT" => Self::CrossSlot,
                "WRONGTYPE" => Self::WrongType(details.to_owned()),
                "ERR" if details.starts_with("unknown command") => Self::NotLoaded,
                _ => Self::Redis(error),
            };
        }
        match error.kind() {
            redis::ErrorKind::UnexpectedReturnType | redis::ErrorKind::Parse => Self::Unexpected(error.to_string()),
            _ => Self::Redis(error),
        }
    }
}

impl From<redis::ParsingError> for Error {
    fn from(error: redis::ParsingError) -> Self {
        Self::Unexpected(error.to_string())
    }
}

/// An argument that no server would accept: its name, what was got, and what is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentError(Box<Wrong>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Wrong {
    argument: &'static str,
    text: String,
}

impl ArgumentError {
    pub(crate) fn new(argument: &'static str, got: impl fmt::Display, expected: impl fmt::Display) -> Self {
        Self(Box::new(Wrong { argument, text: format!("{argument}: got {got}, expected {expected}") }))
    }

    /// Without what was got, which is nobody's business.
    pub(crate) fn expecting(argument: &'static str, expected: impl fmt::Display) -> Self {
        Self(Box::new(Wrong { argument, text: format!("{argument}: expected {expected}") }))
    }

    pub(crate) fn outside(argument: &'static str, got: u64, bound: Bound) -> Self {
        Self::new(argument, got, format_args!("an integer from {} to {}", bound.min, bound.max))
    }

    /// An error of the core, which names its argument itself.
    pub(crate) fn of(argument: &'static str, error: &limiter_core::request::ArgumentError<'_>) -> Self {
        Self(Box::new(Wrong { argument, text: error.to_string() }))
    }

    /// The name of the argument.
    #[must_use]
    pub fn argument(&self) -> &'static str {
        self.0.argument
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl error::Error for ArgumentError {}
