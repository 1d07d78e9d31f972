//! Several limits in one key, all or nothing.

mod agreement;
mod apart;
mod generate;
pub mod key;
mod matching;
mod model;
mod records;
