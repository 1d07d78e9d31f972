//! Loading and unloading: the library's two entry points.

use std::ffi::{CStr, c_int, c_longlong, c_void};
use std::fmt::{self, Write as _};
use std::panic::{self, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::api;
use super::context::{Command, Context, InfoSection, Line, OK};
use super::register::{CommandSpec, describe};
use super::unload::Unloading;

/// `REDISMODULE_ERR`
const ERR: c_int = 1;

/// Valkey's option for atomic slot migration, which Redis does not know: set only where the server names it.
const HANDLE_ATOMIC_SLOT_MIGRATION: c_int = 1 << 5;

/// Why the module does not load or unload: a sentence for the server's log.
pub struct Refusal(String);

impl Refusal {
    /// A refusal for this reason.
    pub fn new(reason: fmt::Arguments<'_>) -> Self {
        Self(reason.to_string())
    }

    /// The same, with what to do about it.
    pub fn advise(self, advice: &str) -> Self {
        Self(self.0 + advice)
    }
}

/// The functions of the API that are used without a test; every supported server has them.
macro_rules! require {
    ($($name:ident),* $(,)?) => {
        // SAFETY: the server has filled the table, and nothing writes to it now.
        unsafe { [$((stringify!($name), (&raw const raw::$name).read().is_some())),*] }
    };
}

fn missing_function() -> Option<&'static str> {
    let functions = require![
        RedisModule_Call,
        RedisModule_CallReplyArrayElement,
        RedisModule_CallReplyLength,
        RedisModule_CallReplyStringPtr,
        RedisModule_CallReplyType,
        RedisModule_CloseKey,
        RedisModule_CreateCommand,
        RedisModule_CreateString,
        RedisModule_FreeCallReply,
        RedisModule_FreeString,
        RedisModule_GetAbsExpire,
        RedisModule_GetCommand,
        RedisModule_InfoAddFieldULongLong,
        RedisModule_InfoAddSection,
        RedisModule_IsKeysPositionRequest,
        RedisModule_KeyAtPosWithFlags,
        RedisModule_KeyType,
        RedisModule_LoadConfigs,
        RedisModule_Log,
        RedisModule_NotifyKeyspaceEvent,
        RedisModule_OpenKey,
        RedisModule_RegisterBoolConfig,
        RedisModule_RegisterInfoFunc,
        RedisModule_RegisterNumericConfig,
        RedisModule_Replicate,
        RedisModule_ReplyWithArray,
        RedisModule_ReplyWithError,
        RedisModule_ReplyWithLongLong,
        RedisModule_ReplyWithMap,
        RedisModule_ReplyWithNullArray,
        RedisModule_ReplyWithStringBuffer,
        RedisModule_SetAbsExpire,
        RedisModule_SetCommandInfo,
        RedisModule_SetModuleOptions,
        RedisModule_SignalModifiedKey,
        RedisModule_StringDMA,
        RedisModule_StringPtrLen,
        RedisModule_StringSet,
        RedisModule_StringTruncate,
        RedisModule_WrongArity,
    ];
    functions.into_iter().find(|(_, there)| !there).map(|(name, _)| name)
}

/// The server's call while it loads the module.
pub struct Loading {
    ctx: Context,
    arguments: usize,
}

impl Loading {
    pub(super) fn context(&self) -> Context {
        self.ctx
    }

    /// Refuses arguments of `loadmodule`: every knob is a setting.
    pub fn refuse_arguments(&self) -> Result<(), Refusal> {
        if self.arguments == 0 {
            return Ok(());
        }
        Err(Refusal::new(format_args!("takes no arguments; see the settings rl.* of redis.conf and of MODULE LOADEX")))
    }

    /// Refuses a server in which one of `commands` is renamed or disabled.
    pub fn require_commands(&self, commands: &[Command]) -> Result<(), Refusal> {
        /// What a call without arguments fails with where the command is there.
        const WRONG_ARITY: i32 = 22;
        for Command(name) in commands {
            // SAFETY: (api), (alive); the empty format takes no arguments.
            let reply = unsafe { api!(RedisModule_Call)(self.ctx.ctx, name.as_ptr(), c"".as_ptr()) };
            let failure = std::io::Error::last_os_error().raw_os_error();
            if !reply.is_null() {
                // SAFETY: (api); the reply is ours.
                unsafe { api!(RedisModule_FreeCallReply)(reply) };
            } else if failure != Some(WRONG_ARITY) {
                return Err(Refusal::new(format_args!(
                    "needs the command {} under its own name, to replicate and persist limiter state; it is renamed or disabled here",
                    name.to_string_lossy()
                )));
            }
        }
        Ok(())
    }

