//! A client library for redis-cell, as it comes from the registry.

use std::time::Duration;

use redis_cell_rs::{Cmd, Key, Policy, Verdict};

use super::drop_in;
use crate::harness::{S, Server};

fn ask(server: &Server, key: &Key<'_>, policy: &Policy) -> Verdict {
    let mut client = server.client();
    redis::Cmd::from(Cmd::new(key, policy)).query(client.connection()).unwrap()
}

#[test]
fn a_client_library_for_redis_cell_works_unchanged() {
    let server = drop_in();
    let policy = Policy::from_tokens_per_period(30, Duration::from_secs(60)).max_burst(15);
    let key = Key::pair("user", "42");
    for remaining in (0..16).rev() {
        let Verdict::Allowed(details) = ask(&server, &key, &policy) else { panic!("{remaining} are left") };
        assert_eq!((details.total, details.remaining), (16, remaining));
        assert_eq!(details.reset_after, 2 * (16 - remaining as u64));
    }
    let Verdict::Blocked(details) = ask(&server, &key, &policy) else { panic!("nothing is left") };
    assert_eq!((details.total, details.remaining, details.retry_after, details.reset_after), (16, 0, 2, 32));
    server.advance(details.retry_after as i64 * S);
    assert!(matches!(ask(&server, &key, &policy), Verdict::Allowed(_)));

    // As many tokens at once as it may be, and another key.
    let five = policy.apply_tokens(5);
    let Verdict::Blocked(details) = ask(&server, &key, &five) else { panic!("one has just been taken") };
    assert_eq!(details.retry_after, 10);
    // What can never be has no wait, which this library takes for a fault of the reply, redis-cell's too.
    let never = Cmd::new(&key, &policy.apply_tokens(17)).into();
    let reply: Result<Verdict, _> = redis::Cmd::query(&never, server.client().connection());
    assert!(reply.unwrap_err().to_string().contains("retry_after"));
    let Verdict::Allowed(details) = ask(&server, &Key::from("other"), &five) else { panic!("it is new") };
    assert_eq!((details.total, details.remaining, details.reset_after), (16, 11, 10));
}
