//! placeholder
use redis_module as _;
