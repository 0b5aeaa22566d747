//! The Gauss-Newton model on the host, in f64, in one of three forms:
//!
//! | form | file | what a linearisation gives | what a step needs |
//! |---|---|---|---|
//! | rows | [`linearisation`] | r̃, and J̃ in compressed rows | a factorisation of J̃, or products with its rows |
//! | products | [`products`] | J̃ᵀr̃ and the diagonal blocks of J̃ᵀJ̃; J̃ stays in local tables | J̃ᵀJ̃p by kernels |
//! | sums | [`normal_equations`] | J̃ᵀr̃ and all of J̃ᵀJ̃, for few parameters that all instances share | nothing more |
//!
//! What the model leaves out, the residuals' second derivatives, [`second_order`] has for small problems, whatever the form.
//!
//! [`HostModel`] keeps what one linearisation leaves for the next: the local tables, the pattern of J̃, the residuals of the sums. It takes
//! the compiled functions at every call, and always the same ones.

use residua_base::deadline::Deadline;
use residua_base::error::Result;
use residua_linalg::{CoordinateBlocks, JtjOperator};

use crate::eval::Functions;
use crate::model::pattern::Pattern;

mod blocks;
pub mod hessian_system;
mod influence;
mod linearisation;
mod local_tables;
mod model;
mod normal_equations;
mod plain;
mod products;
mod second_order;

pub use blocks::blocks;
use linearisation::Rows;
use local_tables::LocalTables;
pub use model::{LeastSquares, Normal};
use normal_equations::Sums;
use products::MatrixFree;

#[cfg(test)]
mod linearisation_tests;
#[cfg(test)]
pub(crate) mod normal_equations_tests;
#[cfg(test)]
mod plain_tests;
#[cfg(test)]
mod second_order_tests;

/// The Gauss-Newton model of compiled functions on the host, with what it keeps between linearisations.
#[derive(Default)]
pub struct HostModel {
    tables: LocalTables,
    rows: Rows,
    products: MatrixFree,
    sums: Sums,
}

impl HostModel {
    /// Forgets what depends on the numbers of instances and parameters, which have grown.
    pub fn grow(&mut self) {
        self.rows.grow();
        (self.tables, self.products, self.sums) = Default::default();
    }

    /// The pattern of J̃. Its columns are parameters; those of a block on a manifold stand for tangent coordinates.
    pub fn pattern(&mut self, functions: &mut Functions) -> Result<&Pattern> {
        self.rows.pattern(functions)
    }

    /// Makes the pattern of J̃; whether it was not there.
    pub fn make_pattern(&mut self, functions: &mut Functions) -> Result<bool> {
        let is_new = !self.rows.has_pattern();
        self.rows.pattern(functions)?;
        Ok(is_new)
    }

    /// Compiles what a linearisation needs; whether it is there at the deadline. What is not is finished later.
    pub async fn prepare(&mut self, functions: &mut Functions, end: Deadline) -> Result<bool> {
        self.rows.prepare(functions, end).await
    }

    /// The same for a reduction.
    pub async fn prepare_reduction(&mut self, functions: &mut Functions, end: Deadline) -> Result<bool> {
        self.rows.prepare_reduction(functions, end).await
    }

    /// r̃ and J̃ at a point.
    pub async fn linearise(&mut self, functions: &mut Functions, x: &[f64]) -> Result<LeastSquares> {
        let mut linearised = self.rows.linearise(functions, &mut self.tables, x).await?;
        (linearised.accuracy, linearised.noise) = plain::accuracy(functions.model())?;
        Ok(linearised)
    }

    /// The least-squares cost at the last linearised point minus that at `x`: positive where the cost falls, NaN where it is not defined.
    pub async fn reduction(&mut self, functions: &mut Functions, x: &[f64]) -> Result<f64> {
        self.rows.reduction(functions, &mut self.tables, x).await
    }

    /// Compiles what products need, for the tangent coordinates of these blocks; `false` where the model needs its matrix, `None` where the deadline
    /// passes before.
    pub async fn prepare_products(
        &mut self,
        functions: &mut Functions,
        blocks: &CoordinateBlocks,
        end: Deadline,
    ) -> Result<Option<bool>> {
        self.products.prepare(functions, blocks, end).await
    }

    /// Σ w e² of the errors e of plain functions' residuals, as they were last differentiated.
    ///
    /// # Errors
    /// What the application throws.
    pub fn noise(functions: &Functions) -> Result<f64> {
        Ok(plain::accuracy(functions.model())?.1)
    }

    /// Whether a block has a robust loss, so that the influence of its residuals is not their cost.
    pub fn is_robust(functions: &Functions) -> bool {
        influence::is_robust(functions)
    }

