//! What the client costs over a plain call of the `redis` crate: time and allocations of one call, without a server, since a round
//! trip would hide them. With the address of a server, the round trips too.

mod calls;
mod counting;

use std::{env, error::Error, future::Future, time::Instant};

use calls::{Calls, Ready};
use counting::{Counting, count};
use limiter_client::Result;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls of one measurement, and measurements, of which the fastest counts: the others were disturbed.
const CALLS: u32 = 20_000;
const ROUNDS: u32 = 15;

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        println!("| one call, no server | time, ns | allocations |\n|---|--:|--:|");
        let calls = Calls::new(Ready)?;
        row("redis crate alone", || calls.plain()).await?;
        row("`rl_decide`", || calls.typed()).await?;
        row("`Backend::decide`, as a trait object", || calls.backend()).await?;
        row("`KeySpace::key`, shown subject", || async { calls.key_shown() }).await?;
        row("`KeySpace::key`, hashed subject", || async { calls.key_hashed() }).await?;
        row("`Limiter::check`, shown subject", || calls.limiter_shown()).await?;
        row("`Limiter::check`, hashed subject", || calls.limiter_hashed()).await?;
        let Some(address) = env::args().nth(1) else { return Ok(()) };
        println!("\n| one call, one after another | time, ns | allocations |\n|---|--:|--:|");
        let connection = redis::Client::open(address)?.get_multiplexed_async_connection().await?;
        let calls = Calls::new(connection)?;
        row("redis crate alone", || calls.plain()).await?;
        row("`rl_decide`", || calls.typed()).await?;
        row("`Limiter::check`, hashed subject", || calls.limiter_hashed()).await?;
        Ok(())
    })
}

async fn row<F: Future<Output = Result<bool>>>(name: &str, call: impl Fn() -> F) -> Result<()> {
    let mut best = u128::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..CALLS {
            call().await?;
        }
        best = best.min(start.elapsed().as_nanos());
    }
    let allocations = allocations(&call).await?;
    println!("| {name} | {} | {allocations} |", best.div_ceil(CALLS.into()));
    Ok(())
}

/// Of a call that is not the first: others may set something up.
async fn allocations<F: Future<Output = Result<bool>>>(call: &impl Fn() -> F) -> Result<u64> {
    let mut least = u64::MAX;
    for _ in 0..10 {
        let before = count();
        call().await?;
        least = least.min(count().saturating_sub(before));
    }
    Ok(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A runtime of this thread, in which the counter is.
    fn block_on<F: Future<Output = Result<()>>>(future: F) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        assert!(runtime.is_ok_and(|runtime| runtime.block_on(future).is_ok()));
    }

    #[test]
    fn a_typed_call_allocates_no_more_than_a_plain_one() {
        block_on(async {
            let calls = Calls::new(Ready)?;
            let plain = allocations(&|| calls.plain()).await?;
            assert!(allocations(&|| calls.typed()).await? <= plain);
            // A trait object has its future on the heap.
            assert!(allocations(&|| calls.backend()).await? <= plain);
            Ok(())
        });
    }

    #[test]
    fn a_key_is_one_allocation() {
        block_on(async {
            let calls = Calls::new(Ready)?;
            assert_eq!(allocations(&|| async { calls.key_shown() }).await?, 1);
            assert_eq!(allocations(&|| async { calls.key_hashed() }).await?, 1);
            Ok(())
        });
    }
}
