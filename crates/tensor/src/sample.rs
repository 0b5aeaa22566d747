//! Kernels for tests.

use std::rc::Rc;

use residua_ir::graph::{Graph as RuleGraph, InputId, Op as Real};

use crate::dtype::DType;
use crate::expr::Rule;
use crate::kernel::{Body, Combine, Elements, Extent, Fold, Rows, Scan, Store, TensorBuffer, TensorKernel};
use crate::lower::word_of;
use crate::scalar::{Id, Type, TypedGraph, TypedOp};
use crate::size::Size;

/// A kernel under construction.
pub struct Sample {
    pub graph: TypedGraph,
    pub buffers: Vec<TensorBuffer>,
    pub sizes: Vec<Size>,
}

/// Lines of a matrix, and a point on one.
pub struct Lines {
    /// How many there are.
    pub outer: Extent,
    /// Their length.
    pub row: Extent,
    /// Which line.
    pub place: Id,
    /// The place on it.
    pub along: Id,
    /// The position of the point in C order.
    pub index: Id,
}

impl Sample {
    /// Of buffers, of which those that are written are said.
    pub fn new(buffers: &[(DType, bool)]) -> Sample {
        let buffers =
            buffers.iter().map(|(dtype, written)| TensorBuffer { dtype: *dtype, written: *written }).collect();
        Sample { graph: TypedGraph::default(), buffers, sizes: Vec::new() }
    }

    /// A word of the uniform.
    pub fn word(&mut self, size: i64) -> Extent {
        Extent::Word(word_of(&mut self.sizes, &Size::constant(size)))
    }

    pub fn extent(&mut self, extent: Extent) -> Id {
        match extent {
            Extent::Known(number) => self.u32(number),
            Extent::Word(word) => self.graph.size(word),
        }
    }

    pub fn u32(&mut self, number: u32) -> Id {
        self.graph.u32(number)
    }

    pub fn f32(&mut self, number: f32) -> Id {
        self.graph.f32(number)
    }

    pub fn coordinate(&mut self, axis: u32) -> Id {
        self.graph.coordinate(axis)
    }

    pub fn folded(&mut self, fold: u32, result: u32, ty: Type) -> Id {
        self.graph.folded(fold, result, ty)
    }

    pub fn load(&mut self, buffer: u32, index: Id) -> Id {
        let ty = Type::of(self.buffers[buffer as usize].dtype);
        self.graph.load(buffer, index, ty)
    }

    pub fn apply(&mut self, op: TypedOp, operands: &[Id]) -> Id {
        self.graph.apply(op, operands)
    }

    pub fn real(&mut self, op: Real, operands: &[Id]) -> Id {
        self.graph.real(op, operands)
    }

    /// a · stride + b of u32, where the stride is an extent.
    pub fn affine(&mut self, a: Id, stride: Extent, b: Id) -> Id {
        let stride = self.extent(stride);
        let row = self.apply(TypedOp::IntMul, &[a, stride]);
        self.apply(TypedOp::IntAdd, &[row, b])
    }

    /// The address of a point in C order, of the first axes.
    pub fn address(&mut self, extents: &[Extent]) -> Id {
        let mut address = self.coordinate(0);
        for (axis, extent) in extents.iter().enumerate().skip(1) {
            let coordinate = self.coordinate(axis as u32);
            address = self.affine(address, *extent, coordinate);
        }
        address
    }

    /// The lines of a matrix along an axis, and the points on them.
    pub fn lines(&mut self, shape: [i64; 2], axis: usize) -> Lines {
        let extents = shape.map(|extent| self.word(extent));
        let (outer, row) = (extents[1 - axis], extents[axis]);
        let (place, along) = (self.coordinate(0), self.coordinate(1));
        let index = if axis == 1 { self.affine(place, row, along) } else { self.affine(along, outer, place) };
        Lines { outer, row, place, along, index }
    }

    pub fn kernel(self, name: &str, body: Body) -> TensorKernel {
        TensorKernel {
            name: name.to_owned(),
            buffers: self.buffers,
            sizes: self.sizes,
            graph: self.graph,
            body,
            guard: None,
        }
    }

