//! A key that was opened, and the string it holds.

use std::ffi::{c_int, c_longlong};
use std::marker::PhantomData;
use std::ops::RangeInclusive;
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

impl<'a> Value<'a> {
    /// The string, if there is one; the type of whatever else there is.
    #[inline(always)]
    pub fn string(self) -> Result<Option<&'a [u8]>, KeyType> {
        match self {
            Self::String(bytes) => Ok(Some(bytes)),
            Self::Missing => Ok(None),
            Self::Other(kind) => Err(kind),
        }
    }
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
    call: PhantomData<&'a ()>,
}

impl<'a> WriteKey<'a> {
    /// Opens the key, which may be missing.
    #[inline(always)]
    pub fn open(ctx: Context, name: KeyName<'a>) -> Self {
        // SAFETY: (api), (alive).
        let key: *mut RedisModuleKey = unsafe { api!(RedisModule_OpenKey)(ctx.ctx, name.string, READ | WRITE) }.cast();
        let (start, len) = map(key);
        Self { key, start, len, call: PhantomData }
    }

    /// Its value.
    #[inline(always)]
    pub fn value(&self) -> Value<'_> {
        if self.len > 0 {
            // SAFETY: (main); the server keeps the string there until it is written, which takes `self` exclusively.
            return Value::String(unsafe { slice::from_raw_parts(self.start, self.len) });
        }
        // Missing, of another type, or a string without a byte.
        match KeyType::of(self.key) {
            KeyType::String => Value::String(&[]),
            KeyType::Empty => Value::Missing,
            other => Value::Other(other),
        }
    }

    /// Makes `record` the value, in place where it has the same length.
    #[inline(always)]
    pub fn put(&mut self, record: &[u8]) {
        if self.len != record.len() {
            self.resize(record.len());
        }
        self.write(0, record);
    }

    /// Adds `event` at the end, and puts `header`, which may be empty, over the first bytes.
    #[inline]
    pub fn append(&mut self, event: &[u8], header: &[u8], growth: Growth) {
        let before = self.len;
        let after = before.saturating_add(event.len());
        if matches!(growth, Growth::Tight) && DOUBLED.contains(&after) && room(before) < after {
            self.reserve(room(after));
        }
        self.resize(after);
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
        (self.start, self.len) = map(self.key);
    }

    /// Gives the string room for `capacity` bytes and no more. Without the memory for it, the server decides.
    #[cold]
    fn reserve(&mut self, capacity: usize) {
        let mut roomy = Vec::new();
        let Value::String(bytes) = self.value() else { return };
        if roomy.try_reserve_exact(capacity).is_err() {
            return;
        }
        roomy.extend_from_slice(bytes);
        roomy.resize(capacity, 0);
        // SAFETY: (api); the key is open for writing and holds a string. The new one is ours until it is freed, and the
        // key keeps it. Setting a value drops the expiry, which is put back as it was, or absent as it was.
        unsafe {
            let expiry = api!(RedisModule_GetAbsExpire)(self.key);
            let string = api!(RedisModule_CreateString)(ptr::null_mut(), roomy.as_ptr().cast(), roomy.len());
            api!(RedisModule_StringSet)(self.key, string);
            api!(RedisModule_FreeString)(ptr::null_mut(), string);
            api!(RedisModule_SetAbsExpire)(self.key, expiry);
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

/// How a string that is lengthened gets its room.
#[derive(Clone, Copy)]
pub enum Growth {
    /// The server doubles it: for a log that will drop as much as it adds, so that all the room is used.
    Doubled,
    /// By a third or a half: for a log that is filling, and may stop at any length.
    Tight,
}

/// The lengths at which the server, when it lengthens a string, doubles it: a log would hold as much slack as events.
/// Shorter ones cost little, longer ones grow by a fixed amount.
const DOUBLED: RangeInclusive<usize> = 256..=1 << 20;

/// The room that a string of `len` bytes is given: the end of every second of the allocator's size classes, so half of a
/// power of two apart. At every class the copies cost more than the room is worth: 360 instructions more an admitted call of
/// a log of 100 events, which takes 1,122 bytes so and 930 then; of 1,000 events both take 8,290.
const fn room(len: usize) -> usize {
    /// The most that the server keeps beside a string's bytes.
    const BESIDE: usize = 10;
    let whole = len.saturating_add(BESIDE);
    let step = whole.next_power_of_two() / 4;
    whole.next_multiple_of(if step == 0 { 1 } else { step }).saturating_sub(BESIDE)
}

/// Where the server keeps the string of a key that is open for writing; empty for a key without one.
#[inline(always)]
fn map(key: *mut RedisModuleKey) -> (*mut u8, usize) {
    let mut len = 0;
    // SAFETY: (api); the key is open for writing. The answer is null for another type.
    let start: *mut u8 = unsafe { api!(RedisModule_StringDMA)(key, &raw mut len, READ | WRITE) }.cast();
    (start, if start.is_null() { 0 } else { len })
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

#[cfg(test)]
mod tests {
    use super::room;

    #[test]
    fn a_string_has_room_for_at_most_half_as_much_again() {
        for len in 256..100_000 {
            let room = room(len);
            assert!(len <= room && room <= len + len / 2 + 10, "{len} bytes have room for {room}");
        }
    }
}
