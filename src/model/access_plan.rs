//! Access plans: from a [`Class`] of residuals to the kernels that either engine runs.
//!
//! One class gives these kernels, all with common subexpressions shared between residuals and derivatives:
//!
//! | entry | reads beside the tables | gives |
//! |---|---|---|
//! | `values` | | residuals |
//! | `sumGradient` | | Σ weight·f and its gradient |
//! | `costGradient` | the loss | ½ Σ weight·ρ(‖r‖²) and its gradient |
//! | `seededGradient` | a number for each residual | Σ seed·f and its gradient |
//! | `jacobian` | | residuals and local partials |
//!
//! and more for nonlinear least squares, [`super::least_squares`], [`super::normal_equations`] and [`super::second_order`], for Hessians, [`super::hessian`]
//! and [`super::instance_matrices`], and for line searches, [`super::line`].
//!
//! On the CPU instances follow one another and add straight into the gradient. On the GPU they write *local* gradients, a
//! column for each local parameter, which [`super::incidence`] gathers.

use residua_base::error::Result;
use residua_base::list::{Listed, PushAll};
use residua_codegen::{CheckedKernel, Instances, Space, Width};
use residua_ir::autodiff;
use residua_ir::graph::Op;

use super::batch::{Batch, Rows};
use super::class::Class;
pub use super::derivatives::Derivatives;
use super::entries::Entries;
pub use super::entry_point::Entry;
use super::line;
use super::planner::Planner;
pub use super::planner::{Target, UNIFORM_HEAD, vectors};
pub use super::role::Role;
use super::scatter::Scatter;

/// A kernel with the meaning of its buffers.
#[derive(Clone, Debug)]
pub struct AccessPlan {
    /// The kernel.
    pub kernel: CheckedKernel,
    /// For each of its buffers what it is.
    pub roles: Vec<Role>,
    /// Of [`Entry::Jacobian`], for each column of partials its output and its local parameter; of [`Entry::Hessian`], row and column of each entry.
    pub partials: Vec<(u32, u32)>,
}

impl AccessPlan {
    /// The plan of a class for an entry and an engine. `title` says in the generated text whose residuals these are.
    pub fn new(class: &Class, rows: Rows, entry: Entry, target: Target, title: &str) -> Result<AccessPlan> {
        make(class, rows, entry, target, Width::Single, title)
    }

    /// The same for a device, of functions that are computed in numbers of this width. Those entries of which
    /// [`Entry::width`] says so have pairs then.
    pub fn in_width(class: &Class, rows: Rows, entry: Entry, width: Width, title: &str) -> Result<AccessPlan> {
        make(class, rows, entry, Target::Gpu, entry.width(width), title)
    }

    /// The same for the host, with partials and what goes with them written to where a scatter says: of [`Entry::Jacobian`] or
    /// [`Entry::Linearise`]. Only the residuals of the latter go into the local table, and its derivatives may be known.
    pub fn scattered(
        class: &Class,
        rows: Rows,
        entry: Entry,
        title: &str,
        (scatter, derivatives): (&Scatter, Option<Derivatives>),
    ) -> Result<AccessPlan> {
        let mut planner = Planner::new(class, rows, Width::Single);
        (planner.scatter, planner.derivatives) = (Some(scatter), derivatives);
        with(planner, entry, Target::Cpu, title)
    }

    /// The plan with the columns of the index table in which all instances of a batch agree read once for all, and with code for as many as it has. For the
    /// host alone.
    pub fn for_batch(self, batch: &Batch) -> Result<AccessPlan> {
        let WrittenFor { shared, instances } = WrittenFor::of(batch);
        let is_index_table = |buffer: u32| self.roles[buffer as usize] == Role::Indices;
        let mut kernel = self.kernel.into_kernel();
        kernel.share_columns(&|buffer, column| is_index_table(buffer) && shared.get(column as usize) == Some(&true));
        kernel.instances = instances;
        Ok(AccessPlan { kernel: kernel.check()?, ..self })
    }
}

/// What of a batch a kernel of the host is written for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFor {
    /// For each column of the index table whether all instances agree in it.
    shared: Vec<bool>,
    /// How many instances there are.
    instances: Instances,
}

impl WrittenFor {
    /// What kernels of a batch are written for.
    pub fn of(batch: &Batch) -> WrittenFor {
        let agree = |column: u32| batch.column(column).windows(2).all(|pair| pair[0] == pair[1]);
        let columns = (batch.indices.len() / (batch.count as usize).max(1)) as u32;
        let instances = match batch.count {
            0..2 => Instances::One,
            2..FEW_INSTANCES => Instances::Few,
            FEW_INSTANCES.. => Instances::Many,
        };
        WrittenFor { shared: (0..columns).map(agree).list(), instances }
    }
}

