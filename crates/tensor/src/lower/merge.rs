//! Merging of axes: a kernel that treats neighbouring axes as one has fewer coordinates to find.
//!
//! Addresses are sums of coordinates with strides. Two neighbouring axes are one if every such sum that names either has the inner stride times
//! the inner extent as its outer stride: then it is the inner stride times the merged coordinate. The graph is written anew with the merged
//! coordinates, and every sum in one form: strides times coordinates, then what else there is.

use residua_base::list::Listed;
use rustc_hash::FxHashMap;

use super::size_node;
use crate::scalar::{Id, Type, TypedGraph, TypedNode, TypedOp};
use crate::size::Size;

/// Axes of an iteration space after merging.
pub struct Merged {
    /// The graph in the merged coordinates.
    pub graph: TypedGraph,
    /// The words of its uniform.
    pub sizes: Vec<Size>,
    /// Extents of the merged axes, those of each group after one another.
    pub groups: Vec<Vec<Size>>,
    /// The new nodes of the roots, in their order.
    pub roots: Vec<Id>,
}

/// Largest divisor that a text has as a number, which is a product and a shift to compilers: windows have few sizes, and so few texts are made.
const MOST_IN_TEXT: i64 = 16;

/// A sum: strides of coordinates, multiples of other nodes, and a size.
#[derive(Clone, Debug, Default, PartialEq)]
struct Sum {
    strides: Vec<(u32, Size)>,
    others: Vec<(Id, Size)>,
    constant: Size,
}

impl Sum {
    fn add(&mut self, other: &Sum, factor: &Size) {
        for (axis, stride) in &other.strides {
            add_term(&mut self.strides, *axis, &(stride * factor));
        }
        for (node, multiple) in &other.others {
            add_term(&mut self.others, *node, &(multiple * factor));
        }
        self.constant = &self.constant + &(&other.constant * factor);
    }

    /// Whether it gives modulo 2³² what the operations give that it is of.
    fn is_exact(&self) -> bool {
        let factors = self.strides.iter().map(|(_, size)| size).chain(self.others.iter().map(|(_, size)| size));
        factors.chain([&self.constant]).all(Size::is_word)
    }

    fn is_constant(&self) -> bool {
        self.strides.is_empty() && self.others.is_empty()
    }

    fn stride(&self, axis: u32) -> Size {
        self.strides.iter().find(|(known, _)| *known == axis).map(|(_, stride)| stride.clone()).unwrap_or_default()
    }
}

fn add_term<K: Copy + PartialEq + Ord>(terms: &mut Vec<(K, Size)>, key: K, size: &Size) {
    match terms.binary_search_by(|(known, _)| known.cmp(&key)) {
        Ok(place) => {
            terms[place].1 = &terms[place].1 + size;
            if terms[place].1.is(0) {
                terms.remove(place);
            }
        }
        Err(_) if size.is(0) => {}
        Err(place) => terms.insert(place, (key, size.clone())),
    }
}

/// Merges axes within each group of axes, where `roots` and what they need allow it. Coordinates count through the groups.
pub fn merge(graph: &TypedGraph, sizes: &[Size], groups: &[Vec<Size>], roots: &[Id]) -> Merged {
    let used = graph.reachable(roots.iter().copied());
    let sums = sums(graph, sizes, &used);
    let atoms = atoms(graph, &used, &sums, roots);
    // For each axis whether it continues the one before.
    let extents: Vec<&Size> = groups.iter().flatten().list();
    let mut continues = vec![false; extents.len()];
    let mut first = 0;
    for group in groups {
        for axis in first + 1..first + group.len() {
            let (outer, inner) = (axis as u32 - 1, axis as u32);
            continues[axis] = atoms.iter().all(|atom| {
                let sum = sums[atom.index()].as_ref().expect("atoms are sums");
                sum.stride(outer) == &sum.stride(inner) * extents[axis]
            });
        }
        first += group.len();
    }
    let mut merged_groups: Vec<Vec<Size>> = Vec::new();
    let mut position = vec![0; extents.len()];
    let (mut count, mut axis) = (0, 0);
    for group in groups {
        let mut merged: Vec<Size> = Vec::new();
        for extent in group {
            match merged.last_mut() {
                Some(last) if continues[axis] => *last = &*last * extent,
                Some(_) | None => {
                    merged.push(extent.clone());
                    count += 1;
                }
            }
            position[axis] = count - 1;
            axis += 1;
        }
        merged_groups.push(merged);
    }
    // The stride of merged axes is that of the innermost.
    let is_innermost = |axis: u32| !continues.get(axis as usize + 1).copied().unwrap_or(false);
    let mut rebuilt = Rebuilt {
        old: graph,
        old_sizes: sizes,
        sums: &sums,
        graph: TypedGraph::default(),
        sizes: Vec::new(),
        position: &position,
        is_innermost: &is_innermost,
        nodes: FxHashMap::default(),
        axes: Vec::new(),
    };
    for id in graph.ids().filter(|id| used[id.index()]) {
        rebuilt.node(id, &atoms);
    }
    let roots = roots.iter().map(|root| rebuilt.nodes[root]).list();
    Merged { graph: rebuilt.graph, sizes: rebuilt.sizes, groups: merged_groups, roots }
}

