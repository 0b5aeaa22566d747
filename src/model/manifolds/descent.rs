//! What gradient methods need of manifolds, as kernels that work in place, so that the same ones run on both engines: steps, and
//! gradients in tangent coordinates. For numbers that move by themselves there is nothing to be done.

use super::retraction::{BlockKernel, Numbers};
use super::{Manifold, retract, tangent_partials};
use residua_base::error::Result;
use residua_base::list::Listed;
use residua_codegen::{CheckedKernel, Width};
use residua_ir::graph::NodeId;

/// What such a kernel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InPlace {
    /// Buffer 1 holds steps δ and gets x ⊞ δ.
    Turn,
    /// Buffer 1 holds derivatives by the numbers of x and gets those by tangent coordinates, with 0 in the places left over.
    TangentGradient,
}

/// The kernel that does it for all blocks of an array, an instance a block; buffer 0 is the point x. Either buffer may be of pairs, whose low parts stand
/// where the dispatch's `low_0` says.
pub fn in_place_kernel(what: InPlace, manifold: Manifold, dim: u32, width: Width) -> Result<CheckedKernel> {
    let (name, read) = match what {
        InPlace::Turn => ("turn", manifold.tangent_dim(dim)),
        InPlace::TangentGradient => ("tangent_gradient", dim),
    };
    // A step is f32 wherever it stands.
    let of_read = if what == InPlace::Turn { Width::Single } else { width };
    let reads = [Numbers { buffer: 0, count: dim, width }, Numbers { buffer: 1, count: read, width: of_read }];
    let mut blocks = BlockKernel::new(dim, &reads);
    let (x, other) = blocks.inputs.split_at(dim as usize);
    let g = &mut blocks.graph;
    let results = match what {
        InPlace::Turn => retract(g, manifold, x, other),
        InPlace::TangentGradient => {
            let row: Vec<Option<NodeId>> = other.iter().map(|&partial| Some(partial)).list();
            let zero = g.literal(0.0);
            let mut results = vec![zero; x.len()];
            for (result, partial) in results.iter_mut().zip(tangent_partials(g, manifold, x, &row)) {
                *result = partial.unwrap_or(zero);
            }
            results
        }
    };
    let header = format!("Blocks of {dim} on the manifold '{}', in place.", manifold.name());
    blocks.writing(name, header, &[("x", false), ("turned", true)], &[(1, &results, width)])
}
