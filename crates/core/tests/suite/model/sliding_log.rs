//! Sliding log: every admitted event and its weight.

use super::{Int, Verdict, Wait};
use num_traits::Zero;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    pub limit: Int,
    pub window: Int,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub time: Int,
    pub weight: Int,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// In the order they were admitted; never empty.
    pub events: Vec<Event>,
    pub limit: Limit,
}

impl Stored {
    pub fn newest(&self) -> &Int {
        self.events.iter().map(|event| &event.time).max().expect("a log holds an event")
    }

    pub fn useful_until(&self) -> Int {
        self.newest() + &self.limit.window
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlidingLog {
    pub stored: Option<Stored>,
    /// The limits of a log from which everything was given back.
    pub emptied: Option<Limit>,
}

impl SlidingLog {
    pub fn call(&mut self, limit: &Limit, now: &Int, cost: &Int) -> Verdict {
        self.correct_the_clock(now);
        let time = self.effective(now);
        let window = self.window_for(&limit.window);
        let mut events = self.counting(&window, &time);
        let used = weight(&events);
        let leaves = |event: &Event, window: &Int| &event.time + window - now;
        let reset = events.last().map_or_else(Int::zero, |newest| leaves(newest, &window));

        if cost.is_zero() {
            return Verdict::allowed(&limit.limit, &limit.limit - used, reset);
        }
        if &used + cost <= limit.limit {
            let event = Event { time, weight: cost.clone() };
            let reset = leaves(&event, &limit.window);
            events.push(event);
            self.stored = Some(Stored { events, limit: limit.clone() });
            return Verdict::allowed(&limit.limit, &limit.limit - used - cost, reset);
        }
        let retry = if *cost > limit.limit {
            Wait::Never
        } else {
            let mut still = used.clone();
            let makes_room = events.iter().find(|event| {
                still -= &event.weight;
                &still + cost <= limit.limit
            });
            Wait::After(leaves(makes_room.expect("all gone is room enough"), &window))
        };
        Verdict::refused(&limit.limit, &limit.limit - used, retry, reset)
    }

    /// A refused call that counts: an event like any other, beside which the oldest weight makes room. True if that is a
    /// change.
    pub fn count(&mut self, limit: &Limit, now: &Int, cost: &Int) -> bool {
        let weight_of_it = cost.min(&limit.limit).clone();
        if weight_of_it.is_zero() {
            return false;
        }
        let time = self.effective(now);
        let mut events = self.counting(&self.window_for(&limit.window), &time);
        let used = weight(&events);
        events.push(Event { time, weight: weight_of_it });
        // A log that is over its limit, because that was lowered, grows no further.
        let most = used.max(limit.limit.clone());
        let mut excess = weight(&events) - most;
        while excess > Int::zero() {
            let part = excess.clone().min(events[0].weight.clone());
            excess -= &part;
            events[0].weight -= part;
            events.retain(|event| !event.weight.is_zero());
        }
        self.stored = Some(Stored { events, limit: limit.clone() });
        true
    }

    pub fn peek(&self, now: &Int, cost: &Int) -> Option<Verdict> {
        let stored = self.stored.as_ref().filter(|_| !self.is_idle(now))?;
        Some(self.clone().call(&stored.limit, now, cost))
    }

    pub fn is_idle(&self, now: &Int) -> bool {
        self.stored.as_ref().is_none_or(|stored| stored.useful_until() <= *now)
    }

    pub fn correct_the_clock(&mut self, now: &Int) -> bool {
        match &mut self.stored {
            Some(stored) if stored.newest() - now > stored.limit.window => {
                let newest = stored.newest().clone();
                let window = stored.limit.window.clone();
                let weight = weight(&self.counting(&window, &newest));
                let events = vec![Event { time: now.clone(), weight }];
                if let Some(stored) = &mut self.stored {
                    stored.events = events;
                }
                true
            }
            _ => false,
        }
    }

    /// The events that a call with this window counts at this time.
    pub fn counted(&self, window: &Int, now: &Int) -> Vec<Event> {
        self.counting(&self.window_for(window), &self.effective(now))
    }

    /// A clock that is behind reads as the newest event's time: what was dropped stays dropped.
    pub(super) fn effective(&self, now: &Int) -> Int {
        self.stored.as_ref().map_or(now, |stored| stored.newest().max(now)).clone()
    }

    fn window_for(&self, window: &Int) -> Int {
        self.stored.as_ref().map_or(window, |stored| (&stored.limit.window).min(window)).clone()
    }

    fn counting(&self, window: &Int, time: &Int) -> Vec<Event> {
        let Some(stored) = &self.stored else {
            return Vec::new();
        };
        let counts = |event: &&Event| *time < &event.time + window;
        stored.events.iter().filter(counts).cloned().collect()
    }
}

pub(super) fn weight(events: &[Event]) -> Int {
    events.iter().map(|event| &event.weight).sum()
}
