//! Tokens in batches: never more than the limit, with a tenth of the trips, and nothing lost.

use std::{sync::atomic::Ordering, time::Duration};

use limiter_client::{Backend, Batched, Error, Key, Limit, Options, Retry, Source};
use tokio::time::{Instant, sleep, timeout};

use crate::{harness::Random, slow::Slow};

const TRIP: Duration = Duration::from_millis(1);

fn key() -> Key {
    Key::raw("k")
}

fn limit(words: &str) -> Limit {
    words.parse().unwrap()
}

/// Calls of several processes for a while, in tokio's time: when what passed, and how many calls there were.
async fn traffic(
    backends: &[Batched],
    limit: Limit,
    gap_us: u64,
    time: Duration,
    costs: u64,
    random: &mut Random,
) -> (Vec<(Duration, u64)>, u64) {
    let start = Instant::now();
    let mut workers = tokio::task::JoinSet::new();
    for backend in backends {
        let backend = backend.clone();
        let mut random = Random::new(random.below(u64::MAX));
        workers.spawn(async move {
            let (mut passed, mut calls, mut skipped) = (Vec::new(), 0_u64, 0_u64);
            while start.elapsed() < time {
                // Now and then nobody calls for a while.
                let pause = if random.one_in(400) { 200 } else { 1 };
                sleep(Duration::from_millis(pause)).await;
                let due = start.elapsed().as_micros() as u64 / gap_us;
                if pause > 1 {
                    skipped = due - calls;
                }
                while calls + skipped < due {
                    let cost = 1 + random.below(costs);
                    calls += 1;
                    let decision = backend.decide(&key(), &limit, cost, Options::NONE).await.unwrap();
                    if decision.allowed {
                        passed.push((start.elapsed(), cost));
                    } else {
                        assert!(matches!(decision.retry_after, Retry::After(wait) if !wait.is_zero()));
                    }
                    assert_eq!(decision.limit, limit.max());
                }
            }
            (passed, calls)
        });
    }
    let (mut passed, mut calls) = (Vec::new(), 0);
    while let Some(worker) = workers.join_next().await {
        let (some, of) = worker.unwrap();
        passed.extend(some);
        calls += of;
    }
    passed.sort();
    (passed, calls)
}

