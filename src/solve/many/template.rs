//! What the problems share: the residuals, which numbers are free, and where those of each residual stand.
//!
//! In a small problem every place is known when the kernel is written. Instances of a residual block that take the same
//! parameters (all samples of a curve, say) are a [`Group`]; a kernel loops over a group's instances, and addresses nothing
//! by an index that it has to read.

use crate::model::losses::LossKind;
use crate::model::manifolds::CoordinateSize;
use crate::model::{Manifold, Model, Rows};
use residua_base::error::{Error, ErrorCode, Result};
use residua_base::list::Listed;

/// More groups than this are no small problem.
const MOST_GROUPS: usize = 256;

/// Instances of one expression over the same parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Position in [`Model::batches`].
    pub batch: usize,
    /// Positions of the instances in that batch.
    pub instances: Vec<u32>,
    /// For each local parameter of the class the parameter that it is.
    pub parameters: Vec<u32>,
    /// The loss, which is settled when the kernel is written; its scales are not.
    pub loss: LossKind,
}

/// A block of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterBlock {
    /// Its first number among all.
    pub first: u32,
    /// How many it has.
    pub dim: u32,
    /// Its space.
    pub manifold: Manifold,
}

/// A number that is solved for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FreeCoordinate {
    /// Which parameter it is; on a manifold, its first numbers stand for the tangent coordinates.
    pub parameter: u32,
    /// The size of a point in it, by the place of the number among all parameters.
    pub size: CoordinateSize,
    /// Its bounds, if it has any.
    pub bounds: Option<(f64, f64)>,
}

/// What the problems share.
#[derive(Clone, Debug)]
pub struct SharedProblem {
    /// The residuals.
    pub model: Model,
    /// The parameters, where the batch brings none.
    pub values: Vec<f64>,
    /// What is evaluated, in order.
    pub groups: Vec<Group>,
    /// What is solved for, ascending.
    pub free: Vec<FreeCoordinate>,
    /// The blocks that have something free.
    pub blocks: Vec<ParameterBlock>,
}

impl SharedProblem {
    /// A template of a model at given parameters, of which some are constant and some have bounds.
    ///
    /// # Errors
    /// `limit-exceeded` for residuals over too many different sets of parameters; `invalid-argument` for tables that do not fit
    /// the model.
    pub fn new(
        model: Model,
        values: Vec<f64>,
        constant: &[bool],
        bounds: Option<(&[f64], &[f64])>,
    ) -> Result<SharedProblem> {
        let parameters = model.num_params as usize;
        let (lower, upper) = bounds.map_or((parameters, parameters), |(lower, upper)| (lower.len(), upper.len()));
        if [values.len(), constant.len(), lower, upper] != [parameters; 4] {
            return Err(Error::invalid_argument(format!(
                "the template's tables do not have numParameters = {parameters} numbers"
            )));
        }
        let (mut free, mut blocks) = (Vec::new(), Vec::new());
        for array in &model.arrays {
            for number in 0..array.count {
                let block = ParameterBlock {
                    first: array.offset + number * array.dim,
                    dim: array.dim,
                    manifold: array.manifold,
                };
                let count = free.len();
                add_free(&mut free, block, constant, bounds);
                if free.len() > count {
                    blocks.push(block);
                }
            }
        }
        if free.is_empty() {
            return Err(Error::invalid_argument(
                "solveMany: template: got constant parameters alone; takes at least one number that may move",
            ));
        }
        let groups = groups(&model)?;
        Ok(SharedProblem { model, values, groups, free, blocks })
    }

    /// The position among [`Self::free`] of a parameter, if it is free.
    pub fn free_position(&self, parameter: u32) -> Option<usize> {
        self.free.iter().position(|coordinate| coordinate.parameter == parameter)
    }

    /// Lower and upper bound of each free coordinate, infinite where it has none.
    pub fn bounds(&self) -> Vec<f64> {
        let mut bounds = Vec::with_capacity(2 * self.free.len());
        for coordinate in &self.free {
            let (lower, upper) = coordinate.bounds.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
            bounds.extend_from_slice(&[lower, upper]);
        }
        bounds
    }

    /// Brings the numbers of a problem that have bounds between them.
    pub fn project(&self, x: &mut [f64]) {
        for coordinate in &self.free {
            if let Some((lower, upper)) = coordinate.bounds {
                let number = &mut x[coordinate.parameter as usize];
                *number = number.max(lower).min(upper);
            }
        }
    }
}

fn add_free(
    free: &mut Vec<FreeCoordinate>,
    block: ParameterBlock,
    constant: &[bool],
    bounds: Option<(&[f64], &[f64])>,
) {
    let ParameterBlock { first, dim, manifold } = block;
    let numbers = first..first + dim;
    let is_constant = |parameter: u32| constant[parameter as usize];
    // A number of a quaternion stays what it is only if the quaternion does.
    if manifold != Manifold::Euclidean && numbers.clone().any(is_constant) {
        return;
    }
    let tangent = first..first + manifold.tangent_dim(dim);
    let sizes = manifold.coordinate_sizes(dim);
    for (parameter, size) in tangent.zip(sizes).filter(|&(parameter, _)| !is_constant(parameter)) {
        let size = match size {
            CoordinateSize::Number(place) => CoordinateSize::Number(first + place),
            size => size,
        };
        let bounds = bounds
            .filter(|_| manifold == Manifold::Euclidean)
            .map(|(lower, upper)| (lower[parameter as usize], upper[parameter as usize]))
            .filter(|&(lower, upper)| lower > f64::NEG_INFINITY || upper < f64::INFINITY);
        free.push(FreeCoordinate { parameter, size, bounds });
    }
}

/// The groups of a model's enabled blocks.
fn groups(model: &Model) -> Result<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    for (number, batch) in model.batches.iter().enumerate() {
        let block = &model.blocks[batch.block as usize];
        if !block.enabled {
            continue;
        }
        if matches!(batch.rows, Rows::Addends(_)) {
            return Err(Error::internal("a template has a long sum that was taken apart"));
        }
        let of_batch = groups.len();
        for instance in 0..batch.count {
            let place = |local: &crate::model::Local| batch.column(local.column)[instance as usize] + local.component;
            let parameters: Vec<u32> = batch.class.locals.iter().map(place).list();
            match groups[of_batch..].iter().position(|group| group.parameters == parameters) {
                Some(position) => groups[of_batch + position].instances.push(instance),
                None if groups.len() == MOST_GROUPS => {
                    return Err(Error::new(
                        ErrorCode::LimitExceeded,
                        format!(
                            "the template's residuals are over more than {MOST_GROUPS} different sets of parameters \
                             (block '{}', instance {instance}); solveMany takes at most {MOST_GROUPS}",
                            block.name
                        ),
                    ));
                }
                None => {
                    let loss = block.loss.kind;
                    groups.push(Group { batch: number, instances: vec![instance], parameters, loss });
                }
            }
        }
    }
    Ok(groups)
}
