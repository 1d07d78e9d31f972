//! Random calls, with a taste for corners: bounds and their neighbours, the very moment at which something changes,
//! costs at what is left, clocks that step.

use limiter_core::limit::{Bound, CAPACITY, COST, INTERVAL_MS, LOG_LIMIT, RATE, RESERVE_MS};
use limiter_core::time::Timestamp;
use proptest::prelude::*;
use proptest::sample::select;

use crate::adjusting::{Change, Step, Steps};
use crate::scenario::{Asks, Call, Cost, Duration, Numbers, Offset, Pause, Scenario};

/// A number within a bound: small, at an end, round or near it, or of any size.
fn within(bound: Bound) -> impl Strategy<Value = u64> {
    let Bound { min, max } = bound;
    prop_oneof![
        6 => (0..=20_u64).prop_map(move |n| min + n),
        2 => (0..=3_u64).prop_map(move |n| max - n),
        2 => (0..=15_u32, 0..=2_u64).prop_map(|(tens, more)| 10_u64.pow(tens) + more - 1),
        1 => (0..=60_u32, 0..=2_u64).prop_map(|(twos, more)| (1 << twos) + more - 1),
        3 => (0..=60_u32, any::<u64>()).prop_map(|(bits, n)| n >> (63 - bits)),
    ]
    .prop_map(move |n| n.clamp(min, max))
}

fn interval_ms() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => within(INTERVAL_MS),
        2 => select(vec![1_000_u64, 10_000, 60_000, 3_600_000, 86_400_000]),
        1 => 1..=10_u64,
    ]
}

fn alignment() -> impl Strategy<Value = Option<Offset>> {
    prop_oneof![
        2 => Just(None),
        1 => Just(Some(Offset::None)),
        1 => Just(Some(Offset::Last)),
        1 => any::<u8>().prop_map(|part| Some(Offset::Part(part))),
    ]
}

pub fn numbers() -> impl Strategy<Value = Numbers> {
    (within(CAPACITY), within(RATE), interval_ms(), alignment())
        .prop_map(|(amount, tokens, interval_ms, alignment)| Numbers { amount, tokens, interval_ms, alignment })
}

/// A change of one number by a little, by a factor, or to anything.
fn changed(old: u64, bound: Bound) -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => Just(old),
        2 => (-2..=2_i64).prop_map(move |more| old.saturating_add_signed(more)),
        1 => (2..=100_u64).prop_map(move |factor| old.saturating_mul(factor)),
        1 => (2..=100_u64).prop_map(move |factor| old / factor),
        1 => within(bound),
    ]
    .prop_map(move |n| n.clamp(bound.min, bound.max))
}

pub fn related(old: Numbers) -> impl Strategy<Value = Numbers> {
    (
        changed(old.amount, CAPACITY),
        changed(old.tokens, RATE),
        changed(old.interval_ms, INTERVAL_MS),
        prop_oneof![Just(old.alignment), alignment()],
    )
        .prop_map(|(amount, tokens, interval_ms, alignment)| Numbers { amount, tokens, interval_ms, alignment })
}

pub fn cost() -> impl Strategy<Value = Cost> {
    prop_oneof![
        6 => Just(Cost::Exactly(1)),
        1 => Just(Cost::Exactly(0)),
        2 => (2..=5_u64).prop_map(Cost::Exactly),
        1 => within(COST).prop_map(Cost::Exactly),
        3 => (-2..=1_i64).prop_map(Cost::Remaining),
        1 => (-1..=1_i64).prop_map(Cost::Limit),
    ]
}

fn nudge() -> impl Strategy<Value = i64> {
    prop_oneof![4 => -1..=1_i64, 1 => -1_000..=1_000_i64]
}

fn microseconds() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => 0..=3_u64,
        2 => 0..=2_000_u64,
        2 => (0..=62_u32, any::<u64>()).prop_map(|(bits, n)| n >> (63 - bits)),
    ]
}

