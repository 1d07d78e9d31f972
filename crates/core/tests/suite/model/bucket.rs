//! Token bucket and GCRA: one meter. What is stored is a debt in tokens, which a rate pays off.

use super::{Int, Verdict, Wait};
use num_rational::Ratio;
use num_traits::Zero;

type Fraction = Ratio<Int>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    pub capacity: Int,
    /// Tokens that flow in a period.
    pub tokens: Int,
    pub period: Int,
}

impl Limit {
    fn tokens_per_microsecond(&self) -> Fraction {
        Fraction::new(self.tokens.clone(), self.period.clone())
    }

    fn time_to_pay(&self, debt: &Fraction) -> Fraction {
        debt / self.tokens_per_microsecond()
    }

    /// The smallest part of a token that this rate tells apart is one in `period`.
    fn round_up(&self, debt: &Fraction) -> Fraction {
        Fraction::new((debt * &self.period).ceil().to_integer(), self.period.clone())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Tokens owed just after the last admitted call.
    pub debt: Fraction,
    /// The time of that call.
    pub time: Int,
    /// What it was judged by.
    pub limit: Limit,
}

impl Stored {
    /// How long after its time the debt is paid, at the rate it was made under.
    fn life(&self) -> Int {
        self.limit.time_to_pay(&self.debt).ceil().to_integer()
    }

    pub fn useful_until(&self) -> Int {
        &self.time + self.life()
    }

    fn is_idle(&self, now: &Int) -> bool {
        let paid = self.limit.tokens_per_microsecond() * elapsed(&self.time, now);
        self.debt <= paid
    }

    fn span(&self) -> Fraction {
        self.limit.time_to_pay(&whole(&self.limit.capacity))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    pub stored: Option<Stored>,
}

impl Bucket {
    pub fn call(&mut self, limit: &Limit, now: &Int, cost: &Int) -> Verdict {
        self.correct_the_clock(now);
        let behind = self.behind(now);
        let debt = self.debt_under(limit, now);
        let capacity = whole(&limit.capacity);
        let wanted = &debt + whole(cost);

        if cost.is_zero() {
            let left = (&capacity - &debt).floor().to_integer();
            return Verdict::allowed(&limit.capacity, left, self.reset(limit, &debt, now));
        }
        if *cost <= limit.capacity && wanted <= capacity {
            let time = now + &behind;
            let left = (&capacity - &wanted).floor().to_integer();
            let stored = Stored { debt: wanted, time, limit: limit.clone() };
            let reset = stored.life() + behind;
            self.stored = Some(stored);
            return Verdict::allowed(&limit.capacity, left, reset);
        }
        let retry = if *cost > limit.capacity {
            Wait::Never
        } else {
            let excess = &wanted - &capacity;
            Wait::After(self.until_paid_or_idle(limit, &excess, now) + behind)
        };
        let left = (&capacity - &debt).floor().to_integer();
        Verdict::refused(&limit.capacity, left, retry, self.reset(limit, &debt, now))
    }

    /// A refused call that counts: the debt is what it would be had the call been admitted, but not above the capacity.
    /// True if that is a change.
    pub fn count(&mut self, limit: &Limit, now: &Int, cost: &Int) -> bool {
        let debt = self.debt_under(limit, now);
        let counted = (&debt + whole(cost)).min(whole(&limit.capacity));
        if counted <= debt {
            return false;
        }
        let time = now + self.behind(now);
        self.stored = Some(Stored { debt: counted, time, limit: limit.clone() });
        true
    }

    /// A call that may take what is there after this wait, which a refusal has told.
    pub fn book(&mut self, limit: &Limit, now: &Int, cost: &Int, wait: &Int) -> Verdict {
        let time = now + self.behind(now);
        let wait = wait - self.behind(now);
        let debt = self.debt_under(limit, now);
        // What the old limits have forgotten by then is not owed any more.
        let owed = match &self.stored {
            Some(stored) if stored.is_idle(&(&time + &wait)) => debt.min(limit.tokens_per_microsecond() * wait),
            _ => debt,
        };
        let stored = Stored { debt: owed + whole(cost), time, limit: limit.clone() };
        let left = (whole(&limit.capacity) - &stored.debt).floor().to_integer();
        let reset = stored.useful_until() - now;
        self.stored = Some(stored);
        Verdict::allowed(&limit.capacity, left, reset)
    }

    /// What a call under the last limits would get, unless nothing is owed.
    pub fn peek(&self, now: &Int, cost: &Int) -> Option<Verdict> {
        let stored = self.stored.as_ref().filter(|stored| !stored.is_idle(now))?;
        Some(self.clone().call(&stored.limit, now, cost))
    }

    pub fn is_idle(&self, now: &Int) -> bool {
        self.stored.as_ref().is_none_or(|stored| stored.is_idle(now))
    }

    /// True if the state was rewritten.
    pub fn correct_the_clock(&mut self, now: &Int) -> bool {
        match &mut self.stored {
            Some(stored) if whole(&(&stored.time - now)) > stored.span() => {
                stored.time = now.clone();
                true
            }
            _ => false,
        }
    }

    fn behind(&self, now: &Int) -> Int {
        // Nothing waits for the time of a state in which nothing is owed.
        let stored = self.stored.as_ref().filter(|stored| !stored.is_idle(now));
        stored.map_or_else(Int::zero, |stored| (&stored.time - now).max(Int::zero()))
    }

    fn debt_under(&self, limit: &Limit, now: &Int) -> Fraction {
        match &self.stored {
            Some(stored) if !stored.is_idle(now) => {
                let paid = limit.tokens_per_microsecond() * elapsed(&stored.time, now);
                (limit.round_up(&stored.debt) - paid).max(Fraction::zero())
            }
            _ => Fraction::zero(),
        }
    }

    fn reset(&self, limit: &Limit, debt: &Fraction, now: &Int) -> Int {
        if debt.is_zero() {
            return Int::zero();
        }
        self.until_paid_or_idle(limit, debt, now) + self.behind(now)
    }

    /// A debt ends when the new rate has paid it, or when the old rate would have paid everything.
    fn until_paid_or_idle(&self, limit: &Limit, debt: &Fraction, now: &Int) -> Int {
        let paid = limit.time_to_pay(debt).ceil().to_integer();
        match &self.stored {
            Some(stored) => paid.min(stored.life() - elapsed(&stored.time, now)),
            None => paid,
        }
    }
}

fn elapsed(time: &Int, now: &Int) -> Int {
    (now - time).max(Int::zero())
}

fn whole(n: &Int) -> Fraction {
    Fraction::from_integer(n.clone())
}
