//! Ten seconds of traffic through every limiter, on a throw-away server: `make demo`.
//!
//! All five get the same calls. What each lets through, and when, is its character.

mod server;
mod timeline;

use std::{
    error::Error,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use server::Server;
use timeline::{Call, Reply};

/// The limiters on show. Each allows about 5 calls in 2 seconds.
const LIMITERS: [(&str, &str, &str); 5] = [
    ("RL.TOKENBUCKET", "5 5/2s", "a burst of 5, then one each 400 ms"),
    ("RL.GCRA", "1 5/2s", "never two at once: one each 400 ms"),
    ("RL.FIXED", "5 2s", "5 a window, however close to its end; then 5 at once in the next"),
    ("RL.SLIDINGLOG", "5 2s", "never more than 5 in any 2 seconds: each comes back when it is 2 seconds old"),
    ("RL.SLIDINGCOUNTER", "5 2s", "about 5 in any 2 seconds, in constant memory; smooth after a burst"),
];
const TICK: Duration = Duration::from_millis(100);
const TICKS: u32 = 50;

/// How many calls there are at a tick: few, then a burst, then more than any limiter allows.
const fn calls_at(tick: u32) -> u32 {
    match tick {
        0 | 5 | 10 => 1,
        15 => 8,
        16.. => 1,
        _ => 0,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let module = std::env::args().nth(1).ok_or("usage: demo PATH_OF_THE_MODULE")?;
    let server = Server::start(&module)?;
    let mut connection = server.connect()?;

    println!("\nThe same calls to each limiter: one each half second, 8 at once at 1.5 s, then one each 100 ms.\n");
    // The counter's windows are aligned to the clock; begin where one begins.
    let into = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() % 2000;
    thread::sleep(Duration::from_millis(u64::try_from(2000_u128.saturating_sub(into))?));
    let mut calls: Vec<Vec<Call>> = LIMITERS.iter().map(|_| Vec::new()).collect();
    let start = Instant::now();
    for tick in 0..=TICKS {
        thread::sleep(TICK.saturating_mul(tick).saturating_sub(start.elapsed()));
        for _ in 0..calls_at(tick) {
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
    println!("  # allowed   . refused   a digit: so many of the 8 were allowed\n");

    println!("{}", timeline::table_head());
    for ((command, arguments, _), calls) in LIMITERS.iter().zip(&calls) {
        println!("{}", timeline::table_row(&format!("{command} {arguments}"), calls));
    }

    println!("\nThe promise: who waits exactly retry_after is let in.");
    keep_promises(&mut connection)?;
    println!("\ndocs/commands.md has the commands; `make run` starts a server to play with.");
    Ok(())
}

/// One call of cost 1 on the limiter's own key.
fn ask(connection: &mut redis::Connection, command: &str, arguments: &str) -> redis::RedisResult<Reply> {
    let key = command.to_lowercase();
    let (allowed, limit, remaining, retry_after, reset_after) =
        redis::cmd(command).arg(key).arg(arguments.split(' ').collect::<Vec<_>>()).query(connection)?;
    Ok(Reply { allowed, limit, remaining, retry_after, reset_after })
}

/// Calls each limiter until it refuses, waits as long as it is told, and calls again.
fn keep_promises(connection: &mut redis::Connection) -> redis::RedisResult<()> {
    let mut waiting = Vec::new();
    for (command, arguments, _) in LIMITERS {
        let wait = loop {
            let reply = ask(connection, command, arguments)?;
            if !reply.allowed {
                break Duration::from_millis(reply.retry_after.unsigned_abs());
            }
        };
        waiting.push((wait, Instant::now(), command, arguments));
    }
    waiting.sort();
    for (wait, refused, command, arguments) in waiting {
        thread::sleep(wait.saturating_sub(refused.elapsed()));
        let verdict = if ask(connection, command, arguments)?.allowed { "allowed" } else { "refused?!" };
        println!("  {command:<18} refused, retry_after {:>4} ms ... waited, {verdict}", wait.as_millis());
    }
    Ok(())
}