    /// Tells the server how the module behaves.
    pub fn set_options(&self) {
        let mut options = raw::REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED.cast_signed()
            | raw::REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD.cast_signed();
        // SAFETY: the pointer is tested, and written only while the module is loaded.
        if let Some(all) = unsafe { raw::RedisModule_GetModuleOptionsAll } {
            // SAFETY: it takes nothing.
            options |= unsafe { all() } & HANDLE_ATOMIC_SLOT_MIGRATION;
        }
        // SAFETY: (api), (alive).
        unsafe { api!(RedisModule_SetModuleOptions)(self.ctx.ctx, options) };
    }

    /// Adds an ACL category where the server can. It outlives the module, so that grants survive a reload: on a second
    /// load the server refuses it because it is still there, which is as well.
    pub fn add_acl_category(&self, name: &'static CStr) {
        // SAFETY: the pointer is tested, and written only while the module is loaded.
        match unsafe { raw::RedisModule_AddACLCategory } {
            // SAFETY: (alive).
            Some(add) => drop(unsafe { add(self.ctx.ctx, name.as_ptr()) }),
            None => self.ctx.log_notice(
                c"this server has no ACL categories for modules: allow the commands by name, as in +rl.fixed",
            ),
        }
    }

    /// Registers a command.
    pub fn create(&self, command: &CommandSpec) -> Result<(), Refusal> {
        (command.create)(self, command)
    }

    /// Documents a command that was created.
    pub fn describe(&self, command: &CommandSpec) -> Result<(), Refusal> {
        describe(self, command)
    }

