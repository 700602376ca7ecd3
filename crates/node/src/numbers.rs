//! Conversion of numbers between Rust and JavaScript, whose only number type is `f64`. Owns the
//! casts.

use millrace_core::SocketId;

/// Converts a count for JavaScript. Exact below 2^53.
#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "the conversion to f64 is the purpose; counts stay below 2^53"
)]
pub(crate) fn from_u64(count: u64) -> f64 {
    count as f64
}

/// Converts a length or count for JavaScript.
pub(crate) fn from_usize(count: usize) -> f64 {
    from_u64(u64::try_from(count).unwrap_or(u64::MAX))
}

/// Converts a socket id for JavaScript. Always exact.
pub(crate) fn from_id(id: SocketId) -> f64 {
    from_u64(id.get())
}

/// The number as a whole number from 0 to 2^53 − 1.
#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float cast saturates, which converting back detects"
)]
pub(crate) fn to_u64(number: f64) -> Option<u64> {
    const LARGEST: u64 = 9_007_199_254_740_991;
    let whole = number as u64;
    (whole <= LARGEST && from_u64(whole) - number == 0.0).then_some(whole)
}

/// The number as a whole number from 0 to 2^32 − 1.
pub(crate) fn to_u32(number: f64) -> Option<u32> {
    to_u64(number).and_then(|whole| u32::try_from(whole).ok())
}

/// The number as a socket id: a whole number from 1 to 2^53 − 1.
pub(crate) fn to_id(number: f64) -> Option<SocketId> {
    to_u64(number).and_then(SocketId::new)
}

/// The number as a whole number, limited to the range of `i32`.
#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "a float cast saturates, as intended"
)]
pub(crate) fn to_i32_saturating(number: f64) -> Option<i32> {
    (number.is_finite() && number.fract() == 0.0).then_some(number as i32)
}

/// The number as a whole number from −2^31 to 2^31 − 1.
pub(crate) fn to_i32(number: f64) -> Option<i32> {
    let range = f64::from(i32::MIN)..=f64::from(i32::MAX);
    to_i32_saturating(number).filter(|_whole| range.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_positive_whole_and_exact() {
        for bad in [
            0.0,
            -1.0,
            0.5,
            f64::NAN,
            f64::INFINITY,
            9_007_199_254_740_992.0,
        ] {
            assert_eq!(to_id(bad), None, "{bad}");
        }
        assert_eq!(to_id(1.0).map(from_id), Some(1.0));
        assert_eq!(
            to_id(9_007_199_254_740_991.0).map(from_id),
            Some(9_007_199_254_740_991.0)
        );
    }

    #[test]
    fn deltas_saturate_and_stay_whole() {
        assert_eq!(to_i32_saturating(1e300), Some(i32::MAX));
        assert_eq!(to_i32_saturating(-1e300), Some(i32::MIN));
        assert_eq!(to_i32_saturating(f64::NAN), None);
        assert_eq!(to_i32_saturating(f64::INFINITY), None);
        assert_eq!(to_i32_saturating(1.5), None);
        assert_eq!(to_i32_saturating(-0.0), Some(0));
    }

    #[test]
    fn numbers_outside_the_range_of_user_data_are_refused() {
        assert_eq!(to_i32(2_147_483_647.0), Some(i32::MAX));
        assert_eq!(to_i32(2_147_483_648.0), None);
        assert_eq!(to_i32(-2_147_483_648.0), Some(i32::MIN));
    }
}
