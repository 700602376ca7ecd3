//! Times of single requests or connections: mean and maximum exact, quantiles by histogram.

use hdrhistogram::Histogram;

use crate::report::float;

/// Recorded times, in nanoseconds.
#[derive(Debug, Clone)]
pub struct Times {
    histogram: Histogram<u64>,
    sum: f64,
    max: u64,
}

/// The figures of [`Times`], in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// The mean; not a number when nothing was recorded.
    pub mean: f64,
    /// The 50th, 90th, 99th and 99.9th percentile.
    pub quantiles: [f64; 4],
    /// The highest.
    pub max: f64,
}

impl Default for Times {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1_000, 600_000_000_000, 3)
            .expect("the bounds are constants that the histogram accepts");
        Self {
            histogram,
            sum: 0.0,
            max: 0,
        }
    }
}

impl Times {
    /// Adds one time.
    #[inline]
    pub fn record(&mut self, nanoseconds: u64) {
        self.record_many(nanoseconds, 1);
    }

    /// Adds the same time `count` times.
    #[inline]
    pub fn record_many(&mut self, nanoseconds: u64, count: u64) {
        if count > 0 {
            self.histogram.saturating_record_n(nanoseconds, count);
            self.sum += float(nanoseconds) * float(count);
            self.max = self.max.max(nanoseconds);
        }
    }

    /// The figures of the recorded times.
    pub fn figures(&self) -> Figures {
        // the histogram rounds up within its precision, but no time was longer than the maximum
        let at = |quantile| self.histogram.value_at_quantile(quantile).min(self.max);
        Figures {
            mean: self.sum / float(self.histogram.len()) / 1e3,
            quantiles: QUANTILES.map(|quantile| float(at(quantile)) / 1e3),
            max: float(self.max) / 1e3,
        }
    }
}

/// The quantiles of [`Figures::quantiles`].
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_maximum_are_exact_and_include_failures() {
        let mut times = Times::default();
        times.record(1_500);
        times.record_many(4_500, 2);
        times.record_many(9_999_999, 0);
        let figures = times.figures();
        assert_eq!((figures.mean, figures.max), (3.5, 4.5));
        assert!((figures.quantiles[3] - 4.5).abs() < 0.01);
        assert!(Times::default().figures().mean.is_nan());
    }
}