/// Every u32 as a sum; one that is no sum of others is itself.
fn sums(graph: &TypedGraph, sizes: &[Size], used: &[bool]) -> Vec<Option<Sum>> {
    let mut sums: Vec<Option<Sum>> = Vec::with_capacity(graph.len());
    for id in graph.ids() {
        if graph.ty(id) != Type::U32 || !used[id.index()] {
            sums.push(None);
            continue;
        }
        let itself = || Sum { others: vec![(id, Size::constant(1))], ..Sum::default() };
        let of = |operand: Id| sums[operand.index()].clone().unwrap_or_default();
        let sum = match graph.node(id) {
            // A word whose top bit is set is a negative number.
            TypedNode::Literal(_, bits) => Sum { constant: Size::constant(i64::from(bits as i32)), ..Sum::default() },
            TypedNode::Size(word) => Sum { constant: sizes[word as usize].clone(), ..Sum::default() },
            TypedNode::Coordinate(axis) => Sum { strides: vec![(axis, Size::constant(1))], ..Sum::default() },
            TypedNode::Apply(op @ (TypedOp::IntAdd | TypedOp::IntSub), [a, b, _]) => {
                let (mut sum, factor) = (of(a), if op == TypedOp::IntAdd { 1 } else { -1 });
                sum.add(&of(b), &Size::constant(factor));
                sum
            }
            TypedNode::Apply(TypedOp::IntMul, [a, b, _]) => {
                let (a, b) = (of(a), of(b));
                let mut product = Sum::default();
                if b.is_constant() {
                    product.add(&a, &b.constant);
                    product
                } else if a.is_constant() {
                    product.add(&b, &a.constant);
                    product
                } else {
                    itself()
                }
            }
            TypedNode::Load { .. } | TypedNode::Folded { .. } | TypedNode::Apply(..) => itself(),
        };
        let sum = without_remainders(sum, graph, &sums);
        sums.push(Some(if sum.is_exact() { sum } else { itself() }));
    }
    sums
}

/// f · (x mod n) + g · ⌊x / n⌋ as f · x + (g − f · n) · ⌊x / n⌋: what was divided into coordinates and is put together again is whole, and of what is
/// put together with other strides the quotient alone remains.
fn without_remainders(mut sum: Sum, graph: &TypedGraph, sums: &[Option<Sum>]) -> Sum {
    let joined = |sum: &Sum| {
        sum.others.iter().find_map(|(id, factor)| {
            let TypedNode::Apply(TypedOp::IntRem, [x, n, _]) = graph.node(*id) else { return None };
            let of_quotient =
                |(other, _): &&(Id, Size)| graph.node(*other) == TypedNode::Apply(TypedOp::IntDiv, [x, n, x]);
            let (quotient, _) = sum.others.iter().find(of_quotient)?;
            let extent = sums[n.index()].as_ref().filter(|extent| extent.is_constant())?;
            let whole = sums[x.index()].as_ref()?;
            let mut joined = sum.clone();
            joined.add(whole, factor);
            add_term(&mut joined.others, *id, &(factor * &Size::constant(-1)));
            add_term(&mut joined.others, *quotient, &(&(factor * &extent.constant) * &Size::constant(-1)));
            joined.is_exact().then_some(joined)
        })
    };
    while let Some(joined) = joined(&sum) {
        sum = joined;
    }
    sum
}

