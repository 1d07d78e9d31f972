//! The command table: everything the server is told of a command stands here, side by side.

mod adjust;
mod all;
mod decide;
mod look;
mod throttle;

use std::ffi::CStr;

use crate::config;
use crate::ffi::{Access, Argument, ArgumentKind, CommandSpec, Keys, create};

/// The ACL category that all commands belong to, where the server lets a module add one.
pub const ACL_CATEGORY: &CStr = c"ratelimit";

const KEY: Argument = Argument::required(c"key", ArgumentKind::Key);
const RATE: Argument = Argument::required(c"rate", ArgumentKind::Text);
const LIMIT: Argument = Argument::required(c"limit", ArgumentKind::Integer);
const WINDOW: Argument = Argument::required(c"window", ArgumentKind::Text);
const COST: Argument = Argument::optional(c"cost", ArgumentKind::Integer);

const ALIGNED: Argument = Argument::optional(
    c"aligned",
    ArgumentKind::Block(&[
        Argument::required(c"aligned", ArgumentKind::Token(c"ALIGNED")),
        Argument::optional(c"offset", ArgumentKind::Text),
    ]),
);

const PARTIAL: Argument = Argument::optional(c"partial", ArgumentKind::Token(c"PARTIAL"));

/// What a bucket does when the whole cost is not there: one of the two.
const PARTIAL_OR_RESERVE: Argument = Argument::optional(
    c"shortage",
    ArgumentKind::OneOf(&[
        Argument::required(c"partial", ArgumentKind::Token(c"PARTIAL")),
        Argument::required(
            c"reserve",
            ArgumentKind::Block(&[
                Argument::required(c"reserve", ArgumentKind::Token(c"RESERVE")),
                Argument::required(c"max_wait", ArgumentKind::Text),
            ]),
        ),
    ]),
);

const STRICT: Argument = Argument::optional(c"strict", ArgumentKind::Token(c"STRICT"));

const BLOCK: Argument = Argument::optional(
    c"block",
    ArgumentKind::Block(&[
        Argument::required(c"block", ArgumentKind::Token(c"BLOCK")),
        Argument::required(c"duration", ArgumentKind::Text),
    ]),
);

const CAPACITY: Argument = Argument::required(c"capacity", ArgumentKind::Integer);
const BURST: Argument = Argument::required(c"burst", ArgumentKind::Integer);

const RESERVE: Argument = Argument::optional(
    c"reserve",
    ArgumentKind::Block(&[
        Argument::required(c"reserve", ArgumentKind::Token(c"RESERVE")),
        Argument::required(c"max_wait", ArgumentKind::Text),
    ]),
);

/// One limit of a list, by its number.
const NUMBERED: Argument = Argument::optional(
    c"numbered",
    ArgumentKind::Block(&[
        Argument::required(c"limit", ArgumentKind::Token(c"LIMIT")),
        Argument::required(c"n", ArgumentKind::Integer),
    ]),
);

/// A limit of a list: the name of its command, and what follows the key there.
const LISTED: Argument = Argument::required(
    c"limit",
    ArgumentKind::OneOf(&[
        Argument::required(
            c"tokenbucket",
            ArgumentKind::Block(&[
                Argument::required(c"tokenbucket", ArgumentKind::Token(c"TOKENBUCKET")),
                CAPACITY,
                RATE,
                COST,
                RESERVE,
                STRICT,
                BLOCK,
            ]),
        ),
        Argument::required(
            c"gcra",
            ArgumentKind::Block(&[
                Argument::required(c"gcra", ArgumentKind::Token(c"GCRA")),
                BURST,
                RATE,
                COST,
                RESERVE,
                STRICT,
                BLOCK,
            ]),
        ),
        Argument::required(
            c"fixed",
            ArgumentKind::Block(&[
                Argument::required(c"fixed", ArgumentKind::Token(c"FIXED")),
                LIMIT,
                WINDOW,
                COST,
                ALIGNED,
                STRICT,
                BLOCK,
            ]),
        ),
        Argument::required(
            c"slidinglog",
            ArgumentKind::Block(&[
                Argument::required(c"slidinglog", ArgumentKind::Token(c"SLIDINGLOG")),
                LIMIT,
                WINDOW,
                COST,
                STRICT,
                BLOCK,
            ]),
        ),
        Argument::required(
            c"slidingcounter",
            ArgumentKind::Block(&[
                Argument::required(c"slidingcounter", ArgumentKind::Token(c"SLIDINGCOUNTER")),
                LIMIT,
                WINDOW,
                COST,
                STRICT,
                BLOCK,
            ]),
        ),
    ]),
);

