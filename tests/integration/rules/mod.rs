//! What the documentation promises, rule by rule.

mod arguments;
mod changed_limits;
mod clock_steps;
mod configuration;
mod contexts;
mod errors;
mod events;
mod expiry;
mod grammar;
mod looking;
mod metadata;
mod random_calls;
mod random_lists;
mod silence;
mod statistics;