/// The sums that something other than a sum uses.
fn atoms(graph: &TypedGraph, used: &[bool], sums: &[Option<Sum>], roots: &[Id]) -> Vec<Id> {
    let is_sum = |id: Id| sums[id.index()].is_some();
    let mut is_atom = vec![false; graph.len()];
    for root in roots {
        is_atom[root.index()] = is_sum(*root);
    }
    for id in graph.ids().filter(|id| used[id.index()]) {
        let is_itself = sums[id.index()].as_ref().is_none_or(|sum| sum.others.iter().any(|(other, _)| *other == id));
        if is_itself {
            for operand in graph.operands(id) {
                is_atom[operand.index()] |= is_sum(operand);
            }
        }
    }
    graph.ids().filter(|id| is_atom[id.index()]).list()
}

struct Rebuilt<'a> {
    old: &'a TypedGraph,
    old_sizes: &'a [Size],
    sums: &'a [Option<Sum>],
    graph: TypedGraph,
    sizes: Vec<Size>,
    position: &'a [usize],
    is_innermost: &'a dyn Fn(u32) -> bool,
    nodes: FxHashMap<Id, Id>,
    /// Of each node of the new graph, as far as they were asked for.
    axes: Vec<u32>,
}

impl Rebuilt<'_> {
    /// Writes a node, and as a sum if it is one that something uses.
    fn node(&mut self, id: Id, atoms: &[Id]) {
        // A literal stays one: masks and counts of shifts are no sizes.
        let is_literal = matches!(self.old.node(id), TypedNode::Literal(..));
        let new = match &self.sums[id.index()] {
            Some(_) if is_literal => self.copied(id),
            Some(sum) if !sum.others.iter().any(|(other, _)| *other == id) => {
                // A sum that only sums use is written in these.
                if atoms.binary_search(&id).is_err() {
                    return;
                }
                self.sum(&sum.clone())
            }
            Some(_) | None => self.copied(id),
        };
        self.nodes.insert(id, new);
    }

    fn copied(&mut self, id: Id) -> Id {
        let ty = self.old.ty(id);
        match self.old.node(id) {
            TypedNode::Literal(ty, bits) => self.graph.literal(ty, bits),
            TypedNode::Coordinate(axis) => self.graph.coordinate(self.position[axis as usize] as u32),
            TypedNode::Size(word) => {
                let size = self.old_sizes[word as usize].clone();
                size_node(&mut self.graph, &mut self.sizes, &size)
            }
            TypedNode::Load { buffer, index } => {
                let index = self.nodes[&index];
                self.graph.load(buffer, index, ty)
            }
            TypedNode::Folded { fold, result } => self.graph.folded(fold, result, ty),
            TypedNode::Apply(op, operands) => {
                let mut operands: Vec<Id> = operands[..op.arity()].iter().map(|operand| self.nodes[operand]).list();
                if let TypedOp::IntDiv | TypedOp::IntRem = op
                    && let TypedNode::Size(word) = self.graph.node(operands[1])
                    && let Some(known @ 0..=MOST_IN_TEXT) = self.sizes[word as usize].known()
                {
                    operands[1] = self.graph.u32(known as u32);
                }
                self.graph.apply(op, &operands)
            }
        }
    }

    /// A sum whose terms of the same axes stand together, so that what does not change along an axis is one node.
    fn sum(&mut self, sum: &Sum) -> Id {
        let mut parts: Vec<(u32, Id)> = Vec::new();
        for (axis, stride) in sum.strides.iter().filter(|(axis, _)| (self.is_innermost)(*axis)) {
            let coordinate = self.graph.coordinate(self.position[*axis as usize] as u32);
            self.add(&mut parts, coordinate, stride);
        }
        for (other, multiple) in &sum.others {
            self.add(&mut parts, self.nodes[other], multiple);
        }
        let constant = self.factor(&sum.constant);
        let Some((_, last)) = parts.last_mut() else { return constant };
        *last = self.graph.apply(TypedOp::IntAdd, &[*last, constant]);
        let zero = self.graph.u32(0);
        parts.iter().fold(zero, |total, (_, part)| self.graph.apply(TypedOp::IntAdd, &[total, *part]))
    }

    /// Adds a multiple of a node to the part of a sum with its axes.
    fn add(&mut self, parts: &mut Vec<(u32, Id)>, node: Id, factor: &Size) {
        let axes = self.axes(node);
        let place = parts.iter().position(|(known, _)| *known == axes).unwrap_or_else(|| {
            parts.push((axes, self.graph.u32(0)));
            parts.len() - 1
        });
        parts[place].1 = self.plus(parts[place].1, node, factor);
    }

    /// The axes of which a new node is, by bits; those from 31 on share one.
    fn axes(&mut self, node: Id) -> u32 {
        for id in self.graph.ids().skip(self.axes.len()).list() {
            let of_operands = self.graph.operands(id).iter().fold(0, |axes, operand| axes | self.axes[operand.index()]);
            self.axes.push(match self.graph.node(id) {
                TypedNode::Coordinate(axis) => 1 << axis.min(31),
                _ => of_operands,
            });
        }
        self.axes[node.index()]
    }

    fn plus(&mut self, total: Id, node: Id, factor: &Size) -> Id {
        let factor = self.factor(factor);
        let product = self.graph.apply(TypedOp::IntMul, &[node, factor]);
        self.graph.apply(TypedOp::IntAdd, &[total, product])
    }

    fn factor(&mut self, size: &Size) -> Id {
        size_node(&mut self.graph, &mut self.sizes, size)
    }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;

    fn number(value: i64) -> Size {
        Size::constant(value)
    }

    /// A load whose address has these strides along the axes of one group with these extents.
    fn merged(extents: &[i64], loads: &[&[i64]]) -> (Vec<Size>, TypedGraph) {
        let (mut graph, mut sizes) = (TypedGraph::default(), Vec::new());
        let mut roots = Vec::new();
        for (buffer, strides) in (0..).zip(loads) {
            let mut address = graph.u32(0);
            for (axis, stride) in (0..).zip(*strides) {
                let stride = size_node(&mut graph, &mut sizes, &number(*stride));
                let coordinate = graph.coordinate(axis);
                let product = graph.apply(TypedOp::IntMul, &[coordinate, stride]);
                address = graph.apply(TypedOp::IntAdd, &[address, product]);
            }
            roots.push(graph.load(buffer, address, Type::F32));
        }
        let extents: Vec<Size> = extents.iter().map(|extent| number(*extent)).collect();
        let mut merged = merge(&graph, &sizes, &[extents], &roots);
        (merged.groups.remove(0), merged.graph)
    }

    #[test]
    fn contiguous_axes_are_one() {
        let (extents, graph) = merged(&[2, 3, 4], &[&[12, 4, 1]]);
        assert_eq!(extents, [number(24)]);
        // The load is at the coordinate itself.
        assert!(graph.ids().all(|id| !matches!(graph.node(id), TypedNode::Apply(..))));
    }

    #[test]
    fn a_transposed_operand_keeps_axes_apart() {
        assert_eq!(merged(&[2, 3, 4], &[&[12, 4, 1], &[12, 1, 3]]).0, [number(2), number(3), number(4)]);
    }

    #[test]
    fn an_operand_that_repeats_along_inner_axes_keeps_the_border() {
        // A row that repeats along the first two axes: these are one.
        assert_eq!(merged(&[2, 3, 4], &[&[12, 4, 1], &[0, 0, 1]]).0, [number(6), number(4)]);
        assert_eq!(merged(&[2, 3, 4], &[&[12, 4, 1], &[1, 0, 0]]).0, [number(2), number(12)]);
    }

    #[test]
    fn a_coordinate_that_is_used_as_a_number_keeps_its_axis() {
        let mut graph = TypedGraph::default();
        let (x, y) = (graph.coordinate(0), graph.coordinate(1));
        let value = graph.apply(TypedOp::ToF32, &[y]);
        let merged = merge(&graph, &[], &[vec![number(5), number(7)]], &[value, x]);
        assert_eq!(merged.groups, [vec![number(5), number(7)]]);
        assert_eq!(merged.graph.node(merged.roots[1]), TypedNode::Coordinate(0));
    }

    /// The address of a load at coordinates of a number below 24, three of which are along the last axis, with these strides.
    fn joined(strides: [i64; 3]) -> (TypedGraph, Vec<Size>, Id) {
        let (mut graph, mut sizes) = (TypedGraph::default(), Vec::new());
        let (x, three) = (graph.coordinate(0), graph.u32(3));
        let rest = graph.apply(TypedOp::IntDiv, &[x, three]);
        let inner = graph.apply(TypedOp::IntRem, &[x, three]);
        let (middle, outer) =
            (graph.apply(TypedOp::IntRem, &[rest, three]), graph.apply(TypedOp::IntDiv, &[rest, three]));
        let mut address = graph.u32(0);
        for (place, stride) in [inner, middle, outer].into_iter().zip(strides) {
            let stride = size_node(&mut graph, &mut sizes, &number(stride));
            let product = graph.apply(TypedOp::IntMul, &[place, stride]);
            address = graph.apply(TypedOp::IntAdd, &[address, product]);
        }
        let merged = merge(&graph, &sizes, &[vec![number(24)]], &[address]);
        (merged.graph, merged.sizes, merged.roots[0])
    }

    #[test]
    fn coordinates_that_are_put_together_again_are_the_number() {
        let (graph, _, address) = joined([1, 3, 9]);
        assert_eq!(graph.node(address), TypedNode::Coordinate(0));
    }

    #[test]
    fn what_has_other_strides_has_no_remainders() {
        for strides in [[1, 5, 30], [2, 5, 7], [3, 0, 1], [1, 3, 8]] {
            let (graph, sizes, address) = joined(strides);
            let needed = graph.needed([address]);
            let is_remainder = |id: &Id| matches!(graph.node(*id), TypedNode::Apply(TypedOp::IntRem, _));
            assert_eq!(needed.iter().any(is_remainder), strides[1] == 0, "{strides:?}");
            for x in 0..24u32 {
                let mut values: Vec<u32> = Vec::new();
                for id in graph.ids() {
                    values.push(match graph.node(id) {
                        TypedNode::Literal(_, bits) => bits,
                        TypedNode::Size(word) => sizes[word as usize].word(&[]),
                        TypedNode::Coordinate(_) => x,
                        TypedNode::Apply(op, operands) => {
                            let values = operands.map(|operand| values[operand.index()]);
                            crate::scalar::fold(op, [Type::U32; 3], values).expect("an operation on integers")
                        }
                        node => panic!("{node:?}"),
                    });
                }
                let [inner, middle, outer] = strides.map(|stride| stride as u32);
                let expected = x % 3 * inner + x / 3 % 3 * middle + x / 9 * outer;
                assert_eq!(values[address.index()], expected, "{strides:?} at {x}");
            }
        }
    }

    #[test]
    fn numbers_beyond_words_stay_products() {
        let mut graph = TypedGraph::default();
        let (x, factor) = (graph.coordinate(0), graph.u32(1 << 16));
        // The last of four factors makes 2⁶⁴, which 63 bits do not have and of which a word has 0.
        let numbers = (0..4).fold(vec![x], |mut numbers, _| {
            let product = graph.apply(TypedOp::IntMul, &[numbers[numbers.len() - 1], factor]);
            numbers.push(product);
            numbers
        });
        let merged = merge(&graph, &[], &[vec![number(5)]], &numbers[4..]);
        assert!(merged.sizes.iter().all(Size::is_word), "{:?}", merged.sizes);
        // A power of a size is no polynomial that grows with each square.
        let mut graph = TypedGraph::default();
        let square = (0..40).fold(graph.size(0), |n, _| graph.apply(TypedOp::IntMul, &[n, n]));
        let merged = merge(&graph, &[Size::dim(0)], &[], &[square]);
        assert!(merged.sizes.iter().all(Size::is_word), "{:?}", merged.sizes);
    }
}