const OTHER_LIMITS: Argument = Argument::required(
    c"other-limits",
    ArgumentKind::Block(&[
        Argument::required(
            c"algorithm",
            ArgumentKind::OneOf(&[
                Argument::required(c"tokenbucket", ArgumentKind::Token(c"TOKENBUCKET")),
                Argument::required(c"gcra", ArgumentKind::Token(c"GCRA")),
                Argument::required(c"fixed", ArgumentKind::Token(c"FIXED")),
                Argument::required(c"slidinglog", ArgumentKind::Token(c"SLIDINGLOG")),
                Argument::required(c"slidingcounter", ArgumentKind::Token(c"SLIDINGCOUNTER")),
            ]),
        ),
        Argument { multiple: true, ..Argument::required(c"argument", ArgumentKind::Text) },
    ]),
);

const SEVERAL_LIMITS: Argument = Argument::required(
    c"several-limits",
    ArgumentKind::Block(&[
        Argument::required(c"all", ArgumentKind::Token(c"ALL")),
        Argument { multiple: true, ..LISTED },
    ]),
);

const PEEKED: Argument = Argument::optional(
    c"call",
    ArgumentKind::OneOf(&[
        Argument::required(c"cost", ArgumentKind::Integer),
        Argument::required(c"limits", ArgumentKind::OneOf(&[OTHER_LIMITS, SEVERAL_LIMITS])),
    ]),
);

const THROTTLE_ARGUMENTS: &[Argument] = &[
    KEY,
    Argument::required(c"max_burst", ArgumentKind::Integer),
    Argument::required(c"count", ArgumentKind::Integer),
    Argument::required(c"period", ArgumentKind::Integer),
    Argument::optional(c"quantity", ArgumentKind::Integer),
];

/// A command in redis-cell's words, under either of its names.
const fn throttle(name: &'static CStr) -> CommandSpec {
    CommandSpec {
        name,
        summary: c"Admits calls by the generic cell rate algorithm, with the arguments and the reply of redis-cell.",
        complexity: c"O(1)",
        since: c"0.1.0",
        arity: -5,
        access: Access::Update,
        keys: Keys::First,
        arguments: THROTTLE_ARGUMENTS,
        create: create::<throttle::Command>,
    }
}

/// What `RL.THROTTLE` is called in redis-cell: a command of ours where the setting `rl.cl-throttle` says so.
pub const CL_THROTTLE: CommandSpec = throttle(c"cl.throttle");

/// Whether a command of this name is one of this module, as it is loaded.
pub fn is_ours(name: &[u8]) -> bool {
    let starts_with_rl = name.get(..3).is_some_and(|start| start.eq_ignore_ascii_case(b"rl."));
    starts_with_rl || config::cl_throttle() && name.eq_ignore_ascii_case(CL_THROTTLE.name.to_bytes())
}