fn forward() -> impl Strategy<Value = Pause> {
    prop_oneof![
        5 => Just(Pause::None),
        3 => microseconds().prop_map(Pause::Forward),
        3 => nudge().prop_map(|more| Pause::Retry(more.max(0))),
        1 => Just(Pause::Retry(-1)),
        2 => nudge().prop_map(|more| Pause::Reset(more.max(0))),
        1 => Just(Pause::Reset(-1)),
        2 => any::<u8>().prop_map(Pause::PartOfReset),
        1 => nudge().prop_map(|more| Pause::Interval(more.max(0))),
    ]
}

fn any_way() -> impl Strategy<Value = Pause> {
    prop_oneof![
        8 => forward(),
        1 => microseconds().prop_map(Pause::Back),
        2 => nudge().prop_map(Pause::SpanBack),
        1 => any::<u8>().prop_map(Pause::PartOfSpanBack),
        1 => prop_oneof![0..=3_u64, (0..=3_u64).prop_map(|n| Timestamp::MAX.micros() - n)].prop_map(Pause::At),
    ]
}

pub fn start() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 1_700_000_000_000_000..=1_900_000_000_000_000_u64,
        1 => 0..=3_u64,
        1 => microseconds(),
        1 => (0..=3_u64).prop_map(|n| Timestamp::MAX.micros() - n),
    ]
}

/// Any way a clock may go.
pub fn pause() -> impl Strategy<Value = Pause> {
    any_way()
}

fn scenario_of(
    pause: impl Strategy<Value = Pause> + Clone + 'static,
    length: usize,
) -> impl Strategy<Value = Scenario> {
    let few = prop_oneof![3 => 1..=24_usize, 1 => 1..=length];
    let palette =
        numbers().prop_flat_map(|first| (Just(first), related(first), prop_oneof![related(first), numbers()]));
    (palette.boxed(), start(), few)
        .prop_flat_map(move |((first, second, third), start, length)| {
            let choice = prop_oneof![6 => Just(first), 2 => Just(second), 1 => Just(third)];
            let call = (choice, cost(), pause.clone()).prop_map(|(numbers, cost, pause)| Call {
                numbers,
                cost,
                pause,
                asks: Asks::default(),
            });
            prop::collection::vec(call.boxed(), 1..=length).prop_map(move |calls| Scenario { start, calls })
        })
        // Strategies within strategies take more stack than a test has, unless they are boxed.
        .boxed()
}

/// Calls under limits that change, on a clock that steps both ways.
pub fn scenario(length: usize) -> impl Strategy<Value = Scenario> {
    scenario_of(any_way().boxed(), length)
}

/// A key in steady use: some calls a window, now and then under another window or limit.
pub fn busy_scenario(length: usize) -> impl Strategy<Value = Scenario> {
    let first = (2..=40_u64, 1..=40_u64, interval_ms()).prop_map(|(amount, tokens, interval_ms)| Numbers {
        amount,
        tokens,
        interval_ms,
        alignment: None,
    });
    let times = || prop_oneof![Just((1, 1)), Just((2, 1)), Just((3, 2)), Just((1, 2)), Just((1, 8)), Just((8, 1))];
    let palette = (first, times(), times()).prop_map(|(first, (more, less), (many, few))| {
        let interval_ms = (first.interval_ms * more / less).clamp(INTERVAL_MS.min, INTERVAL_MS.max);
        [first, Numbers { interval_ms, ..first }, Numbers { interval_ms, amount: first.amount * many / few, ..first }]
    });
    let pause = prop_oneof![
        4 => Just(Pause::None),
        12 => (0..=80_u8).prop_map(Pause::PartOfInterval),
        2 => Just(Pause::Retry(0)),
        1 => any::<u8>().prop_map(Pause::PartOfInterval),
        1 => nudge().prop_map(|more| Pause::Interval(more.max(0))),
        1 => any::<u8>().prop_map(Pause::PartOfSpanBack),
        1 => nudge().prop_map(Pause::SpanBack),
    ];
    let cost = prop_oneof![20 => Just(Cost::Exactly(1)), 1 => (0..=3_u64).prop_map(Cost::Exactly)];
    let (pause, cost) = (pause.boxed(), cost.boxed());
    (palette, start())
        .prop_flat_map(move |([first, second, third], start)| {
            let choice = prop_oneof![12 => Just(first), 1 => Just(second), 1 => Just(third)];
            let call = (choice, cost.clone(), pause.clone()).prop_map(|(numbers, cost, pause)| Call {
                numbers,
                cost,
                pause,
                asks: Asks::default(),
            });
            prop::collection::vec(call.boxed(), 1..=length).prop_map(move |calls| Scenario { start, calls })
        })
        .boxed()
}

