//! A stream whose items come no faster than a limit lets them.

use std::{
    error, fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::Stream;

use super::Pacer;
use crate::{
    backend::BoxFuture,
    decision::Decision,
    error::{Error, Result},
    key::{Key, Subject},
};

/// Says whose an item is, and what it costs.
pub type ChargeFn<T> = Box<dyn FnMut(&T) -> Result<(Key, u64)> + Send>;

/// Paces the items of another stream, such as the deliveries of a queue: see [`Pacer::stream`].
///
/// An item is taken from the queue, and held until its moment has come. At most one is held, so that the queue's own prefetch is
/// the only other buffer, and nothing is refused to be delivered again. A dropped stream gives the booking of the item back; the
/// item itself was not handled, and the queue delivers it again if it was not acknowledged.
pub struct Paced<S: Stream, F> {
    stream: S,
    pacer: Pacer,
    charge: F,
    held: Option<S::Item>,
    wait: Option<BoxFuture<'static, Result<Decision>>>,
    over: bool,
}

/// An item that cannot be paced.
#[derive(Debug)]
pub struct Unpaced<T> {
    /// The item.
    pub item: T,
    /// Why; `None` if it costs more than the limit can ever have.
    pub error: Option<Error>,
}

impl<T> fmt::Display for Unpaced<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            Some(error) => error.fmt(f),
            None => f.write_str("the item costs more than the limit can ever have"),
        }
    }
}

impl<T: fmt::Debug> error::Error for Unpaced<T> {}

impl Pacer {
    /// Paces a stream: each item waits for its turn, as [`Pacer::pace_patiently`] has it. `charge` says whose it is and what it costs,
    /// with a key from [`Limiter::key`](crate::Limiter::key).
    ///
    /// ```
    /// # use std::time::Duration;
    /// use limiter_client::{Pacer, Subject};
    /// # use limiter_client::{FailurePolicy, KeySpace, Limit, Limiter, Local, Rate, Secret};
    /// # use futures_util::{StreamExt, stream};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() -> limiter_client::Result<()> {
    /// # let limiter = Limiter::builder("mails")
    /// #     .limit(Limit::gcra(1, Rate::per_second(10)?)?)
    /// #     .key_space(KeySpace::new("prod", "mailer", &Secret::new("thirty-two random bytes, not this")?)?)
    /// #     .on_failure(FailurePolicy::Closed)
    /// #     .build(Local::new())?;
    /// # let pacer = Pacer::new(limiter, Duration::from_secs(30))?;
    /// // Deliveries of a queue: a tenant, and a number of mails.
    /// let deliveries = stream::iter([(7_u32, 1), (8, 1), (7, 1)]);
    /// let limiter = pacer.limiter().clone();
    /// let mut paced = pacer.stream(deliveries, move |(tenant, mails)| {
    ///     Ok((limiter.key(&Subject::safe("tenant", tenant))?, *mails))
    /// });
    /// while let Some(delivery) = paced.next().await {
    ///     match delivery {
    ///         Ok((tenant, mails)) => println!("{mails} of {tenant} may go"),
    ///         Err(unpaced) => eprintln!("to the dead letters: {unpaced}"),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream<S, F>(&self, stream: S, charge: F) -> Paced<S, F>
    where
        S: Stream + Unpin,
        F: FnMut(&S::Item) -> Result<(Key, u64)> + Unpin,
    {
        Paced { stream, pacer: self.clone(), charge, held: None, wait: None, over: false }
    }

    /// Paces a stream whose items all have one subject, and cost 1.
    ///
    /// # Errors
    ///
    /// A subject that no key can hold.
    pub fn stream_of<S: Stream + Unpin>(
        &self,
        stream: S,
        subject: &Subject<'_>,
    ) -> Result<Paced<S, ChargeFn<S::Item>>> {
        let key = self.limiter.key(subject)?;
        Ok(self.stream(stream, Box::new(move |_: &S::Item| Ok((key.clone(), 1)))))
    }
}

impl<S, F> Stream for Paced<S, F>
where
    S: Stream + Unpin,
    S::Item: Unpin,
    F: FnMut(&S::Item) -> Result<(Key, u64)> + Unpin,
{
    type Item = Result<S::Item, Unpaced<S::Item>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(wait) = &mut this.wait {
                let paced = ready!(Pin::new(wait).poll(cx));
                this.wait = None;
                let Some(item) = this.held.take() else { continue };
                return Poll::Ready(Some(match paced {
                    Ok(decision) if decision.allowed => Ok(item),
                    Ok(_) => Err(Unpaced { item, error: None }),
                    Err(error) => Err(Unpaced { item, error: Some(error) }),
                }));
            }
            if this.over {
                return Poll::Ready(None);
            }
            let Some(item) = ready!(Pin::new(&mut this.stream).poll_next(cx)) else {
                this.over = true;
                continue;
            };
            match (this.charge)(&item) {
                Ok((key, cost)) => {
                    this.wait = Some(Box::pin(this.pacer.clone().pace_key_patiently(key, cost)));
                    this.held = Some(item);
                }
                Err(error) => return Poll::Ready(Some(Err(Unpaced { item, error: Some(error) }))),
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let held = usize::from(self.held.is_some());
        let (least, most) = self.stream.size_hint();
        (least.saturating_add(held), most.and_then(|most| most.checked_add(held)))
    }
}

impl<S: Stream, F> fmt::Debug for Paced<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Paced({:?}, {} held)", self.pacer, u8::from(self.held.is_some()))
    }
}