/// Every command of the module, but for [`CL_THROTTLE`].
pub const TABLE: &[CommandSpec] = &[
    CommandSpec {
        name: c"rl.tokenbucket",
        summary: c"Takes tokens from a bucket that refills at a constant rate.",
        complexity: c"O(1)",
        since: c"0.1.0",
        arity: -4,
        access: Access::Update,
        keys: Keys::First,
        arguments: &[KEY, CAPACITY, RATE, COST, PARTIAL_OR_RESERVE, STRICT, BLOCK],
        create: create::<decide::TokenBucket>,
    },
    CommandSpec {
        name: c"rl.gcra",
        summary: c"Admits calls at a constant rate with a burst, by the generic cell rate algorithm.",
        complexity: c"O(1)",
        since: c"0.1.0",
        arity: -4,
        access: Access::Update,
        keys: Keys::First,
        arguments: &[KEY, BURST, RATE, COST, PARTIAL_OR_RESERVE, STRICT, BLOCK],
        create: create::<decide::Gcra>,
    },
    CommandSpec {
        name: c"rl.fixed",
        summary: c"Counts calls in a window that the first of them opens, or that is aligned to the clock.",
        complexity: c"O(1)",
        since: c"0.1.0",
        arity: -4,
        access: Access::Update,
        keys: Keys::First,
        arguments: &[KEY, LIMIT, WINDOW, COST, ALIGNED, PARTIAL, STRICT, BLOCK],
        create: create::<decide::Fixed>,
    },
    CommandSpec {
        name: c"rl.slidinglog",
        summary: c"Admits at most a limit in any window, exactly, by remembering each admitted call.",
        complexity: c"O(log N) with N the admitted calls of the window, amortized",
        since: c"0.1.0",
        arity: -4,
        access: Access::Update,
        keys: Keys::First,
        arguments: &[KEY, LIMIT, WINDOW, COST, PARTIAL, STRICT, BLOCK],
        create: create::<decide::SlidingLog>,
    },
    CommandSpec {
        name: c"rl.slidingcounter",
        summary: c"Admits about a limit in any window, by weighing the counts of two adjacent windows.",
        complexity: c"O(1)",
        since: c"0.1.0",
        arity: -4,
        access: Access::Update,
        keys: Keys::First,
        arguments: &[KEY, LIMIT, WINDOW, COST, PARTIAL, STRICT, BLOCK],
        create: create::<decide::SlidingCounter>,
    },
    throttle(c"rl.throttle"),
    CommandSpec {
        name: c"rl.all",
        summary: c"Decides several limits together: either every one is charged or none is.",
        complexity: c"O(N) with N the limits, for a sliding log O(log M) with M the admitted calls of the window",
        since: c"0.1.0",
        arity: -6,
        access: Access::Update,
        keys: Keys::Numbered,
        arguments: &[
            Argument::required(c"numkeys", ArgumentKind::Integer),
            Argument { multiple: true, ..KEY },
            LISTED,
            Argument { multiple: true, optional: true, ..LISTED },
        ],
        create: create::<all::All>,
    },
    CommandSpec {
        name: c"rl.adjust",
        summary: c"Charges more without asking, or gives back what was not needed.",
        complexity: c"O(1), for a sliding log that is given back O(N) with N the admitted calls of the window",
        since: c"0.1.0",
        arity: -3,
        access: Access::Correct,
        keys: Keys::First,
        arguments: &[
            KEY,
            Argument::required(
                c"change",
                ArgumentKind::Block(&[Argument::required(c"delta", ArgumentKind::Integer), NUMBERED]),
            ),
        ],
        create: create::<adjust::Adjust>,
    },
    CommandSpec {
        name: c"rl.peek",
        summary: c"Tells what a call would be answered, without making it.",
        complexity: c"O(1), for a sliding log O(log N) with N the admitted calls of the window",
        since: c"0.1.0",
        arity: -2,
        access: Access::Read,
        keys: Keys::First,
        arguments: &[KEY, PEEKED],
        create: create::<look::Peek>,
    },
    CommandSpec {
        name: c"rl.info",
        summary: c"Tells a limiter's algorithm, parameters, usage and age.",
        complexity: c"O(1), for a sliding log O(log N) with N the admitted calls of the window",
        since: c"0.1.0",
        arity: 2,
        access: Access::Read,
        keys: Keys::First,
        arguments: &[KEY],
        create: create::<look::Info>,
    },
];

#[cfg(test)]
mod tests {
    use super::{CL_THROTTLE, TABLE};
    use crate::ffi::{Argument, ArgumentKind};

    #[test]
    fn no_list_of_arguments_is_as_large_as_a_command() {
        fn check(command: &str, list: &[Argument]) {
            assert_ne!(list.len(), 3, "{command}: see `Argument`");
            for argument in list {
                if let ArgumentKind::Block(below) | ArgumentKind::OneOf(below) = argument.kind {
                    check(command, below);
                }
            }
        }
        for command in TABLE.iter().chain([&CL_THROTTLE]) {
            check(&command.name.to_string_lossy(), command.arguments);
        }
    }
}