/// Calls under limits that change, on a clock that only goes forward.
pub fn forward_scenario(length: usize) -> impl Strategy<Value = Scenario> {
    scenario_of(forward().boxed(), length)
}

/// Calls under one limit, on a clock that only goes forward.
pub fn steady_scenario(length: usize) -> impl Strategy<Value = Scenario> {
    forward_scenario(length).prop_map(|mut scenario| {
        let first = scenario.calls[0].numbers;
        for call in &mut scenario.calls {
            call.numbers = first;
        }
        scenario
    })
}

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        1 => within(RESERVE_MS).prop_map(Duration::Exactly),
        2 => (0..=3_u64).prop_map(Duration::Exactly),
        4 => (-1..=2_i64).prop_map(Duration::Retry),
        1 => (-1..=1_i64).prop_map(Duration::Reset),
        3 => any::<u8>().prop_map(Duration::PartOfInterval),
    ]
}

pub fn asks() -> impl Strategy<Value = Asks> {
    let sometimes = || prop::bool::weighted(0.25);
    let length = || prop_oneof![2 => Just(None), 1 => duration().prop_map(Some)];
    prop_oneof![
        1 => Just(Asks::default()),
        2 => (sometimes(), sometimes(), length(), length())
            .prop_map(|(partial, strict, reserve, block)| Asks { partial, strict, reserve, block }),
    ]
}

/// The same calls with options, one for each call, over and over.
pub fn asking(scenario: impl Strategy<Value = Scenario> + 'static) -> impl Strategy<Value = Scenario> {
    (scenario, prop::collection::vec(asks(), 1..=12))
        .prop_map(|(mut scenario, asks)| {
            for (call, asks) in scenario.calls.iter_mut().zip(asks.iter().cycle()) {
                call.asks = *asks;
            }
            scenario
        })
        .boxed()
}

fn adjustment() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (-3..=5_i64).prop_map(Change::Exactly),
        2 => within(COST).prop_map(|n| Change::Exactly(n as i64)),
        1 => within(COST).prop_map(|n| Change::Exactly(-(n as i64))),
        3 => (-2..=1_i64).prop_map(Change::BackAll),
        3 => any::<u8>().prop_map(Change::BackPart),
        2 => (-1..=2_i64).prop_map(Change::UpToLimit),
        1 => (-1..=1_i64).prop_map(Change::UpToMost),
    ]
}

/// Some of the calls are adjustments instead.
fn adjusted(scenario: impl Strategy<Value = Scenario> + 'static) -> impl Strategy<Value = Steps> {
    let most = prop_oneof![3 => Just(LOG_LIMIT.max), 1 => 1..=8_u64];
    (scenario, most)
        .prop_flat_map(|(Scenario { start, calls }, log_limit_max)| {
            let changes = prop_oneof![1 => Just(None), 1 => adjustment().prop_map(Some)];
            prop::collection::vec(changes.boxed(), calls.len()).prop_map(move |changes| {
                let step = |(call, change): (&Call, _)| match change {
                    None => Step::Call(*call),
                    Some(change) => Step::Adjust(*call, change),
                };
                Steps { start, steps: calls.iter().zip(changes).map(step).collect(), log_limit_max }
            })
        })
        .boxed()
}

/// Calls and adjustments, under limits that change and on a clock that steps.
pub fn steps(length: usize) -> impl Strategy<Value = Steps> {
    adjusted(scenario(length))
}

/// The same on a key in steady use.
pub fn busy_steps(length: usize) -> impl Strategy<Value = Steps> {
    adjusted(busy_scenario(length))
}

/// The same with options.
pub fn asking_steps(length: usize) -> impl Strategy<Value = Steps> {
    prop_oneof![adjusted(asking(busy_scenario(length))), adjusted(asking(scenario(length)))]
}
