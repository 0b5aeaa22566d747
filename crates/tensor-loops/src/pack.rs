//! Panels: parts of a factor in the order in which tiles read them.

use super::Factor;

/// Copies a part of a factor, `outer` × `depth` numbers from a position on, into panels of `W` outer positions, place along the depth after
/// place. What a last panel lacks is 0.
pub fn pack<const W: usize>(
    panels: &mut Vec<[f32; W]>,
    factor: &Factor<f32>,
    (first_outer, outer): (usize, usize),
    (first_depth, depth): (usize, usize),
) {
    panels.clear();
    panels.resize(outer.div_ceil(W) * depth, [0.0; W]);
    let Factor { values, outer_stride, depth_stride } = *factor;
    for (panel, start) in panels.chunks_exact_mut(depth).zip((0..outer).step_by(W)) {
        let width = W.min(outer - start);
        let from = (first_outer + start) * outer_stride + first_depth * depth_stride;
        if outer_stride == 1 && width == W {
            for (place, to) in panel.iter_mut().enumerate() {
                let at = from + place * depth_stride;
                to.copy_from_slice(&values[at..at + W]);
            }
        } else {
            for lane in 0..width {
                let at = from + lane * outer_stride;
                for (place, to) in panel.iter_mut().enumerate() {
                    to[lane] = values[at + place * depth_stride];
                }
            }
        }
    }
}
