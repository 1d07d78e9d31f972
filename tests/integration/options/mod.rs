//! What a call may be asked beyond its verdict: PARTIAL, RESERVE, STRICT and BLOCK.

mod block;
mod elsewhere;
mod partial;
mod reserve;
mod strict;
mod together;