    pub fn elements(self, name: &str, space: &[Extent], stores: Vec<Store>) -> TensorKernel {
        self.kernel(name, Body::Elements(Elements { space: space.to_vec(), stores, fills: true }))
    }
}

pub fn fold(combine: Combine, operands: Vec<Id>) -> Fold {
    Fold { combine, operands, merges_states: false, keeps_state: false }
}

pub fn store(buffer: u32, index: Id, value: Id) -> Store {
    Store { buffer, index, value }
}

/// Softmax of a matrix along an axis: buffer 0 to buffer 1 of a type.
pub fn softmax(shape: [i64; 2], axis: usize, result: DType) -> TensorKernel {
    let mut sample = Sample::new(&[(DType::F32, false), (result, true)]);
    let Lines { outer, row, index, .. } = sample.lines(shape, axis);
    let x = sample.load(0, index);
    let largest = sample.folded(0, 0, Type::F32);
    let difference = sample.real(Real::Sub, &[x, largest]);
    let e = sample.real(Real::Exp, &[difference]);
    let sum = sample.folded(1, 0, Type::F32);
    let quotient = sample.real(Real::Div, &[e, sum]);
    let rows = Rows {
        outer: vec![outer],
        row: vec![row],
        valid: None,
        folds: vec![fold(Combine::Max, vec![x]), fold(Combine::Sum, vec![e])],
        elements: vec![store(1, index, quotient)],
        results: vec![],
    };
    sample.kernel("softmax", Body::Rows(rows))
}

/// The composition of maps x ↦ a·x + b, which is associative and does not commute.
pub fn composition() -> Rc<Rule> {
    let mut graph = RuleGraph::new();
    let [a, b, c, d] = [0, 1, 2, 3].map(|input| graph.input(InputId(input)));
    let product = graph.apply_raw(Real::Mul, &[c, a]);
    let shifted = graph.apply_raw(Real::Mul, &[c, b]);
    let sum = graph.apply_raw(Real::Add, &[shifted, d]);
    let merge = graph.check(4).expect("operands stand before their users");
    Rc::new(Rule { identity: vec![1.0, 0.0], merge, results: vec![product, sum] })
}

/// Factors near 1, so that a thousand of them stay in range, and a summand of a load.
pub fn map_of(sample: &mut Sample, x: Id) -> Vec<Id> {
    let (small, one) = (sample.f32(0.001), sample.f32(1.0));
    let part = sample.real(Real::Mul, &[x, small]);
    vec![sample.real(Real::Add, &[part, one]), x]
}

/// A reduction of a matrix along an axis: buffer 0 of a type to buffer 1 of the result's.
pub fn reduction(shape: [i64; 2], axis: usize, combine: Combine, dtype: DType, result: DType) -> TensorKernel {
    let mut sample = Sample::new(&[(dtype, false), (result, true)]);
    let Lines { outer, row, place, along, index } = sample.lines(shape, axis);
    let x = sample.load(0, index);
    let (operands, ty) = match combine {
        Combine::ArgMin | Combine::ArgMax => (vec![x, along], Type::I32),
        _ => (vec![x], sample.graph.ty(x)),
    };
    let folded = sample.folded(0, 0, ty);
    let rows = Rows {
        outer: vec![outer],
        row: vec![row],
        valid: None,
        folds: vec![fold(combine, operands)],
        elements: vec![],
        results: vec![store(1, place, folded)],
    };
    sample.kernel("reduction", Body::Rows(rows))
}

/// A scan of the rows of a matrix of f32: buffer 0 to buffer 1.
pub fn scan(rows: i64, columns: i64, combine: Combine, exclusive: bool, reverse: bool) -> TensorKernel {
    let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, true)]);
    let (outer, length) = (sample.word(rows), sample.word(columns));
    let index = sample.address(&[outer, length]);
    let x = sample.load(0, index);
    let folded = sample.folded(0, 0, Type::F32);
    let fold = fold(combine, vec![x]);
    let elements = vec![store(1, index, folded)];
    let scan = Scan { outer: vec![outer], length, valid: None, fold, initial: None, exclusive, reverse, elements };
    sample.kernel("scan", Body::Scan(scan))
}
