//! Tensors of which a thread computes a block: stacks of stacks, whose parts have most of what they are computed from in common.

use residua_base::list::Listed;

use crate::expr::{Expr, TensorId, TensorOp};
use crate::size::Size;

/// Most elements of a block.
const MOST_ELEMENTS: usize = 64;
/// Operations that are looked at for the stacks that a tensor is computed from.
const MOST_STEPS: u32 = 64;

/// The axes of a tensor along which it is a stack of stacks of parts of extent 1, or is computed from one element by element; none if it is not.
pub fn block_axes(expr: &Expr, stored: &[bool], root: TensorId) -> Vec<u32> {
    let mut axes = Vec::new();
    let mut steps = 0;
    find(expr, stored, root, &mut axes, &mut steps);
    let elements: usize = axes.iter().map(|axis| extent(expr, root, *axis)).product();
    if axes.len() < 2 || elements > MOST_ELEMENTS { Vec::new() } else { axes }
}

fn extent(expr: &Expr, id: TensorId, axis: u32) -> usize {
    expr.shape(id)[axis as usize].known().unwrap_or(i64::MAX) as usize
}

/// Adds the axes of the stacks under a tensor; whether there are two.
fn find(expr: &Expr, stored: &[bool], id: TensorId, axes: &mut Vec<u32>, steps: &mut u32) -> bool {
    *steps += 1;
    let tensor = expr.tensor(id);
    let is_open = |operand: &&TensorId| !stored.get(operand.0 as usize).is_some_and(|stored| *stored);
    match tensor.op {
        _ if *steps > MOST_STEPS => false,
        TensorOp::Concat(axis) if tensor.operands.len() == extent(expr, id, axis) && !axes.contains(&axis) => {
            axes.push(axis);
            axes.len() == 2
                || tensor.operands[..1].iter().filter(is_open).any(|part| find(expr, stored, *part, axes, steps))
        }
        TensorOp::Slice { .. } => tensor.operands.iter().filter(is_open).any(|of| find(expr, stored, *of, axes, steps)),
        TensorOp::Elementwise(_) => {
            let alike =
                tensor.operands.iter().filter(is_open).filter(|operand| expr.shape(**operand) == tensor.shape).list();
            alike.into_iter().any(|operand| find(expr, stored, *operand, axes, steps))
        }
        _ => false,
    }
}

/// An axis of a block, and how many neighbours along it a thread computes: all, or a divisor of them.
pub type Side = (u32, u32);

/// The sides of a block that has all of some axes.
pub fn whole(shape: &[Size], axes: &[u32]) -> Vec<Side> {
    axes.iter().map(|axis| (*axis, shape[*axis as usize].known().unwrap_or(1) as u32)).list()
}

/// The coordinates within a block along its axes, the last fastest; one without any where there are no axes.
pub fn places(block: &[Side]) -> Vec<Vec<(Side, u32)>> {
    block.iter().fold(vec![Vec::new()], |places, side| {
        let with = |place: &Vec<(Side, u32)>, at: u32| [place.as_slice(), &[(*side, at)]].concat();
        places.iter().flat_map(|place| (0..side.1).map(|at| with(place, at)).list()).list()
    })
}
