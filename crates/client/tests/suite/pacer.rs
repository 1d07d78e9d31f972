//! Who waits its turn: exactly as long as was booked, and whoever leaves gives its place back.

use std::{collections::VecDeque, time::Duration};

use futures_util::{StreamExt as _, stream};
use limiter_client::{
    Error, FailurePolicy, Key, Limit, Limiter, Pacer, Source, Subject,
    testing::{Answer, Scripted},
};
use tokio::time::{Instant, timeout};

use crate::{policy::key_space, slow::Slow};

const SECOND: Duration = Duration::from_secs(1);

fn limiter(server: &Slow) -> Limiter {
    let limit: Limit = "GCRA 1 1/s".parse().unwrap();
    let builder = Limiter::builder("mails").limit(limit).key_space(key_space());
    builder.on_failure(FailurePolicy::Closed).build(server.clone()).unwrap()
}

fn pacer(server: &Slow, max_wait: Duration) -> Pacer {
    Pacer::new(limiter(server), max_wait).unwrap()
}

fn host() -> Subject<'static> {
    Subject::constant("host", "smtp")
}

/// What is booked, in tokens: beyond 1, ahead.
fn booked(server: &Slow) -> Duration {
    let limit: Limit = "GCRA 1 1/s".parse().unwrap();
    server.server.check(&Key::raw("rl:test:suite:mails:host:smtp"), &limit, 0).unwrap().reset_after
}

#[tokio::test(start_paused = true)]
async fn callers_wait_for_as_long_as_they_booked_and_in_their_order() {
    let server = Slow::new(Duration::from_millis(10));
    let pacer = pacer(&server, 10 * SECOND);
    let start = Instant::now();
    let mut calls = VecDeque::new();
    for _ in 0..5 {
        let pacer = pacer.clone();
        calls.push_back(tokio::spawn(async move {
            assert!(pacer.pace(&host(), 1).await.unwrap().allowed);
            start.elapsed()
        }));
        tokio::task::yield_now().await;
    }
    for turn in 0..5 {
        let waited = calls.pop_front().unwrap().await.unwrap();
        let least = SECOND * turn + Duration::from_millis(5);
        assert!((least..least + Duration::from_millis(12)).contains(&waited), "{turn}: {waited:?}");
    }
    assert_eq!(server.trips(), 5);
}

