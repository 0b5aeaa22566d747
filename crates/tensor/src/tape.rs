//! The tape: how the facade hands a recipe to this module. A sequence of f64 numbers.
//!
//! ```text
//! tape       = version, dims, sizes, rules, nodes, results, assignments
//! version    = 1
//! dims       = how many dims the sizes refer to, then the largest value of each
//! sizes      = count, then for each: count of terms, then for each: coefficient, count of dims, dims
//! rules      = count, then for each: rule
//! rule       = count of numbers of a state, identity, count of scalar nodes, scalar nodes, results (as many as numbers of a state)
//! scalar     = 0, number             a literal
//!            | 3, position           an input: 0 … s−1 of the earlier state, s … 2s−1 of the later one
//!            | code, operands        an operation of `residua_ir::graph::TensorOp`
//! nodes      = count, then for each: op, dtype, rank, shape (positions in sizes), count of operands, operands, count of attributes, attributes
//! results    = count, nodes
//! assignments = count, then for each: slot of the input that is written, node
//! ```
//!
//! | op | attributes |
//! |---|---|
//! | 0 input | slot |
//! | 1 constant | number |
//! | 2 extent | position in sizes |
//! | 3 iota | axis |
//! | 4 random bits | stream |
//! | 5 elementwise | code of [`Elementwise`](crate::expr::Elementwise) |
//! | 6 reshape, 7 expand | |
//! | 8 permute | axes |
//! | 9 slice | starts (positions in sizes), steps |
//! | 10 pad | border (0 constant, 1 clamp, 2 wrap, 3 mirror), befores (positions in sizes) |
//! | 11 concat | axis |
//! | 12 windows | axis, step, dilation |
//! | 13 gather, 14 gather elements | axis |
//! | 15 reduce | reduction (0 sum, 1 prod, 2 min, 3 max, 4 argMin, 5 argMax, 6 variance), axes |
//! | 16 scan | reduction, axis, 1 if exclusive, 1 if reverse |
//! | 17 fold | position in rules, result, axes |
//! | 18 scan by | position in rules, result, axis, 1 if exclusive, 1 if reverse |
//! | 19 matmul | |
//! | 20 scatter, 21 index put | axis, combine (0 set, 1 add, 2 mul, 3 min, 4 max) |
//! | 22 gradient | |
//! | 23 argsort | how many low bits of the keys count, 1 to 32 |
//! | 24 set slice | starts (positions in sizes) |
//! | 25 attention | 1 if causal, position (in sizes), scale, window + 1 or 0 without one, softcap or 0 without one |
//! | 27 dequantize | format (its place in the table) |
//! | 28 number | bits (position in sizes): those of an f32 for reals, else the number modulo 2³² |
//! | 36 linalg | code of [`Linalg`](crate::expr::Linalg) |
//! | 37 custom gradient | |
//! | 38 sparse product | |
//!
//! A number that is none of what its place takes, a reference to what does not stand before, an operation whose shapes do not fit, a tape
//! that ends too early or too late: each is an error with [`ErrorCode::InvalidGraph`](residua_base::error::ErrorCode::InvalidGraph). Decoding
//! takes memory in proportion to the tape.

use std::rc::Rc;

use residua_base::error::{Error, Result};
use residua_ir::graph::{Graph, InputId, NodeId, Op as ScalarOp, leaf};

use codes::{BORDERS, COMBINES, REDUCTIONS};

use crate::dtype::DType;
use crate::expr::{Attention, Elementwise, Expr, Fourier, FourierKind, Linalg, Rule, Tensor, TensorId, TensorOp};
use crate::quantised::Form;
use crate::size::Size;

mod codes;
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests;
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod typescript;
#[cfg(not(target_arch = "wasm32"))]
mod write;

#[cfg(not(target_arch = "wasm32"))]
pub use write::write;

/// The version that this module reads.
const VERSION: u32 = 1;

/// Most axes of a tensor.
const MAX_RANK: u32 = 32;

/// Most terms of a size, and most factors of a term.
const MAX_TERMS: u32 = 16;

