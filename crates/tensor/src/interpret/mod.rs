//! Runs kernels on buffers of bytes: what a kernel means, one point after another, for tests and as what generated code is compared with.
//!
//! Reals are f32; elementary functions are those of f64, rounded. Reductions go along a row in order, so sums differ from those of the
//! back ends by roundings. Every index is checked.

use residua_base::error::{Error, Result};
use residua_base::list::Listed;

use crate::kernel::{Body, Elements, Extent, Fold, Product, Rows, Scan, Store, TensorKernel};
use crate::scalar::{Id, Type, TypedNode};

pub(crate) mod arithmetic;
mod attention;
mod combine;
mod fourier;
mod linalg;
mod memory;
mod sort;

/// Runs a kernel with the words of its uniform ([`TensorKernel::sizes`]) on the bytes of its buffers, in binding order.
///
/// An internal error if an index is beyond its buffer.
pub fn run(kernel: &TensorKernel, words: &[u32], buffers: &mut [Vec<u8>]) -> Result<()> {
    if words.len() != kernel.sizes.len() || buffers.len() != kernel.buffers.len() {
        return Err(Error::internal(format!("kernel '{}' got other words or buffers than it has", kernel.name)));
    }
    let mut machine = Machine {
        kernel,
        words,
        buffers,
        values: vec![0; kernel.graph.len()],
        coordinates: Vec::new(),
        folded: Vec::new(),
    };
    match &kernel.body {
        Body::Elements(elements) => machine.elements(elements),
        Body::Maps(maps) => maps.iter().try_for_each(|elements| machine.elements(elements)),
        Body::Rows(rows) => machine.rows(rows),
        Body::Scan(scan) => machine.scan(scan),
        Body::Product(product) => machine.product(product),
        Body::Products(products) | Body::Sequence(products) => {
            products.iter().try_for_each(|product| machine.product(product))
        }
        Body::Sort(sort) => machine.sort(sort),
        Body::Fourier(fourier) => machine.fourier(fourier),
        Body::DigitCounts(counts) => machine.digit_counts(counts),
        Body::DigitSort(sort) => machine.digit_sort(sort),
        Body::Linalg(linalg) => machine.linalg(linalg),
        Body::Turns(turns) => machine.turns(turns),
        Body::Attention(attention) => machine.attention(attention),
    }
}

/// A run.
struct Machine<'a> {
    kernel: &'a TensorKernel,
    words: &'a [u32],
    buffers: &'a mut [Vec<u8>],
    /// Of each node, at the present point.
    values: Vec<u32>,
    coordinates: Vec<u32>,
    /// Results of each reduction so far.
    folded: Vec<Vec<u32>>,
}

