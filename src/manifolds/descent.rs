//! What gradient methods need of manifolds, as kernels that work in place, so that the same ones run on both engines: steps, and
//! gradients in tangent coordinates. For numbers that move by themselves there is nothing to be done.

use super::{Manifold, retract, tangent_partials};
use crate::codegen::{Address, Buffer, Element, Kernel, Load, Store};
use crate::error::Result;
use crate::graph::{Graph, InputId, NodeId};
use crate::list::Listed;

/// What such a kernel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InPlace {
    /// Buffer 1 holds steps δ and gets x ⊞ δ.
    Turn,
    /// Buffer 1 holds derivatives by the numbers of x and gets those by tangent coordinates, with 0 in the places left over.
    TangentGradient,
}

/// The kernel that does it for all blocks of an array, an instance a block; buffer 0 is the point x.
pub fn in_place_kernel(what: InPlace, manifold: Manifold, dim: u32) -> Result<Kernel> {
    let mut g = Graph::new();
    let (name, read) = match what {
        InPlace::Turn => ("turn", manifold.tangent_dim(dim)),
        InPlace::TangentGradient => ("tangent_gradient", dim),
    };
    let mut loads = Vec::new();
    let mut inputs = Vec::new();
    for (buffer, numbers) in [(0, dim), (1, read)] {
        for component in 0..numbers {
            inputs.push(g.input(InputId(inputs.len() as u32)));
            loads.push(Load::Read { buffer, address: Address::Interleaved { width: dim, component } });
        }
    }
    let (x, other) = inputs.split_at(dim as usize);
    let results = match what {
        InPlace::Turn => retract(&mut g, manifold, x, other),
        InPlace::TangentGradient => {
            let row: Vec<Option<NodeId>> = other.iter().map(|&partial| Some(partial)).list();
            let zero = g.literal(0.0);
            let mut results = vec![zero; x.len()];
            for (result, partial) in results.iter_mut().zip(tangent_partials(&mut g, manifold, x, &row)) {
                *result = partial.unwrap_or(zero);
            }
            results
        }
    };
    let (graph, results) = g.extract(&results);
    let mut stores = Vec::new();
    for (component, node) in (0..).zip(results) {
        let address = Address::Interleaved { width: dim, component };
        stores.push(Store { buffer: 1, address, node, accumulate: false });
    }
    let buffer = |name, written| Buffer { name, element: Element::Real, written };
    Ok(Kernel {
        name: name.to_owned(),
        header: vec![format!("Blocks of {dim} on the manifold '{}', in place.", manifold.name())],
        graph: graph.check(loads.len() as u32)?,
        buffers: vec![buffer("x", false), buffer("turned", true)],
        loads,
        calls: Vec::new(),
        stores,
        total: None,
        gated: true,
        layers: None,
    })
}
