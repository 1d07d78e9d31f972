//! Unloading: what the server would not survive.

use std::ffi::CStr;

use redis_module::raw::{self, RedisModuleCallReply};

use super::api;
use super::context::Context;
use super::load::Refusal;

/// The server's call before it unloads the module.
pub struct Unloading {
    ctx: Context,
}

impl Unloading {
    pub(super) const fn new(ctx: Context) -> Self {
        Self { ctx }
    }

    /// Refuses while a user's ACL rules name a command of ours: when such a command goes away, servers up to 8.2 abort.
    /// Rules for categories are harmless.
    pub fn refuse_if_acl_names_commands(&self, is_ours: fn(&[u8]) -> bool) -> Result<(), Refusal> {
        let Some(users) = self.ask(c"ACL", c"LIST", None) else {
            return Err(Refusal::new(format_args!("cannot read the ACL rules, which may name its commands")));
        };
        let rule = (0..users.len()).find_map(|index| names_command(users.element(index), is_ours));
        let Some(rule) = rule else { return Ok(()) };
        Err(Refusal::new(format_args!(
            "a user's ACL rules name one of its commands ({}), and the server would not survive their removal: \
             grant +@ratelimit or +@all in their place (ACL SETUSER), then unload",
            rule.escape_ascii()
        )))
    }

    /// Refuses while a client has commands queued after MULTI. The server looked them up when they were queued, and its
    /// EXEC would run whatever lies in their place by then: another command, or nothing. The client in whose own
    /// transaction the module is unloaded is not meant: its EXEC has begun.
    ///
    /// Only where the server can be asked for these clients alone. A list of all names the last command of each, and
    /// that may be one of a module that was unloaded before, whose memory the server would then read and could die of.
    pub fn refuse_if_commands_are_queued(&self) -> Result<(), Refusal> {
        let Some(clients) = self.ask(c"CLIENT", c"LIST", Some([c"FLAGS", c"x"])) else {
            return Err(Refusal::new(format_args!("cannot see whether a client has its commands queued after MULTI")));
        };
        if clients.is_error() {
            return Ok(());
        }
        let Some(client) = clients.bytes().split(|&byte| byte == b'\n').find(|client| has_queue(client)) else {
            return Ok(());
        };
        let id = field(client, b"id=").unwrap_or_default();
        Err(Refusal::new(format_args!(
            "a client (id={id}) has commands queued after MULTI, which may be of this module: the server would not \
             survive their EXEC. Try again, or end that client first (CLIENT KILL ID {id})",
            id = id.escape_ascii()
        )))
    }

    /// Calls a command that looks at the server; `None` if it is renamed or disabled.
    fn ask(&self, command: &CStr, subcommand: &CStr, filter: Option<[&CStr; 2]>) -> Option<Reply> {
        let call = |format: &CStr, [first, second]: [&CStr; 2]| {
            let (command, subcommand) = (command.as_ptr(), subcommand.as_ptr());
            // SAFETY: (api), (alive); the format takes as many of the C strings that follow as it has letters.
            unsafe {
                api!(RedisModule_Call)(
                    self.ctx.ctx,
                    command,
                    format.as_ptr(),
                    subcommand,
                    first.as_ptr(),
                    second.as_ptr(),
                )
            }
        };
        let reply = filter.map_or_else(|| call(c"c", [c"", c""]), |filter| call(c"ccc", filter));
        (!reply.is_null()).then(|| Reply(reply))
    }
}

/// What a command answered.
struct Reply(*mut RedisModuleCallReply);

impl Reply {
    fn is_error(&self) -> bool {
        // SAFETY: (api); the reply is ours.
        unsafe { api!(RedisModule_CallReplyType)(self.0) as isize == raw::REDISMODULE_REPLY_ERROR }
    }

    /// The number of elements of an array.
    fn len(&self) -> usize {
        // SAFETY: (api); the reply is ours.
        unsafe { api!(RedisModule_CallReplyLength)(self.0) }
    }

    /// An element of an array of strings.
    fn element(&self, index: usize) -> &[u8] {
        // SAFETY: (api); the reply is ours, and an element lives as long as it.
        unsafe { string_of(api!(RedisModule_CallReplyArrayElement)(self.0, index)) }
    }

