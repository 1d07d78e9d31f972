//! What a change in the general flow comes to in bytes, and how it is carried out.

use limiter_core::all::{ListChange, Tail};
use limiter_core::block::{Block, Blocked};
use limiter_core::call::Change;
use limiter_core::expiry::Expiry;
use limiter_core::record::Small;
use limiter_core::sliding_log::{Event, HEADER_LEN};

use super::send::{ON_STACK, append, growth, put_event, put_record, render, replace, send_event, send_record, space};
use crate::error::Error;
use crate::ffi::{Context, Growth, KeyName, WriteKey};

/// A change of a key in the bytes that tell it.
pub(super) enum Effect<'b> {
    Replace { record: &'b [u8], expiry: Expiry },
    Append { event: Option<Event>, header: &'b [u8], expiry_ms: Option<u64>, growth: Growth },
}

/// The room for those bytes.
pub(super) struct Room {
    small: [u8; ON_STACK],
    large: Vec<u8>,
    record: Option<Small>,
    blocked: Option<Blocked>,
    header: Option<[u8; HEADER_LEN]>,
}

impl Room {
    pub(super) const fn new() -> Self {
        Self { small: [0; ON_STACK], large: Vec::new(), record: None, blocked: None, header: None }
    }
}

/// What a change of the plain record comes to, with the block that it carries; `None` if nothing changes.
pub(super) fn effect<'b>(
    change: &Change<'_>,
    block: Option<Block>,
    room: &'b mut Room,
) -> Result<Option<Effect<'b>>, Error<'static>> {
    let wrapped = |plain: &[u8]| block.map(|block| block.wrap(plain));
    Ok(match *change {
        Change::None => None,
        Change::Replace { record, expiry } => {
            room.blocked = wrapped(record.as_bytes());
            let record = room.record.insert(record).as_bytes();
            Some(Effect::Replace { record: room.blocked.as_ref().map_or(record, Blocked::as_bytes), expiry })
        }
        Change::Append { event, header, expiry_ms, filling } => {
            room.header = header;
            room.blocked = header.as_ref().and_then(|header| wrapped(header));
            let plain: &[u8] = room.header.as_ref().map_or(&[], <[u8; _]>::as_slice);
            let header = room.blocked.as_ref().map_or(plain, Blocked::as_bytes);
            Some(Effect::Append { event: Some(event), header, expiry_ms, growth: growth(filling) })
        }
        Change::Rewrite { rewrite, expiry } => {
            let record = render(&rewrite, block.as_ref(), &mut room.small, &mut room.large)?;
            Some(Effect::Replace { record, expiry })
        }
    })
}

/// What the change of a list comes to; `head` is what comes before its log.
pub(super) fn effect_of_list<'b>(
    head: &'b [u8],
    change: &ListChange<'_>,
    room: &'b mut Room,
) -> Result<Option<Effect<'b>>, Error<'static>> {
    Ok(match *change {
        ListChange::None => None,
        ListChange::Replace { tail: Tail::Nothing, expiry } => Some(Effect::Replace { record: head, expiry }),
        ListChange::Replace { tail, expiry } => {
            let record = space(head.len().saturating_add(tail.len()), &mut room.small, &mut room.large)?;
            if let Some((front, rest)) = record.split_at_mut_checked(head.len()) {
                front.copy_from_slice(head);
                tail.write(rest);
            }
            Some(Effect::Replace { record, expiry })
        }
        ListChange::Extend { event, expiry_ms, filling } => {
            Some(Effect::Append { event, header: head, expiry_ms, growth: growth(filling) })
        }
    })
}

pub(super) fn carry_out(
    ctx: Context,
    key: &mut WriteKey<'_>,
    name: KeyName<'_>,
    effect: &Effect<'_>,
) -> Result<(), Error<'static>> {
    match *effect {
        Effect::Replace { record, expiry } => replace(ctx, key, name, record, expiry),
        Effect::Append { ref event, header, expiry_ms, growth } => {
            append(ctx, key, name, bytes_of(event.as_ref()), header, expiry_ms, growth)
        }
    }
}

fn bytes_of(event: Option<&Event>) -> &[u8] {
    event.map_or(&[], Event::as_bytes)
}

impl Effect<'_> {
    /// Replicates it; false if the server refused.
    pub(super) fn send(&self, ctx: Context, name: KeyName<'_>) -> bool {
        match *self {
            Self::Replace { record, expiry } => send_record(ctx, name, record, expiry),
            Self::Append { ref event, header, expiry_ms, .. } => {
                send_event(ctx, name, bytes_of(event.as_ref()), header, expiry_ms)
            }
        }
    }

    /// Writes what was replicated.
    pub(super) fn put(&self, key: &mut WriteKey<'_>) {
        match *self {
            Self::Replace { record, expiry } => put_record(key, record, expiry),
            Self::Append { ref event, header, expiry_ms, growth } => {
                put_event(key, bytes_of(event.as_ref()), header, expiry_ms, growth);
            }
        }
    }
}
