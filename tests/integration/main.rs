//! placeholder
use redis as _;
use testcontainers as _;
fn main(){}
