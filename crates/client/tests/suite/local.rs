//! What is decided in this process: alone, as a guard, and several limits at once.

use std::{num::NonZeroU32, time::Duration};

use limiter_client::{
    Backend, Charge, Decision, Error, FailurePolicy, Guarded, Key, Limit, Limiter, Limiters, Local, LocalShare,
    Options, Retry, Source, Subject,
    testing::{Answer, Asked, Scripted},
};

use crate::policy::key_space;

const MINUTE: Duration = Duration::from_secs(60);

fn limit(words: &str) -> Limit {
    words.parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn every_algorithm_decides_as_the_server_does() {
    for (words, wait) in [
        ("TOKENBUCKET 2 2/m", 30),
        ("GCRA 2 2/m", 30),
        ("FIXED 2 60s", 60),
        ("SLIDINGLOG 2 60s", 60),
        // The end of a window depends on what time it is.
        ("SLIDINGCOUNTER 2 60s", 0),
    ] {
        let (local, limit, key) = (Local::new(), limit(words), Key::raw("k"));
        assert_eq!(local.check(&key, &limit, 2).unwrap().remaining, 0, "{words}");
        let refused = local.check(&key, &limit, 1).unwrap();
        let Retry::After(told) = refused.retry_after else { panic!("{words}: {refused:?}") };
        if wait > 0 {
            assert_eq!(told, Duration::from_secs(wait), "{words}");
        }
        tokio::time::sleep(told - Duration::from_millis(2)).await;
        assert!(!local.check(&key, &limit, 1).unwrap().allowed, "{words}");
        tokio::time::sleep(Duration::from_millis(3)).await;
        assert!(local.check(&key, &limit, 1).unwrap().allowed, "{words}");
        assert_eq!(local.check(&key, &limit, 3).unwrap().retry_after, Retry::Never);
    }
}

#[tokio::test(start_paused = true)]
async fn options_and_adjustments_are_the_servers() {
    let (local, bucket, key) = (Local::new(), limit("TOKENBUCKET 10 1/s"), Key::raw("k"));
    let ask = |cost, options| local.decide(&key, &bucket, cost, options);
    assert_eq!(ask(15, Options::NONE.partial()).await.unwrap().granted, Some(10));
    let booked = Options::NONE.reserve(MINUTE).unwrap();
    assert_eq!(ask(5, booked).await.unwrap().wait, Some(Duration::from_secs(5)));
    assert_eq!(local.adjust(&key, -5, None).await.unwrap().unwrap().remaining, 0);
    assert_eq!(local.adjust(&key, -4, None).await.unwrap().unwrap().remaining, 4);
    assert_eq!(local.adjust(&Key::raw("other"), -4, None).await.unwrap(), None);

    let (log, guard) = (limit("SLIDINGLOG 2 60s"), Options::NONE.strict().block(2 * MINUTE).unwrap());
    let key = Key::raw("log");
    let mut verdicts = Vec::new();
    for _ in 0..4 {
        let decision = local.decide(&key, &log, 1, guard).await.unwrap();
        verdicts.push(decision.retry_after);
        tokio::time::sleep(Duration::from_secs(50)).await;
    }
    // The third one is too much only as long as the first counts; the fourth meets nothing new.
    assert_eq!(verdicts[..2], [Retry::Now, Retry::Now]);
    let other = local.check(&key, &limit("FIXED 2 60s"), 1);
    assert!(matches!(other, Err(Error::WrongType(_))), "{other:?}");
}

#[tokio::test(start_paused = true)]
async fn memory_is_bounded_and_what_has_expired_goes_first() {
    let local = Local::with_keys(160);
    let (short, long) = (limit("FIXED 1 100ms"), limit("FIXED 1 1h"));
    let key = |name: u32| Key::raw(format!("k{name}"));
    for name in 0..80 {
        assert!(local.check(&key(name), &long, 1).unwrap().allowed);
    }
    let mut evicted = 0;
    for name in 1_000..11_000 {
        assert!(local.check(&key(name), &short, 1).unwrap().allowed);
        assert!(local.keys() <= 160);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    for name in 0..80 {
        evicted += u32::from(local.check(&key(name), &long, 0).unwrap().remaining > 0);
    }
    // Those that are soon to expire have given way to each other.
    assert!(evicted < 8, "{evicted}");
    // Where everything lasts, something has to give way all the same.
    for name in 20_000..21_000 {
        assert!(local.check(&key(name), &long, 1).unwrap().allowed);
        assert!(local.keys() <= 160);
    }
}

#[tokio::test(start_paused = true)]
async fn several_limits_are_charged_all_or_none() {
    let local = Local::new();
    let keys = [Key::raw("tenant"), Key::raw("all")];
    let charges = [Charge::new(limit("FIXED 2 60s"), 1), Charge::new(limit("FIXED 3 60s"), 2)];
    assert!(local.decide_all(&keys, &charges).await.unwrap().allowed());
    let refused = local.decide_all(&keys, &charges).await.unwrap();
    assert_eq!((refused.allowed(), refused.binding, refused.each[0].allowed), (false, 1, true));
    assert_eq!(local.check(&keys[0], &charges[0].limit, 0).unwrap().remaining, 1);

    // In one key.
    let key = [Key::raw("one")];
    assert!(local.decide_all(&key, &charges).await.unwrap().allowed());
    assert_eq!(local.decide_all(&key, &charges).await.unwrap().binding, 1);
    assert_eq!(local.adjust(&key[0], -2, Some(1)).await.unwrap().unwrap().remaining, 3);
    assert!(local.decide_all(&key, &charges).await.unwrap().allowed());
}

#[test]
fn a_share_is_a_part_of_the_limit_and_keeps_its_rate_exactly() {
    let share = LocalShare::of(NonZeroU32::new(3).unwrap());
    for (whole, part) in [
        ("TOKENBUCKET 100 10/s", "TOKENBUCKET 33 10/3s"),
        ("GCRA 1 1/m", "GCRA 1 1/3m"),
        ("FIXED 1000 1d ALIGNED 22h", "FIXED 333 1d ALIGNED 22h"),
        ("SLIDINGLOG 2 1s", "SLIDINGLOG 1 1s"),
        ("SLIDINGCOUNTER 0 1s", "SLIDINGCOUNTER 0 1s"),
        // A period so long cannot be thrice as long.
        ("TOKENBUCKET 100 100/3000d", "TOKENBUCKET 33 33/3000d"),
    ] {
        assert_eq!(share.share(&limit(whole)), limit(part), "{whole}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_guard_sheds_what_the_server_never_hears_of() {
    let server = Scripted::always(Answer::Decision(Decision::allowed(100, 99, MINUTE)));
    let backend = Guarded::new(server.clone(), limit("TOKENBUCKET 10 10/s"));
    let limiter = Limiter::builder("orders").limit(limit("FIXED 100 1m")).key_space(key_space());
    let limiter = limiter.on_failure(FailurePolicy::Closed).build(backend).unwrap();
    let user = |number: &u32| limiter.key(&Subject::safe("user", number)).map(|_| ());
    user(&1).unwrap();
    let mut shed = 0;
    for _ in 0..1_000 {
        let decision = limiter.check(&Subject::safe("user", &1_u32), 1).await.unwrap();
        assert_eq!(decision.source, if decision.allowed { Source::Server } else { Source::Memory });
        shed += u32::from(!decision.allowed);
    }
    assert_eq!((server.asked().len(), shed), (10, 990));
    // Other keys have guards of their own, and a large cost takes all that the guard has.
    assert!(limiter.check(&Subject::safe("user", &2_u32), 50).await.unwrap().allowed);
    let refused = limiter.check(&Subject::safe("user", &2_u32), 50).await.unwrap();
    assert_eq!(refused.retry_after, Retry::After(Duration::from_secs(1)));
}

fn limiters(policies: [FailurePolicy; 2], backend: &Scripted) -> Limiters {
    let [tenant, all] = policies;
    let build = |name: &str, limit: &str, policy| {
        let builder = Limiter::builder(name).limit(limit.parse().unwrap()).key_space(key_space());
        builder.on_failure(policy).build(backend.clone()).unwrap()
    };
    Limiters::new([build("tenant", "FIXED 4 1m", tenant), build("all", "FIXED 2 1m", all)]).unwrap()
}

#[tokio::test(start_paused = true)]
async fn limiters_are_asked_in_one_trip_and_tell_which_one_refused() {
    let yes = Decision::allowed(4, 3, MINUTE);
    let no = Decision::refused(2, 0, Retry::After(MINUTE), MINUTE);
    let refused = limiter_client::AllDecision::new(no, 1, vec![yes, no]);
    let backend = Scripted::in_turn([Answer::Decision(yes), Answer::All(refused)]);
    let limiters = limiters([FailurePolicy::Open, FailurePolicy::Open], &backend);
    let asked = [(Subject::safe("tenant", &7_u32), 1), (Subject::constant("scope", "all"), 2)];
    assert!(limiters.check_all(&asked).await.unwrap().allowed());
    let decision = limiters.check_all(&asked).await.unwrap();
    assert_eq!(limiters.name(decision.binding), Some("all"));
    let Asked::DecideAll(keys, charges) = &backend.asked()[0] else { panic!("{backend:?}") };
    assert_eq!(keys[0].to_string(), "rl:test:suite:tenant:tenant:7");
    assert_eq!(charges[1].cost, 2);
    assert_eq!(backend.asked().len(), 2);
    assert!(matches!(limiters.check_all(&asked[..1]).await, Err(Error::Argument(_))));
}

#[tokio::test(start_paused = true)]
async fn limiters_fall_back_each_by_its_own_policy() {
    use FailurePolicy::{Closed, Open};
    let local = || FailurePolicy::local(NonZeroU32::MIN);
    // With two calls of cost 1 and 2: what is decided, by whom, and which limit binds.
    for (policies, verdicts, source, binding) in [
        ([Open, Open], [true, true], Source::Open, 0),
        ([Open, Closed], [false, false], Source::Closed, 1),
        ([Closed, Open], [false, false], Source::Closed, 0),
        ([Open, local()], [true, false], Source::Local, 1),
        ([local(), local()], [true, false], Source::Local, 1),
        ([local(), Closed], [false, false], Source::Closed, 1),
    ] {
        let limiters = limiters(policies.clone(), &Scripted::always(Answer::Silence));
        for allowed in verdicts {
            let asked = [(Subject::safe("tenant", &7_u32), 1), (Subject::constant("scope", "all"), 2)];
            let decision = limiters.check_all(&asked).await.unwrap();
            assert_eq!((decision.allowed(), decision.whole.source), (allowed, source), "{policies:?}");
            if !allowed {
                assert_eq!(decision.binding, binding, "{policies:?}");
            }
        }
    }
}
