//! The solve path: in which form the minimizer is given its models, and what solves its linear systems. Where no path was asked for, sums are
//! preferred to products, and products to rows, as far as the problem has them; a path ends in rows when the others do not give a step.

use super::linear_system::{self, LinearSystems};
use crate::eval::Functions;
use crate::gauss_newton::host::{HostModel, LeastSquares, blocks};
use crate::model::pattern::Pattern;
use crate::solve::options::{LevenbergMarquardtOptions, TrustRegion, affordable_iterations_of_sparse};
use residua_base::deadline::Deadline;
use residua_base::error::Result;
use residua_linalg::choice::{self, IterativeTrial, SolverChoice};
use residua_linalg::{CoordinateBlocks, DenseQr, Kind, LinearSolver, Pcg};

/// Steps of a system that is cut short in the place of one that is not: graphs take 19 and 7, and a cut step may lead where exact ones do not go.
const STEPS_OF_CUT_SYSTEMS: usize = 3;

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
    /// The systems of rows where they are not in use: those that follow if the ones that are tried first fail.
    reserve: Option<RowSystems>,
    /// What was chosen for the rows that are in use.
    chosen: Option<Chosen>,
}

/// Which linear solver rows have, for what was asked for.
#[derive(Clone)]
pub(super) struct Chosen {
    kind: Option<Kind>,
    pub(super) why: String,
    trial: Option<IterativeTrial>,
    /// Whether the session has linearised in rows: their kernels are there since then.
    has_served: bool,
}

/// Linear systems of rows. A session keeps them from solve to solve, since the pattern of J̃ stays: its order of elimination and the
/// structure of a factor are computed once.
pub struct RowSystems {
    systems: LinearSystems,
    pub(super) chosen: Chosen,
}

/// What a run begins with.
#[expect(clippy::large_enum_variant, reason = "a run makes one, and takes it apart at once")]
pub(super) enum Beginning {
    /// Its path, and its linear systems.
    Ready(SolvePath, LinearSystems),
    /// The deadline has passed before its kernels were there; the systems of rows for the next run.
    Late(Option<RowSystems>),
}

impl SolvePath {
    /// The path that a run begins with.
    pub(super) async fn of(
        functions: &mut Functions,
        model: &mut HostModel,
        options: &LevenbergMarquardtOptions,
        kept: Option<RowSystems>,
        end: Deadline,
    ) -> Result<Beginning> {
        let kind = options.linear_solver;
        let n = functions.values().len();
        let may_be_sums = matches!(kind, None | Some(Kind::DenseQr));
        let has_sums = if may_be_sums { model.prepare_sums(functions, end).await? } else { Some(false) };
        let Some(has_sums) = has_sums else { return Ok(Beginning::Late(kept)) };
        if has_sums {
            let linear_solver = match kind {
                None => format!("normal equations: {n} parameters, which all residuals share"),
                Some(kind) => format!("{}: as linearSolver says, by normal equations", kind.name()),
            };
            let systems = without_rows(CoordinateBlocks::of(vec![(0, n)]), LinearSolver::DenseQr(DenseQr::new()), None);
            let path = SolvePath { form: Form::Sums, kind, linear_solver, reserve: kept, chosen: None };
            return Ok(Beginning::Ready(path, systems));
        }
        // Where only products with J̃ are asked for, its pattern is never made.
        let blocks = blocks(functions.model());
        if kind == Some(Kind::Pcg) {
            match model.prepare_products(functions, &blocks, end).await? {
                None => return Ok(Beginning::Late(kept)),
                Some(true) => {
                    let systems = without_rows(blocks, LinearSolver::Pcg(Pcg::new()), None);
                    let linear_solver = as_asked(Kind::Pcg);
                    let path = SolvePath { form: Form::Products, kind, linear_solver, reserve: kept, chosen: None };
                    return Ok(Beginning::Ready(path, systems));
                }
                Some(false) => {}
            }
        }
        // After a solve that ended while it made the kernels of rows, this one goes on with them.
        let is_again = kept.as_ref().is_some_and(|kept| kept.chosen.has_served);
        let are_kept = kept.as_ref().is_some_and(|kept| kept.chosen.kind == kind);
        // The pattern, and the order of elimination on it, are pieces that the next solve finds.
        if !are_kept && model.make_pattern(functions)? && end.has_passed_after_turn().await {
            return Ok(Beginning::Late(kept));
        }
        let rows = of_rows(functions, model, kind, kept)?;
        if !are_kept && end.has_passed_after_turn().await {
            return Ok(Beginning::Late(Some(rows)));
        }
        let (linear_solver, trial) = (rows.chosen.why.clone(), rows.chosen.trial.clone());
        let trial = trial.filter(|trial| trial.pays_at_once || is_again);
        // The dogleg takes Gauss-Newton steps that are not cut short, and multiplies by J̃ itself.
        let is_dogleg = options.trust_region == TrustRegion::Dogleg;
        let by_products = kind.is_none() && !is_dogleg && (trial.is_some() || rows.systems.solver.kind() == Kind::Pcg);
        let are_ready = if by_products { model.prepare_products(functions, &blocks, end).await? } else { Some(false) };
        let Some(are_ready) = are_ready else { return Ok(Beginning::Late(Some(rows))) };
        if !are_ready {
            let RowSystems { systems, chosen } = rows;
            let path = SolvePath { form: Form::Rows, kind, linear_solver, reserve: None, chosen: Some(chosen) };
            return Ok(Beginning::Ready(path, systems));
        }
        let (linear_solver, iterations) = match trial {
            None => (linear_solver, None),
            Some(IterativeTrial { iterations, why, .. }) => (why, Some(iterations)),
        };
        let path = SolvePath { form: Form::Products, kind, linear_solver, reserve: Some(rows), chosen: None };
        Ok(Beginning::Ready(path, without_rows(blocks, LinearSolver::Pcg(Pcg::new()), iterations)))
    }

