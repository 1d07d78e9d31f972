//! A limit that can be made is one that a server accepts, and nothing else can be made.

use std::time::Duration;

use limiter_client::{Charge, Key, Limit, Options, Rate, RateLimit, backend};

use crate::harness::Server;

const DAY: Duration = Duration::from_secs(86_400);
const MS: Duration = Duration::from_millis(1);
const MOST: u64 = 1_000_000_000_000;

#[test]
fn the_ends_of_every_range_are_accepted_by_a_server() {
    let server = Server::start();
    let mut client = server.client();
    let limits = [
        Limit::token_bucket(0, Rate::per(1, 3650 * DAY).unwrap()),
        Limit::token_bucket(MOST, Rate::per(MOST, MS).unwrap()),
        Limit::gcra(1_000, Rate::per(1, 3650 * DAY).unwrap()),
        Limit::fixed(MOST, 3650 * DAY),
        Limit::fixed_aligned(0, MS, Duration::ZERO),
        Limit::sliding_log(1_000_000, MS),
        Limit::sliding_counter(MOST, 3650 * DAY),
    ];
    for (number, limit) in limits.into_iter().enumerate() {
        let limit = limit.unwrap();
        for cost in [0, MOST] {
            let decision = client.connection().rl_decide(format!("k{number}"), &limit, cost, &Options::NONE).unwrap();
            assert_eq!(decision.limit, limit.max());
        }
    }
}

#[test]
fn what_no_server_accepts_cannot_be_made() {
    let second = Duration::from_secs(1);
    assert!(Rate::per(0, second).is_err());
    assert!(Rate::per(MOST + 1, second).is_err());
    let slow = Rate::per(1, 3650 * DAY).unwrap();
    assert!(Limit::token_bucket(1_001, slow).is_err());
    assert!(Limit::gcra(MOST + 1, Rate::per_second(MOST).unwrap()).is_err());
    for length in [Duration::ZERO, Duration::from_micros(1_500), 3650 * DAY + MS, Duration::MAX] {
        assert!(Rate::per(1, length).is_err(), "{length:?}");
        assert!(Limit::fixed(1, length).is_err(), "{length:?}");
        assert!(Limit::sliding_log(1, length).is_err(), "{length:?}");
        assert!(Limit::sliding_counter(1, length).is_err(), "{length:?}");
        assert!(Options::NONE.block(length).is_err(), "{length:?}");
    }
    assert!(Limit::fixed(MOST + 1, second).is_err());
    assert!(Limit::sliding_log(10_000_001, second).is_err());
    assert!(Limit::fixed_aligned(1, second, second).is_err());
    assert!(Options::NONE.reserve(3650 * DAY + MS).is_err());
    assert!(Options::NONE.partial().reserve(second).is_err());
}

#[test]
fn a_wrong_call_is_told_from_a_limit() {
    let window = Limit::fixed(1, DAY).unwrap();
    let log = Limit::sliding_log(1, DAY).unwrap();
    let [a, b] = ["a", "b"].map(Key::raw);
    let plain = Charge::new(window, 1);
    let booked = Options::NONE.reserve(DAY).unwrap();
    let partial = Charge { options: Options::NONE.partial(), ..plain };

    assert!(backend::check_call(&window, MOST, &Options::NONE).is_ok());
    assert!(backend::check_call(&window, MOST + 1, &Options::NONE).is_err());
    assert!(backend::check_call(&window, 1, &booked).is_err());
    // The order of the words does not matter.
    assert!(backend::check_call(&log, 1, &booked.partial()).is_err());
    assert!(backend::check_delta(-(MOST as i64)).is_ok());
    assert!(backend::check_delta(i64::MIN).is_err());

    let keys = |count: usize| (0..count).map(|number| Key::raw(number.to_string())).collect::<Vec<_>>();
    assert!(backend::check_all(&keys(1), &[plain; 32]).is_ok());
    assert!(backend::check_all(&keys(32), &[plain; 32]).is_ok());
    assert!(backend::check_all(&[a.clone(), b.clone()], &[Charge::new(log, 1); 2]).is_ok());
    assert!(backend::check_all(&keys(1), &[]).is_err());
    assert!(backend::check_all(&keys(1), &[plain; 33]).is_err());
    assert!(backend::check_all(&keys(0), &[plain]).is_err());
    assert!(backend::check_all(&keys(2), &[plain; 3]).is_err());
    assert!(backend::check_all(&[a.clone(), b, a], &[plain; 3]).is_err());
    assert!(backend::check_all(&keys(1), &[Charge::new(log, 1); 2]).is_err());
    assert!(backend::check_all(&keys(1), &[plain, partial]).is_err());
}

#[test]
fn a_limit_says_how_much_and_how_long() {
    let bucket = Limit::token_bucket(100, Rate::per(3, Duration::from_secs(1)).unwrap()).unwrap();
    assert_eq!((bucket.max(), bucket.window()), (100, Duration::from_micros(33_333_334)));
    let fixed = Limit::fixed(7, DAY).unwrap();
    assert_eq!((fixed.max(), fixed.window()), (7, DAY));
    assert!(bucket.is_bucket() && !fixed.is_bucket());
}
