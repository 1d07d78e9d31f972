//! A backend that answers from a script, for tests of what is built on one.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    backend::{Backend, BoxFuture, Charge},
    decision::{AllDecision, Decision},
    error::{Error, Result},
    key::Key,
    limit::Limit,
    options::Options,
};

/// What a scripted backend was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Asked {
    /// [`Backend::decide`]
    Decide(Key, Charge),
    /// [`Backend::decide_all`]
    DecideAll(Vec<Key>, Vec<Charge>),
    /// [`Backend::adjust`]: the key, the delta and the number of the limit.
    Adjust(Key, i64, Option<usize>),
    /// [`Backend::peek`]
    Peek(Key, Charge),
}

/// What a scripted backend answers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Answer {
    /// A verdict; under several limits, the same for each of them.
    Decision(Decision),
    /// A verdict under several limits.
    All(AllDecision),
    /// Nothing is in use: the answer to an adjustment.
    Nothing,
    /// An error.
    Error(Error),
    /// Another answer, later. Time is tokio's, which tests can pause.
    After(Duration, Box<Answer>),
    /// No answer, ever.
    Silence,
}

impl Answer {
    /// The same answer, `delay` later.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self::After(delay, Box::new(self))
    }
}

/// Answers from a script, and remembers what it was asked. Clones are the same backend.
///
/// ```
/// use std::time::Duration;
/// use limiter_client::{Backend, Decision, Error, Key, Limit, Options, testing::{Answer, Scripted}};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> limiter_client::Result<()> {
/// let allowed = Decision::allowed(5, 4, Duration::from_secs(60));
/// let backend = Scripted::in_turn([Answer::Error(Error::NotLoaded), Answer::Decision(allowed)]);
/// let (key, limit) = (Key::raw("k"), Limit::fixed(5, Duration::from_secs(60))?);
/// assert!(backend.decide(&key, &limit, 1, Options::NONE).await.is_err());
/// assert_eq!(backend.decide(&key, &limit, 1, Options::NONE).await?, allowed);
/// assert_eq!(backend.asked().len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Scripted(Arc<Mutex<State>>);

struct State {
    script: Box<dyn FnMut(&Asked) -> Answer + Send>,
    asked: Vec<Asked>,
}

impl Scripted {
    /// Answers what `script` says.
    #[must_use]
    pub fn new(script: impl FnMut(&Asked) -> Answer + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(State { script: Box::new(script), asked: Vec::new() })))
    }

    /// Answers the same each time.
    #[must_use]
    pub fn always(answer: Answer) -> Self {
        Self::new(move |_| answer.clone())
    }

    /// Gives one answer after another, and then the last one for ever; none at all is [`Answer::Silence`].
    #[must_use]
    pub fn in_turn(answers: impl IntoIterator<Item = Answer>) -> Self {
        let mut answers: VecDeque<Answer> = answers.into_iter().collect();
        Self::new(move |_| match answers.len() {
            0 => Answer::Silence,
            1 => answers.front().cloned().unwrap_or(Answer::Silence),
            _ => answers.pop_front().unwrap_or(Answer::Silence),
        })
    }

    /// What was asked so far, in order.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.state().asked.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The question is asked when the future is first polled, as a server would be.
    async fn answer(&self, asked: Asked) -> Result<Answer> {
        let mut answer = {
            let mut state = self.state();
            let answer = (state.script)(&asked);
            state.asked.push(asked);
            answer
        };
        loop {
            match answer {
                Answer::After(delay, then) => {
                    tokio::time::sleep(delay).await;
                    answer = *then;
                }
                Answer::Silence => std::future::pending().await,
                Answer::Error(error) => return Err(error),
                answer => return Ok(answer),
            }
        }
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scripted").field(&self.state().asked).finish()
    }
}

/// An answer that the question does not have.
fn unfit<T>(answer: &Answer) -> Result<T> {
    Err(Error::Unexpected(format!("the script's {answer:?}")))
}

impl Backend for Scripted {
    fn decide<'a>(
        &'a self,
        key: &'a Key,
        limit: &'a Limit,
        cost: u64,
        options: Options,
    ) -> BoxFuture<'a, Result<Decision>> {
        Box::pin(async move {
            match self.answer(Asked::Decide(key.clone(), Charge { limit: *limit, cost, options })).await? {
                Answer::Decision(decision) => Ok(decision),
                other => unfit(&other),
            }
        })
    }

    fn decide_all<'a>(&'a self, keys: &'a [Key], charges: &'a [Charge]) -> BoxFuture<'a, Result<AllDecision>> {
        Box::pin(async move {
            match self.answer(Asked::DecideAll(keys.to_vec(), charges.to_vec())).await? {
                Answer::Decision(decision) => Ok(AllDecision::new(decision, 0, vec![decision; charges.len()])),
                Answer::All(decision) => Ok(decision),
                other => unfit(&other),
            }
        })
    }

    fn adjust<'a>(&'a self, key: &'a Key, delta: i64, nth: Option<usize>) -> BoxFuture<'a, Result<Option<Decision>>> {
        Box::pin(async move {
            match self.answer(Asked::Adjust(key.clone(), delta, nth)).await? {
                Answer::Decision(decision) => Ok(Some(decision)),
                Answer::Nothing => Ok(None),
                other => unfit(&other),
            }
        })
    }

    fn peek<'a>(
        &'a self,
        key: &'a Key,
        limit: &'a Limit,
        cost: u64,
        options: Options,
    ) -> BoxFuture<'a, Result<Decision>> {
        Box::pin(async move {
            match self.answer(Asked::Peek(key.clone(), Charge { limit: *limit, cost, options })).await? {
                Answer::Decision(decision) => Ok(decision),
                other => unfit(&other),
            }
        })
    }
}
