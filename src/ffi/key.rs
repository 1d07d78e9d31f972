//! A key that was opened, and the string it holds.

use std::ffi::{c_int, c_longlong};
use std::marker::PhantomData;
use std::{ptr, slice};

use redis_module::raw::{self, RedisModuleKey};

use super::api;
use super::context::Context;
use super::strings::KeyName;

const READ: c_int = raw::REDISMODULE_READ.cast_signed();
const WRITE: c_int = raw::REDISMODULE_WRITE.cast_signed();

/// The type of a key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyType {
    Empty,
    String,
    List,
    Hash,
    Set,
    SortedSet,
    Stream,
    /// Another module's, or one this version does not know.
    Other,
}

impl KeyType {
    /// The name in an error.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "missing key",
            Self::String => "string",
            Self::List => "list",
            Self::Hash => "hash",
            Self::Set => "set",
            Self::SortedSet => "sorted set",
            Self::Stream => "stream",
            Self::Other => "module type",
        }
    }

    #[inline]
    fn of(key: *mut RedisModuleKey) -> Self {
        // SAFETY: (api); the key is open, or null, which counts as empty.
        let number = unsafe { api!(RedisModule_KeyType)(key) } as isize;
        match number {
            raw::REDISMODULE_KEYTYPE_STRING => Self::String,
            raw::REDISMODULE_KEYTYPE_EMPTY => Self::Empty,
            raw::REDISMODULE_KEYTYPE_LIST => Self::List,
            raw::REDISMODULE_KEYTYPE_HASH => Self::Hash,
            raw::REDISMODULE_KEYTYPE_SET => Self::Set,
            raw::REDISMODULE_KEYTYPE_ZSET => Self::SortedSet,
            raw::REDISMODULE_KEYTYPE_STREAM => Self::Stream,
            _ => Self::Other,
        }
    }
}

/// The present value of a key.
pub enum Value<'a> {
    /// There is none.
    Missing,
    /// A string.
    String(&'a [u8]),
    /// Something else.
    Other(KeyType),
}

/// A key that is read.
pub struct ReadKey<'a> {
    key: *mut RedisModuleKey,
    call: PhantomData<&'a ()>,
}

impl<'a> ReadKey<'a> {
    /// Opens the key, which may be missing.
    pub fn open(ctx: Context, name: KeyName<'a>) -> Self {
        // SAFETY: (api), (alive).
        let key = unsafe { api!(RedisModule_OpenKey)(ctx.ctx, name.string, READ) };
        Self { key: key.cast(), call: PhantomData }
    }

    /// Its value.
    pub fn value(&self) -> Value<'_> {
        match KeyType::of(self.key) {
            KeyType::Empty => Value::Missing,
            KeyType::String => Value::String(string_bytes(self.key)),
            other => Value::Other(other),
        }
    }
}

impl Drop for ReadKey<'_> {
    fn drop(&mut self) {
        // SAFETY: (api); the key is closed once. Null is accepted.
        unsafe { api!(RedisModule_CloseKey)(self.key) };
    }
}

/// A key that may be written.
pub struct WriteKey<'a> {
    key: *mut RedisModuleKey,
    /// The string it holds, as the server keeps it.
    start: *mut u8,
    len: usize,
    kind: KeyType,
    call: PhantomData<&'a ()>,
}

impl<'a> WriteKey<'a> {
    /// Opens the key, which may be missing.
    #[inline]
    pub fn open(ctx: Context, name: KeyName<'a>) -> Self {
        // SAFETY: (api), (alive).
        let key: *mut RedisModuleKey = unsafe { api!(RedisModule_OpenKey)(ctx.ctx, name.string, READ | WRITE) }.cast();
        let mut opened = Self { key, start: ptr::null_mut(), len: 0, kind: KeyType::String, call: PhantomData };
        opened.map();
        if opened.len == 0 {
            // Missing, of another type, or a string without a byte.
            opened.kind = KeyType::of(key);
        }
        opened
    }

    /// Its value.
    #[inline]
    pub fn value(&self) -> Value<'_> {
        match self.kind {
            // SAFETY: (main); the server keeps the string there until it is written, which takes `self` exclusively.
            KeyType::String if self.len > 0 => Value::String(unsafe { slice::from_raw_parts(self.start, self.len) }),
            KeyType::String => Value::String(&[]),
            KeyType::Empty => Value::Missing,
            other => Value::Other(other),
        }
    }

    /// Makes `record` the value, in place where it has the same length.
    #[inline]
    pub fn put(&mut self, record: &[u8]) {
        if self.len != record.len() {
            self.resize(record.len());
        }
        self.write(0, record);
    }

    /// Adds `event` at the end, and puts `header`, which may be empty, over the first bytes.
    #[inline]
    pub fn append(&mut self, event: &[u8], header: &[u8]) {
        let before = self.len;
        self.resize(before.saturating_add(event.len()));
        self.write(before, event);
        self.write(0, header);
    }

    /// Sets the absolute expiry, in milliseconds since the epoch.
    #[inline]
    pub fn expire_at(&mut self, at_ms: u64) {
        // SAFETY: (api); the key is open for writing.
        unsafe { api!(RedisModule_SetAbsExpire)(self.key, c_longlong::try_from(at_ms).unwrap_or(c_longlong::MAX)) };
    }

    /// Makes the value `len` bytes long; what is added is zero. Creates a missing key.
    #[inline]
    fn resize(&mut self, len: usize) {
        // SAFETY: (api); the key is open for writing, and empty or a string.
        unsafe { api!(RedisModule_StringTruncate)(self.key, len) };
        self.map();
    }

    /// Asks where the server keeps the string.
    #[inline]
    fn map(&mut self) {
        // SAFETY: (api); the key is open for writing. The answer is null for another type.
        self.start = unsafe { api!(RedisModule_StringDMA)(self.key, &raw mut self.len, READ | WRITE) }.cast();
        if self.start.is_null() {
            self.len = 0;
        }
    }

    /// Writes `bytes` at `at`; what does not lie within the value is not written.
    #[inline]
    fn write(&mut self, at: usize, bytes: &[u8]) {
        if at.checked_add(bytes.len()).is_some_and(|end| end <= self.len) {
            // SAFETY: (main); the value has `len` bytes at `start` and nobody else looks at them; ours do not overlap it.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.add(at), bytes.len()) };
        }
    }
}

impl Drop for WriteKey<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: (api); the key is closed once.
        unsafe { api!(RedisModule_CloseKey)(self.key) };
    }
}

/// The bytes of an open key's string.
#[inline]
fn string_bytes<'a>(key: *mut RedisModuleKey) -> &'a [u8] {
    let mut len = 0;
    // SAFETY: (api), (main); the callers tie the lifetime to the open key, which is only read.
    unsafe {
        let start = api!(RedisModule_StringDMA)(key, &raw mut len, READ);
        if start.is_null() || len == 0 { &[] } else { slice::from_raw_parts(start.cast(), len) }
    }
}