/// Most numbers of a state.
const MAX_STATE: u32 = 64;

/// What the facade asks for.
#[derive(Clone, Debug, Default)]
pub struct Recipe {
    /// All operations.
    pub expr: Expr,
    /// The largest value of each dim that the sizes refer to.
    pub dims: Vec<u32>,
    /// What a run gives.
    pub results: Vec<TensorId>,
    /// Which slots a run writes, and with what.
    pub assignments: Vec<(u32, TensorId)>,
}

impl Recipe {
    /// Reads a tape, and checks that types and shapes of all operations fit.
    pub fn decode(tape: &[f64]) -> Result<Recipe> {
        let mut reader = Reader { tape, at: 0 };
        let recipe = reader.recipe()?;
        if reader.at != tape.len() {
            return Err(reader.error("ends here, but goes on"));
        }
        recipe.expr.check()?;
        recipe.check_assignments()?;
        Ok(recipe)
    }

    /// What is written to a slot has the type and shape of what is read there.
    fn check_assignments(&self) -> Result<()> {
        for (slot, value) in &self.assignments {
            let value = self.expr.tensor(*value);
            let fits = |tensor: &Tensor| {
                tensor.op != TensorOp::Input(*slot) || (tensor.dtype == value.dtype && tensor.shape == value.shape)
            };
            if !self.expr.nodes.iter().all(fits) {
                return Err(Error::invalid_graph(format!(
                    "the tape assigns a tensor to slot {slot}, which holds another type or shape"
                )));
            }
        }
        Ok(())
    }
}

/// A position on a tape.
struct Reader<'a> {
    tape: &'a [f64],
    at: usize,
}

