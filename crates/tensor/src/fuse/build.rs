//! What the kernels of all groups are built with: coordinates of an iteration space, values to be written, buffers, names.

use residua_base::error::Result;
use residua_base::list::Listed;

use crate::dtype::DType;
use crate::expr::{Expr, TensorId, TensorOp, memory_dtype};
use crate::kernel::{Body, Extent, Store, TensorBuffer, TensorKernel};
use crate::lower::{ElementIndex, Lowering, Memory, word_of};
use crate::scalar::{Id, Type, TypedGraph, TypedOp};
use crate::size::Size;

/// A kernel and the memory of its buffers.
#[derive(Clone, Debug)]
pub struct Built {
    /// The kernel.
    pub kernel: TensorKernel,
    /// For each of its buffers.
    pub memories: Vec<Memory>,
    /// How often the last kernels, this one among them, run after each other.
    pub rounds: Option<Rounds>,
}

/// Kernels that run again.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// How many kernels a round has.
    pub kernels: usize,
    /// How many rounds there are.
    pub count: usize,
}

impl Built {
    /// Whether none of these tensors is read from memory: each is read where it is computed. Asked of kernels that write nothing.
    pub fn reads_in_place(&self, members: &[TensorId]) -> bool {
        !self.memories.iter().any(|memory| members.iter().any(|member| *memory == Memory::Tensor(*member)))
    }
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
    shape.iter().map(|extent| if extent.is(1) { zero } else { long.next().copied().unwrap_or(zero) }).list()
}

/// The coordinates of the axes of a shape that are longer than 1.
pub fn long_axes(shape: &[Size], coordinates: &[Id]) -> Vec<Id> {
    let long = shape.iter().zip(coordinates).filter(|(extent, _)| !extent.is(1));
    long.map(|(_, coordinate)| *coordinate).list()
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
    let index = lowering.linear(&ElementIndex::Coordinates(at.to_vec()), id);
    for memory in destinations(id) {
        let dtype = match memory {
            Memory::Tensor(_) => memory_dtype(lowering.expr, id),
            Memory::Slot(_) | Memory::Scratch(_) | Memory::Roots(_) => lowering.expr.tensor(id).dtype,
        };
        let value = as_type(lowering, value, Type::of(dtype));
        writes.push(Write { memory, dtype, index, value });
    }
}

/// Computes tensors at a point and writes them: `long` are the coordinates of the axes of their common shape that are longer than 1.
pub fn computed(
    lowering: &mut Lowering,
    ids: &[TensorId],
    long: &[Id],
    destinations: Destinations,
    all: &mut Vec<Write>,
) -> Result<()> {
    for id in ids {
        let at = aligned(lowering, &lowering.expr.tensor(*id).shape, long);
        let value = lowering.computed(*id, &ElementIndex::Coordinates(at.clone()))?;
        lowering.set(*id, ElementIndex::Coordinates(at.clone()), value);
        writes(lowering, *id, &at, value, destinations, all);
    }
    Ok(())
}

/// A bool as a word where the memory has words.
pub fn as_type(lowering: &mut Lowering, value: Id, ty: Type) -> Id {
    match (lowering.graph.ty(value), ty) {
        (Type::Bool, Type::U32) => lowering.graph.apply(TypedOp::ToU32, &[value]),
        _ => value,
    }
}

/// Extents as a kernel has them.
pub fn extents(extents: &[Size], sizes: &mut Vec<Size>) -> Vec<Extent> {
    extents.iter().map(|extent| self::extent(extent, sizes)).list()
}

/// An extent as a kernel has it.
pub fn extent(extent: &Size, sizes: &mut Vec<Size>) -> Extent {
    if extent.is(1) { Extent::Known(1) } else { Extent::Word(word_of(sizes, extent)) }
}

/// The buffers of a kernel and their memory. Memory that is read and written is one buffer, which is written.
#[derive(Default)]
pub struct Buffers {
    buffers: Vec<TensorBuffer>,
    memories: Vec<Memory>,
}

impl Buffers {
    /// Those that are loaded.
    pub fn of(lowering: &Lowering) -> Buffers {
        let (memories, buffers) = lowering.loaded.iter().copied().unzip();
        Buffers { buffers, memories }
    }

    /// The position of a piece of memory, as a buffer that is read or written.
    pub fn position(&mut self, memory: Memory, buffer: TensorBuffer) -> u32 {
        let position = self.memories.iter().position(|known| *known == memory).unwrap_or_else(|| {
            self.memories.push(memory);
            self.buffers.push(buffer);
            self.memories.len() - 1
        });
        self.buffers[position].written |= buffer.written;
        position as u32
    }

    /// The stores of writes, whose index and value are among the merged roots from a place on.
    pub fn stores(&mut self, writes: &[Write], roots: &[Id]) -> Vec<Store> {
        let pairs = writes.iter().zip(roots.chunks_exact(2));
        pairs
            .map(|(write, root)| Store {
                buffer: self.position(write.memory, TensorBuffer { dtype: write.dtype, written: true }),
                index: root[0],
                value: root[1],
            })
            .list()
    }

    /// The kernel with these buffers.
    pub fn built(self, name: String, sizes: Vec<Size>, graph: TypedGraph, body: Body) -> Built {
        let Buffers { buffers, memories } = self;
        Built { kernel: TensorKernel { name, buffers, sizes, graph, body, guard: None }, memories, rounds: None }
    }
}

/// The nodes of writes, to be kept when axes are merged.
pub fn roots_of(writes: &[Write]) -> Vec<Id> {
    writes.iter().flat_map(|write| [write.index, write.value]).list()
}

/// A name that says what a kernel computes: a prefix and the names of a few operations.
pub fn name(expr: &Expr, stored: &[bool], prefix: &str, roots: &[TensorId]) -> String {
    let mut names: Vec<&str> = Vec::new();
    let mut pending: Vec<TensorId> = roots.iter().rev().copied().list();
    let mut budget = 40;
    while let Some(id) = pending.pop() {
        budget -= 1;
        if budget == 0 || names.len() == 4 {
            break;
        }
        let tensor = expr.tensor(id);
        let own = match &tensor.op {
            TensorOp::Elementwise(op) => op.name(),
            TensorOp::Reduce(reduction, _) | TensorOp::Scan { reduction, .. } => reduction.name(),
            TensorOp::Gather(_) | TensorOp::GatherElements(_) => "gather",
            TensorOp::SetSlice { .. } => "part",
            TensorOp::RandomBits(_) => "random",
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