impl Machine<'_> {
    fn elements(&mut self, elements: &Elements) -> Result<()> {
        let needed = self.needed_by_stores(&elements.stores);
        let space = self.extents(&elements.space);
        self.each_point(&space, |machine| machine.write(&needed, &elements.stores))
    }

    fn rows(&mut self, rows: &Rows) -> Result<()> {
        let valid = self.needed(rows.valid);
        let elements = self.needed_by_stores(&rows.elements);
        let results = self.needed_by_stores(&rows.results);
        let (outer, row) = (self.extents(&rows.outer), self.extents(&rows.row));
        self.each_point(&outer, |machine| {
            machine.fold(&rows.folds, &row, rows.valid, &valid)?;
            machine.each_point(&row, |machine| {
                if machine.holds(rows.valid, &valid)? {
                    machine.write(&elements, &rows.elements)?;
                }
                Ok(())
            })?;
            machine.write(&results, &rows.results)
        })
    }

    /// Finds the results of reductions over the points of a row.
    fn fold(&mut self, folds: &[Fold], row: &[u32], valid: Option<Id>, needed_by_valid: &[Id]) -> Result<()> {
        self.folded.clear();
        for fold in folds {
            let needed = self.needed(fold.operands.iter().copied());
            let mut state = self.identity(fold);
            self.each_point(row, |machine| {
                if machine.holds(valid, needed_by_valid)? {
                    state = machine.with_point(fold, &needed, &state)?;
                }
                Ok(())
            })?;
            let results = finished(fold, state);
            self.folded.push(results);
        }
        Ok(())
    }

    fn scan(&mut self, scan: &Scan) -> Result<()> {
        let valid = self.needed(scan.valid);
        let operands = self.needed(scan.fold.operands.iter().copied());
        let elements = self.needed_by_stores(&scan.elements);
        let initial = self.needed(scan.initial.iter().flatten().copied());
        let (outer, length) = (self.extents(&scan.outer), self.extent(scan.length));
        self.each_point(&outer, |machine| {
            let mut state = machine.identity(&scan.fold);
            if let Some(numbers) = &scan.initial {
                machine.evaluate(&initial)?;
                state = machine.values_of(numbers);
            }
            for step in 0..length {
                machine.coordinates.push(if scan.reverse { length - 1 - step } else { step });
                if machine.holds(scan.valid, &valid)? {
                    let next = machine.with_point(&scan.fold, &operands, &state)?;
                    let result = if scan.exclusive { state } else { next.clone() };
                    state = next;
                    machine.folded = vec![finished(&scan.fold, result)];
                    machine.write(&elements, &scan.elements)?;
                }
                machine.coordinates.pop();
            }
            Ok(())
        })
    }

    fn product(&mut self, product: &Product) -> Result<()> {
        let factors = self.needed([product.left, product.right]);
        let elements = self.needed_by_stores(&product.elements);
        let is_real = self.kernel.graph.ty(product.left) == Type::F32;
        let batch = self.extents(&product.batch);
        let matrix = self.extents(&[product.rows, product.columns]);
        let depth = self.extent(product.depth);
        self.each_point(&batch, |machine| {
            machine.each_point(&matrix, |machine| {
                let mut sum = 0;
                let (row, column) = (machine.coordinates[batch.len()], machine.coordinates[batch.len() + 1]);
                debug_assert!(row < matrix[0] && column < matrix[1]);
                machine.fold(&product.folds, &[depth], None, &[])?;
                for place in 0..depth {
                    machine.coordinates.push(place);
                    machine.evaluate(&factors)?;
                    let [left, right] = [product.left, product.right].map(|id| machine.values[id.index()]);
                    sum = if is_real {
                        (f32::from_bits(sum) + f32::from_bits(left) * f32::from_bits(right)).to_bits()
                    } else {
                        sum.wrapping_add(left.wrapping_mul(right))
                    };
                    machine.coordinates.pop();
                }
                machine.folded.push(vec![sum]);
                machine.write(&elements, &product.elements)
            })
        })
    }

    /// Calls for each point of a space, the innermost axis fastest, with its coordinates after those that there are.
    fn each_point(&mut self, space: &[u32], mut run: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.each(space, &mut run)
    }

    fn each(&mut self, space: &[u32], run: &mut dyn FnMut(&mut Self) -> Result<()>) -> Result<()> {
        let Some((extent, inner)) = space.split_first() else {
            return run(self);
        };
        for coordinate in 0..*extent {
            self.coordinates.push(coordinate);
            self.each(inner, run)?;
            self.coordinates.pop();
        }
        Ok(())
    }

    fn extents(&self, extents: &[Extent]) -> Vec<u32> {
        extents.iter().map(|extent| self.extent(*extent)).list()
    }

    fn extent(&self, extent: Extent) -> u32 {
        extent.of(self.words)
    }

    /// The nodes that some values need, operands first.
    fn needed(&self, roots: impl IntoIterator<Item = Id>) -> Vec<Id> {
        self.kernel.graph.needed(roots)
    }

    fn needed_by_stores(&self, stores: &[Store]) -> Vec<Id> {
        self.needed(Store::roots(stores))
    }

    /// Computes nodes at the present point.
    fn evaluate(&mut self, needed: &[Id]) -> Result<()> {
        let graph = &self.kernel.graph;
        for id in needed {
            self.values[id.index()] = match graph.node(*id) {
                TypedNode::Literal(_, bits) => bits,
                TypedNode::Coordinate(axis) => self.coordinates[axis as usize],
                TypedNode::Size(word) => self.words[word as usize],
                TypedNode::Load { buffer, index } => {
                    let dtype = self.kernel.buffers[buffer as usize].dtype;
                    memory::load(&self.buffers[buffer as usize], dtype, self.values[index.index()])
                        .map_err(|error| self.named(buffer, &error))?
                }
                TypedNode::Folded { fold, result } => self.folded[fold as usize][result as usize],
                TypedNode::Apply(op, operands) => arithmetic::apply(
                    op,
                    operands.map(|operand| graph.ty(operand)),
                    operands.map(|operand| self.values[operand.index()]),
                ),
            };
        }
        Ok(())
    }

    fn values_of(&self, ids: &[Id]) -> Vec<u32> {
        ids.iter().map(|id| self.values[id.index()]).list()
    }

    /// Whether a bool holds at the present point.
    fn holds(&mut self, valid: Option<Id>, needed: &[Id]) -> Result<bool> {
        self.evaluate(needed)?;
        Ok(valid.is_none_or(|valid| self.values[valid.index()] != 0))
    }

    /// Writes the stores of the present point. All values are computed before the first is written.
    fn write(&mut self, needed: &[Id], stores: &[Store]) -> Result<()> {
        self.evaluate(needed)?;
        for Store { buffer, index, value } in stores {
            let dtype = self.kernel.buffers[*buffer as usize].dtype;
            let (index, value) = (self.values[index.index()], self.values[value.index()]);
            memory::store(&mut self.buffers[*buffer as usize], dtype, index, value)
                .map_err(|error| self.named(*buffer, &error))?;
        }
        Ok(())
    }

    fn named(&self, buffer: u32, error: &Error) -> Error {
        let TensorKernel { name, .. } = self.kernel;
        Error::internal(format!("kernel '{name}', buffer {buffer}, at {:?}: {error}", self.coordinates))
    }

    /// The type of what a reduction accumulates.
    fn type_of(&self, fold: &Fold) -> Type {
        fold.operands.first().map_or(Type::F32, |operand| self.kernel.graph.ty(*operand))
    }

    fn identity(&self, fold: &Fold) -> Vec<u32> {
        fold.combine.identity(self.type_of(fold))
    }

    /// A state with the contribution of the present point.
    fn with_point(&mut self, fold: &Fold, needed: &[Id], state: &[u32]) -> Result<Vec<u32>> {
        self.evaluate(needed)?;
        let operands = self.values_of(&fold.operands);
        let point =
            if fold.merges_states { operands } else { combine::lift(&fold.combine, self.type_of(fold), &operands) };
        Ok(combine::merge(&fold.combine, self.type_of(fold), state, &point))
    }
}

/// The results of a reduction.
fn finished(fold: &Fold, state: Vec<u32>) -> Vec<u32> {
    if fold.keeps_state { state } else { combine::finish(&fold.combine, state) }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests;
