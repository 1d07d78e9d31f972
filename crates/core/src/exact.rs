//! Products and quotients that lose nothing. Each quotient states its rounding.

use core::num::{NonZeroU64, NonZeroU128};

/// The whole product of two 64-bit numbers: it always fits 128 bits.
#[inline]
pub(crate) const fn product(a: u64, b: u64) -> u128 {
    (a as u128).wrapping_mul(b as u128)
}

/// `n / d` rounded down, and the remainder. Most numerators fit 64 bits, where a division is one instruction.
#[inline]
pub(crate) fn quotient(n: u128, d: NonZeroU64) -> (u128, u64) {
    match u64::try_from(n) {
        Ok(small) => (u128::from(small / d), small % d),
        Err(_) => wide_quotient(n, d),
    }
}

#[cold]
#[inline(never)]
fn wide_quotient(n: u128, d: NonZeroU64) -> (u128, u64) {
    let d = NonZeroU128::from(d);
    // A remainder is below its 64-bit divisor.
    (n / d, u64::try_from(n % d).unwrap_or(u64::MAX))
}

/// `n / d` rounded up.
#[inline]
pub(crate) fn quotient_up(n: u128, d: NonZeroU64) -> u128 {
    let (floor, rest) = quotient(n, d);
    floor.wrapping_add(u128::from(rest != 0))
}

/// `n / d` rounded up.
#[inline(always)]
pub(crate) fn up(n: u64, d: NonZeroU64) -> u64 {
    // A quotient that is rounded up is at least halved, or has no remainder.
    (n / d).wrapping_add(u64::from(n % d != 0))
}

/// `n / d` rounded up, or the largest 64-bit number where that is less.
#[inline]
pub(crate) fn quotient_up_u64(n: u128, d: NonZeroU64) -> u64 {
    match u64::try_from(n) {
        Ok(small) => up(small, d),
        Err(_) => narrow(quotient_up(n, d)),
    }
}

/// `n`, or the largest 64-bit number where that is less.
#[inline]
pub(crate) fn narrow(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
