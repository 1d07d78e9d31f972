//! Strings of the server's own kind.

use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use redis_module::raw::RedisModuleString;

use super::api;

/// The name of a key, as the client sent it; valid during the command.
#[derive(Clone, Copy)]
pub struct KeyName<'a> {
    pub(super) string: *mut RedisModuleString,
    pub(super) call: PhantomData<&'a ()>,
}

impl<'a> KeyName<'a> {
    /// Its bytes.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        // SAFETY: (alive); the server does not change arguments during a command.
        unsafe { bytes_of(self.string) }
    }
}

/// The bytes of a string argument.
///
/// # Safety
///
/// `string` is a string of the server's that lives at least as long as `'a`, and nobody writes to it.
#[inline]
pub(super) unsafe fn bytes_of<'a>(string: *mut RedisModuleString) -> &'a [u8] {
    let mut len = 0;
    // SAFETY: (api); the caller vouches for the string. The server answers a pointer to `len` bytes, and never null for a
    // string that is not.
    unsafe { std::slice::from_raw_parts(api!(RedisModule_StringPtrLen)(string, &raw mut len).cast(), len) }
}

/// A string made once at load, so that a propagation passes it for next to nothing.
pub struct SharedString(AtomicPtr<RedisModuleString>);

impl SharedString {
    /// Not made yet.
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Makes it.
    pub fn make(&self, bytes: &[u8]) {
        // SAFETY: (api); without a context the string is ours until it is freed.
        let string = unsafe { api!(RedisModule_CreateString)(ptr::null_mut(), bytes.as_ptr().cast(), bytes.len()) };
        self.0.store(string, Ordering::Relaxed);
    }

    /// Frees it; a second call does nothing.
    pub fn release(&self) {
        let string = self.0.swap(ptr::null_mut(), Ordering::Relaxed);
        if !string.is_null() {
            // SAFETY: (api); it was made by `make`, and the swap lets one caller alone free it.
            unsafe { api!(RedisModule_FreeString)(ptr::null_mut(), string) };
        }
    }

    #[inline]
    pub(super) fn get(&self) -> *mut RedisModuleString {
        self.0.load(Ordering::Relaxed)
    }
}