impl Reader<'_> {
    #[cold]
    fn error(&self, what: &str) -> Error {
        Error::invalid_graph(format!("number {} of the tape {what}", self.at))
    }

    /// Any number.
    fn number(&mut self) -> Result<f64> {
        let number = self.tape.get(self.at).copied().ok_or_else(|| self.error("is missing"))?;
        self.at += 1;
        Ok(number)
    }

    /// An integer of at most 2⁵³.
    fn integer(&mut self) -> Result<i64> {
        let number = self.number()?;
        if number.trunc() == number && number.abs() <= 9_007_199_254_740_992.0 {
            return Ok(number as i64);
        }
        self.at -= 1;
        Err(self.error("is no integer"))
    }

    /// An integer from 0 up to a bound, which it does not reach.
    fn index(&mut self, bound: u32) -> Result<u32> {
        let number = self.integer()?;
        if (0..i64::from(bound)).contains(&number) {
            return Ok(number as u32);
        }
        self.at -= 1;
        Err(self.error("is out of range"))
    }

    fn flag(&mut self) -> Result<bool> {
        Ok(self.index(2)? == 1)
    }

    /// A count of things, each of which takes at least one number.
    fn count(&mut self, most: u32) -> Result<u32> {
        let count = self.index(most.saturating_add(1))?;
        if count as usize <= self.tape.len() - self.at {
            return Ok(count);
        }
        self.at -= 1;
        Err(self.error("counts more than the tape has"))
    }

    /// So many things.
    fn list<T>(&mut self, count: u32, mut one: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(one(self)?);
        }
        Ok(list)
    }

    fn recipe(&mut self) -> Result<Recipe> {
        if self.number()? != f64::from(VERSION) {
            self.at = 0;
            return Err(self.error("is another version than 1"));
        }
        let count = self.count(u32::MAX)?;
        let dims = self.list(count, |reader| reader.index(u32::MAX))?;
        let count = self.count(u32::MAX)?;
        let sizes = self.list(count, |reader| reader.size(dims.len() as u32))?;
        let count = self.count(u32::MAX)?;
        let rules = self.list(count, |reader| Ok(Rc::new(reader.rule()?)))?;
        let count = self.count(u32::MAX)?;
        let mut expr = Expr::default();
        for position in 0..count {
            let tensor = self.tensor(position, &sizes, &rules)?;
            expr.push(tensor);
        }
        let results_count = self.count(u32::MAX)?;
        let results = self.list(results_count, |reader| Ok(TensorId(reader.index(count)?)))?;
        let assignments_count = self.count(u32::MAX)?;
        let assignments =
            self.list(assignments_count, |reader| Ok((reader.index(u32::MAX)?, TensorId(reader.index(count)?))))?;
        Ok(Recipe { expr, dims, results, assignments })
    }

    fn size(&mut self, dims: u32) -> Result<Size> {
        let count = self.count(MAX_TERMS)?;
        let terms = self.list(count, |reader| {
            let coefficient = reader.integer()?;
            let count = reader.count(MAX_TERMS)?;
            Ok((coefficient, reader.list(count, |reader| reader.index(dims))?))
        })?;
        Ok(Size::sum(terms))
    }

    fn rule(&mut self) -> Result<Rule> {
        let state = self.count(MAX_STATE)?;
        let identity = self.list(state, Reader::number)?;
        let count = self.count(u32::MAX)?;
        let mut graph = Graph::new();
        let mut nodes: Vec<NodeId> = Vec::new();
        for position in 0..count {
            let code = self.index(256)? as u8;
            let op = ScalarOp::from_code(code).filter(|op| *op != ScalarOp::Lookup);
            let node = match (code, op) {
                (leaf::LITERAL, _) => graph.literal(self.number()?),
                (leaf::DATA, _) => graph.input(InputId(self.index(2 * state)?)),
                (_, Some(op)) => {
                    let operands =
                        self.list(op.arity() as u32, |reader| Ok(nodes[reader.index(position)? as usize]))?;
                    graph.apply(op, &operands)
                }
                _ => {
                    self.at -= 1;
                    return Err(self.error("is no scalar operation"));
                }
            };
            nodes.push(node);
        }
        let results = self.list(state, |reader| Ok(nodes[reader.index(count)? as usize]))?;
        Ok(Rule { identity, merge: graph.check(2 * state)?, results })
    }

    fn tensor(&mut self, position: u32, sizes: &[Size], rules: &[Rc<Rule>]) -> Result<Tensor> {
        let code = self.index(u32::MAX)?;
        let dtype = self.index(DType::ALL.len() as u32)?;
        let rank = self.count(MAX_RANK)?;
        let shape = self.list(rank, |reader| reader.place(sizes))?;
        let count = self.count(u32::MAX)?;
        let operands = self.list(count, |reader| Ok(TensorId(reader.index(position)?)))?;
        let attributes = self.count(u32::MAX)?;
        let end = self.at + attributes as usize;
        let op = self.op(code, attributes, rank, sizes, rules)?;
        if self.at != end {
            return Err(self.error("is not where the attributes of an operation end"));
        }
        Ok(Tensor { op, operands, dtype: DType::ALL[dtype as usize], shape })
    }

    /// A size by its position.
    fn place(&mut self, sizes: &[Size]) -> Result<Size> {
        Ok(sizes[self.index(sizes.len() as u32)? as usize].clone())
    }

    fn axis(&mut self) -> Result<u32> {
        self.index(MAX_RANK)
    }

    fn axes(&mut self, count: u32) -> Result<Vec<u32>> {
        self.list(count, Reader::axis)
    }

    /// One of a list, by its code.
    fn choice<T: Copy>(&mut self, all: &[T]) -> Result<T> {
        Ok(all[self.index(all.len() as u32)? as usize])
    }

    fn op(&mut self, code: u32, attributes: u32, rank: u32, sizes: &[Size], rules: &[Rc<Rule>]) -> Result<TensorOp> {
        Ok(match code {
            codes::INPUT => TensorOp::Input(self.index(u32::MAX)?),
            codes::CONSTANT => TensorOp::Constant(self.number()?),
            codes::EXTENT => TensorOp::Extent(self.place(sizes)?),
            codes::NUMBER => TensorOp::Number(self.place(sizes)?),
            codes::IOTA => TensorOp::Iota(self.axis()?),
            codes::RANDOM_BITS => TensorOp::RandomBits(self.index(u32::MAX)?),
            codes::ELEMENTWISE => match Elementwise::from_code(self.index(256)?) {
                Some(op) => TensorOp::Elementwise(op),
                None => return Err(self.error("follows no elementwise operation")),
            },
            codes::RESHAPE => TensorOp::Reshape,
            codes::EXPAND => TensorOp::Expand,
            codes::PERMUTE => TensorOp::Permute(self.axes(attributes)?),
            codes::SLICE => TensorOp::Slice {
                starts: self.list(rank, |reader| reader.place(sizes))?,
                steps: self.list(rank, Reader::integer)?,
            },
            codes::PAD => {
                TensorOp::Pad { border: self.choice(&BORDERS)?, before: self.list(rank, |reader| reader.place(sizes))? }
            }
            codes::CONCAT => TensorOp::Concat(self.axis()?),
            codes::WINDOWS => {
                TensorOp::Windows { axis: self.axis()?, step: self.index(u32::MAX)?, dilation: self.index(u32::MAX)? }
            }
            codes::GATHER => TensorOp::Gather(self.axis()?),
            codes::GATHER_ELEMENTS => TensorOp::GatherElements(self.axis()?),
            codes::REDUCE => TensorOp::Reduce(self.choice(&REDUCTIONS)?, self.axes(attributes.saturating_sub(1))?),
            codes::SCAN => TensorOp::Scan {
                reduction: self.choice(&REDUCTIONS)?,
                axis: self.axis()?,
                exclusive: self.flag()?,
                reverse: self.flag()?,
            },
            codes::FOLD => TensorOp::Fold {
                rule: self.rule_at(rules)?,
                result: self.index(u32::MAX)?,
                axes: self.axes(attributes.saturating_sub(2))?,
            },
            codes::SCAN_BY => TensorOp::ScanBy {
                rule: self.rule_at(rules)?,
                result: self.index(u32::MAX)?,
                axis: self.axis()?,
                exclusive: self.flag()?,
                reverse: self.flag()?,
            },
            codes::MATMUL => TensorOp::MatMul,
            codes::SCATTER => TensorOp::Scatter(self.axis()?, self.choice(&COMBINES)?),
            codes::INDEX_PUT => TensorOp::IndexPut(self.axis()?, self.choice(&COMBINES)?),
            codes::GRADIENT => TensorOp::Gradient,
            codes::CUSTOM_GRADIENT => TensorOp::CustomGradient,
            codes::ARGSORT => match self.index(33)? {
                0 => return Err(self.error("counts no bits")),
                bits => TensorOp::Argsort { bits },
            },
            codes::SET_SLICE => {
                TensorOp::SetSlice { starts: self.list(rank, |reader| reader.place(sizes))?, slot: None }
            }
            codes::ATTENTION => TensorOp::Attention(self.attention(sizes)?),
            codes::LINALG => TensorOp::Linalg(self.choice(&Linalg::ALL)?),
            codes::SPARSE_PRODUCT => TensorOp::SparseProduct,
            codes::FOURIER => TensorOp::Fourier(Fourier {
                axis: self.axis()?,
                to: self.axis()?,
                length: self.index(Fourier::MOST + 1)?,
                kind: self.choice(&FourierKind::ALL)?,
                scale: self.number()?,
            }),
            codes::DEQUANTIZE => {
                let code = self.index(u32::MAX)?;
                TensorOp::Dequantize(Form::of_code(code).ok_or_else(|| self.error("follows no format"))?)
            }
            _ => return Err(self.error("follows no operation")),
        })
    }

    fn attention(&mut self, sizes: &[Size]) -> Result<Attention> {
        Ok(Attention {
            causal: self.flag()?,
            position: self.place(sizes)?,
            scale: self.number()?,
            window: self.index(u32::MAX >> 1)?.checked_sub(1),
            softcap: Some(self.number()?).filter(|cap| *cap != 0.0),
        })
    }

    fn rule_at(&mut self, rules: &[Rc<Rule>]) -> Result<Rc<Rule>> {
        Ok(rules[self.index(rules.len() as u32)? as usize].clone())
    }
}
