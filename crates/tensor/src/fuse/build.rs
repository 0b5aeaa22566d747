//! From a group to its kernel: the members are lowered at the points of one iteration space, and its axes are merged.

use residua_base::error::{Error, Result};

use super::groups::{Group, RowGroup, is_packed, without_ones};
use super::rows;
use crate::dtype::DType;
use crate::expr::{Expr, Op, TensorId};
use crate::kernel::{Body, Buffer, Elements, Extent, Kernel, Store};
use crate::lower::merge::{Merged, merge};
use crate::lower::{Index, Lowering, Memory};
use crate::scalar::{Id, Op as Scalar, Type};
use crate::size::Size;

/// A kernel and the memory of its buffers.
#[derive(Clone, Debug)]
pub struct Built {
    /// The kernel.
    pub kernel: Kernel,
    /// For each of its buffers.
    pub memories: Vec<Memory>,
}

/// Where a tensor is written.
pub type Destinations<'a> = &'a dyn Fn(TensorId) -> Vec<Memory>;

/// A value to be written, before axes are merged.
pub struct Write {
    /// Where to.
    pub memory: Memory,
    /// Type of the memory's elements.
    pub dtype: DType,
    /// Which element.
    pub index: Id,
    /// What.
    pub value: Id,
}

/// The axes of a shape that are longer than 1, as coordinates from a number on, and 0 for the others.
pub fn coordinates(lowering: &mut Lowering, shape: &[Size], first: u32) -> (Vec<Id>, Vec<Size>) {
    let mut extents = Vec::new();
    let mut coordinates = Vec::with_capacity(shape.len());
    for extent in shape {
        if extent.is(1) {
            coordinates.push(lowering.graph.u32(0));
        } else {
            coordinates.push(lowering.graph.coordinate(first + extents.len() as u32));
            extents.push(extent.clone());
        }
    }
    (coordinates, extents)
}

/// The coordinates of a tensor whose shape is another one with axes of extent 1 elsewhere.
pub fn aligned(lowering: &mut Lowering, shape: &[Size], long: &[Id]) -> Vec<Id> {
    let zero = lowering.graph.u32(0);
    let mut long = long.iter();
    shape.iter().map(|extent| if extent.is(1) { zero } else { long.next().copied().unwrap_or(zero) }).collect()
}

/// The coordinates of the axes of a shape that are longer than 1.
pub fn long_axes(shape: &[Size], coordinates: &[Id]) -> Vec<Id> {
    let long = shape.iter().zip(coordinates).filter(|(extent, _)| !extent.is(1));
    long.map(|(_, coordinate)| *coordinate).collect()
}

/// What writes a value of a tensor at a point to all its destinations.
pub fn writes(
    lowering: &mut Lowering,
    id: TensorId,
    at: &[Id],
    value: Id,
    destinations: Destinations,
    writes: &mut Vec<Write>,
) {
    let index = lowering.linear(&Index::Coordinates(at.to_vec()), id);
    for memory in destinations(id) {
        let dtype = match memory {
            Memory::Tensor(_) => super::memory_dtype(lowering.expr, id),
            Memory::Slot(_) | Memory::Scratch(_) => lowering.expr.tensor(id).dtype,
        };
        let value = as_type(lowering, value, Type::of(dtype));
        writes.push(Write { memory, dtype, index, value });
    }
}

/// A bool as a word where the memory has words.
pub fn as_type(lowering: &mut Lowering, value: Id, ty: Type) -> Id {
    match (lowering.graph.ty(value), ty) {
        (Type::Bool, Type::U32) => lowering.graph.apply(Scalar::ToU32, &[value]),
        _ => value,
    }
}

/// Extents as a kernel has them.
pub fn extents(extents: &[Size], sizes: &mut Vec<Size>) -> Vec<Extent> {
    extents.iter().map(|extent| self::extent(extent, sizes)).collect()
}

/// An extent as a kernel has it.
pub fn extent(extent: &Size, sizes: &mut Vec<Size>) -> Extent {
    if extent.is(1) {
        return Extent::Known(1);
    }
    let word = sizes.iter().position(|known| known == extent).unwrap_or_else(|| {
        sizes.push(extent.clone());
        sizes.len() - 1
    });
    Extent::Word(word as u32)
}

