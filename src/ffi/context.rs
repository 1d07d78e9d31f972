//! One command: its context, its arguments, its reply and what it replicates.

use std::ffi::{CStr, c_char, c_int, c_long, c_longlong};
use std::fmt::{self, Write as _};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::api;
use super::strings::{KeyName, SharedString, bytes_of};

/// `REDISMODULE_OK`
pub(super) const OK: c_int = 0;

/// What runs when a client calls a command.
pub trait Handler {
    /// Replies to one call, whatever its arguments.
    fn handle(ctx: Context, args: Arguments<'_>);
}

/// The one door from the server into this library: a panic ends here, as an error reply.
pub(super) unsafe extern "C" fn trampoline<H: Handler>(
    ctx: *mut RedisModuleCtx,
    argv: *mut *mut RedisModuleString,
    argc: c_int,
) -> c_int {
    let ctx = Context { ctx };
    let count = usize::try_from(argc.saturating_sub(1)).unwrap_or(0);
    // SAFETY: (alive); the server passes `argc` strings, the command's name first.
    let args = Arguments { rest: unsafe { std::slice::from_raw_parts(argv.add(1), count) }.iter() };
    if catch_unwind(AssertUnwindSafe(|| H::handle(ctx, args))).is_err() {
        ctx.log_warning(c"a command failed by a fault of the module; please report it");
        ctx.reply_error(format_args!("ERR internal error of the module rl"));
    }
    OK
}

/// The arguments of a call after the command's name, in order.
#[derive(Clone)]
pub struct Arguments<'a> {
    rest: std::slice::Iter<'a, *mut RedisModuleString>,
}

impl<'a> Arguments<'a> {
    /// Takes the next argument as a key's name.
    #[inline]
    pub fn key(&mut self) -> Option<KeyName<'a>> {
        self.rest.next().map(|&string| KeyName { string, call: PhantomData })
    }
}

impl ExactSizeIterator for Arguments<'_> {}

impl<'a> Iterator for Arguments<'a> {
    type Item = &'a [u8];

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        // SAFETY: (alive); the server does not change arguments during a command.
        self.rest.next().map(|&string| unsafe { bytes_of(string) })
    }
}