#[tokio::test(start_paused = true)]
async fn who_would_wait_too_long_is_refused_and_told_when() {
    let server = Slow::new(Duration::ZERO);
    let pacer = pacer(&server, SECOND);
    assert!(pacer.pace(&host(), 1).await.unwrap().allowed);
    let waiting = tokio::spawn({
        let pacer = pacer.clone();
        async move { pacer.pace(&host(), 1).await.unwrap() }
    });
    tokio::time::sleep(SECOND / 10).await;
    let refused = pacer.pace(&host(), 1).await.unwrap();
    assert!(!refused.allowed);
    let start = Instant::now();
    // Patiently: until there is a booking, and then until it has come.
    assert!(pacer.pace_patiently(&host(), 1).await.unwrap().allowed);
    assert!(start.elapsed() >= SECOND * 19 / 10 - Duration::from_millis(5), "{:?}", start.elapsed());
    assert!(waiting.await.unwrap().allowed);
    assert!(!pacer.pace_patiently(&host(), 2).await.unwrap().allowed);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_dropped_at_any_moment_gives_its_booking_back() {
    for moment in 0..60 {
        let server = Slow::new(Duration::from_millis(20));
        let pacer = pacer(&server, 10 * SECOND);
        assert!(pacer.pace(&host(), 1).await.unwrap().allowed);
        let dropped = timeout(Duration::from_millis(moment), pacer.pace(&host(), 1)).await;
        assert!(dropped.is_err());
        tokio::time::sleep(Duration::from_millis(100)).await;
        let booked = booked(&server);
        assert!(booked <= SECOND, "dropped after {moment} ms: {booked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_over_keeps_what_it_booked() {
    let server = Slow::new(Duration::ZERO);
    let pacer = pacer(&server, 10 * SECOND);
    for _ in 0..3 {
        pacer.pace(&host(), 1).await.unwrap();
    }
    assert_eq!(server.trips(), 3);
    assert!(booked(&server) > SECOND * 9 / 10);
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_slowed_down_and_loses_nothing() {
    let server = Slow::new(Duration::ZERO);
    let pacer = pacer(&server, SECOND);
    let start = Instant::now();
    let paced = pacer.stream_of(stream::iter(0..5), &host()).unwrap();
    let items: Vec<(i32, Duration)> = paced.map(|item| (item.unwrap(), start.elapsed())).collect().await;
    for (turn, (item, time)) in items.iter().enumerate() {
        assert_eq!(*item as usize, turn);
        let least = SECOND * turn as u32;
        assert!((least..least + SECOND / 50).contains(time), "{item}: {time:?}");
    }
    assert_eq!(items.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_dropped_gives_the_booking_of_the_item_it_holds_back() {
    let server = Slow::new(Duration::ZERO);
    let pacer = pacer(&server, 10 * SECOND);
    let mut paced = pacer.stream_of(stream::iter(0..5), &host()).unwrap();
    paced.next().await.unwrap().unwrap();
    assert!(timeout(SECOND / 2, paced.next()).await.is_err());
    // A poll that was dropped has lost nothing.
    assert_eq!(paced.next().await.unwrap().unwrap(), 1);
    assert!(timeout(SECOND / 2, paced.next()).await.is_err());
    drop(paced);
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert!(booked(&server) <= SECOND);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_can_never_go_is_handed_over_with_the_reason() {
    let server = Slow::new(Duration::ZERO);
    let pacer = pacer(&server, SECOND);
    let limiter = pacer.limiter().clone();
    let mut paced = pacer.stream(stream::iter(["fine", "", "large"]), move |item: &&str| {
        let cost = if *item == "large" { 2 } else { 1 };
        Ok((limiter.key(&Subject::hashed("name", *item))?, cost))
    });
    assert_eq!(paced.next().await.unwrap().unwrap(), "fine");
    let unnamed = paced.next().await.unwrap().unwrap_err();
    assert!(matches!((unnamed.item, unnamed.error), ("", Some(Error::Argument(_)))));
    let large = paced.next().await.unwrap().unwrap_err();
    assert!(matches!((large.item, large.error), ("large", None)));
    assert!(paced.next().await.is_none());
    assert!(paced.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn without_a_server_the_policy_decides() {
    let build = |policy| {
        let limiter = Limiter::builder("mails").limit("GCRA 1 1/s".parse().unwrap()).key_space(key_space());
        let limiter = limiter.on_failure(policy).build(Scripted::always(Answer::Error(Error::NotLoaded))).unwrap();
        Pacer::new(limiter, 10 * SECOND).unwrap()
    };
    let start = Instant::now();
    let open = build(FailurePolicy::Open);
    for _ in 0..10 {
        assert_eq!(open.pace(&host(), 1).await.unwrap().source, Source::Open);
    }
    assert!(start.elapsed() < SECOND / 10);
    assert!(!build(FailurePolicy::Closed).pace(&host(), 1).await.unwrap().allowed);
    let local = build(FailurePolicy::local(std::num::NonZeroU32::MIN));
    for _ in 0..3 {
        assert_eq!(local.pace(&host(), 1).await.unwrap().source, Source::Local);
    }
    assert!(start.elapsed() >= 2 * SECOND);
    // Dropped, a local booking is given back as well.
    assert!(timeout(SECOND / 10, local.pace(&host(), 1)).await.is_err());
    tokio::time::sleep(SECOND).await;
    let start = Instant::now();
    local.pace(&host(), 1).await.unwrap();
    assert!(start.elapsed() < SECOND / 10, "{:?}", start.elapsed());
}

#[test]
fn a_window_cannot_be_paced() {
    let limiter = Limiter::builder("mails").limit("FIXED 1 1s".parse().unwrap()).key_space(key_space());
    let limiter = limiter.on_failure(FailurePolicy::Open).build(Scripted::always(Answer::Silence)).unwrap();
    assert_eq!(Pacer::new(limiter, SECOND).unwrap_err().argument(), "options");
}
