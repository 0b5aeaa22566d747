//! Columns of J̃ that are larger by many orders at the start than later, so that the damping of the start would hold their coordinates.

use super::dual::{Dual, linearised};
use super::*;

/// DanWood of NIST: b₁xᵇ² through six points. The certified sum of squares is 4.3173084083e-3.
fn power(b: &[Dual]) -> Vec<Dual> {
    let points = [(1.309, 2.138), (1.471, 3.421), (1.490, 3.597), (1.565, 4.340), (1.611, 4.882), (1.680, 5.660)];
    let term = |(x, y): (f64, f64)| b[0].clone() * (b[1].clone() * f64::ln(x)).exp() - y;
    points.into_iter().map(term).collect()
}

#[test]
fn a_run_does_not_end_where_the_damping_of_its_start_holds_a_coordinate() {
    // At the start both columns are of the order of xᵇ², up to 1e8 to 1e14, and with the right b₁ the second one is of order 1.
    let residuals = |x: &[f64]| linearised(x, power);
    for start in [[18.0, 38.0], [6.5, 62.0], [0.3, 64.0]] {
        let mut fake = Fake::new(&residuals, &start);
        // They take 154 at most: a valley that bends.
        fake.options.solve.max_iterations = 200;
        let Run { summary, point, .. } = run(&fake);
        let about = format!("{start:?}: {point:?}, {} iterations, {}", summary.iterations, summary.message());
        // The cost changes by less than 1e-8 at the last step.
        assert!((2.0 * summary.final_cost / 4.3173084083e-3 - 1.0).abs() < 1e-8, "{about}");
        assert!(summary.success(), "{about}");
    }
}

/// A level less a growth, c − ax·exp(by), at nine points, with noise of 0.01 from x₀ = 2.5, x₁ = 1e-8 and x₂ = 0.0577. The sum of squares is 4.3049e-5 at the
/// minimum, and 0.0638 without the growth.
fn growth(p: &[Dual]) -> Vec<Dual> {
    let noise = [3e-3, -2e-3, 1e-3, -4e-3, 2e-3, 2.5e-3, -1.5e-3, 5e-4, -1e-3];
    let points = [1.0, 8.0, 64.0].into_iter().flat_map(|x| [180.0, 225.0, 275.0].map(|y| (x, y)));
    let term = |((x, y), noise): ((f64, f64), f64)| {
        let data = 2.5 - 1e-8 * x * f64::exp(0.0577 * y) + noise;
        p[0].clone() - p[1].clone() * x * (p[2].clone() * y).exp() - data
    };
    points.zip(noise).map(term).collect()
}

#[test]
fn a_coordinate_that_the_damping_of_the_start_holds_is_no_convergence() {
    let residuals = |x: &[f64]| linearised(x, growth);
    // The first steps lower x₁ until the growth shows at one point alone; x₂ is to fall along with it.
    for (start, most) in [([1.6, 1.2e-5, 0.1], 1000), ([0.5, 1e-8, 0.2], 100), ([5.0, 1e-6, 0.2], 100)] {
        let mut fake = Fake::new(&residuals, &start);
        fake.options.solve.max_iterations = most;
        let Run { summary, point, .. } = run(&fake);
        let about = format!("{start:?}: {point:?}, {} iterations, {}", summary.iterations, summary.message());
        let is_minimum = (2.0 * summary.final_cost / 4.304910335e-5 - 1.0).abs() < 1e-6;
        assert_eq!(summary.success(), is_minimum, "{about}");
    }
}