    /// A string.
    fn bytes(&self) -> &[u8] {
        // SAFETY: the reply is ours.
        unsafe { string_of(self.0) }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        // SAFETY: (api); the reply is ours, and freed once.
        unsafe { api!(RedisModule_FreeCallReply)(self.0) };
    }
}

/// The bytes of a reply that is a string; none of another.
///
/// # Safety
///
/// The reply, or the reply it is an element of, lives at least as long as `'a`.
unsafe fn string_of<'a>(reply: *mut RedisModuleCallReply) -> &'a [u8] {
    let mut len = 0;
    // SAFETY: (api); the caller vouches for the reply. The answer is null, or points to `len` bytes of it.
    unsafe {
        let start = api!(RedisModule_CallReplyStringPtr)(reply, &raw mut len);
        if start.is_null() { &[] } else { std::slice::from_raw_parts(start.cast(), len) }
    }
}

/// The rule, among those of one user, that allows or forbids a command of ours.
fn names_command(rules: &[u8], is_ours: fn(&[u8]) -> bool) -> Option<&[u8]> {
    // `user`, the user's name, and then the rules.
    let mut words = rules.split(|&byte| byte == b' ' || byte == b'(' || byte == b')').skip(2);
    words.find(|word| match word {
        [b'+' | b'-', command @ ..] => {
            // A rule may go on to a first argument.
            command.split(|&byte| byte == b'|').next().is_some_and(is_ours)
        }
        _ => false,
    })
}

/// Whether a client, as `CLIENT LIST` describes it, waits with a command in its queue.
fn has_queue(client: &[u8]) -> bool {
    let queued = field(client, b"multi=").is_some_and(|count| !matches!(count, b"-1" | b"0"));
    queued && field(client, b"cmd=") != Some(b"exec")
}

/// A field of one line of `CLIENT LIST`.
fn field<'l>(client: &'l [u8], name: &[u8]) -> Option<&'l [u8]> {
    client.split(|&byte| byte == b' ').find_map(|field| field.strip_prefix(name))
}

#[cfg(test)]
mod tests {
    use super::{has_queue, names_command};

    #[test]
    fn a_rule_for_one_command_is_told_from_one_for_a_category() {
        let is_ours = |name: &[u8]| name.to_ascii_lowercase().starts_with(b"rl.");
        let named = |rules: &str| {
            names_command(rules.as_bytes(), is_ours).map(|rule| String::from_utf8_lossy(rule).into_owned())
        };
        assert_eq!(named("user a on nopass ~* &* -@all +@ratelimit"), None);
        assert_eq!(named("user a on nopass ~rl.x &* +@all"), None);
        assert_eq!(named("user -rl.fixed on ~* +get"), None);
        assert_eq!(named("user a on nopass ~* +rl.fixed").as_deref(), Some("+rl.fixed"));
        assert_eq!(named("user a on +@all -RL.PEEK").as_deref(), Some("-RL.PEEK"));
        assert_eq!(named("user a on +@all -rl.peek|x").as_deref(), Some("-rl.peek|x"));
        assert_eq!(named("user a on -@all (~x +rl.gcra)").as_deref(), Some("+rl.gcra"));
    }

    #[test]
    fn a_client_that_has_queued_commands_is_told_from_others() {
        assert!(!has_queue(b"id=3 addr=127.0.0.1:1 flags=N multi=-1 watch=0 cmd=rl.fixed user=default"));
        assert!(!has_queue(b"id=3 addr=127.0.0.1:1 flags=x multi=0 watch=0 cmd=multi user=default"));
        assert!(has_queue(b"id=3 addr=127.0.0.1:1 flags=x multi=1 watch=0 cmd=rl.fixed user=default"));
        assert!(has_queue(b"id=3 addr=127.0.0.1:1 flags=x multi=12 watch=0 cmd=set user=default"));
        assert!(!has_queue(b"id=3 addr=127.0.0.1:1 flags=x multi=2 watch=0 cmd=exec user=default"), "it runs");
        assert!(!has_queue(b""));
    }
}
