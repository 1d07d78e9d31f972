//! What may be asked of a decision beyond its limit and its cost.

use std::time::Duration;

use limiter_core::{limit::RESERVE_MS, options::Options as CoreOptions, time::Span};

use crate::{
    error::ArgumentError,
    limit::{Limit, interval},
};

/// The options of one call; none by default.
///
/// ```
/// use std::time::Duration;
/// use limiter_client::Options;
///
/// let booked_ahead = Options::NONE.reserve(Duration::from_secs(2))?;
/// let login_guard = Options::NONE.strict().block(Duration::from_secs(900))?;
/// assert!(Options::NONE.partial().reserve(Duration::ZERO).is_err());
/// # Ok::<(), limiter_client::ArgumentError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options(CoreOptions);

impl Options {
    /// A plain call.
    pub const NONE: Self = Self(CoreOptions::NONE);

    /// `PARTIAL`: if the whole cost does not fit, what does is taken, at least 1; [`Decision::granted`] says how much.
    /// Not within several limits at once.
    ///
    /// [`Decision::granted`]: crate::Decision::granted
    #[must_use]
    pub const fn partial(mut self) -> Self {
        self.0.partial = true;
        self
    }

    /// `RESERVE`: what is not there now, but within `max_wait`, is booked now; [`Decision::wait`] says when the caller
    /// may go on. `max_wait` is rounded down to the millisecond. Buckets only.
    ///
    /// # Errors
    ///
    /// A wait above 3650 days; together with `PARTIAL`.
    ///
    /// [`Decision::wait`]: crate::Decision::wait
    pub fn reserve(mut self, max_wait: Duration) -> Result<Self, ArgumentError> {
        if self.0.partial {
            return Err(ArgumentError::new("options", "both", "PARTIAL or RESERVE, not both"));
        }
        match u64::try_from(max_wait.as_millis()) {
            Ok(ms) if RESERVE_MS.holds(ms) => {
                self.0.reserve = Some(Span::from_millis(ms));
                Ok(self)
            }
            _ => {
                let days = RESERVE_MS.max / 86_400_000;
                Err(ArgumentError::new("max_wait", format!("{max_wait:?}"), format!("at most {days} days")))
            }
        }
    }

    /// `STRICT`: refused calls count too, so that a caller that hammers stays limited.
    #[must_use]
    pub const fn strict(mut self) -> Self {
        self.0.strict = true;
        self
    }

    /// `BLOCK`: once refused, everything on the key is refused for `length`.
    ///
    /// # Errors
    ///
    /// A length outside 1 ms to 3650 days, or not in whole milliseconds.
    pub fn block(mut self, length: Duration) -> Result<Self, ArgumentError> {
        self.0.block = Some(interval("block", length)?);
        Ok(self)
    }

    /// Whether it is a plain call.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// The options as the core reads them.
    #[must_use]
    pub const fn core(&self) -> &CoreOptions {
        &self.0
    }

    /// Whether a call under `limit` may have them.
    ///
    /// # Errors
    ///
    /// `RESERVE` on a window; `PARTIAL` together with `RESERVE`.
    pub fn check(&self, limit: &Limit) -> Result<(), ArgumentError> {
        if self.0.reserve.is_some() && self.0.partial {
            return Err(ArgumentError::new("options", "both", "PARTIAL or RESERVE, not both"));
        }
        if self.0.reserve.is_some() && !limit.is_bucket() {
            let got = limit.algorithm().name();
            return Err(ArgumentError::new("options", got, "RESERVE with a bucket: a window cannot be booked ahead"));
        }
        Ok(())
    }
}
