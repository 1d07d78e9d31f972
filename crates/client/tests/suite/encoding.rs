//! Every command, word by word.

use std::time::Duration;

use limiter_client::{Charge, Limit, Options, Rate, command};
use redis::{Arg, Cmd};

const MINUTE: Duration = Duration::from_secs(60);

fn words(cmd: &Cmd) -> String {
    let words = cmd.args_iter().map(|word| match word {
        Arg::Simple(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        _ => panic!("no plain word"),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn bucket() -> Limit {
    Limit::token_bucket(100, Rate::per_second(10).unwrap()).unwrap()
}

#[test]
fn each_algorithm_has_its_command() {
    let cases = [
        (bucket(), "RL.TOKENBUCKET k 100 10"),
        (Limit::gcra(5, Rate::per(3, MINUTE).unwrap()).unwrap(), "RL.GCRA k 5 3/60000ms"),
        (Limit::fixed(5, MINUTE).unwrap(), "RL.FIXED k 5 60000ms"),
        (
            Limit::fixed_aligned(5, 24 * 60 * MINUTE, 22 * 60 * MINUTE).unwrap(),
            "RL.FIXED k 5 86400000ms ALIGNED 79200000ms",
        ),
        (Limit::sliding_log(5, Duration::from_millis(1)).unwrap(), "RL.SLIDINGLOG k 5 1ms"),
        (Limit::sliding_counter(0, MINUTE).unwrap(), "RL.SLIDINGCOUNTER k 0 60000ms"),
    ];
    for (limit, expected) in cases {
        assert_eq!(words(&command::decide("k", &limit, 1, &Options::NONE)), expected);
    }
}

#[test]
fn a_cost_is_named_unless_it_is_one() {
    let fixed = Limit::fixed_aligned(5, MINUTE, Duration::ZERO).unwrap();
    assert_eq!(words(&command::decide("k", &fixed, 0, &Options::NONE)), "RL.FIXED k 5 60000ms 0 ALIGNED 0ms");
    assert_eq!(words(&command::decide("k", &fixed, 7, &Options::NONE)), "RL.FIXED k 5 60000ms 7 ALIGNED 0ms");
}

#[test]
fn options_follow_the_cost() {
    let all = Options::NONE.strict().block(MINUTE).unwrap();
    let cases = [
        (Options::NONE.partial(), "RL.TOKENBUCKET k 100 10 5 PARTIAL"),
        (Options::NONE.reserve(Duration::ZERO).unwrap(), "RL.TOKENBUCKET k 100 10 5 RESERVE 0ms"),
        // A caller that would wait 1.9 ms is not made to wait 2.
        (Options::NONE.reserve(Duration::from_micros(1_900)).unwrap(), "RL.TOKENBUCKET k 100 10 5 RESERVE 1ms"),
        (all, "RL.TOKENBUCKET k 100 10 5 STRICT BLOCK 60000ms"),
        (all.reserve(MINUTE).unwrap(), "RL.TOKENBUCKET k 100 10 5 RESERVE 60000ms STRICT BLOCK 60000ms"),
    ];
    for (options, expected) in cases {
        assert_eq!(words(&command::decide("k", &bucket(), 5, &options)), expected);
    }
}

#[test]
fn several_limits_follow_their_keys() {
    let charges = [
        Charge::new(bucket(), 1),
        Charge { options: Options::NONE.strict(), ..Charge::new(Limit::fixed(9, MINUTE).unwrap(), 2) },
    ];
    assert_eq!(
        words(&command::all(&["{a}1", "{a}2"], &charges)),
        "RL.ALL 2 {a}1 {a}2 TOKENBUCKET 100 10 FIXED 9 60000ms 2 STRICT"
    );
    assert_eq!(words(&command::all(&["k"], &charges)), "RL.ALL 1 k TOKENBUCKET 100 10 FIXED 9 60000ms 2 STRICT");
    assert_eq!(words(&command::peek_all("k", &charges)), "RL.PEEK k ALL TOKENBUCKET 100 10 FIXED 9 60000ms 2 STRICT");
}

#[test]
fn the_other_commands_have_their_words() {
    assert_eq!(words(&command::peek("k", 1)), "RL.PEEK k 1");
    assert_eq!(
        words(&command::peek_call("k", &bucket(), 2, &Options::NONE.partial())),
        "RL.PEEK k TOKENBUCKET 100 10 2 PARTIAL"
    );
    assert_eq!(words(&command::adjust("k", -5, None)), "RL.ADJUST k -5");
    assert_eq!(words(&command::adjust("k", 5, Some(0))), "RL.ADJUST k 5 LIMIT 1");
    assert_eq!(words(&command::info("k")), "RL.INFO k");
    assert_eq!(words(&command::throttle("k", 15, 30, 60, 1)), "RL.THROTTLE k 15 30 60 1");
}

#[test]
fn a_limit_reads_the_words_that_it_writes() {
    let texts = [
        "TOKENBUCKET 100 10/1000ms",
        "GCRA 0 1/315360000000ms",
        "FIXED 5 60000ms",
        "FIXED 5 60000ms ALIGNED 1ms",
        "SLIDINGLOG 10000000 1ms",
        "SLIDINGCOUNTER 1000000000000 1ms",
    ];
    for text in texts {
        assert_eq!(text.parse::<Limit>().unwrap().to_string(), text);
    }
    for wrong in ["", "FIXED", "FIXED 5 60", "FIXED 5 1m 2", "FIXED 5 1m STRICT", "LEAKY 1 2", "7"] {
        assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
    }
}
