//! Steps along manifolds: x ⊞ δ as a graph, and the kernel that takes such a step for all blocks of an array.

use super::basis::Frame;
use super::{Manifold, dot};
use residua_base::error::Result;
use residua_base::list::{Listed, PushAll};
use residua_codegen::{CheckedKernel, ElementType, Guard, Index, Kernel, KernelBuffer, Load, Output, Width};
use residua_ir::graph::{Graph, InputId, NodeId, Op};

/// The buffers of [`retraction_kernel`], in binding order; all have the layout of x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RetractionBuffer {
    /// The point, read.
    X = 0,
    /// The step δ, read.
    Step = 1,
    /// Lower bounds, −∞ or a huge negative number where there are none, read.
    Lower = 2,
    /// Upper bounds, read.
    Upper = 3,
    /// x ⊞ δ, within the bounds, written.
    Trial = 4,
    /// The step that was made, written.
    ProjectedStep = 5,
}

/// Numbers of a block in a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    /// The buffer.
    pub buffer: u32,
    /// How many.
    pub count: u32,
    /// In what they are held.
    pub width: Width,
}

/// x ⊞ δ for the numbers x of a block and its tangent coordinates δ. Where δ is 0 it is x, bit for bit; a result on a sphere is
/// normalised, so that the length does not drift however many steps are made.
pub fn retract(g: &mut Graph, manifold: Manifold, x: &[NodeId], delta: &[NodeId]) -> Vec<NodeId> {
    assert_eq!(delta.len(), manifold.tangent_dim(x.len() as u32) as usize, "one number a tangent coordinate");
    match manifold {
        Manifold::Euclidean => {
            let sums: Vec<NodeId> = x.iter().zip(delta).map(|(&x, &d)| g.add(x, d)).list();
            sums.into_iter().zip(x).zip(delta).map(|((sum, &x), &d)| unless_zero(g, d, sum, x)).list()
        }
        Manifold::Angle => {
            let sums = x.iter().zip(delta).map(|(&x, &d)| {
                let sum = g.add(x, d);
                let wrapped = wrap(g, sum);
                unless_zero(g, d, wrapped, x)
            });
            sums.list()
        }
        Manifold::UnitQuaternion => {
            let Turn { squared, cosine, sine_ratio } = Turn::of(g, delta);
            let [a, b, c] = [0, 1, 2].map(|i| g.mul(sine_ratio, delta[i]));
            // The Hamilton product of (cos, a, b, c) and x.
            let rows = [
                [(cosine, 0, 1.0), (a, 1, -1.0), (b, 2, -1.0), (c, 3, -1.0)],
                [(cosine, 1, 1.0), (a, 0, 1.0), (b, 3, 1.0), (c, 2, -1.0)],
                [(cosine, 2, 1.0), (a, 3, -1.0), (b, 0, 1.0), (c, 1, 1.0)],
                [(cosine, 3, 1.0), (a, 2, 1.0), (b, 1, -1.0), (c, 0, 1.0)],
            ];
            let turned: Vec<NodeId> = rows
                .iter()
                .map(|terms| {
                    let [first, rest @ ..] = terms;
                    let mut sum = g.mul(first.0, x[first.1]);
                    for &(factor, source, sign) in rest {
                        let product = g.mul(factor, x[source]);
                        sum = if sign < 0.0 { g.sub(sum, product) } else { g.add(sum, product) };
                    }
                    sum
                })
                .list();
            normalised_unless_zero(g, squared, &turned, x)
        }
        Manifold::UnitVector => {
            let Turn { squared, cosine, sine_ratio } = Turn::of(g, delta);
            let tangent = Frame::of(g, x).tangent_vector(g, delta);
            let moved: Vec<NodeId> = x
                .iter()
                .zip(&tangent)
                .map(|(&x, &t)| {
                    let (kept, added) = (g.mul(cosine, x), g.mul(sine_ratio, t));
                    g.add(kept, added)
                })
                .list();
            normalised_unless_zero(g, squared, &moved, x)
        }
        Manifold::Product(product) => {
            let mut moved = Vec::with_capacity(x.len());
            for (manifold, x, delta) in product.split(x, delta) {
                moved.push_all(retract(g, manifold, x, delta));
            }
            moved
        }
    }
}

/// ‖δ‖², cos ‖δ‖ and sin ‖δ‖/‖δ‖.
struct Turn {
    squared: NodeId,
    cosine: NodeId,
    sine_ratio: NodeId,
}

impl Turn {
    fn of(g: &mut Graph, delta: &[NodeId]) -> Turn {
        let squared = dot(g, delta, delta);
        let length = g.sqrt(squared);
        let (sine, inverse) = (g.sin(length), g.inverse_norm(squared));
        Turn { squared, cosine: g.cos(length), sine_ratio: g.mul(sine, inverse) }
    }
}

/// `moved`, but `x` where the step is 0. A NaN step is none.
fn unless_zero(g: &mut Graph, step: NodeId, moved: NodeId, x: NodeId) -> NodeId {
    let zero = g.literal(0.0);
    let stays = g.eq(step, zero);
    g.select(stays, x, moved)
}

fn normalised_unless_zero(g: &mut Graph, squared: NodeId, moved: &[NodeId], x: &[NodeId]) -> Vec<NodeId> {
    let length_squared = dot(g, moved, moved);
    let scale = g.inverse_norm(length_squared);
    moved
        .iter()
        .zip(x)
        .map(|(&moved, &x)| {
            let scaled = g.mul(moved, scale);
            unless_zero(g, squared, scaled, x)
        })
        .list()
}

