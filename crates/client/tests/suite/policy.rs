//! What a limiter does when the server is slow, wrong or gone: a scripted one, in tokio's time.

use std::{
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use limiter_client::{
    Breaker, BreakerSettings, Decision, Error, FailurePolicy, KeySpace, Limit, Limiter, Options, Retry, Secret, Source,
    Subject,
    testing::{Answer, Scripted},
};
use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);

pub fn key_space() -> KeySpace {
    KeySpace::new("test", "suite", &Secret::new("a secret of the tests").unwrap()).unwrap()
}

fn limit() -> Limit {
    Limit::fixed(10, MINUTE).unwrap()
}

fn yes() -> Answer {
    Answer::Decision(Decision::allowed(10, 9, MINUTE))
}

fn limiter(policy: FailurePolicy, backend: &Scripted) -> Limiter {
    let builder = Limiter::builder("orders").limit(limit()).key_space(key_space());
    builder.on_failure(policy).build(backend.clone()).unwrap()
}

fn user() -> Subject<'static> {
    Subject::safe("user", &42_u32)
}

async fn check(limiter: &Limiter) -> Decision {
    limiter.check(&user(), 1).await.unwrap()
}

/// A backend that answers while it is up.
fn switched() -> (Arc<AtomicBool>, Scripted) {
    let up = Arc::new(AtomicBool::new(true));
    let seen = up.clone();
    let backend = Scripted::new(move |_| if seen.load(Ordering::SeqCst) { yes() } else { Answer::Silence });
    (up, backend)
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_time_is_the_servers() {
    let backend = Scripted::always(yes().after(Duration::from_millis(49)));
    let decision = check(&limiter(FailurePolicy::Closed, &backend)).await;
    assert_eq!(decision, Decision::allowed(10, 9, MINUTE));
    assert_eq!(decision.source, Source::Server);
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_costs_the_timeout_and_is_not_asked_twice() {
    for (policy, source, allowed) in [
        (FailurePolicy::Open, Source::Open, true),
        (FailurePolicy::Closed, Source::Closed, false),
        (FailurePolicy::local(NonZeroU32::MIN), Source::Local, true),
    ] {
        let backend = Scripted::always(Answer::Silence);
        let limiter = limiter(policy, &backend);
        let start = Instant::now();
        let decision = check(&limiter).await;
        assert_eq!((decision.source, decision.allowed), (source, allowed));
        // Tokio's timers are as fine as a millisecond.
        assert!(start.elapsed() <= Duration::from_millis(51), "{:?}", start.elapsed());
        assert_eq!(backend.asked().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn every_error_of_the_server_is_answered_by_the_policy() {
    let redis = |kind: redis::ErrorKind| Error::from(redis::RedisError::from((kind, "no")));
    for error in [
        Error::NotLoaded,
        Error::Unexpected("?".into()),
        redis(redis::ErrorKind::Io),
        redis(redis::ServerErrorKind::ReadOnly.into()),
    ] {
        let limiter = limiter(FailurePolicy::Closed, &Scripted::always(Answer::Error(error)));
        let decision = check(&limiter).await;
        assert_eq!(decision.source, Source::Closed);
        assert_eq!(decision.retry_after, Retry::After(Duration::from_millis(100)));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_the_callers_own_fault_is_an_error_and_says_nothing_of_the_server() {
    let backend = Scripted::always(Answer::Error(Error::CrossSlot));
    let limiter = limiter(FailurePolicy::Open, &backend);
    for _ in 0..20 {
        assert!(matches!(limiter.check(&user(), 1).await, Err(Error::CrossSlot)));
    }
    assert!(matches!(limiter.check(&user(), u64::MAX).await, Err(Error::Argument(_))));
    assert!(matches!(limiter.check(&Subject::hashed("user", ""), 1).await, Err(Error::Argument(_))));
    let booked = Options::NONE.reserve(MINUTE).unwrap();
    assert!(matches!(limiter.check_with(&user(), 1, booked).await, Err(Error::Argument(_))));
    assert!(!limiter.breaker().is_open());
    assert_eq!(backend.asked().len(), 20);
}

#[tokio::test(start_paused = true)]
async fn after_five_timeouts_a_dead_server_costs_nothing() {
    let backend = Scripted::always(Answer::Silence);
    let limiter = limiter(FailurePolicy::Open, &backend);
    for _ in 0..5 {
        assert!(!limiter.breaker().is_open());
        check(&limiter).await;
    }
    assert!(limiter.breaker().is_open());
    let start = Instant::now();
    for _ in 0..1_000 {
        assert_eq!(check(&limiter).await.source, Source::Open);
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(backend.asked().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn one_probe_at_a_time_finds_out_that_the_server_is_back() {
    let (up, backend) = switched();
    up.store(false, Ordering::SeqCst);
    let limiter = limiter(FailurePolicy::Open, &backend);
    for _ in 0..5 {
        check(&limiter).await;
    }
    tokio::time::sleep(PAUSE).await;
    // The probe is under way, and everybody else is turned away.
    let probe = tokio::spawn({
        let limiter = limiter.clone();
        async move { check(&limiter).await }
    });
    tokio::task::yield_now().await;
    for _ in 0..100 {
        assert_eq!(check(&limiter).await.source, Source::Open);
    }
    assert_eq!(backend.asked().len(), 6);
    assert_eq!(probe.await.unwrap().source, Source::Open);

    // It failed, so that the pause is twice as long.
    up.store(true, Ordering::SeqCst);
    tokio::time::sleep(PAUSE).await;
    assert_eq!(check(&limiter).await.source, Source::Open);
    assert_eq!(backend.asked().len(), 6);
    tokio::time::sleep(PAUSE).await;
    assert_eq!(check(&limiter).await.source, Source::Server);
    assert!(!limiter.breaker().is_open());
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_dropped_gives_its_place_to_the_next_call() {
    let (up, backend) = switched();
    up.store(false, Ordering::SeqCst);
    let limiter = limiter(FailurePolicy::Open, &backend);
    for _ in 0..5 {
        check(&limiter).await;
    }
    tokio::time::sleep(PAUSE).await;
    let dropped = tokio::time::timeout(Duration::from_millis(1), check(&limiter)).await;
    assert!(dropped.is_err());
    up.store(true, Ordering::SeqCst);
    assert_eq!(check(&limiter).await.source, Source::Server);
}

#[tokio::test(start_paused = true)]
async fn pauses_grow_to_their_longest_and_start_short_again() {
    let (up, backend) = switched();
    let settings = BreakerSettings { failures: 1, pause: PAUSE, pause_max: 4 * PAUSE };
    let limiter = Limiter::builder("orders").limit(limit()).key_space(key_space()).breaker(Breaker::new(settings));
    let limiter = limiter.timeout(Duration::from_millis(1)).on_failure(FailurePolicy::Open);
    let limiter = limiter.build(backend.clone()).unwrap();
    for _ in 0..2 {
        up.store(false, Ordering::SeqCst);
        let (before, start) = (backend.asked().len(), Instant::now());
        while start.elapsed() < 50 * PAUSE {
            check(&limiter).await;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // At once, after 1, 2 and 4 pauses, and every 4 from then on; each up to a fifth shorter.
        let probes = backend.asked().len() - before;
        assert!((13..=19).contains(&probes), "{probes}");
        up.store(true, Ordering::SeqCst);
        tokio::time::sleep(4 * PAUSE).await;
        assert_eq!(check(&limiter).await.source, Source::Server);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_now_and_then_is_asked_on() {
    let mut calls = 0;
    let backend = Scripted::new(move |_| {
        calls += 1;
        if calls % 3 == 0 { Answer::Error(Error::NotLoaded) } else { yes() }
    });
    let limiter = limiter(FailurePolicy::Open, &backend);
    for _ in 0..300 {
        check(&limiter).await;
    }
    assert_eq!(backend.asked().len(), 300);
}

#[tokio::test(start_paused = true)]
async fn a_late_failure_of_before_says_nothing_of_now() {
    let mut calls = 0;
    let backend = Scripted::new(move |_| {
        calls += 1;
        match calls {
            1..=20 => Answer::Error(Error::NotLoaded).after(Duration::from_millis(500)),
            21..=25 => Answer::Error(Error::NotLoaded),
            _ => yes(),
        }
    });
    let limiter = Limiter::builder("orders").limit(limit()).key_space(key_space()).timeout(MINUTE);
    let limiter = limiter.on_failure(FailurePolicy::Open).build(backend).unwrap();
    let slow: Vec<_> = (0..20)
        .map(|_| {
            let limiter = limiter.clone();
            tokio::spawn(async move { check(&limiter).await })
        })
        .collect();
    tokio::task::yield_now().await;
    for _ in 0..5 {
        check(&limiter).await;
    }
    tokio::time::sleep(PAUSE).await;
    assert_eq!(check(&limiter).await.source, Source::Server);
    for slow in slow {
        assert_eq!(slow.await.unwrap().source, Source::Open);
    }
    assert!(!limiter.breaker().is_open());
}

#[tokio::test(start_paused = true)]
async fn a_local_share_is_the_limit_divided_and_is_kept() {
    let limiter = limiter(FailurePolicy::local(NonZeroU32::new(5).unwrap()), &Scripted::always(Answer::Silence));
    let mut verdicts = Vec::new();
    for _ in 0..4 {
        let decision = check(&limiter).await;
        assert_eq!((decision.source, decision.limit), (Source::Local, 2));
        verdicts.push(decision.allowed);
    }
    assert_eq!(verdicts, [true, true, false, false]);
    // Another subject has a share of its own.
    assert!(limiter.check(&Subject::safe("user", &43_u32), 1).await.unwrap().allowed);
    tokio::time::sleep(MINUTE).await;
    assert!(check(&limiter).await.allowed);
}

#[tokio::test(start_paused = true)]
async fn a_share_can_be_a_limit_of_its_own() {
    let own = Limit::fixed(1, MINUTE).unwrap();
    let limiter = limiter(FailurePolicy::local_limit(own), &Scripted::always(Answer::Silence));
    assert!(check(&limiter).await.allowed);
    assert!(!check(&limiter).await.allowed);
}

#[tokio::test(start_paused = true)]
async fn options_are_answered_by_every_policy() {
    let bucket = Limit::token_bucket(10, "1".parse().unwrap()).unwrap();
    let booked = Options::NONE.reserve(MINUTE).unwrap();
    for (policy, granted, wait) in [
        (FailurePolicy::Open, 20, Duration::ZERO),
        (FailurePolicy::Closed, 0, Duration::ZERO),
        (FailurePolicy::local(NonZeroU32::MIN), 10, Duration::from_secs(8)),
    ] {
        let backend = Scripted::always(Answer::Silence);
        let limiter = Limiter::builder("orders").limit(bucket).key_space(key_space());
        let limiter = limiter.on_failure(policy).build(backend).unwrap();
        let partial = limiter.check_with(&user(), 20, Options::NONE.partial()).await.unwrap();
        assert_eq!(partial.granted, Some(granted));
        let reserved = limiter.check_with(&user(), 8, booked).await.unwrap();
        let slack = Duration::from_millis(60);
        assert!(reserved.wait.is_some_and(|told| told <= wait && told + slack >= wait), "{:?}", reserved.wait);
    }
}

#[tokio::test(start_paused = true)]
async fn an_adjustment_that_gets_no_answer_changes_nothing() {
    let limiter = limiter(FailurePolicy::Open, &Scripted::always(Answer::Silence));
    assert_eq!(limiter.adjust(&user(), -1).await.unwrap(), None);
    assert!(matches!(limiter.adjust(&user(), i64::MIN).await, Err(Error::Argument(_))));
}

#[test]
fn a_limiter_needs_a_limit_a_key_space_and_plain_names() {
    let backend = Scripted::always(Answer::Silence);
    let wrong =
        |builder: limiter_client::LimiterBuilder<FailurePolicy>| builder.build(backend.clone()).unwrap_err().argument();
    let named = |name: &str| Limiter::builder(name).on_failure(FailurePolicy::Open);
    assert_eq!(wrong(named("orders").key_space(key_space())), "limit");
    assert_eq!(wrong(named("orders").limit(limit())), "key_space");
    assert_eq!(wrong(named("ada@example.org").limit(limit()).key_space(key_space())), "limit");
    assert_eq!(wrong(named("orders").limit(limit()).key_space(key_space()).action("a b")), "action");
    let booked = Options::NONE.reserve(MINUTE).unwrap();
    assert_eq!(wrong(named("orders").limit(limit()).key_space(key_space()).options(booked)), "options");
}
