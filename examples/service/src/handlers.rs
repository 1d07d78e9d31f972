//! What the service does.

use axum::Extension;

use crate::auth::User;

/// What a request has cost, left in the extensions of its answer.
#[derive(Clone, Copy)]
pub struct Cost(pub u64);

pub async fn hello(Extension(user): Extension<User>) -> String {
    format!("Hello, {}!\n", user.name)
}

/// A report costs as many calls as it has lines, which is known only when it is done.
pub async fn report(Extension(user): Extension<User>) -> (Extension<Cost>, String) {
    let lines = ["Everything is fine.", "Nothing else happened."];
    let report = format!("For {}:\n{}\n", user.name, lines.join("\n"));
    (Extension(Cost(lines.iter().fold(0, |cost, _| cost.saturating_add(1)))), report)
}