/// A native command, by its name.
#[derive(Clone, Copy)]
pub struct Command(pub &'static CStr);

/// One argument of a replicated command.
pub enum Field<'a> {
    /// A key's name.
    Key(KeyName<'a>),
    /// Bytes of ours, copied.
    Bytes(&'a [u8]),
    /// A string made at load, not copied.
    Shared(&'static SharedString),
}

/// The context of one command.
#[derive(Clone, Copy)]
pub struct Context {
    pub(super) ctx: *mut RedisModuleCtx,
}

impl Context {
    /// Replies an array of integers.
    #[inline]
    pub fn reply_integers<const N: usize>(self, integers: [i64; N]) {
        // SAFETY: (api), (alive).
        unsafe {
            api!(RedisModule_ReplyWithArray)(self.ctx, c_long::try_from(N).unwrap_or(0));
            let reply = api!(RedisModule_ReplyWithLongLong);
            for integer in integers {
                reply(self.ctx, integer as c_longlong);
            }
        }
    }

    /// Replies the integers of a whole, an array with those of each of its parts, and one more where there is one.
    #[inline]
    pub fn reply_integers_of_each<const M: usize, const N: usize>(
        self,
        whole: [i64; M],
        each: impl ExactSizeIterator<Item = [i64; N]>,
        more: Option<i64>,
    ) {
        // SAFETY: (api).
        let (array, integer) = unsafe { (api!(RedisModule_ReplyWithArray), api!(RedisModule_ReplyWithLongLong)) };
        let array = |len: usize| {
            // SAFETY: (alive).
            unsafe { array(self.ctx, c_long::try_from(len).unwrap_or(0)) };
        };
        let integer = |number: i64| {
            // SAFETY: (alive).
            unsafe { integer(self.ctx, number as c_longlong) };
        };
        array(M.saturating_add(1).saturating_add(usize::from(more.is_some())));
        whole.into_iter().for_each(integer);
        array(each.len());
        for integers in each {
            array(N);
            integers.into_iter().for_each(integer);
        }
        more.into_iter().for_each(integer);
    }

    /// Whether the server asks for the positions of the keys, and nothing else.
    #[inline]
    pub fn asks_for_keys(self) -> bool {
        // SAFETY: (api), (alive).
        unsafe { api!(RedisModule_IsKeysPositionRequest)(self.ctx) != 0 }
    }

    /// Answers [`Context::asks_for_keys`]: the argument at `position`, counted from the command's name, is a key that is
    /// read and updated.
    pub fn tell_key(self, position: usize) {
        let flags = super::register::Access::Update.key_flags();
        let (Ok(position), Ok(flags)) = (c_int::try_from(position), c_int::try_from(flags)) else { return };
        // SAFETY: (api), (alive).
        unsafe { api!(RedisModule_KeyAtPosWithFlags)(self.ctx, position, flags) };
    }

    /// Begins a map of `len` pairs: a flat array in RESP2.
    pub fn reply_map(self, len: usize) {
        // SAFETY: (api), (alive).
        unsafe { api!(RedisModule_ReplyWithMap)(self.ctx, c_long::try_from(len).unwrap_or(0)) };
    }

    /// Begins an array of `len` elements.
    pub fn reply_array(self, len: usize) {
        // SAFETY: (api), (alive).
        unsafe { api!(RedisModule_ReplyWithArray)(self.ctx, c_long::try_from(len).unwrap_or(0)) };
    }

    /// Replies a string.
    pub fn reply_text(self, text: &str) {
        // SAFETY: (api), (alive); the server copies the bytes.
        unsafe { api!(RedisModule_ReplyWithStringBuffer)(self.ctx, text.as_ptr().cast(), text.len()) };
    }

    /// Replies an integer.
    pub fn reply_integer(self, integer: i64) {
        // SAFETY: (api), (alive).
        unsafe { api!(RedisModule_ReplyWithLongLong)(self.ctx, integer as c_longlong) };
    }

    /// Replies null: the null array in RESP2.
    pub fn reply_null(self) {
        // SAFETY: (api), (alive).
        unsafe { api!(RedisModule_ReplyWithNullArray)(self.ctx) };
    }

    /// Replies an error: its code, a blank and one line of text.
    #[cold]
    pub fn reply_error(self, error: fmt::Arguments<'_>) {
        let mut line = Line::new();
        // A line that is full is cut, not an error.
        let _ = line.write_fmt(error);
        // SAFETY: (api), (alive); the line ends in a NUL. The server takes it as text, not as a format.
        unsafe { api!(RedisModule_ReplyWithError)(self.ctx, line.as_ptr()) };
    }

    /// Replies the server's own error for a wrong number of arguments.
    #[cold]
    pub fn reply_wrong_arity(self) {
        // SAFETY: (api), (alive).
        unsafe { api!(RedisModule_WrongArity)(self.ctx) };
    }

    /// Sends a native command to replicas, to the append-only file and to migrating slots; false if the server refused.
    #[inline]
    pub fn replicate<const N: usize>(self, command: Command, fields: [Field<'_>; N]) -> bool {
        replicate(self.ctx, command, &fields)
    }

    /// Tells WATCH and client-side caches that the key changed.
    #[inline]
    pub fn changed(self, name: KeyName<'_>) {
        // SAFETY: (api), (alive).
        unsafe { api!(RedisModule_SignalModifiedKey)(self.ctx, name.string) };
    }

    /// Announces `event` to those who listen to the event class `module`.
    #[inline]
    pub fn announce(self, name: KeyName<'_>, event: &'static CStr) {
        const CLASS: c_int = raw::REDISMODULE_NOTIFY_MODULE;
        // SAFETY: (api), (alive).
        unsafe { api!(RedisModule_NotifyKeyspaceEvent)(self.ctx, CLASS, event.as_ptr(), name.string) };
    }

    /// Writes a warning to the server's log.
    #[cold]
    pub fn log_warning(self, line: &CStr) {
        self.log(c"warning", line);
    }

    /// Writes a notice to the server's log.
    #[cold]
    pub fn log_notice(self, line: &CStr) {
        self.log(c"notice", line);
    }

    fn log(self, level: &CStr, line: &CStr) {
        // SAFETY: (api), (alive); the line is passed as an argument, not as the format.
        unsafe { api!(RedisModule_Log)(self.ctx, level.as_ptr(), c"%s".as_ptr(), line.as_ptr()) };
    }
}

/// `RM_Replicate` takes a variable list of arguments: one call for each number and kind of them.
#[inline]
fn replicate(ctx: *mut RedisModuleCtx, Command(command): Command, fields: &[Field<'_>]) -> bool {
    // SAFETY: (api).
    let send = unsafe { api!(RedisModule_Replicate) };
    let (name, bytes) = (command.as_ptr(), |bytes: &[u8]| (bytes.as_ptr(), bytes.len()));
    // SAFETY: (api), (alive); each format names the arguments that follow: `s` a string of the server's, `b` a pointer
    // and a length. The server keeps or copies what it needs before it returns.
    let sent = unsafe {
        match fields {
            [Field::Key(key), Field::Bytes(value)] => {
                let (value, len) = bytes(value);
                send(ctx, name, c"sb".as_ptr(), key.string, value, len)
            }
            [Field::Key(key), Field::Bytes(value), Field::Shared(option)] => {
                let (value, len) = bytes(value);
                send(ctx, name, c"sbs".as_ptr(), key.string, value, len, option.get())
            }
            [Field::Key(key), Field::Shared(option), Field::Bytes(value)] => {
                let (value, len) = bytes(value);
                send(ctx, name, c"ssb".as_ptr(), key.string, option.get(), value, len)
            }
            [Field::Key(key), Field::Bytes(value), Field::Shared(option), Field::Bytes(number)] => {
                let ((value, len), (number, digits)) = (bytes(value), bytes(number));
                send(ctx, name, c"sbsb".as_ptr(), key.string, value, len, option.get(), number, digits)
            }
            _ => return false,
        }
    };
    sent == OK
}

/// One line of text in a C string, of bounded length and without a heap allocation.
pub(super) struct Line {
    bytes: [u8; Line::CAPACITY],
    len: usize,
}

impl Line {
    /// The longest error repeats 64 bytes of an argument, four characters each, and names its range.
    const CAPACITY: usize = 640;

    pub(super) const fn new() -> Self {
        Self { bytes: [0; Self::CAPACITY], len: 0 }
    }

    pub(super) fn as_ptr(&self) -> *const c_char {
        self.bytes.as_ptr().cast()
    }

    pub(super) fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // The last byte stays NUL.
        let free = self.bytes.get_mut(self.len..Self::CAPACITY.saturating_sub(1)).unwrap_or_default();
        for (space, &byte) in free.iter_mut().zip(text.as_bytes()) {
            *space = byte;
            self.len = self.len.saturating_add(1);
        }
        Ok(())
    }
}

/// Where `INFO` is written.
pub struct InfoSection {
    pub(super) ctx: *mut raw::RedisModuleInfoCtx,
}

impl InfoSection {
    /// Begins a section; the server puts the module's name in front.
    pub fn begin(&self, name: &'static CStr) {
        // SAFETY: (api), (alive).
        unsafe { api!(RedisModule_InfoAddSection)(self.ctx, name.as_ptr()) };
    }

    /// Adds a field; the server puts the module's name in front.
    pub fn field(&self, name: &'static CStr, value: u64) {
        // SAFETY: (api), (alive).
        unsafe { api!(RedisModule_InfoAddFieldULongLong)(self.ctx, name.as_ptr(), value) };
    }
}

/// The server's instant for the command that runs, in microseconds since the epoch; `None` where it has none.
#[inline(always)]
pub fn cached_microseconds() -> Option<i64> {
    // SAFETY: the pointer is tested, and written only while the module is loaded.
    let clock = unsafe { raw::RedisModule_CachedMicroseconds }?;
    // SAFETY: it takes nothing and reads the server's clock.
    Some(unsafe { clock() })
}

/// The system's clock, in microseconds since the epoch.
#[inline(always)]
pub fn system_microseconds() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes one `timespec`, which is ours. This clock cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut time) };
    time.tv_sec.saturating_mul(1_000_000).saturating_add(time.tv_nsec / 1_000)
}
