//! Batches whose residuals the application computes: plain functions.
//!
//! Their class is affine, rᵢ + Σⱼ Jᵢⱼ (pⱼ − p̄ⱼ) with p̄ⱼ = pⱼ that has no derivative, and r and J are data. So every kernel of a class works
//! on them, as long as the data are those of the point. A [`Plain`] brings them there. Second derivatives of the class are 0.
//!
//! The first data column is the instances' weight, if they have one, which [`Batch::data`](super::Batch) holds, too. Then come one column for each
//! residual, and those of J.

use std::cell::{Ref, RefCell};
use std::rc::Rc;

use residua_base::error::Result;

/// What a plain function is to give. Each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wanted {
    /// The columns of the residuals.
    Residuals,
    /// Those of J, too.
    Derivatives,
}

/// A function of the application, for all instances of a batch.
pub trait PlainFunction {
    /// Fills the columns of the residuals at a point, or those and the columns of J.
    ///
    /// # Errors
    /// What the application throws.
    fn evaluate(&self, x: &[f64], wanted: Wanted, columns: &mut [f64]) -> Result<()>;
    /// Fills all columns, with J by differences, whatever the application knows of it.
    ///
    /// # Errors
    /// What the application throws.
    fn differences(&self, x: &[f64], columns: &mut [f64]) -> Result<()>;
    /// How exact J was when it was computed last: of each parameter, the error of its derivatives relative to the length of its column; on a manifold, of the tangent
    /// coordinate in its place; then Σ w e² of the residuals' errors e, those that rounding in double precision does not explain. None where J is no differences.
    ///
    /// # Errors
    /// What the application throws.
    fn accuracy(&self) -> Result<Vec<f64>> {
        Ok(Vec::new())
    }
}

/// A plain function with the data columns that it gave last.
#[derive(Clone)]
pub struct Plain(Rc<State>);

struct State {
    function: Box<dyn PlainFunction>,
    /// Numbers of the weights, of the residuals, and of all.
    lengths: [usize; 3],
    table: RefCell<Table>,
}

#[derive(Default)]
struct Table {
    x: Vec<f64>,
    /// What is there for x.
    known: Option<Wanted>,
    numbers: Vec<f64>,
}

impl std::fmt::Debug for Plain {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_tuple("Plain").field(&self.0.lengths).finish()
    }
}

impl Plain {
    /// Of a table with so many numbers of the weights, of the residuals, and in all.
    pub fn new(function: Box<dyn PlainFunction>, lengths: [usize; 3]) -> Plain {
        Plain(Rc::new(State { function, lengths, table: RefCell::default() }))
    }

    /// Sets the weights, and forgets what was computed: the function may have changed.
    pub fn change(&self, weights: &[f64]) {
        let mut table = self.0.table.borrow_mut();
        table.numbers.resize(self.0.lengths[2], 0.0);
        table.numbers[..weights.len()].copy_from_slice(weights);
        table.known = None;
    }

    /// The data at a point.
    ///
    /// # Errors
    /// What the application throws.
    pub fn at(&self, x: &[f64], wanted: Wanted) -> Result<Ref<'_, [f64]>> {
        let State { function, lengths: [weights, residuals, _], table } = &*self.0;
        let known = {
            let table = table.borrow();
            table.known.filter(|_| table.x == x)
        };
        if known < Some(wanted) {
            // The application's code runs, so that nothing is borrowed.
            let mut numbers = std::mem::take(&mut table.borrow_mut().numbers);
            let end = if wanted == Wanted::Residuals { weights + residuals } else { numbers.len() };
            let done = function.evaluate(x, wanted, &mut numbers[*weights..end]);
            let mut table = table.borrow_mut();
            table.numbers = numbers;
            table.known = None;
            done?;
            table.x.clear();
            table.x.extend_from_slice(x);
            table.known = Some(wanted);
        }
        Ok(Ref::map(table.borrow(), |table| table.numbers.as_slice()))
    }

    /// [`PlainFunction::accuracy`]
    ///
    /// # Errors
    /// What the application throws.
    pub fn accuracy(&self) -> Result<Vec<f64>> {
        self.0.function.accuracy()
    }

    /// The columns of the residuals at a point, which are not kept.
    ///
    /// # Errors
    /// What the application throws.
    pub fn residuals_at(&self, x: &[f64]) -> Result<Vec<f64>> {
        let mut columns = vec![0.0; self.0.lengths[1]];
        self.0.function.evaluate(x, Wanted::Residuals, &mut columns)?;
        Ok(columns)
    }

    /// The columns of J by differences.
    ///
    /// # Errors
    /// What the application throws.
    pub fn differences(&self, x: &[f64]) -> Result<Vec<f64>> {
        let [weights, residuals, all] = self.0.lengths;
        let mut columns = vec![0.0; all - weights];
        self.0.function.differences(x, &mut columns)?;
        Ok(columns.split_off(residuals))
    }
}
