//! Lowering: a tensor operation at a point of an iteration space becomes nodes of a scalar graph.
//!
//! A kernel asks for the value of a tensor at an [`ElementIndex`]. Operations that have no memory of their own are written where they are used: an
//! elementwise operation asks its operands at the same point, a view at another one. What has memory becomes a load. So a view costs integer
//! arithmetic on coordinates, which construction simplifies and [`merge`] reduces to strides.

use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use rustc_hash::FxHashMap;

use crate::dtype::DType;
use crate::expr::{Expr, TensorId, TensorOp, memory_dtype, with_memory};
use crate::kernel::TensorBuffer;
use crate::quantised::Form;
use crate::scalar::{self, Id, Type, TypedGraph};
use crate::size::Size;

mod elementwise;
pub mod merge;
mod views;

/// A point of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ElementIndex {
    /// Its position in C order, a u32.
    Linear(Id),
    /// A u32 for each axis.
    Coordinates(Vec<Id>),
}

/// A piece of memory that a kernel reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// That of a tensor.
    Tensor(TensorId),
    /// A slot that an assignment writes.
    Slot(u32),
    /// Numbers that one kernel of a group leaves for another, by position in the plan's list.
    Scratch(u32),
    /// The table of the roots of unity of a length.
    Roots(u32),
}

/// Writes the graph of one kernel.
pub struct Lowering<'a> {
    /// The operations.
    pub expr: &'a Expr,
    /// Which tensors have memory when the kernel runs.
    pub stored: &'a [bool],
    /// What is written.
    pub graph: TypedGraph,
    /// What is loaded, in binding order.
    pub loaded: Vec<(Memory, TensorBuffer)>,
    /// The words of the uniform.
    pub sizes: Vec<Size>,
    known: FxHashMap<(TensorId, ElementIndex, Option<Id>), Id>,
    /// Where the values being written are used, a bool: elsewhere they read the first element of what they load, since the axes that their
    /// indices are of may be empty.
    used: Option<Id>,
    /// Whether coordinates that are numbers stay numbers: those within a block.
    pub in_blocks: bool,
}