    /// ½ Σ w ρ′(s)² s / ρ′(0) at a point: the cost that residuals have by their influence, which a robust loss bounds.
    pub async fn influence(functions: &mut Functions, x: &[f64]) -> Result<f64> {
        influence::influence(functions, x).await
    }

    /// J̃ᵀr̃ and the diagonal blocks of J̃ᵀJ̃ at a point, after [`HostModel::prepare_products`].
    pub fn linearise_for_products(&mut self, functions: &mut Functions, x: &[f64]) -> Result<LeastSquares> {
        self.products.linearise(functions, &mut self.tables, x)
    }

    /// ‖J̃p‖² where the model was last made for products.
    pub fn squared_jvp(&mut self, functions: &mut Functions, p: &[f64]) -> Result<f64> {
        products::squared_jvp(functions, &mut self.tables, p)
    }

    /// J̃ᵀJ̃ as an operator, where the model was last made for products.
    pub fn jtj<'a>(&'a mut self, functions: &'a mut Functions) -> impl JtjOperator + 'a {
        products::JtJ { functions, tables: &mut self.tables }
    }

    /// Compiles what sums need; `false` where the problem has none, `None` where the deadline passes before.
    pub async fn prepare_sums(&mut self, functions: &mut Functions, end: Deadline) -> Result<Option<bool>> {
        self.sums.prepare(functions, end).await
    }

    /// J̃ᵀr̃ and J̃ᵀJ̃ at a point, after [`HostModel::prepare_sums`].
    pub fn linearise_as_sums(&mut self, functions: &mut Functions, x: &[f64]) -> Result<LeastSquares> {
        let mut linearised = self.sums.linearise(functions, x)?;
        (linearised.accuracy, linearised.noise) = plain::accuracy(functions.model())?;
        Ok(linearised)
    }

    /// [`HostModel::reduction`] where the model was last made as sums.
    pub fn reduction_of_sums(&mut self, functions: &mut Functions, x: &[f64]) -> Result<f64> {
        self.sums.reduction(functions, x)
    }

    /// Compiles what [`HostModel::second_directional`] needs; whether it is there at the deadline.
    pub async fn prepare_second_directional(&mut self, functions: &mut Functions, end: Deadline) -> Result<bool> {
        second_order::prepare_directional(functions, end).await
    }

    /// r̃″: for each residual the second derivative of r(x ⊞ tδ) in t at t = 0, scaled as J̃ is; 0 where the block takes no part. Compiles what is
    /// not there. The direction δ has the layout of x, with tangent coordinates in the first places of their block; those of constants are to be 0.
    pub async fn second_directional(
        &mut self,
        functions: &mut Functions,
        x: &[f64],
        direction: &[f64],
    ) -> Result<Vec<f64>> {
        second_order::directional(functions, x, direction).await
    }

    /// J̃ᵀr̃″, for models without a matrix; 0 for constants. As [`HostModel::second_directional`], with one more kernel.
    pub async fn second_directional_gradient(
        &mut self,
        functions: &mut Functions,
        x: &[f64],
        direction: &[f64],
    ) -> Result<Vec<f64>> {
        second_order::directional_gradient(functions, x, direction).await
    }

    /// Whether kernels of second derivatives take long to make.
    pub fn has_long_second_order(functions: &Functions) -> bool {
        second_order::is_long(functions.model())
    }

    /// Compiles what a [`hessian_system::HessianSystem`] of the cost takes; `false` where it cannot be had, or the deadline passes before.
    pub async fn prepare_hessian_system(functions: &mut Functions, end: Deadline) -> Result<bool> {
        second_order::prepare_system(functions, end).await
    }

    /// Compiles what [`HostModel::second_order`] needs; `false` where the problem has more than [`second_order::MOST_PARAMETERS`], `None` where the deadline
    /// passes before.
    pub async fn prepare_second_order(&mut self, functions: &mut Functions, end: Deadline) -> Result<Option<bool>> {
        second_order::prepare(functions, end).await
    }

    /// S = Σ weight·ρ′·r·∂²r/∂δ² of r(x ⊞ δ) at δ = 0: what J̃ᵀJ̃ lacks to be the second derivative of the cost, but for negative ρ″ (see [`second_order`]).
    /// All parameters' rows, one after the other, of which the lower half counts; 0 for constants and places that no tangent coordinate has.
    /// Compiles what is not there.
    pub async fn second_order(&mut self, functions: &mut Functions, x: &[f64]) -> Result<Vec<f64>> {
        second_order::matrix(functions, x).await
    }
}
