//! The moment at which a call is to end. Long computations that nothing interrupts check between their pieces whether it has passed.

use crate::clock::now_ms;
use crate::cooperative::Yielder;

/// The moment at which a call is to end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deadline(f64);

impl Deadline {
    /// A call without a limit.
    pub const NEVER: Deadline = Deadline(f64::INFINITY);

    /// So many milliseconds after a moment of [`now_ms`].
    pub fn after(began_ms: f64, limit_ms: f64) -> Deadline {
        Deadline(began_ms + limit_ms)
    }

    /// Milliseconds until the moment, infinite without a limit; not above 0 when it has come.
    pub fn left_ms(self) -> f64 {
        if self.0 < f64::INFINITY { self.0 - now_ms() } else { f64::INFINITY }
    }

    /// The same as [`Deadline::has_passed`] between two pieces of work, after a turn of the event loop if one is due.
    pub async fn has_passed_after_turn(self) -> bool {
        Yielder::going_on().yield_if_due().await;
        self.has_passed()
    }

    /// Whether the moment has come.
    pub fn has_passed(self) -> bool {
        self.0 < f64::INFINITY && now_ms() >= self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_passes_at_its_moment_and_no_limit_never_does() {
        let began = now_ms();
        assert!(Deadline::after(began, 0.0).has_passed());
        assert!(!Deadline::after(began, 1e6).has_passed());
        assert!(!Deadline::after(began, f64::INFINITY).has_passed());
        assert!(!Deadline::NEVER.has_passed());
        assert_eq!(Deadline::NEVER.left_ms(), f64::INFINITY);
        let left = Deadline::after(began, 1e6).left_ms();
        assert!(left > 0.0 && left <= 1e6, "{left}");
    }
}