    /// Iterations that take about a second, or 0 where that is not known.
    pub(super) fn affordable_iterations(&self, systems: &LinearSystems) -> u32 {
        let rows =
            if self.form == Form::Rows { Some(systems) } else { self.reserve.as_ref().map(|rows| &rows.systems) };
        match rows {
            Some(LinearSystems { col_indices, solver: LinearSolver::SparseCholesky(cholesky), .. }) => {
                affordable_iterations_of_sparse(col_indices.len(), cholesky.multiplications())
            }
            _ => 0,
        }
    }

    /// Compiles what [`SolvePath::linearise`] needs; whether it is there at the deadline.
    pub(super) async fn prepare(
        &self,
        functions: &mut Functions,
        model: &mut HostModel,
        end: Deadline,
    ) -> Result<bool> {
        match self.form {
            Form::Sums | Form::Products => Ok(true),
            Form::Rows => model.prepare(functions, end).await,
        }
    }

    /// The same for [`SolvePath::reduction`].
    pub(super) async fn prepare_reduction(
        &self,
        functions: &mut Functions,
        model: &mut HostModel,
        end: Deadline,
    ) -> Result<bool> {
        match self.form {
            Form::Sums => Ok(true),
            Form::Products | Form::Rows => model.prepare_reduction(functions, end).await,
        }
    }

    /// What the next solve of the session may use again, given the systems that this one ended with.
    pub(super) fn into_kept(self, systems: LinearSystems) -> Option<RowSystems> {
        match self.chosen {
            Some(chosen) => Some(RowSystems { systems, chosen }),
            None => self.reserve,
        }
    }

    /// The model at a point; `None` where its sums overflow and [`SolvePath::take_rows`] is to follow: rows may not overflow there.
    pub(super) async fn linearise(
        &mut self,
        functions: &mut Functions,
        model: &mut HostModel,
        x: &[f64],
    ) -> Result<Option<LeastSquares>> {
        Ok(match self.form {
            Form::Sums => Some(model.linearise_as_sums(functions, x)?).filter(LeastSquares::is_finite),
            Form::Products => Some(model.linearise_for_products(functions, x)?),
            Form::Rows => {
                let linearised = model.linearise(functions, x).await?;
                if let Some(chosen) = &mut self.chosen {
                    chosen.has_served = true;
                }
                Some(linearised)
            }
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
        let since = match self.form {
            Form::Products => "conjugate gradients took as long",
            Form::Sums | Form::Rows => "normal equations were ill-conditioned",
        };
        let RowSystems { systems, mut chosen } = of_rows(functions, model, self.kind, self.reserve.take())?;
        // A session tries once.
        chosen.trial = None;
        self.form = Form::Rows;
        self.linear_solver = format!("{}, since {since}", chosen.why);
        self.chosen = Some(chosen);
        Ok(systems)
    }
}

/// Linear systems of models without rows.
fn without_rows(blocks: CoordinateBlocks, solver: LinearSolver, trial: Option<usize>) -> LinearSystems {
    let trial = trial.map(|iterations| linear_system::Trial::of(iterations.div_ceil(STEPS_OF_CUT_SYSTEMS)));
    LinearSystems { row_offsets: Vec::new(), col_indices: Vec::new(), blocks, solver, trial }
}

/// The linear systems of rows: those that were kept if they are what is asked for.
fn of_rows(
    functions: &mut Functions,
    model: &mut HostModel,
    kind: Option<Kind>,
    kept: Option<RowSystems>,
) -> Result<RowSystems> {
    // The kernels are the same for all kinds.
    let has_served = kept.as_ref().is_some_and(|kept| kept.chosen.has_served);
    if let Some(kept) = kept.filter(|kept| kept.chosen.kind == kind) {
        return Ok(kept);
    }
    let (n, blocks) = (functions.values().len(), blocks(functions.model()));
    let Pattern { row_offsets, col_indices, .. } = model.pattern(functions)?.without_places();
    let SolverChoice { solver, why, trial } = match kind {
        None => choice::choose(n, &row_offsets, &col_indices, &blocks)?,
        Some(kind) => SolverChoice {
            solver: choice::make(kind, n, &row_offsets, &col_indices, &blocks)?,
            why: as_asked(kind),
            trial: None,
        },
    };
    let systems = LinearSystems { row_offsets, col_indices, blocks, solver, trial: None };
    Ok(RowSystems { systems, chosen: Chosen { kind, why, trial, has_served } })
}

fn as_asked(kind: Kind) -> String {
    format!("{}: as linearSolver says", kind.name())
}