    /// Registers settings, and applies those of the configuration file or of `MODULE LOADEX`.
    pub fn register_settings(
        &self,
        numbers: &[&'static NumericSetting],
        switches: &[&'static SwitchSetting],
    ) -> Result<(), Refusal> {
        let refusal = |name: &CStr| Refusal::new(format_args!("cannot register rl.{}", name.to_string_lossy()));
        let number = |n: u64| c_longlong::try_from(n).unwrap_or(c_longlong::MAX);
        for setting in numbers {
            // SAFETY: (api), (alive); the setting lives as long as the library.
            let registered = unsafe {
                api!(RedisModule_RegisterNumericConfig)(
                    self.ctx.ctx,
                    setting.name.as_ptr(),
                    number(setting.default),
                    raw::REDISMODULE_CONFIG_DEFAULT,
                    number(setting.min),
                    number(setting.max),
                    Some(get_setting),
                    Some(set_setting),
                    None,
                    ptr::from_ref(*setting).cast_mut().cast(),
                )
            };
            (registered == OK).then_some(()).ok_or_else(|| refusal(setting.name))?;
        }
        for setting in switches {
            // SAFETY: (api), (alive); the setting lives as long as the library.
            let registered = unsafe {
                api!(RedisModule_RegisterBoolConfig)(
                    self.ctx.ctx,
                    setting.name.as_ptr(),
                    c_int::from(setting.default),
                    raw::REDISMODULE_CONFIG_IMMUTABLE,
                    Some(get_switch),
                    Some(set_switch),
                    None,
                    ptr::from_ref(*setting).cast_mut().cast(),
                )
            };
            (registered == OK).then_some(()).ok_or_else(|| refusal(setting.name))?;
        }
        // SAFETY: (api), (alive).
        if unsafe { api!(RedisModule_LoadConfigs)(self.ctx.ctx) } == OK {
            Ok(())
        } else {
            Err(Refusal::new(format_args!("a setting rl.* of the configuration is unknown or out of range")))
        }
    }

    /// Registers what `INFO` shows.
    pub fn register_info(&self) -> Result<(), Refusal> {
        // SAFETY: (api), (alive).
        if unsafe { api!(RedisModule_RegisterInfoFunc)(self.ctx.ctx, Some(info)) } == OK {
            Ok(())
        } else {
            Err(Refusal::new(format_args!("cannot register the INFO section")))
        }
    }
}

/// A setting that is a number.
pub struct NumericSetting {
    /// The name after `rl.`.
    pub name: &'static CStr,
    pub default: u64,
    pub min: u64,
    pub max: u64,
    pub value: &'static AtomicU64,
}

unsafe extern "C" fn get_setting(_name: *const std::ffi::c_char, setting: *mut c_void) -> c_longlong {
    // SAFETY: `register_settings` gave the server this pointer to a setting that lives as long as the library.
    let setting = unsafe { &*setting.cast::<NumericSetting>() };
    setting.value.load(Ordering::Relaxed).try_into().unwrap_or(c_longlong::MAX)
}

unsafe extern "C" fn set_setting(
    _name: *const std::ffi::c_char,
    value: c_longlong,
    setting: *mut c_void,
    _error: *mut *mut RedisModuleString,
) -> c_int {
    // SAFETY: as `get_setting`.
    let setting = unsafe { &*setting.cast::<NumericSetting>() };
    // The server has checked the range.
    let Ok(value) = u64::try_from(value) else { return ERR };
    setting.value.store(value, Ordering::Relaxed);
    OK
}

/// A setting that is yes or no, and cannot be changed while the module is loaded.
pub struct SwitchSetting {
    /// The name after `rl.`.
    pub name: &'static CStr,
    pub default: bool,
    pub value: &'static AtomicBool,
}

unsafe extern "C" fn get_switch(_name: *const std::ffi::c_char, setting: *mut c_void) -> c_int {
    // SAFETY: as `get_setting`.
    let setting = unsafe { &*setting.cast::<SwitchSetting>() };
    c_int::from(setting.value.load(Ordering::Relaxed))
}

unsafe extern "C" fn set_switch(
    _name: *const std::ffi::c_char,
    value: c_int,
    setting: *mut c_void,
    _error: *mut *mut RedisModuleString,
) -> c_int {
    // SAFETY: as `get_setting`.
    let setting = unsafe { &*setting.cast::<SwitchSetting>() };
    setting.value.store(value != 0, Ordering::Relaxed);
    OK
}

unsafe extern "C" fn info(ctx: *mut raw::RedisModuleInfoCtx, _for_crash_report: c_int) {
    // A panic leaves the section incomplete, and must not reach the server.
    let _ = catch_unwind(|| crate::stats::report(&InfoSection { ctx }));
}

/// Called by the server to load the module.
#[unsafe(no_mangle)]
unsafe extern "C" fn RedisModule_OnLoad(
    ctx: *mut RedisModuleCtx,
    _argv: *mut *mut RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: the server calls this first, with its context; the function fills the table of the module API.
    let initialised = unsafe {
        raw::Export_RedisModule_Init(ctx, crate::NAME.as_ptr(), crate::VERSION, raw::REDISMODULE_APIVER_1.cast_signed())
    };
    if initialised != OK {
        return ERR;
    }
    if missing_function().is_some() {
        return ERR;
    }
    // A panic is reported by the trampoline that stops it; the default hook would print a backtrace.
    panic::set_hook(Box::new(|_| {}));
    let ctx = Context { ctx };
    let loading = Loading { ctx, arguments: usize::try_from(argc).unwrap_or(0) };
    match catch_unwind(|| crate::load(&loading)) {
        Ok(Ok(())) => OK,
        Ok(Err(Refusal(reason))) => {
            refuse(ctx, "load", &reason);
            crate::store::release();
            ERR
        }
        Err(_) => ERR,
    }
}

/// Called by the server to unload the module.
#[unsafe(no_mangle)]
unsafe extern "C" fn RedisModule_OnUnload(ctx: *mut RedisModuleCtx) -> c_int {
    let ctx = Context { ctx };
    match catch_unwind(|| crate::unload(&Unloading::new(ctx))) {
        Ok(Ok(())) => {
            drop(panic::take_hook());
            OK
        }
        Ok(Err(Refusal(reason))) => {
            refuse(ctx, "unload", &reason);
            ERR
        }
        Err(_) => ERR,
    }
}

fn refuse(ctx: Context, what: &str, reason: &str) {
    let mut line = Line::new();
    // A sentence that is too long is cut.
    let _ = write!(line, "does not {what}: {reason}");
    ctx.log_warning(line.as_c_str());
}
