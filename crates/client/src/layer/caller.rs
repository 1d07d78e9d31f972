//! Whom a request is charged to.

use std::fmt;

use crate::key::{SafeSubject, Subject};

/// Whom a request is charged to, or that it is charged to nobody: what the closure of a
/// [`RateLimitLayer`](super::RateLimitLayer) answers.
///
/// It owns what a [`Subject`] borrows. There is no "unknown": where a request does not tell who it is from, say so by
/// [`Caller::constant`], and all such requests share one limit, or by [`Caller::exempt`].
#[derive(Clone)]
pub struct Caller(pub(super) Option<Owned>);

/// A subject of its own.
#[derive(Clone)]
pub(super) struct Owned {
    kind: &'static str,
    value: Value,
    outer: Option<Box<Self>>,
}

#[derive(Clone)]
enum Value {
    Hashed(Vec<u8>),
    Shown(Shown),
    Constant(&'static str),
}

/// The text of a subject that may be shown.
#[derive(Clone)]
struct Shown(String);

impl SafeSubject for Shown {}
impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Caller {
    /// See [`Subject::hashed`].
    #[must_use]
    pub fn hashed(kind: &'static str, value: impl Into<Vec<u8>>) -> Self {
        Self::new(kind, Value::Hashed(value.into()))
    }

    /// See [`Subject::safe`].
    #[must_use]
    pub fn safe(kind: &'static str, value: &impl SafeSubject) -> Self {
        Self::new(kind, Value::Shown(Shown(value.to_string())))
    }

    /// See [`Subject::constant`].
    #[must_use]
    pub const fn constant(kind: &'static str, value: &'static str) -> Self {
        Self::new(kind, Value::Constant(value))
    }

    /// Nobody: the request passes without a check, and without header fields.
    #[must_use]
    pub const fn exempt() -> Self {
        Self(None)
    }

    /// See [`Subject::within`]. Nothing changes if one of the two is exempt.
    #[must_use]
    pub fn within(mut self, outer: Self) -> Self {
        if let (Some(inner), Some(outer)) = (&mut self.0, outer.0) {
            inner.outer = Some(Box::new(outer));
        }
        self
    }

    const fn new(kind: &'static str, value: Value) -> Self {
        Self(Some(Owned { kind, value, outer: None }))
    }
}

impl Owned {
    /// The outer one, for [`Owned::subject`] to borrow.
    pub(super) fn outer(&self) -> Option<Subject<'_>> {
        self.outer.as_ref().map(|outer| outer.subject(None))
    }

    pub(super) fn subject<'a>(&'a self, outer: Option<&'a Subject<'a>>) -> Subject<'a> {
        let subject = match &self.value {
            Value::Hashed(value) => Subject::hashed(self.kind, value),
            Value::Shown(value) => Subject::safe(self.kind, value),
            Value::Constant(value) => Subject::constant(self.kind, value),
        };
        match outer {
            Some(outer) => subject.within(outer),
            None => subject,
        }
    }
}

/// The type alone: who is meant is nobody's business.
impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(Owned { kind, .. }) => write!(f, "Caller({kind}, ..)"),
            None => f.write_str("Caller(exempt)"),
        }
    }
}
