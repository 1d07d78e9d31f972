//! State that commands share.

use std::cell::UnsafeCell;

/// A value that only commands touch. The server runs them on its main thread, one at a time.
pub struct MainThread<T>(UnsafeCell<T>);

// SAFETY: (main); no two threads reach the value at the same time.
unsafe impl<T: Send> Sync for MainThread<T> {}

impl<T> MainThread<T> {
    /// Holds `value`.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Lets `act` read and change it; `act` calls no command, so nothing else reaches it meanwhile.
    #[inline(always)]
    pub fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: (main); the reference ends before the command does, and `act` does not come back here.
        act(unsafe { &mut *self.0.get() })
    }
}
