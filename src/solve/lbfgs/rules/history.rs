//! History update and direction of L-BFGS: which pairs are kept, and whether the direction −Hg is used.

use std::rc::Rc;

use crate::solve::scalar::function;
use residua_codegen::Function;

/// (Whether a pair is kept, ρ = 1/sᵀy, γ = sᵀy/yᵀy) of a step s and a change y of the gradient.
///
/// A pair is kept if sᵀy > ε‖s‖‖y‖, since H is positive definite only while sᵀy > 0 (J. Nocedal and S. Wright, "Numerical Optimization",
/// 2nd ed., 2006, section 7.2), and if ρ and γ do not overflow. `sy`: sᵀy; `s_norm`, `y_norm`: ‖s‖, ‖y‖; `resolution`: ε; `largest`: the
/// largest finite number.
pub fn pair() -> Rc<Function> {
    let parameters = &["sy", "s_norm", "y_norm", "resolution", "largest"];
    function("curvature_pair", parameters, |f, [sy, s_norm, y_norm, resolution, largest]| {
        let (zero, one) = (f.number(0.0), f.number(1.0));
        let product = f.times(s_norm, y_norm);
        let rounding = f.times(resolution, product);
        let curved = f.less(rounding, sy);
        let rho = f.over(one, sy);
        let of_one = f.over(sy, y_norm);
        let scale = f.over(of_one, y_norm);
        let terms = [f.less(zero, scale), f.at_most(scale, largest), f.at_most(rho, largest)];
        let kept = terms.into_iter().fold(curved, |all, term| f.and(all, term));
        [kept, rho, scale]
    })
}

/// Whether the direction d points downhill beyond rounding: gᵀd < −ε‖g‖‖d‖. `slope`: gᵀd; `gradient_norm`: ‖g‖; `direction_norm`: ‖d‖;
/// `resolution`: ε.
pub fn descends() -> Rc<Function> {
    let parameters = &["slope", "gradient_norm", "direction_norm", "resolution"];
    function("descends", parameters, |f, [slope, gradient_norm, direction_norm, resolution]| {
        let product = f.times(gradient_norm, direction_norm);
        let rounding = f.times(resolution, product);
        let minus = f.number(-1.0);
        let limit = f.times(minus, rounding);
        [f.less(slope, limit)]
    })
}