/// A pass over fewer instances takes some microseconds, and to write its code for several at a time some hundred.
const FEW_INSTANCES: u32 = 256;

fn make(class: &Class, rows: Rows, entry: Entry, target: Target, width: Width, title: &str) -> Result<AccessPlan> {
    let planner = match entry {
        Entry::Product
        | Entry::Jvp
        | Entry::Normal
        | Entry::MatrixProduct
        | Entry::MatrixColumn(_)
        | Entry::MatrixMagnitudes => Planner::bare(class, rows, width),
        _ => Planner::new(class, rows, width),
    };
    with(planner, entry, target, title)
}

fn with(mut planner: Planner, entry: Entry, target: Target, title: &str) -> Result<AccessPlan> {
    let (class, rows, width) = (planner.class, planner.rows, planner.width);
    let mut partials = Vec::new();
    let total = match entry {
        Entry::Values => {
            planner.store_values(target);
            None
        }
        Entry::Jacobian => {
            planner.store_values(target);
            let locals = planner.local_inputs();
            let rows = autodiff::sparse_jacobian(&mut planner.graph, &class.outputs, &locals);
            let columns = rows.iter().map(Vec::len).sum::<usize>() as u32;
            for (output, row) in (0u32..).zip(rows) {
                for (local, node) in row {
                    let column = partials.len() as u32;
                    match width {
                        Width::Single => planner.store_partial(partials.len(), node, Role::Partials, column),
                        Width::Pair => planner.store_in_table(Role::Partials, column, columns, node),
                    }
                    partials.push((output, local.0));
                }
            }
            None
        }
        Entry::SumGradient | Entry::SumDescent | Entry::CostGradient | Entry::CostDescent => {
            let (total, seeds) = planner.objective(matches!(entry, Entry::SumGradient | Entry::SumDescent));
            planner.store_gradient(&seeds, target);
            Some(total)
        }
        Entry::SumLine | Entry::CostLine => {
            let direction = planner.go_along();
            let (total, seeds) = planner.objective(entry == Entry::SumLine);
            planner.space = Space::Layers { count: line::STEPS };
            planner.totals = vec![total, planner.slope(&seeds, &direction)];
            None
        }
        Entry::SeededGradient => {
            let mut seeds = Vec::new();
            let mut terms = Vec::new();
            for (number, &output) in class.outputs.iter().enumerate() {
                let seed = planner.load_of_row(Role::Seeds, number as u32);
                seeds.push((output, seed));
                terms.push(planner.graph.apply(Op::Mul, &[seed, output]));
            }
            let total = planner.sum(terms);
            planner.store_gradient(&seeds, target);
            Some(total)
        }
        Entry::Linearise | Entry::LineariseRows => {
            Some(planner.linearise(target, entry == Entry::LineariseRows, &mut Entries::default()))
        }
        Entry::Product | Entry::Jvp | Entry::Normal => {
            let mut entries = Entries::default();
            Planner::new(class, rows, width).linearise(target, false, &mut entries);
            match entry {
                Entry::Jvp => Some(planner.jvp(&entries, target)),
                Entry::Product => Some(planner.normal_product(&entries, target)),
                _ => {
                    planner.normal_equations(&entries);
                    None
                }
            }
        }
        Entry::Trial => Some(planner.reduction()),
        Entry::SquaredSums => Some(planner.shared_sums(false)),
        Entry::RobustSums => Some(planner.shared_sums(true)),
        Entry::SecondDirectional => {
            planner.second_directional();
            None
        }
        Entry::SeededTangent => {
            planner.seeded_tangent();
            None
        }
        Entry::SecondOrder => {
            planner.second_order();
            None
        }
        Entry::Hessian(of, coordinates) => {
            partials = planner.hessian(of, coordinates, target);
            None
        }
        Entry::MatrixProduct => Some(planner.matrix_product()),
        Entry::MatrixColumn(_) | Entry::MatrixMagnitudes => {
            planner.matrix_column(if let Entry::MatrixColumn(number) = entry { Some(number) } else { None });
            None
        }
        Entry::HessianProduct(of) => {
            planner.hessian_product(of);
            None
        }
    };
    planner.totals.push_all(total);
    let (kernel, roles) = planner.into_kernel(entry, title)?;
    Ok(AccessPlan { kernel: kernel.check()?, roles, partials })
}
