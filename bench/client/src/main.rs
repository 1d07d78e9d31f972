//! What the client costs over a plain call of the `redis` crate: time and allocations of one call, without a server, since a round
//! trip would hide them. With the address of a server, the round trips too.

mod calls;

use std::{env, error::Error, future::Future, time::Instant};

use calls::{Calls, Ready};
use limiter_client::Result;
use tokio::runtime::{Builder, Runtime};

/// Calls of one measurement, and measurements, of which the fastest counts: the others were disturbed.
const CALLS: u32 = 20_000;
const ROUNDS: u32 = 15;

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let runtime = runtime()?;
    println!("| one call, no server | time, ns | allocations |\n|---|--:|--:|");
    // A backend may want a runtime to be made in.
    let calls = runtime.block_on(async { Calls::new(Ready) })?;
    let row = |name, measured: Result<Row>| {
        measured.map(|Row { ns, allocations }| println!("| {name} | {ns} | {allocations} |"))
    };
    row("redis crate alone", measure(&runtime, || calls.plain()))?;
    row("`rl_decide`", measure(&runtime, || calls.typed()))?;
    row("`Backend::decide`, as a trait object", measure(&runtime, || calls.backend()))?;
    row("`KeySpace::key`, shown subject", measure(&runtime, || async { calls.key_shown() }))?;
    row("`KeySpace::key`, hashed subject", measure(&runtime, || async { calls.key_hashed() }))?;
    row("`Limiter::check`, shown subject", measure(&runtime, || calls.limiter_shown()))?;
    row("`Limiter::check`, hashed subject", measure(&runtime, || calls.limiter_hashed()))?;
    let Some(address) = env::args().nth(1) else { return Ok(()) };
    println!("\n| one call, one after another | time, ns | allocations |\n|---|--:|--:|");
    let client = redis::Client::open(address)?;
    let calls = runtime.block_on(async { Calls::new(client.get_multiplexed_async_connection().await?) })?;
    row("redis crate alone", measure(&runtime, || calls.plain()))?;
    row("`rl_decide`", measure(&runtime, || calls.typed()))?;
    row("`Limiter::check`, hashed subject", measure(&runtime, || calls.limiter_hashed()))?;
    Ok(())
}

/// A runtime of this thread, whose allocations are those that are counted.
fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

struct Row {
    ns: u128,
    allocations: u64,
}

fn measure<F: Future<Output = Result<bool>>>(runtime: &Runtime, call: impl Fn() -> F) -> Result<Row> {
    let mut best = u128::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        runtime.block_on(async {
            for _ in 0..CALLS {
                call().await?;
            }
            Ok::<_, limiter_client::Error>(())
        })?;
        best = best.min(start.elapsed().as_nanos());
    }
    Ok(Row { ns: best.div_ceil(CALLS.into()), allocations: allocations(runtime, &call)? })
}

/// Of a call that is not the first: others may set something up.
fn allocations<F: Future<Output = Result<bool>>>(runtime: &Runtime, call: &impl Fn() -> F) -> Result<u64> {
    let mut least = u64::MAX;
    for _ in 0..10 {
        let mut answer = Ok(false);
        let counted = allocation_counter::measure(|| answer = runtime.block_on(call()));
        answer?;
        least = least.min(counted.count_total);
    }
    Ok(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_calls(check: impl FnOnce(&Runtime, &Calls<Ready>) -> Result<()>) {
        let runtime = runtime();
        assert!(runtime.is_ok_and(|runtime| {
            let calls = runtime.block_on(async { Calls::new(Ready) });
            calls.and_then(|calls| check(&runtime, &calls)).is_ok()
        }));
    }

    #[test]
    fn a_typed_call_allocates_no_more_than_a_plain_one() {
        with_calls(|runtime, calls| {
            let plain = allocations(runtime, &|| calls.plain())?;
            assert!(allocations(runtime, &|| calls.typed())? <= plain);
            // A trait object has its future on the heap.
            assert!(allocations(runtime, &|| calls.backend())? <= plain);
            Ok(())
        });
    }

    #[test]
    fn a_key_is_one_allocation() {
        with_calls(|runtime, calls| {
            assert_eq!(allocations(runtime, &|| async { calls.key_shown() })?, 1);
            assert_eq!(allocations(runtime, &|| async { calls.key_hashed() })?, 1);
            Ok(())
        });
    }
}
