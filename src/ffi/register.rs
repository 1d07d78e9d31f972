//! A command as it is declared to the server: flags, key, documentation and handler.

use std::ffi::{CStr, c_int};
use std::ptr;

use redis_module::raw;

use super::api;
use super::context::{Context, Handler, OK, trampoline};
use super::load::{Loading, Refusal};

/// What a command does with its key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It looks.
    Read,
    /// It looks, and changes what it found.
    Update,
    /// It changes what it found, and may do so when memory is short: it creates nothing, and may free much.
    Correct,
}

impl Access {
    /// The flags of a key, for its specification.
    pub(super) const fn key_flags(self) -> u64 {
        let flags = match self {
            Self::Read => raw::REDISMODULE_CMD_KEY_RO | raw::REDISMODULE_CMD_KEY_ACCESS,
            Self::Update | Self::Correct => {
                raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_ACCESS | raw::REDISMODULE_CMD_KEY_UPDATE
            }
        };
        flags as u64
    }
}

/// Where a command has its keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// One, the first argument.
    First,
    /// As many as the first argument says, after it. The handler answers [`Context::asks_for_keys`].
    Numbered,
}

/// The kind of a documented argument.
#[derive(Clone, Copy)]
pub enum ArgumentKind {
    Key,
    Text,
    Integer,
    /// A literal word.
    Token(&'static CStr),
    /// Several arguments together.
    Block(&'static [Argument]),
    /// One of several.
    OneOf(&'static [Argument]),
}

/// A documented argument.
///
/// No list of them has exactly three: the server would keep it in memory of the size class of a command. Servers from 8.0
/// on follow, when a client calls again after the module was unloaded and loaded, a pointer to the command it called last, which
/// was freed meanwhile. Nothing happens as long as another command lies there; [`create`] therefore comes before all else, and
/// nothing of its size beside it.
#[derive(Clone, Copy)]
pub struct Argument {
    pub name: &'static CStr,
    pub kind: ArgumentKind,
    pub optional: bool,
    pub multiple: bool,
}

impl Argument {
    /// An argument that every call has.
    pub const fn required(name: &'static CStr, kind: ArgumentKind) -> Self {
        Self { name, kind, optional: false, multiple: false }
    }

    /// An argument that a call may leave out.
    pub const fn optional(name: &'static CStr, kind: ArgumentKind) -> Self {
        Self { name, kind, optional: true, multiple: false }
    }
}

/// One command of the module: what `COMMAND INFO` and `COMMAND DOCS` tell, and what runs.
pub struct CommandSpec {
    pub name: &'static CStr,
    pub summary: &'static CStr,
    pub complexity: &'static CStr,
    /// The module's version that brought it.
    pub since: &'static CStr,
    /// The number of words with the command's name; negative where more may follow.
    pub arity: c_int,
    pub access: Access,
    pub keys: Keys,
    pub arguments: &'static [Argument],
    pub create: fn(&Loading, &CommandSpec) -> Result<(), Refusal>,
}

impl CommandSpec {
    /// The flags of `CreateCommand`.
    const fn flags(&self) -> &'static CStr {
        match (self.access, self.keys) {
            (Access::Read, Keys::First) => c"readonly fast",
            (Access::Read, Keys::Numbered) => c"readonly fast getkeys-api",
            (Access::Update, Keys::First) => c"write deny-oom fast",
            (Access::Correct, Keys::First) => c"write fast",
            (Access::Correct, Keys::Numbered) => c"write fast getkeys-api",
            (Access::Update, Keys::Numbered) => c"write deny-oom fast getkeys-api",
        }
    }

    /// The categories of ACL rules, with the module's own and without.
    const fn acl_categories(&self) -> [&'static CStr; 2] {
        match self.access {
            Access::Read => [c"read fast ratelimit", c"read fast"],
            Access::Update | Access::Correct => [c"write fast ratelimit", c"write fast"],
        }
    }
}

/// Creates the command with `H` as its handler. [`describe`] tells the server more of it.
pub fn create<H: Handler>(loading: &Loading, spec: &CommandSpec) -> Result<(), Refusal> {
    let Context { ctx } = loading.context();
    // SAFETY: (api), (alive); every text lives as long as the library.
    let created = unsafe {
        let (first, last, step) = if spec.keys == Keys::First { (1, 1, 1) } else { (0, 0, 0) };
        let (name, flags) = (spec.name.as_ptr(), spec.flags().as_ptr());
        api!(RedisModule_CreateCommand)(ctx, name, Some(trampoline::<H>), flags, first, last, step)
    };
    if created != OK {
        let name = spec.name.to_string_lossy();
        return Err(Refusal::new(format_args!(
            "cannot create the command {name}: another module has one of that name"
        )));
    }
    Ok(())
}

/// Documents a command that was created, and tells its keys and its ACL categories.
pub fn describe(loading: &Loading, spec: &CommandSpec) -> Result<(), Refusal> {
    let Context { ctx } = loading.context();
    // SAFETY: (api), (alive).
    let command = unsafe { api!(RedisModule_GetCommand)(ctx, spec.name.as_ptr()) };
    if command.is_null() || !tell(command, spec) {
        return Err(Refusal::new(format_args!("cannot describe the command {}", spec.name.to_string_lossy())));
    }
    // SAFETY: the pointer is tested, and written only while the module is loaded.
    if let Some(set_categories) = unsafe { raw::RedisModule_SetCommandACLCategories } {
        // SAFETY: (alive); the command was just found.
        let set = spec.acl_categories().iter().any(|names| unsafe { set_categories(command, names.as_ptr()) } == OK);
        if !set {
            return Err(Refusal::new(format_args!("cannot set the ACL categories of {}", spec.name.to_string_lossy())));
        }
    }
    Ok(())
}

/// The layout of the structures below, version 1: the header has it as a constant that is not exported.
static INFO_VERSION: raw::RedisModuleCommandInfoVersion = raw::RedisModuleCommandInfoVersion {
    version: 1,
    sizeof_historyentry: size_of::<raw::RedisModuleCommandHistoryEntry>(),
    sizeof_keyspec: size_of::<raw::RedisModuleCommandKeySpec>(),
    sizeof_arg: size_of::<raw::RedisModuleCommandArg>(),
};

fn tell(command: *mut raw::RedisModuleCommand, spec: &CommandSpec) -> bool {
    let mut key_specs = [key_spec(spec), no_key_spec()];
    let mut arguments = Tree::new(spec.arguments);
    let info = raw::RedisModuleCommandInfo {
        version: &raw const INFO_VERSION,
        summary: spec.summary.as_ptr(),
        complexity: spec.complexity.as_ptr(),
        since: spec.since.as_ptr(),
        history: ptr::null_mut(),
        tips: ptr::null(),
        arity: spec.arity,
        key_specs: key_specs.as_mut_ptr(),
        args: arguments.list.as_mut_ptr(),
    };
    // SAFETY: (api); the server copies all it is shown, and the lists end in an empty element.
    unsafe { api!(RedisModule_SetCommandInfo)(command, &raw const info) == OK }
}

fn key_spec(command: &CommandSpec) -> raw::RedisModuleCommandKeySpec {
    let mut spec = no_key_spec();
    spec.flags = command.access.key_flags();
    spec.begin_search_type = raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX;
    spec.bs.index.pos = 1;
    match command.keys {
        Keys::First => {
            spec.find_keys_type = raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_RANGE;
            spec.fk.range =
                raw::RedisModuleCommandKeySpec__bindgen_ty_2__bindgen_ty_1 { lastkey: 0, keystep: 1, limit: 0 };
        }
        Keys::Numbered => {
            spec.find_keys_type = raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_KEYNUM;
            spec.fk.keynum =
                raw::RedisModuleCommandKeySpec__bindgen_ty_2__bindgen_ty_2 { keynumidx: 0, firstkey: 1, keystep: 1 };
        }
    }
    spec
}

fn no_key_spec() -> raw::RedisModuleCommandKeySpec {
    // SAFETY: integers, null pointers and a union of them: all zero is a value, the one that ends a list.
    unsafe { std::mem::zeroed() }
}

/// A list of arguments as the server reads it, with the lists below it.
struct Tree {
    list: Vec<raw::RedisModuleCommandArg>,
    /// The lists that `list` points into.
    _below: Vec<Tree>,
}

impl Tree {
    fn new(arguments: &[Argument]) -> Self {
        let mut tree = Self { list: Vec::new(), _below: Vec::new() };
        for argument in arguments {
            tree.add(argument);
        }
        // SAFETY: as `no_key_spec`.
        tree.list.push(unsafe { std::mem::zeroed() });
        tree
    }

    fn add(&mut self, argument: &Argument) {
        // SAFETY: as `no_key_spec`.
        let mut raw_argument: raw::RedisModuleCommandArg = unsafe { std::mem::zeroed() };
        raw_argument.name = argument.name.as_ptr();
        raw_argument.key_spec_index = -1;
        let flags = |set: bool, flag: u32| if set { flag } else { 0 };
        let optional = flags(argument.optional, raw::REDISMODULE_CMD_ARG_OPTIONAL);
        let multiple = flags(argument.multiple, raw::REDISMODULE_CMD_ARG_MULTIPLE);
        raw_argument.flags = c_int::try_from(optional | multiple).unwrap_or(0);
        let mut below = &[][..];
        raw_argument.type_ = match argument.kind {
            ArgumentKind::Key => {
                raw_argument.key_spec_index = 0;
                raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_KEY
            }
            ArgumentKind::Text => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_STRING,
            ArgumentKind::Integer => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_INTEGER,
            ArgumentKind::Token(token) => {
                raw_argument.token = token.as_ptr();
                raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_PURE_TOKEN
            }
            ArgumentKind::Block(list) => {
                below = list;
                raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_BLOCK
            }
            ArgumentKind::OneOf(list) => {
                below = list;
                raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_ONEOF
            }
        };
        if !below.is_empty() {
            let mut tree = Self::new(below);
            // The list's heap block stays where it is while the tree that owns it moves.
            raw_argument.subargs = tree.list.as_mut_ptr();
            self._below.push(tree);
        }
        self.list.push(raw_argument);
    }
}
