//! Keys that are bounded, placed in a cluster on purpose, and hold no personal data.
//!
//! A key is `rl:{env}:{service}:{limit}:{subject type}:{subject}`. The subject is a keyed digest of what the caller gives, unless
//! its type says that it may be shown:
//!
//! ```
//! use limiter_client::{KeySpace, Secret, Subject};
//!
//! let secret = Secret::new("thirty-two random bytes, not this")?;
//! let keys = KeySpace::new("prod", "checkout", &secret)?;
//!
//! // A number shows itself.
//! let key = keys.key("orders", &Subject::safe("user", &42_u64))?;
//! assert_eq!(key.to_string(), "rl:prod:checkout:orders:user:42");
//!
//! // Text is hashed: there is no way to put it into a key as it is.
//! let key = keys.key("login", &Subject::hashed("email", "ada@example.org"))?;
//! assert!(!key.to_string().contains("ada"));
//! # Ok::<(), limiter_client::ArgumentError>(())
//! ```
//!
//! # The digest
//!
//! The first 16 bytes of HMAC-SHA256 under the secret, over the subject's type, a colon and its value, in hexadecimal: services
//! in other languages make the same keys with what their standard library has. Who does not know the secret cannot tell which key an
//! address has, nor try addresses until one fits. A new secret is a new key for everybody: limits start anew.

use std::fmt::{self, Write as _};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::error::ArgumentError;

/// The longest env, service, limit or subject type, in bytes.
const PART_MAX: usize = 64;
/// The longest subject that is shown, in bytes.
const SHOWN_MAX: usize = 128;
/// The longest subject that is hashed, in bytes: a bound on the work.
const HASHED_MAX: usize = 4_096;
/// The shortest secret, in bytes.
const SECRET_MIN: usize = 16;
/// Bytes of the digest that a key holds.
const DIGEST_LEN: usize = 16;

/// The key of a limiter. Made by a [`KeySpace`], or taken as it is by [`Key::raw`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key(Vec<u8>);

impl Key {
    /// A key that was built elsewhere. Nothing is checked, and nothing is hashed: see to it that it holds no personal data, and is
    /// no longer than need be.
    #[must_use]
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes of the key.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        String::from_utf8_lossy(&self.0).fmt(f)
    }
}

/// What makes digests unguessable: at least 16 bytes, the same in every instance of a service, and in no repository.
#[derive(Clone)]
pub struct Secret(Hmac<Sha256>);

impl Secret {
    /// A secret of these bytes.
    ///
    /// # Errors
    ///
    /// Fewer than 16 bytes.
    pub fn new(bytes: impl AsRef<[u8]>) -> Result<Self, ArgumentError> {
        let bytes = bytes.as_ref();
        match Hmac::new_from_slice(bytes) {
            Ok(mac) if bytes.len() >= SECRET_MIN => Ok(Self(mac)),
            _ => Err(ArgumentError::expecting("secret", format_args!("at least {SECRET_MIN} bytes"))),
        }
    }
}

/// Says nothing of the secret.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A type whose text may stand in a key as it is: an identifier that says nothing to who reads it, made of letters, digits, `.`,
/// `_` and `-`, at most 128 of them.
///
/// Integers are; text, addresses and everything else is not, until you say so for a type of your own:
///
/// ```
/// # use std::fmt;
/// struct OrderId(u64);
///
/// impl limiter_client::SafeSubject for OrderId {}
/// impl fmt::Display for OrderId {
///     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
///         write!(f, "order-{}", self.0)
///     }
/// }
/// ```
///
/// A `str` is hashed, or refused by the compiler:
///
/// ```compile_fail
/// limiter_client::Subject::safe("email", &"ada@example.org");
/// ```
pub trait SafeSubject: fmt::Display + Send + Sync {}

macro_rules! safe {
    ($($integer:ty)*) => {$( impl SafeSubject for $integer {} )*};
}
safe!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

/// Whom a limit is for: a type, such as `user` or `tenant`, and which one.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    kind: &'a str,
    value: Value<'a>,
    outer: Option<&'a Subject<'a>>,
}

#[derive(Clone, Copy)]
enum Value<'a> {
    Hashed(&'a [u8]),
    Shown(&'a dyn SafeSubject),
    Constant(&'static str),
}

impl<'a> Subject<'a> {
    /// A subject of which the key holds a digest: names, addresses, tokens, whatever a request brings. Of an IP address, take the
    /// `octets()`.
    #[must_use]
    pub fn hashed(kind: &'a str, value: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        Self { kind, value: Value::Hashed(value.as_ref()), outer: None }
    }

    /// A subject that the key shows, because its type says that it may.
    #[must_use]
    pub fn safe(kind: &'a str, value: &'a impl SafeSubject) -> Self {
        Self { kind, value: Value::Shown(value), outer: None }
    }

    /// A subject that stands in the source: `Subject::constant("scope", "all")` is one limit for everybody.
    #[must_use]
    pub const fn constant(kind: &'a str, value: &'static str) -> Self {
        Self { kind, value: Value::Constant(value), outer: None }
    }

    /// The same subject of another one: this user of that tenant. With [`HashTag::Subject`] both keys are in one slot, so that one
    /// call can charge both. One level: what `outer` itself is within does not count.
    #[must_use]
    pub const fn within(mut self, outer: &'a Subject<'a>) -> Self {
        self.outer = Some(outer);
        self
    }

    /// The type.
    #[must_use]
    pub const fn kind(&self) -> &'a str {
        self.kind
    }
}

/// The type alone: who is meant is nobody's business.
impl fmt::Debug for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subject({}, ..)", self.kind)
    }
}