/// The buffers of a kernel: what is loaded, and what is written. Memory that is both is one buffer.
pub struct Buffers {
    /// The buffers.
    pub buffers: Vec<Buffer>,
    /// Their memory.
    pub memories: Vec<Memory>,
}

impl Buffers {
    /// Those that are loaded.
    pub fn of(lowering: &Lowering) -> Buffers {
        let (memories, buffers) = lowering.loaded.iter().copied().unzip();
        Buffers { buffers, memories }
    }

    /// The position of memory that is written.
    pub fn written(&mut self, memory: Memory, dtype: DType) -> u32 {
        let position = self.memories.iter().position(|known| *known == memory).unwrap_or_else(|| {
            self.memories.push(memory);
            self.buffers.push(Buffer { dtype, written: true });
            self.memories.len() - 1
        });
        self.buffers[position].written = true;
        position as u32
    }

    /// The stores of writes, whose index and value are among the merged roots from a place on.
    pub fn stores(&mut self, writes: &[Write], roots: &[Id]) -> Vec<Store> {
        let pairs = writes.iter().zip(roots.chunks_exact(2));
        pairs
            .map(|(write, root)| Store {
                buffer: self.written(write.memory, write.dtype),
                index: root[0],
                value: root[1],
            })
            .collect()
    }
}

/// The nodes of writes, to be kept when axes are merged.
pub fn roots_of(writes: &[Write]) -> Vec<Id> {
    writes.iter().flat_map(|write| [write.index, write.value]).collect()
}

/// The kernel of a group of tensors that are computed point by point.
pub fn elements(expr: &Expr, stored: &[bool], roots: &[TensorId], destinations: Destinations) -> Result<Built> {
    let built = elements_of(expr, stored, roots, destinations, false)?;
    let Body::Elements(body) = &built.kernel.body else { return Ok(built) };
    let packs = body.stores.iter().any(|store| is_packed(built.kernel.buffers[store.buffer as usize].dtype));
    // Elements that share words are written by the thread that has all of them, which needs one axis.
    if packs && body.space.len() > 1 { elements_of(expr, stored, roots, destinations, true) } else { Ok(built) }
}

fn elements_of(
    expr: &Expr,
    stored: &[bool],
    roots: &[TensorId],
    destinations: Destinations,
    is_linear: bool,
) -> Result<Built> {
    let mut lowering = Lowering::of(expr, stored);
    let shape = expr.tensor(*roots.first().ok_or_else(|| Error::internal("a kernel of nothing"))?).shape.clone();
    let mut all = Vec::new();
    let mut space = vec![Size::product(&shape)];
    let mut long = Vec::new();
    if !is_linear {
        let (at, extents) = coordinates(&mut lowering, &shape, 0);
        (space, long) = (extents, long_axes(&shape, &at));
    }
    for root in roots {
        let own = &expr.tensor(*root).shape;
        if is_linear {
            let place = lowering.graph.coordinate(0);
            let value = lowering.computed(*root, &flat(own.len(), place))?;
            lowering.set(*root, Index::Linear(place), value);
            for memory in destinations(*root) {
                all.push(Write { memory, dtype: expr.tensor(*root).dtype, index: place, value });
            }
        } else {
            let at = aligned(&mut lowering, own, &long);
            if matches!(expr.tensor(*root).op, Op::Place) {
                place(&mut lowering, *root, &at, destinations, &mut all)?;
                continue;
            }
            let value = lowering.computed(*root, &Index::Coordinates(at.clone()))?;
            lowering.set(*root, Index::Coordinates(at.clone()), value);
            writes(&mut lowering, *root, &at, value, destinations, &mut all);
        }
    }
    let Merged { graph, mut sizes, groups, roots: nodes } =
        merge(&lowering.graph, &lowering.sizes, &[space], &roots_of(&all), &[]);
    let mut space = extents(&groups[0], &mut sizes);
    if space.is_empty() {
        space.push(Extent::Known(1));
    }
    let mut buffers = Buffers::of(&lowering);
    let stores = buffers.stores(&all, &nodes);
    let name = name(expr, stored, "map", roots);
    let kernel =
        Kernel { name, buffers: buffers.buffers, sizes, graph, body: Body::Elements(Elements { space, stores }) };
    Ok(Built { kernel, memories: buffers.memories })
}

