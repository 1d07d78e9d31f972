//! An admitted call of a log appends its event; the header and the expiry follow when they move.

use super::{Watched, records::*, wrapped};
use crate::harness::{M, MS, Random, S, START, Sent, shown};

const MINUTE: i64 = M / MS;

fn append(event: i64) -> String {
    format!("APPEND k {}", shown(&word(START + event)))
}

fn set_header(kind: u8, header: [i64; 4]) -> String {
    format!("SETRANGE k 0 {}", log_header(kind, header))
}

fn expire(ms: i64) -> String {
    format!("PEXPIREAT k {}", START_MS + ms)
}

#[test]
fn an_event_is_appended_and_the_header_sent_only_when_it_changes() {
    let mut watched = Watched::start();
    let at = |watched: &mut Watched, seconds: i64, call: &str, expected: &[String]| {
        watched.server.set_clock(START + seconds * S);
        watched.admitted(call, expected);
    };
    let events = |seconds: &[i64]| seconds.iter().map(|s| START + s * S).collect::<Vec<_>>();
    let call = "RL.SLIDINGLOG k 9 1m";
    let first = log(LOG, [9, 0, MINUTE, START_MS + 90_000], &events(&[0]));
    at(&mut watched, 0, call, &[format!("SET k {first} PXAT {}", START_MS + 90_000)]);
    at(&mut watched, 10, call, &[append(10 * S)]);
    at(&mut watched, 30, call, &[append(30 * S)]);
    // The newest event now outlives the key.
    let header = set_header(LOG, [9, 0, MINUTE, START_MS + 130_000]);
    at(&mut watched, 40, call, &wrapped([append(40 * S), header, expire(130_000)]));
    // Another limit, while one event is dead.
    let header = set_header(LOG, [8, 1, MINUTE, START_MS + 130_000]);
    at(&mut watched, 60, "RL.SLIDINGLOG k 8 1m", &wrapped([append(60 * S), header]));
    at(&mut watched, 61, "RL.SLIDINGLOG k 8 1m", &[append(61 * S)]);
    // Three are dead (0, 10, 30) and as many live.
    let rewritten = log(LOG, [8, 0, MINUTE, START_MS + 180_000], &events(&[40, 60, 61, 90]));
    at(&mut watched, 90, "RL.SLIDINGLOG k 8 1m", &[format!("SET k {rewritten} PXAT {}", START_MS + 180_000)]);
    // The dead go while the expiry stays.
    at(&mut watched, 91, "RL.SLIDINGLOG k 8 1m", &[append(91 * S)]);
    at(&mut watched, 92, "RL.SLIDINGLOG k 8 1m", &[append(92 * S)]);
    at(&mut watched, 105, "RL.SLIDINGLOG k 8 1m", &[append(105 * S)]);
    let kept = log(LOG, [8, 0, 30_000, START_MS + 180_000], &events(&[105, 125]));
    at(&mut watched, 125, "RL.SLIDINGLOG k 8 30s", &[format!("SET k {kept} KEEPTTL")]);
}

#[test]
fn a_first_cost_above_one_rewrites_the_log_with_weights() {
    let mut watched = Watched::start();
    watched.server.run("RL.SLIDINGLOG k 9 1m");
    watched.sent();
    let header = [9, 0, MINUTE, START_MS + 90_000];
    let weighted = log(LOG | WIDE, header, &[START, 1, START, 4]);
    watched.admitted("RL.SLIDINGLOG k 9 1m 3", &[format!("SET k {weighted} KEEPTTL")]);
    let event = [word(START + S), word(5)].concat();
    watched.server.set_clock(START + S);
    watched.admitted("RL.SLIDINGLOG k 9 1m", &[format!("APPEND k {}", shown(&event))]);
    let event = [word(START + S), word(7)].concat();
    let header = set_header(LOG | WIDE, [8, 0, MINUTE, START_MS + 90_000]);
    watched.admitted("RL.SLIDINGLOG k 8 1m 2", &wrapped([format!("APPEND k {}", shown(&event)), header]));
}

/// Bytes that rewrites sent, and bytes that appended events did, of a run of calls.
fn sent_by(watched: &mut Watched, calls: usize) -> (usize, usize, usize) {
    let news = watched.stream.news();
    let sizes = |name: &str| news.iter().filter(|sent| sent.name() == name).map(Sent::size).collect::<Vec<_>>();
    let (sets, appends) = (sizes("SET"), sizes("APPEND"));
    assert_eq!(sets.len() + appends.len(), calls, "one of them for each call");
    (sets.len(), sets.iter().sum(), appends.iter().sum())
}

#[test]
fn callers_with_different_limits_do_not_cause_a_rewrite_a_call() {
    for (first, second) in [("2000 10s", "1000 10s"), ("2000 10s", "2000 5s"), ("900 10s 2", "900 20s")] {
        let mut watched = Watched::start();
        let calls = 2_000;
        for call in 0..calls {
            let limits = if call % 2 == 0 { first } else { second };
            watched.server.advance(20 * MS);
            assert_eq!(watched.server.five(&format!("RL.SLIDINGLOG k {limits}"))[0], 1);
        }
        // 40 s in which 250 events or more live at any time: each half window leaves as many dead.
        let (rewrites, rewritten, appended) = sent_by(&mut watched, calls);
        assert!((3..=12).contains(&rewrites), "{first}, {second}: {rewrites} rewrites");
        assert!(rewritten < 3 * appended, "{first}, {second}: {rewritten} bytes rewritten, {appended} appended");
    }
}

#[test]
fn whatever_the_callers_do_rewrites_cost_a_bounded_share() {
    let mut random = Random::new(11);
    let mut watched = Watched::start();
    let mut admitted = 0;
    let calls = 5_000;
    for _ in 0..calls {
        let (limit, window) = (random.of(&[300, 500, 1_000]), random.of(&["1s", "5s", "20s", "1m"]));
        watched.server.advance(random.of(&[0, 1, 10 * MS, 10 * MS, 50 * MS]));
        admitted += watched.server.five(&format!("RL.SLIDINGLOG k {limit} {window}"))[0];
    }
    let admitted = usize::try_from(admitted).unwrap();
    assert!(admitted > calls / 2, "{admitted}");
    let (rewrites, rewritten, _) = sent_by(&mut watched, admitted);
    // Each rewrite drops as many events as it keeps, so that all of them together keep no more than were appended.
    let events = 8 * admitted;
    assert!(rewritten < 2 * events + 64 * rewrites, "{rewrites} rewrites of {rewritten} bytes, {events} of events");
}
