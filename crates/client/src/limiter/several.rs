//! Several limits in one round trip: all are charged, or none is.

use super::{Failure, Fallback, Limiter};
use crate::{
    backend::{Charge, LIMITS_MAX, check_all},
    decision::{AllDecision, Decision, Source},
    error::{ArgumentError, Result},
    key::{Key, Subject},
    policy::{self, FailurePolicy},
};

/// Limiters that are asked together, by `RL.ALL`: tenant and everybody, second and hour and day. Either every one is charged, or
/// none is, and [`AllDecision::binding`] says which one it was.
///
/// The first one's backend, timeout and breaker are used; each has its own name, keys, metrics and failure policy. In a cluster the
/// keys have to be in one slot: see [`HashTag`](crate::HashTag).
///
/// ```
/// use std::time::Duration;
/// use limiter_client::{FailurePolicy, HashTag, KeySpace, Limit, Limiter, Limiters, Local, Rate, Secret, Subject};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> limiter_client::Result<()> {
/// let backend = Local::new(); // or a RedisBackend
/// let secret = Secret::new("thirty-two random bytes, not this")?;
/// let keys = KeySpace::new("prod", "api", &secret)?.hash_tag(HashTag::Subject);
/// let limiter = |name: &str, limit: Limit| {
///     let builder = Limiter::builder(name).limit(limit).key_space(keys.clone());
///     builder.on_failure(FailurePolicy::Open).build(backend.clone())
/// };
/// let limiters = Limiters::new([
///     limiter("burst", Limit::token_bucket(10, Rate::per_second(10)?)?)?,
///     limiter("day", Limit::fixed(12, Duration::from_secs(86_400))?)?,
/// ])?;
///
/// let tenant = Subject::safe("tenant", &7_u32);
/// assert!(limiters.check_all_for(&tenant, 10).await?.allowed());
/// let decision = limiters.check_all_for(&tenant, 10).await?;
/// assert!(!decision.allowed());
/// assert_eq!(limiters.name(decision.binding), Some("day"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Limiters {
    first: Limiter,
    all: Vec<Limiter>,
}

impl Limiters {
    /// These limiters together.
    ///
    /// # Errors
    ///
    /// None, or more than 32.
    pub fn new(limiters: impl IntoIterator<Item = Limiter>) -> Result<Self, ArgumentError> {
        let all: Vec<Limiter> = limiters.into_iter().collect();
        match all.first() {
            Some(first) if all.len() <= LIMITS_MAX => Ok(Self { first: first.clone(), all }),
            _ => Err(ArgumentError::new("limiters", all.len(), format_args!("1 to {LIMITS_MAX} of them"))),
        }
    }

    /// The limiters, in the order of [`AllDecision::each`].
    #[must_use]
    pub fn limiters(&self) -> &[Limiter] {
        &self.all
    }

    /// The name of a limiter, by its index: of the one that [`AllDecision::binding`] tells.
    #[must_use]
    pub fn name(&self, index: usize) -> Option<&str> {
        self.all.get(index).map(Limiter::name)
    }

    /// Decides a call of `cost` by one subject under every limit.
    ///
    /// # Errors
    ///
    /// As [`Limiters::check_all`].
    pub async fn check_all_for(&self, subject: &Subject<'_>, cost: u64) -> Result<AllDecision> {
        let asked: Vec<_> = self.all.iter().map(|_| (*subject, cost)).collect();
        self.check_all(&asked).await
    }

    /// Decides a call with a subject and a cost for each limiter, in their order.
    ///
    /// # Errors
    ///
    /// Only where the call itself is wrong: as [`Limiter::check`], another number of subjects than limiters, one key twice, or keys
    /// in different slots of a cluster.
    pub async fn check_all(&self, asked: &[(Subject<'_>, u64)]) -> Result<AllDecision> {
        if asked.len() != self.all.len() {
            let expected = format_args!("{} as there are limiters", self.all.len());
            return Err(ArgumentError::new("subjects", asked.len(), expected).into());
        }
        let both = || self.all.iter().zip(asked);
        let keys = both().map(|(limiter, (subject, _))| limiter.key(subject)).collect::<Result<Vec<_>>>()?;
        let charge = |(limiter, (_, cost)): (&Limiter, &(Subject<'_>, u64))| Charge {
            limit: limiter.0.limit,
            cost: *cost,
            options: limiter.0.options,
        };
        let charges: Vec<Charge> = both().map(charge).collect();
        check_all(&keys, &charges)?;

        let answer = self.first.0.backend.decide_all(&keys, &charges);
        let decision = match self.first.ask(answer, |decision| decision.whole.source).await {
            Ok(decision) => decision,
            Err(Failure::Fallback(fallback)) => self.fall_back(&keys, &charges, &fallback)?,
            Err(Failure::Wrong(error)) => {
                self.first.0.meters.erred(&error);
                return Err(error);
            }
        };
        // What would have passed in a refused whole took nothing, and is neither.
        for (limiter, each) in self.all.iter().zip(&decision.each) {
            if each.allowed == decision.allowed() {
                limiter.0.meters.decided(each);
            }
        }
        Ok(decision)
    }

    /// Each limiter by its own policy; one that is closed refuses the whole.
    #[cold]
    fn fall_back(&self, keys: &[Key], charges: &[Charge], fallback: &Fallback) -> Result<AllDecision> {
        for limiter in &self.all {
            limiter.0.meters.fell_back(limiter.mode(), fallback.kind);
        }
        // Those that decide here, with what they are asked under their shares.
        let mut places = Vec::new();
        let (mut local_keys, mut local_charges, mut engine) = (Vec::new(), Vec::new(), None);
        let mut each = Vec::with_capacity(charges.len());
        let mut refusing = None;
        for (place, ((limiter, key), charge)) in self.all.iter().zip(keys).zip(charges).enumerate() {
            let Charge { limit, cost, options } = charge;
            match &limiter.0.policy {
                FailurePolicy::Open => each.push(policy::open(limit, *cost, options)),
                FailurePolicy::Closed => {
                    let wait = fallback.wait.clamp(super::CLOSED_WAIT_MIN, super::CLOSED_WAIT_MAX);
                    let closed = policy::closed(limit, *cost, options, wait);
                    if !closed.allowed {
                        refusing = refusing.or(Some(place));
                    }
                    each.push(closed);
                }
                FailurePolicy::Local(share) => {
                    places.push(place);
                    engine = engine.or(Some(share.engine()));
                    local_keys.push(key.clone());
                    let options = limiter.local_options(share, *options);
                    local_charges.push(Charge { limit: share.share(limit), cost: *cost, options });
                    // Until they are asked.
                    each.push(Decision::allowed(limit.max(), 0, std::time::Duration::ZERO).by(Source::Local));
                }
            }
        }
        let mut whole = None;
        if let (Some(engine), None) = (engine, refusing) {
            let decision = engine.call_all(&local_keys, &local_charges)?;
            for (place, decision) in places.iter().zip(&decision.each) {
                if let Some(each) = each.get_mut(*place) {
                    *each = *decision;
                }
            }
            whole = Some((decision.whole, places.get(decision.binding).copied().unwrap_or(0)));
        }
        let place = refusing.unwrap_or(0);
        let (whole, binding) = match whole {
            Some(whole) => whole,
            None => match each.get(place) {
                Some(decision) => (*decision, place),
                None => return Err(crate::error::Error::Unavailable),
            },
        };
        Ok(AllDecision::new(whole, binding, each))
    }
}