impl<'a> Lowering<'a> {
    /// A kernel that has nothing yet.
    pub fn of(expr: &'a Expr, stored: &'a [bool]) -> Lowering<'a> {
        Lowering {
            expr,
            stored,
            graph: TypedGraph::default(),
            loaded: Vec::new(),
            sizes: Vec::new(),
            known: FxHashMap::default(),
            used: None,
            in_blocks: false,
        }
    }

    /// A size as a u32: 0 and 1 as they are, others as a word of the uniform, so that other shapes find the same text.
    pub fn size(&mut self, size: &Size) -> Id {
        size_node(&mut self.graph, &mut self.sizes, size)
    }

    /// The position of a piece of memory among the buffers.
    pub fn buffer(&mut self, memory: Memory, dtype: DType) -> u32 {
        let position = self.loaded.iter().position(|(known, _)| *known == memory).unwrap_or_else(|| {
            self.loaded.push((memory, TensorBuffer { dtype, written: false }));
            self.loaded.len() - 1
        });
        position as u32
    }

    /// A point of a tensor of one axis, or of none, by its coordinates.
    fn normal(&self, id: TensorId, index: ElementIndex) -> ElementIndex {
        match (self.expr.tensor(id).shape.len(), index) {
            (0, ElementIndex::Linear(_)) => ElementIndex::Coordinates(Vec::new()),
            (1, ElementIndex::Linear(linear)) => ElementIndex::Coordinates(vec![linear]),
            (_, other) => other,
        }
    }

    /// Says what the value of a tensor at a point is: it is not computed or loaded there.
    pub fn set(&mut self, id: TensorId, index: ElementIndex, value: Id) {
        let index = self.normal(id, index);
        self.known.insert((id, index, None), value);
    }

    /// The value of a tensor at a point.
    pub fn value(&mut self, id: TensorId, index: ElementIndex) -> Result<Id> {
        let mut key = (id, self.normal(id, index), None);
        for used in [None, self.used] {
            key.2 = used;
            if let Some(value) = self.known.get(&key) {
                return Ok(*value);
            }
        }
        let value = if self.stored[id.0 as usize] {
            // What the kernel writes along one axis is known by its address.
            let address = self.linear(&key.1, id);
            match self.known.get(&(id, ElementIndex::Linear(address), None)) {
                Some(value) => *value,
                None => {
                    let address = self.safe(address);
                    self.load(id, address)
                }
            }
        } else {
            self.operation(id, &key.1)?
        };
        self.known.insert(key, value);
        Ok(value)
    }

    /// The value of a tensor at a point that there is only where a bool holds; elsewhere any value.
    pub(crate) fn value_where(&mut self, holds: Id, id: TensorId, index: ElementIndex) -> Result<Id> {
        if self.graph.literal_bits(holds) == Some(1) {
            return self.value(id, index);
        }
        let outer = self.used;
        let used = outer.map_or(holds, |outer| self.graph.apply(scalar::TypedOp::And, &[outer, holds]));
        self.used = Some(used);
        let value = self.value(id, index);
        self.used = outer;
        value
    }

    /// An address where the present values are used, else 0: all memory has a first element.
    fn safe(&mut self, address: Id) -> Id {
        let Some(used) = self.used else { return address };
        let zero = self.graph.u32(0);
        self.graph.apply(scalar::TypedOp::Select, &[used, address, zero])
    }

    /// An element of a tensor that has memory, as the type that it has within kernels.
    fn load(&mut self, id: TensorId, address: Id) -> Id {
        let dtype = memory_dtype(self.expr, id);
        let memory = match self.expr.tensor(id).op {
            TensorOp::Input(slot) | TensorOp::SetSlice { slot: Some(slot), .. } => Memory::Slot(slot),
            TensorOp::Roots(length) => Memory::Roots(length),
            _ => Memory::Tensor(id),
        };
        let buffer = self.buffer(memory, dtype);
        let value = self.graph.load(buffer, address, Type::of(dtype));
        match Type::of(self.expr.tensor(id).dtype) {
            Type::Bool if dtype != DType::Bool => self.converted(value, dtype, DType::Bool),
            Type::F32 | Type::I32 | Type::U32 | Type::Bool => value,
        }
    }

    /// The position in C order of a point of a tensor.
    pub fn linear(&mut self, index: &ElementIndex, id: TensorId) -> Id {
        let coordinates = match index {
            ElementIndex::Linear(linear) => return *linear,
            ElementIndex::Coordinates(coordinates) => coordinates.clone(),
        };
        let shape = &self.expr.tensor(id).shape;
        self.linear_of(&coordinates, shape)
    }

    /// The position in C order of a point of a shape, by Horner's rule.
    pub fn linear_of(&mut self, coordinates: &[Id], shape: &[Size]) -> Id {
        let mut linear = self.graph.u32(0);
        for (coordinate, extent) in coordinates.iter().zip(shape) {
            let extent = self.size(extent);
            let product = self.graph.apply(scalar::TypedOp::IntMul, &[linear, extent]);
            linear = self.graph.apply(scalar::TypedOp::IntAdd, &[product, *coordinate]);
        }
        linear
    }

    /// The coordinates of a point of a tensor.
    fn coordinates(&mut self, index: &ElementIndex, id: TensorId) -> Vec<Id> {
        match index {
            ElementIndex::Coordinates(coordinates) => coordinates.clone(),
            ElementIndex::Linear(linear) => {
                let shape = &self.expr.tensor(id).shape;
                self.coordinates_of(*linear, shape)
            }
        }
    }

    /// The coordinates of a position in C order. An axis of extent 1 has coordinate 0.
    pub fn coordinates_of(&mut self, linear: Id, shape: &[Size]) -> Vec<Id> {
        let mut rest = linear;
        let mut coordinates = vec![self.graph.u32(0); shape.len()];
        let outermost = shape.iter().position(|extent| !extent.is(1)).unwrap_or(0);
        for (axis, extent) in shape.iter().enumerate().rev().filter(|(_, extent)| !extent.is(1)) {
            if axis == outermost {
                coordinates[axis] = rest;
                break;
            }
            let extent = self.size(extent);
            coordinates[axis] = self.graph.apply(scalar::TypedOp::IntRem, &[rest, extent]);
            rest = self.graph.apply(scalar::TypedOp::IntDiv, &[rest, extent]);
        }
        coordinates
    }

    /// The value of an operation, whether it has memory or not.
    pub fn computed(&mut self, id: TensorId, index: &ElementIndex) -> Result<Id> {
        if matches!(self.expr.tensor(id).op, TensorOp::Input(_)) {
            self.value(id, index.clone())
        } else {
            self.operation(id, index)
        }
    }

    /// The value of an operation that has no memory.
    fn operation(&mut self, id: TensorId, index: &ElementIndex) -> Result<Id> {
        let tensor = self.expr.tensor(id);
        match &tensor.op {
            TensorOp::Constant(number) => Ok(self.number(tensor.dtype, *number)),
            TensorOp::Extent(size) => {
                let size = self.size(size);
                Ok(self.converted(size, DType::U32, tensor.dtype))
            }
            TensorOp::Number(bits) => {
                let word = self.size(bits);
                Ok(self.bitcast(word, Type::of(tensor.dtype)))
            }
            TensorOp::Iota(axis) => {
                let coordinate = self.coordinates(index, id)[*axis as usize];
                Ok(self.converted(coordinate, DType::U32, tensor.dtype))
            }
            TensorOp::RandomBits(stream) => self.random_bits(id, index, *stream),
            TensorOp::Elementwise(op) => self.elementwise(id, index, *op),
            TensorOp::Reshape
            | TensorOp::Expand
            | TensorOp::Permute(_)
            | TensorOp::Slice { .. }
            | TensorOp::SetSlice { slot: None, .. }
            | TensorOp::Pad { .. }
            | TensorOp::Concat(_)
            | TensorOp::Windows { .. }
            | TensorOp::Gather(_)
            | TensorOp::GatherElements(_) => self.view(id, index),
            TensorOp::Dequantize(form) => self.dequantized(id, index, *form),
            with_memory!() => Err(Error::internal(format!("tensor {} has no memory in a kernel that reads it", id.0))),
        }
    }

    /// A number of a block, of words and elements of the side, which operands give.
    fn dequantized(&mut self, id: TensorId, index: &ElementIndex, form: Form) -> Result<Id> {
        let operands = &self.expr.tensor(id).operands;
        let mut at = self.coordinates(index, id);
        let (Some(place), [words, side]) = (at.pop(), operands.as_slice()) else {
            return Err(Error::internal("quantised numbers without an axis"));
        };
        let mut element = |lowering: &mut Self, operand: TensorId, place: Id| {
            at.push(place);
            let value = lowering.value(operand, ElementIndex::Coordinates(at.clone()));
            at.pop();
            value
        };
        let count = self.graph.u32(form.a_word().trailing_zeros());
        let word = self.graph.apply(scalar::TypedOp::Shr, &[place, count]);
        let word = element(self, *words, word)?;
        let mut elements = Vec::new();
        for place in self.graph.side_places(form, place) {
            elements.push(element(self, *side, place)?);
        }
        Ok(self.graph.dequantized(form, word, &elements, place))
    }

    /// A literal of an element type.
    pub fn number(&mut self, dtype: DType, number: f64) -> Id {
        match Type::of(dtype) {
            Type::F32 => self.graph.f32(number as f32),
            Type::I32 => self.graph.i32(number as i32),
            Type::U32 => self.graph.u32(number as u32),
            Type::Bool => self.graph.bool(number != 0.0),
        }
    }

    /// The value at a point of an operand that broadcasts to a tensor.
    fn broadcast(&mut self, operand: TensorId, id: TensorId, index: &ElementIndex) -> Result<Id> {
        let (from, to) = (&self.expr.tensor(operand).shape, &self.expr.tensor(id).shape);
        if from == to {
            return self.value(operand, index.clone());
        }
        if from.iter().all(|extent| extent.is(1)) {
            let zero = self.graph.u32(0);
            return self.value(operand, ElementIndex::Coordinates(vec![zero; from.len()]));
        }
        let coordinates = self.coordinates(index, id);
        let added = to.len() - from.len();
        let zero = self.graph.u32(0);
        let of = |(axis, extent): (usize, &Size)| if extent.is(1) { zero } else { coordinates[added + axis] };
        let coordinates = from.iter().enumerate().map(of).list();
        self.value(operand, ElementIndex::Coordinates(coordinates))
    }

    fn random_bits(&mut self, id: TensorId, index: &ElementIndex, stream: u32) -> Result<Id> {
        let key = self.expr.tensor(id).operands[0];
        let element = self.linear(index, id);
        let mut words = Vec::new();
        for word in 0..3 {
            let place = self.graph.u32(word);
            words.push(self.value(key, ElementIndex::Coordinates(vec![place]))?);
        }
        let stream = self.graph.u32(stream);
        let high = self.graph.apply(scalar::TypedOp::IntAdd, &[words[1], stream]);
        Ok(self.graph.threefry([element, words[2]], [words[0], high]))
    }
}

/// A size as a node: 0 and 1 as they are, others as a word of the uniform, each once.
pub fn size_node(graph: &mut TypedGraph, sizes: &mut Vec<Size>, size: &Size) -> Id {
    if let Some(known @ (0 | 1)) = size.known() {
        return graph.u32(known as u32);
    }
    graph.size(word_of(sizes, size))
}

/// The position of a size among the words of a uniform; a new one is added.
pub fn word_of(sizes: &mut Vec<Size>, size: &Size) -> u32 {
    let word = sizes.iter().position(|known| known == size).unwrap_or_else(|| {
        sizes.push(size.clone());
        sizes.len() - 1
    });
    word as u32
}