/// What puts an element of a vector at a place of its own.
fn place(
    lowering: &mut Lowering,
    id: TensorId,
    at: &[Id],
    destinations: Destinations,
    writes: &mut Vec<Write>,
) -> Result<()> {
    let [x, places] = lowering.expr.tensor(id).operands[..] else {
        return Err(Error::internal("a permutation without two operands"));
    };
    let value = lowering.value(x, Index::Coordinates(at.to_vec()))?;
    let index = lowering.value(places, Index::Coordinates(at.to_vec()))?;
    let dtype = lowering.expr.tensor(id).dtype;
    writes.extend(destinations(id).into_iter().map(|memory| Write { memory, dtype, index, value }));
    Ok(())
}

/// A point by its position in C order, which of one axis is its coordinate.
fn flat(rank: usize, place: Id) -> Index {
    if rank == 1 { Index::Coordinates(vec![place]) } else { Index::Linear(place) }
}

/// Whether tensors that are computed point by point read each other only at the point where they are computed.
pub fn elements_read_each_other_in_place(expr: &Expr, stored: &[bool], roots: &[TensorId]) -> Result<bool> {
    let nowhere = |_: TensorId| Vec::new();
    let built = elements_of(expr, stored, roots, &nowhere, false)?;
    Ok(!built.memories.iter().any(|memory| roots.iter().any(|root| *memory == Memory::Tensor(*root))))
}

/// Whether members of a group of reductions read results of the group only where they are at hand.
pub fn reads_no_results(expr: &Expr, stored: &[bool], rows: &RowGroup) -> Result<bool> {
    let nowhere = |_: TensorId| Vec::new();
    let loaded = rows::lowered(expr, stored, rows, &nowhere, None)?.lowering.loaded;
    let members = Group::Rows(rows.clone()).members();
    Ok(!loaded.iter().any(|(memory, _)| members.iter().any(|member| *memory == Memory::Tensor(*member))))
}

/// Whether what is computed from a product reads its elements where they are made.
pub fn product_reads_itself_in_place(
    expr: &Expr,
    stored: &[bool],
    product: TensorId,
    elements: &[TensorId],
) -> Result<bool> {
    let nowhere = |_: TensorId| Vec::new();
    let built = super::product::product(expr, stored, product, elements, &nowhere)?;
    let is_member = |memory: &Memory| {
        *memory == Memory::Tensor(product) || elements.iter().any(|member| *memory == Memory::Tensor(*member))
    };
    Ok(!built.memories.iter().any(is_member))
}

/// A name that says what a kernel computes: a prefix and the names of a few operations.
pub fn name(expr: &Expr, stored: &[bool], prefix: &str, roots: &[TensorId]) -> String {
    let mut names: Vec<&str> = Vec::new();
    let mut pending: Vec<TensorId> = roots.iter().rev().copied().collect();
    let mut budget = 40;
    while let Some(id) = pending.pop() {
        budget -= 1;
        if budget == 0 || names.len() == 4 {
            break;
        }
        let tensor = expr.tensor(id);
        let own = match &tensor.op {
            Op::Elementwise(op) => op.name(),
            Op::Reduce(reduction, _) | Op::Scan { reduction, .. } => reduction.name(),
            Op::Gather(_) | Op::GatherElements(_) => "gather",
            Op::RandomBits(_) => "random",
            _ => "",
        };
        if !own.is_empty() && names.last() != Some(&own) {
            names.push(own);
        }
        if !stored[id.0 as usize] || roots.contains(&id) {
            pending.extend(tensor.operands.iter().rev().filter(|operand| !stored[operand.0 as usize]));
        }
    }
    let mut name = prefix.to_owned();
    for one in names {
        name.push('_');
        name.push_str(one);
    }
    name
}

/// Shapes without axes of extent 1 are equal.
pub fn same_shape(a: &[Size], b: &[Size]) -> bool {
    without_ones(a) == without_ones(b)
}
