//! Every error reply, with its code.

use std::fmt;

use limiter_core::record::{Algorithm, RecordError, VERSION};
use limiter_core::request::{ArgumentError, RequestError};

use crate::ffi::{Context, KeyType};

/// Why a command has no verdict. `Display` is the reply, code first.
pub enum Error<'a> {
    /// Too many arguments, or too few for what they begin.
    Arity,
    /// An argument is wrong.
    Argument(ArgumentError<'a>),
    /// The key holds another type; the algorithm is the one the command works on, if it works on one.
    Type(KeyType, Option<Algorithm>),
    /// The key holds a string that is not the state the command works on.
    Record(RecordError, Option<Algorithm>),
    /// The server took no replication of the effect, so there is none.
    NotPropagated,
    /// Memory for the rewritten log could not be had.
    NoMemory,
}

impl<'a> From<RequestError<'a>> for Error<'a> {
    #[inline]
    fn from(error: RequestError<'a>) -> Self {
        match error {
            RequestError::Arity => Self::Arity,
            RequestError::Argument(error) => Self::Argument(error),
        }
    }
}

impl fmt::Display for Error<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arity => write!(f, "ERR wrong number of arguments"),
            Self::Argument(error) => write!(f, "ERR {error}"),
            Self::Type(found, wanted) => {
                write!(f, "WRONGTYPE key: got a {}, expected {}", found.name(), Wanted(*wanted))
            }
            // The general flow reads what is more than plain.
            Self::Record(RecordError::Foreign | RecordError::Extended, wanted) => {
                write!(f, "WRONGTYPE key: got a string that is not limiter state, expected {}", Wanted(*wanted))
            }
            Self::Record(RecordError::List, wanted) => {
                write!(f, "WRONGTYPE key: got all state, expected {}", Wanted(*wanted))
            }
            Self::Record(RecordError::Other { found, wanted }, _) => {
                write!(f, "WRONGTYPE key: got {} state, expected {} state", found.name(), wanted.name())
            }
            Self::Record(RecordError::Newer(version), _) => {
                write!(f, "ERR key: record version {version} is newer than {VERSION}, the newest this module reads")
            }
            Self::NotPropagated => {
                write!(f, "ERR the server did not accept the replication of this call: nothing was changed")
            }
            Self::NoMemory => write!(f, "OOM no memory for the rewritten log: nothing was changed"),
        }
    }
}

struct Wanted(Option<Algorithm>);

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(algorithm) => write!(f, "{} state", algorithm.name()),
            None => write!(f, "limiter state"),
        }
    }
}

impl Error<'_> {
    /// Replies it.
    #[cold]
    pub fn reply(&self, ctx: Context) {
        match self {
            Self::Arity => ctx.reply_wrong_arity(),
            error => ctx.reply_error(format_args!("{error}")),
        }
    }
}