/// What decides where in a cluster a key lives.
///
/// ```
/// use limiter_client::{HashTag, KeySpace, Secret, Subject};
///
/// let secret = Secret::new("thirty-two random bytes, not this")?;
/// let keys = KeySpace::new("prod", "api", &secret)?.hash_tag(HashTag::Subject);
/// let (tenant, user) = (Subject::safe("tenant", &7_u32), Subject::safe("user", &42_u64));
///
/// // The tenant and its users are in one slot, so that one call can charge both.
/// assert_eq!(keys.key("calls", &tenant)?.to_string(), "rl:prod:api:calls:tenant:{7}");
/// assert_eq!(keys.key("calls", &user.within(&tenant))?.to_string(), "rl:prod:api:calls:user:{7}/42");
/// # Ok::<(), limiter_client::ArgumentError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashTag {
    /// The whole key: keys are spread over the cluster.
    #[default]
    None,
    /// The subject, or the one that it is within: all its limits are in one slot, and one call can charge them all.
    Subject,
    /// The service: all its keys are in one slot. One primary takes all the load.
    Service,
}

/// Builds the keys of one service in one environment.
#[derive(Clone)]
pub struct KeySpace {
    prefix: String,
    tag: HashTag,
    secret: Secret,
}

impl KeySpace {
    /// The keys `rl:{env}:{service}:...`.
    ///
    /// # Errors
    ///
    /// An env or a service that is empty, longer than 64 bytes, or has anything but letters, digits, `.`, `_` and `-`.
    pub fn new(env: &str, service: &str, secret: &Secret) -> Result<Self, ArgumentError> {
        part("env", env, PART_MAX)?;
        part("service", service, PART_MAX)?;
        Ok(Self { prefix: format!("rl:{env}:{service}"), tag: HashTag::None, secret: secret.clone() })
    }

    /// The same keys with a hash tag, for a cluster. Another tag is another key: limits start anew.
    #[must_use]
    pub fn hash_tag(mut self, tag: HashTag) -> Self {
        self.prefix.retain(|letter| letter != '{' && letter != '}');
        if tag == HashTag::Service
            && let Some((space, service)) = self.prefix.rsplit_once(':')
        {
            self.prefix = format!("{space}:{{{service}}}");
        }
        self.tag = tag;
        self
    }

    /// The key of one limit for one subject.
    ///
    /// # Errors
    ///
    /// A limit or a subject type that is empty, longer than 64 bytes, or has anything but letters, digits, `.`, `_` and `-`; a shown
    /// subject likewise, longer than 128 bytes; a hashed subject that is empty or longer than 4096 bytes.
    pub fn key(&self, limit: &str, subject: &Subject<'_>) -> Result<Key, ArgumentError> {
        part("limit", limit, PART_MAX)?;
        part("subject type", subject.kind, PART_MAX)?;
        let room = DIGEST_LEN.saturating_mul(4).saturating_add(8);
        let parts = [self.prefix.len(), limit.len(), subject.kind.len(), room];
        let mut key = String::with_capacity(parts.into_iter().fold(0, usize::saturating_add));
        key.push_str(&self.prefix);
        for text in [limit, subject.kind] {
            key.push(':');
            key.push_str(text);
        }
        key.push(':');
        let braces = self.tag == HashTag::Subject;
        let tagged = subject.outer.unwrap_or(subject);
        if braces {
            key.push('{');
        }
        self.write(&mut key, tagged)?;
        if braces {
            key.push('}');
        }
        if subject.outer.is_some() {
            key.push('/');
            self.write(&mut key, subject)?;
        }
        Ok(Key(key.into_bytes()))
    }

    fn write(&self, key: &mut String, subject: &Subject<'_>) -> Result<(), ArgumentError> {
        let start = key.len();
        match subject.value {
            Value::Hashed(value) => {
                if value.is_empty() || value.len() > HASHED_MAX {
                    return Err(ArgumentError::expecting("subject", format_args!("1 to {HASHED_MAX} bytes")));
                }
                let mut mac = self.secret.0.clone();
                mac.update(subject.kind.as_bytes());
                mac.update(b":");
                mac.update(value);
                for byte in mac.finalize().into_bytes().iter().take(DIGEST_LEN) {
                    let _ = write!(key, "{byte:02x}");
                }
                return Ok(());
            }
            Value::Shown(value) => {
                let _ = write!(key, "{value}");
            }
            Value::Constant(value) => key.push_str(value),
        }
        part("subject", key.get(start..).unwrap_or_default(), SHOWN_MAX)
    }
}

impl fmt::Debug for KeySpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySpace({}:.., {:?})", self.prefix, self.tag)
    }
}

/// The text itself stays out of the error: it may be somebody's address.
fn part(name: &'static str, text: &str, max: usize) -> Result<(), ArgumentError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if text.is_empty() || text.len() > max || !text.bytes().all(plain) {
        return Err(ArgumentError::expecting(name, format_args!("1 to {max} letters, digits, '.', '_' or '-'")));
    }
    Ok(())
}
