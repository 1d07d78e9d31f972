//! What several limits say together.

use crate::decision::{Decision, Retry};
use crate::general::Extra;
use crate::time::Span;

/// The verdict on a call of several limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict<const N: usize> {
    each: [Decision; N],
    count: usize,
    /// Counted from 0.
    binding: usize,
    /// How often the whole would pass again; only while it is allowed.
    times: u64,
    retry: Retry,
    reset: Span,
    /// The longest wait that was booked, if a limit asks to book.
    wait: Option<Span>,
}

impl<const N: usize> Verdict<N> {
    /// On no limit yet.
    #[inline(always)]
    #[must_use]
    pub const fn new() -> Self {
        let none = Decision { limit: 0, used: 0, retry: Retry::Now, reset: Span::ZERO };
        Self {
            each: [none; N],
            count: 0,
            binding: 0,
            times: u64::MAX,
            retry: Retry::Now,
            reset: Span::ZERO,
            wait: None,
        }
    }

    /// Adds the decision on the next limit, for a call of `cost`.
    ///
    /// The binding limit of an allowed whole is the one that lets it pass the fewest times more, that of a refused one
    /// the one with the longest wait; the first of several.
    #[inline(always)]
    pub fn add(&mut self, decision: Decision, cost: u64, extra: Option<Extra>) {
        self.add_spared(decision, cost, extra, decision.allowed());
    }

    /// The same for a limit of a refused whole, that may itself pass the call and still ask the next one to wait.
    #[inline(always)]
    pub fn add_spared(&mut self, decision: Decision, cost: u64, extra: Option<Extra>, passes: bool) {
        let Some(place) = self.each.get_mut(self.count) else { return };
        *place = if passes { Decision { retry: Retry::Now, ..decision } } else { decision };
        if let Some(Extra::Wait(wait)) = extra {
            self.wait = Some(self.wait.unwrap_or_default().max(wait));
        }
        let times = decision.remaining().checked_div(cost).unwrap_or(u64::MAX);
        let binds = match (decision.retry, self.retry) {
            (Retry::Now, Retry::Now) => times < self.times,
            (Retry::Now, _) | (_, Retry::Never) => false,
            (Retry::Never, _) | (Retry::After(_), Retry::Now) => true,
            (Retry::After(wait), Retry::After(longest)) => wait > longest,
        };
        if binds {
            self.binding = self.count;
            self.times = times;
            self.retry = decision.retry;
        }
        self.reset = self.reset.max(decision.reset);
        self.count = self.count.wrapping_add(1);
    }

    /// Whether every limit was charged.
    #[inline(always)]
    #[must_use]
    pub const fn allowed(&self) -> bool {
        matches!(self.retry, Retry::Now)
    }

    /// The decisions on the limits, in the order of the list. In a refused whole those that would have passed are
    /// allowed, and took nothing.
    #[inline(always)]
    #[must_use]
    pub fn each(&self) -> &[Decision] {
        self.each.get(..self.count).unwrap_or_default()
    }

    /// The number of the binding limit, counted from 1.
    #[inline(always)]
    #[must_use]
    pub const fn binding(&self) -> usize {
        self.binding.wrapping_add(1)
    }

    /// With RESERVE in a limit: how long the caller has to wait before it proceeds, the longest of all; zero in a refused
    /// whole.
    #[inline]
    #[must_use]
    pub fn wait(&self) -> Option<Span> {
        self.wait.map(|wait| if self.allowed() { wait } else { Span::ZERO })
    }

    /// The verdict on the whole: limit and usage of the binding limit, the wait until all would pass, and the longest
    /// wait until one is as good as new.
    #[inline(always)]
    #[must_use]
    pub fn whole(&self) -> Decision {
        let (limit, used) = self.each.get(self.binding).map_or((0, 0), |binding| (binding.limit, binding.used));
        Decision { limit, used, retry: self.retry, reset: self.reset }
    }
}

impl<const N: usize> Verdict<N> {
    /// The same with room for another number of limits, at least as many as there are.
    #[must_use]
    pub fn resized<const M: usize>(&self) -> Verdict<M> {
        let mut other = Verdict { count: self.count, binding: self.binding, ..Verdict::new() };
        (other.times, other.retry, other.reset, other.wait) = (self.times, self.retry, self.reset, self.wait);
        for (place, decision) in other.each.iter_mut().zip(self.each()) {
            *place = *decision;
        }
        other
    }
}

impl<const N: usize> Default for Verdict<N> {
    fn default() -> Self {
        Self::new()
    }
}