/// The angle in (−π, π] that differs by whole turns. Halves round up, so that −π goes to π.
fn wrap(g: &mut Graph, angle: NodeId) -> NodeId {
    let turn = g.literal(std::f64::consts::TAU);
    let share = g.div(angle, turn);
    let back = g.neg(share);
    let turns = g.round(back);
    let shift = g.mul(turn, turns);
    g.add(angle, shift)
}

/// The kernel that makes a step with all blocks of an array, an instance a block; where the array begins is the dispatch's `first`.
///
/// Its buffers are those of [`RetractionBuffer`]. Euclidean blocks are projected on their bounds, and the step made is the one
/// after the projection; on other manifolds there are no bounds, and the step made is δ. A coordinate whose step is 0 stays as it
/// is, bounds or not: so do constants. Without bounds (`bounded` false) the buffers of bounds are not read.
///
/// In pairs the points and the bounds are pairs, and δ is f32. The step made is a pair where it was projected: as a difference of rounded points it
/// would have no digits. All low parts stand where the dispatch's `low_0` says.
pub fn retraction_kernel(manifold: Manifold, dim: u32, bounded: bool, width: Width) -> Result<CheckedKernel> {
    let (tangents, n) = (manifold.tangent_dim(dim) as usize, dim as usize);
    let projects = bounded && manifold == Manifold::Euclidean;
    let [of_x, of_step, of_lower, of_upper] =
        [RetractionBuffer::X, RetractionBuffer::Step, RetractionBuffer::Lower, RetractionBuffer::Upper]
            .map(|buffer| buffer as u32);
    let step = Numbers { buffer: of_step, count: tangents as u32, width: Width::Single };
    let point = |buffer| Numbers { buffer, count: dim, width };
    let reads = [point(of_x), step, point(of_lower), point(of_upper)];
    let mut blocks = BlockKernel::new(dim, &reads[..if projects { 4 } else { 2 }]);
    let (x, rest) = blocks.inputs.split_at(n);
    let (delta, bounds) = rest.split_at(tangents);
    let g = &mut blocks.graph;
    let (trial, made) = if projects {
        let (lower, upper) = bounds.split_at(n);
        let (mut trial, mut made) = (Vec::new(), Vec::new());
        for i in 0..n {
            let sum = g.add(x[i], delta[i]);
            let raised = g.apply(Op::Max, &[sum, lower[i]]);
            let projected = g.apply(Op::Min, &[raised, upper[i]]);
            let point = unless_zero(g, delta[i], projected, x[i]);
            trial.push(point);
            made.push(g.sub(point, x[i]));
        }
        (trial, made)
    } else {
        let trial = retract(g, manifold, x, delta);
        let mut made = delta.to_vec();
        made.resize(n, g.literal(0.0));
        (trial, made)
    };
    blocks.writing(
        "retract",
        format!("Steps of blocks of {dim} on the manifold '{}'.", manifold.name()),
        &[("x", false), ("step", false), ("lower", false), ("upper", false), ("trial", true), ("made", true)],
        &[
            (RetractionBuffer::Trial as u32, &trial, width),
            (RetractionBuffer::ProjectedStep as u32, &made, if projects { width } else { Width::Single }),
        ],
    )
}

/// A kernel over blocks of an array, in the making: an instance a block, which reads its numbers of some vectors and writes those of others.
pub(super) struct BlockKernel {
    dim: u32,
    loads: Vec<Load>,
    /// What is computed.
    pub graph: Graph,
    /// What is read, vector after vector.
    pub inputs: Vec<NodeId>,
}

impl BlockKernel {
    /// Reads numbers of a block of `dim`.
    pub fn new(dim: u32, reads: &[Numbers]) -> BlockKernel {
        let (mut graph, mut inputs, mut loads) = (Graph::new(), Vec::new(), Vec::new());
        for &Numbers { buffer, count, width } in reads {
            for component in 0..count {
                let index = Index::interleaved(dim, component);
                inputs.push(graph.input(InputId(loads.len() as u32)));
                loads.push(match width {
                    Width::Single => Load::read(buffer, index),
                    Width::Pair => Load::read_pair(buffer, index.clone(), index.low(0)),
                });
            }
        }
        BlockKernel { dim, loads, graph, inputs }
    }

    /// Writes all numbers of a block to each of some buffers, which have names and may be written to or not.
    pub fn writing(
        self,
        name: &str,
        header: String,
        buffers: &[(&'static str, bool)],
        writes: &[(u32, &[NodeId], Width)],
    ) -> Result<CheckedKernel> {
        let mut kept = Vec::new();
        for (_, nodes, _) in writes {
            kept.extend_from_slice(nodes);
        }
        let (graph, kept) = self.graph.extract(&kept);
        let mut kept = kept.into_iter();
        let mut outputs = Vec::new();
        for &(buffer, nodes, width) in writes {
            for (component, node) in (0..nodes.len() as u32).zip(&mut kept) {
                let index = Index::interleaved(self.dim, component);
                outputs.push(match width {
                    Width::Single => Output::store(node, buffer, index),
                    Width::Pair => Output::store_pair(node, buffer, index.clone(), index.low(0)),
                });
            }
        }
        let buffer = |&(name, written)| KernelBuffer { name, dtype: ElementType::Real, written };
        let kernel = Kernel {
            header: vec![header],
            guard: Guard::Gate,
            buffers: buffers.iter().map(buffer).list(),
            loads: self.loads,
            outputs,
            ..Kernel::new(name, graph.check(self.inputs.len() as u32)?)
        };
        kernel.check()
    }
}
