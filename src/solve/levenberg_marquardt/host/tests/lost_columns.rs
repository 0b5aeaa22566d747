//! Steps that lower the cost but lead where a column of J̃ has vanished.

use super::dual::{Dual, linearised};
use super::*;
use crate::solve::options::TrustRegion;

/// BoxBOD of NIST: a rise b₁(1 − exp(−b₂t)) through six points. The certified sum of squares is 1168.0088766; where the exponential has vanished it is
/// 9771.5 at best.
fn rise(b: &[Dual]) -> Vec<Dual> {
    let points = [(1.0, 109.0), (2.0, 149.0), (3.0, 149.0), (5.0, 191.0), (7.0, 213.0), (10.0, 224.0)];
    let term = |(t, y): (f64, f64)| b[0].clone() * (1.0 - (-(b[1].clone() * t)).exp()) - y;
    points.into_iter().map(term).collect()
}

#[test]
fn a_step_to_where_an_exponential_has_vanished_is_rejected() {
    let residuals = |x: &[f64]| linearised(x, rise);
    for start in [[1.0, 1.0], [10.0, 10.0], [1.0, 10.0], [0.1, 0.1], [100.0, 0.75]] {
        let Run { summary, point, .. } = run(&Fake::new(&residuals, &start));
        let about = format!("{start:?}: {point:?}, {} iterations, {}", summary.iterations, summary.message());
        // The cost changes by less than 1e-8 at the last step.
        assert!((2.0 * summary.final_cost / 1168.0088766 - 1.0).abs() < 1e-8, "{about}");
        // 66 at most, and a tenth.
        assert!(summary.success() && summary.iterations <= 73, "{about}");
    }
}

#[test]
fn the_dogleg_holds_a_coordinate_whose_column_its_steps_lose() {
    let residuals = |x: &[f64]| linearised(x, rise);
    for start in [[1.0, 1.0], [10.0, 10.0], [1.0, 10.0], [0.1, 0.1], [100.0, 0.75]] {
        let mut fake = Fake::new(&residuals, &start);
        fake.options.trust_region = TrustRegion::Dogleg;
        let Run { summary, point, .. } = run(&fake);
        let about = format!("{start:?}: {point:?}, {} iterations, {}", summary.iterations, summary.message());
        // The cost changes by less than 1e-8 at the last step.
        assert!((2.0 * summary.final_cost / 1168.0088766 - 1.0).abs() < 1e-8, "{about}");
        // 54 at most, and a tenth.
        assert!(summary.success() && summary.iterations <= 60, "{about}");
    }
}

/// Two limits to x₀ and a value for x₁. Beyond the limits the column of x₀ is 0.
fn limits(x: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let slope = |limit: f64| f64::from(u8::from(x[0] > limit));
    let residuals = vec![(x[0] - 1.0).max(0.0), 2.0 * (x[0] - 2.0).max(0.0), x[1] - 3.0];
    (residuals, vec![vec![slope(1.0), 0.0], vec![2.0 * slope(2.0), 0.0], vec![0.0, 1.0]])
}

#[test]
fn a_column_that_vanishes_with_its_residuals_is_no_loss() {
    for trust_region in [TrustRegion::LevenbergMarquardt, TrustRegion::Dogleg] {
        let mut fake = Fake::new(&limits, &[5.0, -4.0]);
        fake.options.trust_region = trust_region;
        let Run { summary, point, linearised, .. } = run(&fake);
        assert!(summary.success() && summary.final_cost < 1e-12, "{point:?}: {}", summary.message());
        // A rejected step would linearise its point again.
        let accepted = summary.history.iter().filter(|iteration| iteration.accepted).count();
        assert_eq!(linearised.len(), accepted, "{linearised:?}");
    }
}

#[test]
fn a_column_that_every_step_loses_does_not_hold_the_others_up() {
    // x₀ is at an edge: any step to less loses its residual. The cost falls with every step that x₁ makes.
    let edge = |x: &[f64]| {
        let above = f64::from(u8::from(x[0] >= 0.0));
        let residuals = vec![above * (x[0] + 1.0), 1e3 * (x[1] - 2.0), x[1].powi(3) - 8.0];
        (residuals, vec![vec![above, 0.0], vec![0.0, 1e3], vec![0.0, 3.0 * x[1] * x[1]]])
    };
    let Run { summary, point, .. } = run(&Fake::new(&edge, &[0.0, 30.0]));
    // parameterTolerance 1e-8, and quadratic convergence.
    assert!((point[1] - 2.0).abs() < 1e-7 && summary.success(), "{point:?} {}", summary.message());
}

#[test]
fn a_column_that_grows_is_no_measure_for_the_others() {
    // The first step that lowers the cost takes x₀ from −40 to −8, and its column from e⁻⁴⁰ to e⁻⁸.
    let residuals = |x: &[f64]| linearised(x, |x| vec![x[0].exp() - 1.0, x[1].clone() - 3.0]);
    let Run { summary, point, .. } = run(&Fake::new(&residuals, &[-40.0, 1.0]));
    // parameterTolerance 1e-8, and quadratic convergence.
    assert!(distance(&point, &[0.0, 3.0]) < 1e-7 && summary.success(), "{point:?} {}", summary.message());
}
