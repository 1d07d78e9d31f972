//! Ten seconds of traffic through every limiter, on a throw-away server: `make demo`.
//!
//! All five get the same calls: a burst, then a steady trickle that is faster than they allow. What
//! each lets through, and when, is its character.

mod server;
mod timeline;

use std::{
    error::Error,
    thread,
    time::{Duration, Instant},
};

use server::Server;
use timeline::{Call, Reply};

/// The limiters on show. Each allows about 5 calls in 2 seconds.
const LIMITERS: [(&str, &str, &str); 5] = [
    ("RL.TOKENBUCKET", "5 5/2s", "a burst of 5, then one each 400 ms"),
    ("RL.GCRA", "1 5/2s", "no burst: evenly spaced, one each 400 ms"),
    ("RL.FIXED", "5 2s", "5, then none until the window ends"),
    ("RL.SLIDINGLOG", "5 2s", "exactly 5 in any 2 seconds"),
    ("RL.SLIDINGCOUNTER", "5 2s", "about 5 in any 2 seconds, in constant memory"),
];
/// Calls at once at the start, and then one a tick.
const BURST: u32 = 8;
const TICKS: u32 = 40;
const TICK: Duration = Duration::from_millis(100);

fn main() -> Result<(), Box<dyn Error>> {
    let module = std::env::args().nth(1).ok_or("usage: demo PATH_OF_THE_MODULE")?;
    let server = Server::start(&module)?;
    let mut connection = server.connect()?;

    println!(
        "\nEach limiter gets the same calls: {BURST} at once, then one every {} ms for {} seconds.\n",
        TICK.as_millis(),
        TICK.as_millis().saturating_mul(u128::from(TICKS)) / 1000
    );
    let mut calls: Vec<Vec<Call>> = LIMITERS.iter().map(|_| Vec::new()).collect();
    let start = Instant::now();
    for tick in 0..=TICKS {
        thread::sleep(TICK.saturating_mul(tick).saturating_sub(start.elapsed()));
        for _ in 0..if tick == 0 { BURST } else { 1 } {
            for ((command, arguments, _), calls) in LIMITERS.iter().zip(&mut calls) {
                calls.push(Call { tick, reply: ask(&mut connection, command, arguments)? });
            }
        }
        timeline::progress(tick, TICKS);
    }

    println!("{}", timeline::ruler(TICK, TICKS));
    for ((command, arguments, character), calls) in LIMITERS.iter().zip(&calls) {
        println!("{}", timeline::row(&format!("{command} {arguments}"), calls, TICKS));
        println!("{}", timeline::note(character));
    }
    println!("  # allowed   . refused   (digits: how many of the burst were allowed)\n");

    println!("{}", timeline::table_head());
    for ((command, arguments, _), calls) in LIMITERS.iter().zip(&calls) {
        println!("{}", timeline::table_row(&format!("{command} {arguments}"), calls));
    }

    println!("\nThe promise: who waits exactly retry_after is let in.");
    for (command, arguments, _) in LIMITERS {
        println!("{}", keep_promise(&mut connection, command, arguments)?);
    }
    println!("\nThe commands: docs/commands.md. A server to play with: make run.");
    Ok(())
}

/// One call of cost 1 on the limiter's own key.
fn ask(connection: &mut redis::Connection, command: &str, arguments: &str) -> redis::RedisResult<Reply> {
    let key = command.to_lowercase();
    let (allowed, limit, remaining, retry_after, reset_after) =
        redis::cmd(command).arg(key).arg(arguments.split(' ').collect::<Vec<_>>()).query(connection)?;
    Ok(Reply { allowed, limit, remaining, retry_after, reset_after })
}

/// Calls until refused, waits as long as it is told, and calls again.
fn keep_promise(connection: &mut redis::Connection, command: &str, arguments: &str) -> redis::RedisResult<String> {
    let refused = loop {
        let reply = ask(connection, command, arguments)?;
        if !reply.allowed {
            break reply;
        }
    };
    thread::sleep(Duration::from_millis(refused.retry_after.unsigned_abs()));
    let verdict = if ask(connection, command, arguments)?.allowed { "allowed" } else { "refused?!" };
    Ok(format!("  {command:<18} refused, retry_after {:>4} ms ... waited, {verdict}", refused.retry_after))
}