/// The most that passed in any stretch of `window`, or for a bucket beyond what flowed in.
fn assert_never_exceeded(limit: &Limit, passed: &[(Duration, u64)]) {
    let per_us = |time: Duration| time.as_micros() * u128::from(limit.max()) / limit.window().as_micros();
    for (first, (start, _)) in passed.iter().enumerate() {
        let mut sum = 0_u128;
        for (time, cost) in &passed[first..] {
            let stretch = *time - *start;
            if !limit.is_bucket() && stretch >= limit.window() {
                break;
            }
            sum += u128::from(*cost);
            let most = u128::from(limit.max()) + if limit.is_bucket() { per_us(stretch) + 1 } else { 0 };
            assert!(sum <= most, "{limit}: {sum} passed within {stretch:?} from {start:?}, of {most}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_stretch_of_time_sees_more_than_the_limit_from_any_number_of_processes() {
    for (seed, words) in [
        (1, "TOKENBUCKET 100 200/s"),
        (2, "TOKENBUCKET 1000 100/s"),
        (3, "GCRA 60 1000/s"),
        (4, "SLIDINGLOG 300 1s"),
        (5, "SLIDINGLOG 100 400ms"),
    ] {
        let (limit, server) = (limit(words), Slow::new(TRIP));
        let backends: Vec<_> = (0..3).map(|_| Batched::new(server.clone())).collect();
        let (mut random, start) = (Random::new(seed), Instant::now());
        let (mut passed, _) = traffic(&backends, limit, 2_000, Duration::from_secs(3), 3, &mut random).await;
        // They are replaced, and give back what they have.
        let between = Instant::now();
        drop(backends);
        let backends: Vec<_> = (0..3).map(|_| Batched::new(server.clone())).collect();
        let (later, _) = traffic(&backends, limit, 2_000, Duration::from_secs(2), 1, &mut random).await;
        passed.extend(later.into_iter().map(|(time, cost)| (time + (between - start), cost)));
        assert_never_exceeded(&limit, &passed);
        assert!(passed.len() > 150, "{words}: {}", passed.len());
    }
}

#[tokio::test(start_paused = true)]
async fn a_fixed_window_never_gives_more_than_its_limit() {
    let (limit, server) = (limit("FIXED 500 2s"), Slow::new(TRIP));
    let backends: Vec<_> = (0..4).map(|_| Batched::new(server.clone())).collect();
    let mut random = Random::new(7);
    let (passed, _) = traffic(&backends, limit, 1_000, Duration::from_secs(9), 2, &mut random).await;
    // The windows: each opens with the first token after the end of the one before.
    let (mut opened, mut sum) = (Duration::ZERO, 0);
    for (time, cost) in passed {
        if time >= opened + limit.window() {
            (opened, sum) = (time, 0);
        }
        sum += cost;
        assert!(sum <= 500, "{sum} at {time:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hot_key_costs_a_tenth_of_the_round_trips() {
    for (words, gap_us) in [
        // Of two processes: half of what the limit allows, all of it, and three times as much.
        ("TOKENBUCKET 2000 2000/s", 2_000),
        ("TOKENBUCKET 2000 2000/s", 1_000),
        ("TOKENBUCKET 2000 2000/s", 333),
        ("SLIDINGLOG 2000 1s", 1_000),
        ("SLIDINGLOG 2000 1s", 333),
        ("SLIDINGCOUNTER 120000 60s", 333),
        ("FIXED 2000 1s", 333),
    ] {
        let (limit, server) = (limit(words), Slow::new(TRIP));
        let backends: Vec<_> = (0..2).map(|_| Batched::new(server.clone())).collect();
        let time = Duration::from_secs(5);
        let (passed, calls) = traffic(&backends, limit, gap_us, time, 1, &mut Random::new(11)).await;
        let trips = server.trips();
        println!("{words}, a call a {gap_us} us: {calls} calls, {} passed, {trips} trips", passed.len());
        assert!(trips * 10 <= calls, "{words}, {gap_us}: {trips} trips for {calls} calls");
        if matches!(limit.algorithm(), limiter_client::Algorithm::SlidingLog) {
            assert_never_exceeded(&limit, &passed);
        }
        // And next to all that the limit has is used.
        let rate = u64::try_from(u128::from(limit.max()) * time.as_micros() / limit.window().as_micros()).unwrap();
        let most = calls.min(rate);
        // What has died of a log is not given back.
        let part = if words.starts_with("SLIDINGLOG") { 80 } else { 90 };
        assert!(passed.len() as u64 * 100 >= most * part, "{words}, {gap_us}: {} of {most}", passed.len());
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_left_is_given_back_when_it_is_closed_dropped_or_has_died() {
    for words in ["FIXED 1000 1h", "SLIDINGLOG 1000 1h", "TOKENBUCKET 1000 1000/h"] {
        for how in ["closed", "dropped", "died"] {
            if words.starts_with("SLIDINGLOG") && how == "died" {
                // A log is given back to on closing only.
                continue;
            }
            let (limit, server) = (limit(words), Slow::new(TRIP));
            let backend = Batched::new(server.clone());
            let mut passed = 0;
            for _ in 0..200 {
                passed += u64::from(backend.decide(&key(), &limit, 1, Options::NONE).await.unwrap().allowed);
            }
            assert_eq!(passed, 200);
            let held = server.server.check(&key(), &limit, 0).unwrap();
            assert!(held.remaining < 800, "{words}: {}", held.remaining);
            match how {
                "closed" => backend.close().await,
                "dropped" => {
                    drop(backend);
                    sleep(Duration::from_millis(100)).await;
                }
                _ => sleep(Duration::from_secs(5)).await,
            }
            let left = server.server.check(&key(), &limit, 0).unwrap().remaining;
            assert!((795..=801).contains(&left), "{words}, {how}: {left}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_gives_up_at_any_moment_loses_nothing() {
    let (limit, server) = (limit("FIXED 1000 1h"), Slow::new(Duration::from_millis(20)));
    let backend = Batched::new(server.clone());
    let mut passed = 0;
    for wait in 0..100 {
        let key = key();
        let call = backend.decide(&key, &limit, 1, Options::NONE);
        if let Ok(decision) = timeout(Duration::from_millis(wait % 25), call).await {
            passed += u64::from(decision.unwrap().allowed);
        }
    }
    sleep(Duration::from_millis(50)).await;
    backend.close().await;
    let left = server.server.check(&key(), &limit, 0).unwrap().remaining;
    assert_eq!(left, 1_000 - passed);
    assert!(passed > 50);
}

#[tokio::test(start_paused = true)]
async fn callers_that_wait_together_share_the_trip_and_its_error() {
    let (limit, server) = (limit("FIXED 1000 1h"), Slow::new(Duration::from_millis(10)));
    let backend = Batched::new(server.clone());
    server.failures.store(1, Ordering::SeqCst);
    let call = || {
        let backend = backend.clone();
        tokio::spawn(async move { backend.decide(&key(), &limit, 1, Options::NONE).await })
    };
    for call in (0..50).map(|_| call()).collect::<Vec<_>>() {
        assert!(matches!(call.await.unwrap(), Err(Error::NotLoaded)));
    }
    assert_eq!(server.trips(), 1);
    // The next one asks anew.
    let decision = call().await.unwrap().unwrap();
    assert!(decision.allowed);
    assert_eq!(decision.source, Source::Server);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_callers_at_once_get_what_there_is() {
    let (limit, server) = (limit("FIXED 4000 1h"), Slow::new(TRIP));
    let backend = Batched::new(server.clone());
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..10_000 {
        let backend = backend.clone();
        calls.spawn(async move { backend.decide(&key(), &limit, 1, Options::NONE).await.unwrap().allowed });
    }
    let mut passed = 0;
    while let Some(allowed) = calls.join_next().await {
        passed += u64::from(allowed.unwrap());
    }
    assert_eq!(passed, 4_000);
    assert!(server.trips() < 30, "{}", server.trips());
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_remembered_as_long_as_it_lasts_but_not_longer_than_a_life() {
    let (limit, server) = (limit("FIXED 100 1m"), Slow::new(TRIP));
    let backend = Batched::new(server.clone());
    assert!(server.server.check(&key(), &limit, 100).unwrap().allowed);
    for _ in 0..1_000 {
        let decision = backend.decide(&key(), &limit, 1, Options::NONE).await.unwrap();
        assert!(matches!(decision.retry_after, Retry::After(wait) if wait > Duration::from_secs(50)), "{decision:?}");
    }
    assert_eq!(server.trips(), 1);
    // Somebody gives back: that is seen after a second.
    server.server.adjust(&key(), -5, None).await.unwrap();
    sleep(Duration::from_millis(1_100)).await;
    assert!(backend.decide(&key(), &limit, 1, Options::NONE).await.unwrap().allowed);
}

#[tokio::test(start_paused = true)]
async fn keys_that_are_no_longer_called_are_forgotten() {
    let server = Slow::new(TRIP);
    let backend = Batched::new(server.clone());
    for name in 0..100 {
        let key = Key::raw(format!("k{name}"));
        for _ in 0..3 {
            backend.decide(&key, &limit("TOKENBUCKET 100 100/m"), 1, Options::NONE).await.unwrap();
        }
    }
    assert_eq!(format!("{backend:?}"), "Batched(100 keys)");
    sleep(Duration::from_secs(3)).await;
    assert_eq!(format!("{backend:?}"), "Batched(0 keys)");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_use_in_batches_is_asked_call_by_call() {
    let server = Slow::new(TRIP);
    let backend = Batched::new(server.clone());
    for words in ["GCRA 1 10/s", "FIXED 5 1m", "SLIDINGLOG 100 10ms"] {
        let before = server.trips();
        let key = Key::raw(words);
        assert!(backend.decide(&key, &limit(words), 1, Options::NONE).await.unwrap().allowed);
        assert_eq!(server.trips(), before + 1);
        assert_eq!(server.server.check(&key, &limit(words), 0).unwrap().remaining, limit(words).max() - 1);
    }
    let decision = backend.decide(&key(), &limit("FIXED 100 1m"), 101, Options::NONE).await.unwrap();
    assert_eq!(decision.retry_after, Retry::Never);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_further_away_than_tokens_live_still_decides() {
    let (limit, server) = (limit("GCRA 60 1000/s"), Slow::new(Duration::from_millis(40)));
    let backend = Batched::new(server.clone());
    let start = Instant::now();
    assert!(backend.decide(&key(), &limit, 1, Options::NONE).await.unwrap().allowed);
    assert!(start.elapsed() < Duration::from_millis(200));
    // And refuses.
    let empty: Limit = "GCRA 60 1/s".parse().unwrap();
    let key = Key::raw("other");
    server.server.check(&key, &empty, 60).unwrap();
    assert!(!backend.decide(&key, &empty, 1, Options::NONE).await.unwrap().allowed);
}
