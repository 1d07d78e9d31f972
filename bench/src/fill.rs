//! Prepares the keys that a measurement expects to find.

use crate::{
    client::Client,
    subject::{self, Subject},
};
use anyhow::Result;
use std::ops::Range;

/// From this many calls a key on, one key is made by calls and the others as its copies.
const COPY_FROM: u64 = 50;

/// Makes each key of `keys` as the subject expects to find it.
pub fn fill(client: &mut Client, subject: &Subject, keys: Range<u64>) -> Result<()> {
    if subject.fills < COPY_FROM {
        return fill_by_calls(client, subject, keys);
    }
    let first = subject::key(keys.start);
    let words = subject::call(&subject.fill, keys.start);
    client.send_all((0..subject.fills).map(|_| words.clone()))?;
    client.send_all(
        keys.skip(1)
            .map(|index| ["COPY".to_owned(), first.clone(), subject::key(index), "REPLACE".to_owned()].to_vec()),
    )
}

/// The same by calls alone: state that has grown as it does in the field, with the allocator's slack.
pub fn fill_by_calls(client: &mut Client, subject: &Subject, keys: Range<u64>) -> Result<()> {
    for _ in 0..subject.fills {
        client.send_all(keys.clone().map(|index| subject::call(&subject.fill, index)))?;
    }
    Ok(())
}
