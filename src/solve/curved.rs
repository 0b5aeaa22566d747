//! L-BFGS on manifolds, as far as the CPU goes: steps and gradients of the blocks that do not move number by number.
//!
//! It is done as Ceres Solver does it (line_search_minimizer.cc, line_search.cc): gradients are those by tangent coordinates, a direction d is
//! one of them, trial points are x ⊞ αd, and the pairs of the history are tangent coordinates of different points, side by side, without a
//! transport between their tangent spaces. For unit quaternions and angles that is a transport: x ⊞ δ multiplies by exp δ, so equal
//! coordinates at two points are the same vector moved by the group, and the slope along the way is exactly gᵀd. For unit vectors the frames turn by as much
//! as the points do, which leaves an error in y of ‖g‖‖s‖, nothing near a minimum. P.-A. Absil, R. Mahony and R. Sepulchre, "Optimization Algorithms on Matrix
//! Manifolds" (2008), sections 4.1 and 8.1, say what retractions and transports have to fulfil. A trial point that does not lower the cost is refused whatever
//! its slope says, and shorter steps have better slopes.

use crate::batch::ArrayInfo;
use crate::codegen::memory::{Dispatch, View};
use crate::cpu::Program;
use crate::error::Result;
use crate::manifolds::{InPlace, Manifold, in_place_kernel};

/// The blocks on manifolds of a model's parameters.
pub struct Curved {
    /// Of each shape the kernels of [`InPlace`], in its order.
    program: Program,
    /// Shape, first number and blocks of each array.
    arrays: Vec<(usize, u32, u32)>,
    /// Whether a parameter is one of theirs.
    marks: Vec<bool>,
}

impl std::fmt::Debug for Curved {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_tuple("Curved").field(&self.arrays).finish()
    }
}

/// The arrays that have anything to be done.
pub fn on_manifolds(arrays: &[ArrayInfo]) -> impl Iterator<Item = &ArrayInfo> {
    arrays.iter().filter(|array| array.manifold != Manifold::Euclidean && array.count > 0)
}

impl Curved {
    /// Those of parameters in these arrays, if there are any.
    pub async fn of(arrays: &[ArrayInfo], parameters: usize) -> Result<Option<Curved>> {
        let mut shapes: Vec<(Manifold, u32)> = Vec::new();
        let mut places = Vec::new();
        let mut marks = vec![false; parameters];
        for array in on_manifolds(arrays) {
            let ArrayInfo { dim, count, offset, manifold, .. } = *array;
            let shape = shapes.iter().position(|known| *known == (manifold, dim)).unwrap_or_else(|| {
                shapes.push((manifold, dim));
                shapes.len() - 1
            });
            places.push((shape, offset, count));
            marks[offset as usize..(offset + dim * count) as usize].fill(true);
        }
        if places.is_empty() {
            return Ok(None);
        }
        let mut kernels = Vec::new();
        for (manifold, dim) in shapes {
            for what in [InPlace::Turn, InPlace::TangentGradient] {
                kernels.push(in_place_kernel(what, manifold, dim)?);
            }
        }
        Ok(Some(Curved { program: Program::compile(kernels).await?, arrays: places, marks }))
    }

    /// Whether a parameter is part of a block on a manifold.
    pub fn has(&self, parameter: usize) -> bool {
        self.marks[parameter]
    }

    /// Where `trial` holds the steps of blocks on manifolds, puts the points that they lead to from x.
    pub fn turn(&self, x: &[f64], trial: &mut [f64]) -> Result<()> {
        self.run(InPlace::Turn, x, trial)
    }

    /// Derivatives by the numbers of x become derivatives by tangent coordinates there.
    pub fn bring_to_tangents(&self, x: &[f64], gradient: &mut [f64]) -> Result<()> {
        self.run(InPlace::TangentGradient, x, gradient)
    }

    fn run(&self, what: InPlace, x: &[f64], turned: &mut [f64]) -> Result<()> {
        for &(shape, first, count) in &self.arrays {
            let mut views = [View::Read(x), View::Write(turned)];
            let dispatch = Dispatch { instances: 0..count, stride: count, first, origin: 0 };
            self.program.run(2 * shape + what as usize, &mut views, &dispatch)?;
        }
        Ok(())
    }
}
