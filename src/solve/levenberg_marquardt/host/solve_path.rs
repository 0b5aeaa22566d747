//! The solve path: in which form the minimizer is given its models, and what solves its linear systems. Where no path was asked for, sums are
//! preferred to products, and products to rows, as far as the problem has them; a path ends in rows when the others do not give a step.

use super::linear_system::LinearSystems;
use crate::eval::Functions;
use crate::gauss_newton::host::{HostModel, LeastSquares};
use crate::model::Model;
use crate::model::pattern::Pattern;
use residua_base::error::Result;
use residua_base::list::Listed;
use residua_linalg::choice::{self, Choice, Trial};
use residua_linalg::{Blocks, DenseQr, Kind, LinearSolver, Pcg};

/// The form of a model, as [`crate::gauss_newton::host`] lists them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Sums,
    Products,
    Rows,
}

/// How a run gets its models and solves its systems.
pub(super) struct SolvePath {
    form: Form,
    /// What the user asked for.
    kind: Option<Kind>,
    /// Which linear solver, and why, for the report.
    pub(super) linear_solver: String,
    /// The systems of rows that are used if the ones that are tried first fail, and their words for the report.
    reserve: Option<(LinearSystems, String)>,
}

impl SolvePath {
    /// The path that a run begins with, and its linear systems.
    pub(super) async fn of(
        functions: &mut Functions,
        model: &mut HostModel,
        kind: Option<Kind>,
    ) -> Result<(SolvePath, LinearSystems)> {
        let n = functions.values().len();
        if matches!(kind, None | Some(Kind::DenseQr)) && model.prepare_sums(functions).await? {
            let linear_solver = match kind {
                None => format!("normal equations: {n} parameters, which all residuals share"),
                Some(kind) => format!("{}: as linearSolver says, by normal equations", kind.name()),
            };
            let systems = without_rows(Blocks { ranges: vec![(0, n)] }, LinearSolver::DenseQr(DenseQr::new()), None);
            return Ok((SolvePath { form: Form::Sums, kind, linear_solver, reserve: None }, systems));
        }
        // Where only products with J̃ are asked for, its pattern is never made.
        let blocks = blocks(functions.model());
        if kind == Some(Kind::Pcg) && model.prepare_products(functions, &blocks).await? {
            let Choice { solver, why, .. } = solver_of(kind, n, &[], &[])?;
            let systems = without_rows(blocks, solver, None);
            return Ok((SolvePath { form: Form::Products, kind, linear_solver: why, reserve: None }, systems));
        }
        let (systems, linear_solver, trial) = of_rows(functions, model, kind)?;
        let by_products = kind.is_none() && (trial.is_some() || systems.solver.kind() == Kind::Pcg);
        if !(by_products && model.prepare_products(functions, &blocks).await?) {
            return Ok((SolvePath { form: Form::Rows, kind, linear_solver, reserve: None }, systems));
        }
        let pcg = |trial| without_rows(blocks, LinearSolver::Pcg(Pcg::new()), trial);
        Ok(match trial {
            None => (SolvePath { form: Form::Products, kind, linear_solver, reserve: None }, pcg(None)),
            Some(Trial { iterations, why }) => {
                let reserve = Some((systems, linear_solver));
                (SolvePath { form: Form::Products, kind, linear_solver: why, reserve }, pcg(Some(iterations)))
            }
        })
    }

    /// The model at a point; `None` where its sums overflow and [`SolvePath::take_rows`] is to follow: rows may not overflow there.
    pub(super) async fn linearise(
        &self,
        functions: &mut Functions,
        model: &mut HostModel,
        x: &[f64],
    ) -> Result<Option<LeastSquares>> {
        Ok(match self.form {
            Form::Sums => Some(model.linearise_as_sums(functions, x)?).filter(LeastSquares::is_finite),
            Form::Products => Some(model.linearise_for_products(functions, x)?),
            Form::Rows => Some(model.linearise(functions, x).await?),
        })
    }

    /// The cost where the model was last made minus that at `x`.
    pub(super) async fn reduction(&self, functions: &mut Functions, model: &mut HostModel, x: &[f64]) -> Result<f64> {
        match self.form {
            Form::Sums => model.reduction_of_sums(functions, x),
            Form::Products | Form::Rows => model.reduction(functions, x).await,
        }
    }

    /// Changes to rows until the end of the run: what is ill-conditioned mostly stays so. Gives the systems of rows.
    pub(super) fn take_rows(&mut self, functions: &mut Functions, model: &mut HostModel) -> Result<LinearSystems> {
        let (systems, linear_solver, since) = match self.reserve.take() {
            Some((systems, linear_solver)) => (systems, linear_solver, "conjugate gradients took as long"),
            None => {
                let (systems, linear_solver, _) = of_rows(functions, model, self.kind)?;
                (systems, linear_solver, "normal equations were ill-conditioned")
            }
        };
        self.form = Form::Rows;
        self.linear_solver = format!("{linear_solver}, since {since}");
        Ok(systems)
    }
}

/// Linear systems of models without rows.
fn without_rows(blocks: Blocks, solver: LinearSolver, trial: Option<usize>) -> LinearSystems {
    LinearSystems { row_offsets: Vec::new(), col_indices: Vec::new(), blocks, solver, trial }
}

/// The linear systems of rows, what the report says of them, and what may be tried before.
fn of_rows(
    functions: &mut Functions,
    model: &mut HostModel,
    kind: Option<Kind>,
) -> Result<(LinearSystems, String, Option<Trial>)> {
    let (n, blocks) = (functions.values().len(), blocks(functions.model()));
    let Pattern { row_offsets, col_indices, .. } = model.pattern(functions)?.without_places();
    let Choice { solver, why, trial } = solver_of(kind, n, &row_offsets, &col_indices)?;
    Ok((LinearSystems { row_offsets, col_indices, blocks, solver, trial: None }, why, trial))
}

/// The solver that the user asked for, or that suits a pattern of `n` columns.
fn solver_of(kind: Option<Kind>, n: usize, row_offsets: &[u32], col_indices: &[u32]) -> Result<Choice> {
    let Some(kind) = kind else { return choice::choose(n, row_offsets, col_indices) };
    let solver = choice::make(kind, n, row_offsets, col_indices)?;
    Ok(Choice { solver, why: format!("{}: as linearSolver says", kind.name()), trial: None })
}

/// The tangent coordinates of each block of parameters.
fn blocks(model: &Model) -> Blocks {
    let of_array = |array: &crate::model::ArrayInfo| {
        let (offset, dim) = (array.offset as usize, array.dim as usize);
        let tangents = array.manifold.tangent_dim(array.dim) as usize;
        (0..array.count as usize).map(move |block| (offset + block * dim, tangents))
    };
    Blocks { ranges: model.arrays.iter().flat_map(of_array).list() }
}
