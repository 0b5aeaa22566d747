//! Incremental smoothing: least squares of a problem that grows, on the host. After each change the factorisation is updated where it changes
//! ([`residua_linalg::BayesTree`]), by Gauss-Newton's method as in iSAM2 (M. Kaess et al., 2012).
//!
//! A block of parameters x has a point θ, at which its residuals are linearised, and a step δ: the estimate is θ ⊞ δ. An update
//!
//! 1. moves θ to θ ⊞ δ for the blocks of which a coordinate of δ is above a threshold (*fluid relinearisation*), and for no other;
//! 2. linearises the residuals of these blocks and the new ones ([`linearise`]);
//! 3. updates the tree, and δ where it changes.
//!
//! Nothing is compiled after the start: the kernels run on a *stage* of a few instances, into which the tables of those are copied that are to be linearised.
//! All tables grow at their ends.
//!
//! An update that fails leaves the estimates as they were, with a factorisation that belongs to their points. The changes stay noted, and the next update
//! tries again.

mod blocks;
mod linearise;

use residua_base::error::{Error, ErrorCode, Result};
use residua_base::list::{Listed, PushAll};
use residua_linalg::{BayesTree, JacobianFactor, Undetermined, UpdateFailure};

use crate::model::Model;
use crate::model::losses::LossParameters;
use crate::solve::tangent::{ParameterBlock, TangentBases, lift};
use blocks::{Blocks, NONE};
use linearise::{Instance, InstanceSet};

/// What depends on coordinates that changed by less than this part of the threshold of relinearisation is not computed anew.
const NEGLIGIBLE: f64 = 3e-3;

/// What an update did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Blocks that were linearised at a new point.
    pub relinearised: usize,
    /// Blocks that were eliminated anew.
    pub eliminated: usize,
    /// Blocks whose estimate was computed anew.
    pub solved: usize,
}

/// The state of an incremental solve.
pub struct Smoother {
    blocks: Blocks,
    instances: InstanceSet,
    tree: BayesTree,
    threshold: f64,
    interval: u32,
    /// Updates since blocks were last relinearised.
    age: u32,
    /// Instances to be linearised at the next update; some may be removed.
    due: Vec<Instance>,
    /// Variables of instances that came since the last update.
    newest: Vec<u32>,
}

impl Smoother {
    /// A smoother without blocks and instances. The model has two blocks in each array and a stage of at least two instances in each batch, which are not used.
    /// A block is relinearised when a coordinate is further than `threshold` from its point, at every `interval`-th update.
    pub async fn new(model: Model, threshold: f64, interval: u32) -> Result<Smoother> {
        Ok(Smoother {
            blocks: Blocks::new(&model.arrays).await?,
            instances: InstanceSet::new(model).await?,
            tree: BayesTree::new(),
            threshold,
            interval,
            age: 0,
            due: Vec::new(),
            newest: Vec::new(),
        })
    }

    /// Adds blocks to an array; gives the number of the first. `constant` has a number other than 0 for each one that is constant, none if none is.
    ///
    /// # Errors
    /// `invalid-argument` for a block that cannot be brought onto its manifold.
    pub fn add_blocks(&mut self, array: u32, numbers: &[f64], constant: &[u8]) -> Result<u32> {
        self.blocks.add(array, numbers, constant, &mut self.tree)
    }

    /// Adds instances to a template: for each its number in the residual block, its blocks, and its data.
    ///
    /// # Errors
    /// `internal` for tables that do not fit, and blocks that do not exist.
    pub fn add_instances(&mut self, template: u32, numbers: &[u32], blocks: &[u32], data: &[f64]) -> Result<()> {
        let added = self.instances.add(template, numbers, blocks, data, self.blocks.len())?;
        self.due.extend(added.map(|instance| (template, instance)));
        Ok(())
    }

    /// Gives all instances of a template other data.
    ///
    /// # Errors
    /// `internal` for another number of data.
    pub fn set_data(&mut self, template: u32, data: &[f64]) -> Result<()> {
        self.instances.set_data(template, data)?;
        self.note(|batch, _| batch == template);
        Ok(())
    }

    /// Changes the numbers of tables, from one on.
    ///
    /// # Errors
    /// `internal` for numbers beyond the tables.
    pub fn set_tables(&mut self, first: u32, numbers: &[f64]) -> Result<()> {
        let reading = self.instances.set_tables(first as usize, numbers)?;
        self.note(|batch, _| reading.contains(&batch));
        Ok(())
    }

    /// Changes the settings of a residual block.
    ///
    /// # Errors
    /// `internal` for a block that does not exist.
    pub fn set_block(&mut self, block: u32, weight: f64, loss: LossParameters, enabled: bool) -> Result<()> {
        self.instances.set_block(block, weight, loss, enabled)?;
        self.note(|_, of| of == block);
        Ok(())
    }

    /// Notes the instances of some templates, by the template's number and its residual block.
    fn note(&mut self, is_of: impl Fn(u32, u32) -> bool) {
        self.due
            .extend(self.instances.all().filter(|&((template, _), block)| is_of(template, block)).map(|(of, _)| of));
    }

    /// Takes instances away: each has its template and its number there.
    ///
    /// # Errors
    /// `invalid-argument` for an instance that was removed before, or twice; then none is.
    pub fn remove(&mut self, instances: &[Instance]) -> Result<()> {
        self.instances.check_removal(instances)?;
        self.take_away(instances);
        Ok(())
    }

    fn take_away(&mut self, instances: &[Instance]) {
        for factor in self.instances.remove(instances) {
            if factor != NONE {
                self.tree.remove_factor(factor);
            }
        }
    }

    /// Takes in all changes.
    ///
    /// # Errors
    /// `non-finite` for a residual or derivative that is not finite, with its instance, and for a step that is not; `invalid-argument` for a block that the
    /// residuals do not determine.
    pub fn update(&mut self) -> Result<Report> {
        self.age += 1;
        let moved = if self.age >= self.interval { self.blocks.far(&self.tree, self.threshold) } else { Vec::new() };
        let before = self.blocks.points(&moved);
        if let Err(error) = self.blocks.advance(&moved, &self.tree) {
            self.blocks.restore(&moved, &before);
            return Err(error);
        }
        let mut due = self.due.clone();
        due.push_all(self.instances.of_blocks(&moved));
        due.sort_unstable();
        due.dedup();
        due.retain(|&instance| !self.instances.is_removed(instance));
        let linearised = match self.instances.linearise(&due, &self.blocks) {
            Ok(linearised) => linearised,
            Err(error) => {
                self.blocks.restore(&moved, &before);
                return Err(error);
            }
        };
        moved.iter().for_each(|&block| self.tree.relinearise(self.blocks.variable(block)));
        for (&instance, factor) in due.iter().zip(linearised) {
            self.take_in(instance, factor);
        }
        let updated = self.tree.update(&self.newest, NEGLIGIBLE * self.threshold);
        if let Err(UpdateFailure::Undetermined(which)) = updated {
            // The factorisation is that of the points before. The next update linearises again.
            self.blocks.restore(&moved, &before);
            self.due.extend(due);
            return Err(self.undetermined(which));
        }
        if self.age >= self.interval {
            self.age = 0;
        }
        self.due.clear();
        self.newest.clear();
        let updated = updated.map_err(|failure| self.beyond(failure))?;
        Ok(Report { relinearised: moved.len(), eliminated: updated.eliminated, solved: updated.solved })
    }

    /// Gives the tree the factor of an instance, in place of the one that it has.
    fn take_in(&mut self, (template, instance): Instance, factor: Option<JacobianFactor>) {
        let old = self.instances.factor(template, instance);
        let new = match factor {
            Some(factor) if old != NONE => {
                self.tree.replace_factor(old, &factor.numbers);
                old
            }
            Some(factor) => {
                self.newest.extend(factor.variables.iter().copied());
                self.tree.add_factor(factor)
            }
            None if old != NONE => {
                self.tree.remove_factor(old);
                NONE
            }
            None => NONE,
        };
        self.instances.set_factor(template, instance, new);
    }

    fn undetermined(&self, Undetermined { variable, coordinate }: Undetermined) -> Error {
        let name = self.blocks.name_of_variable(variable);
        Error::invalid_argument(format!(
            "update: the residuals do not determine {name} (tangent coordinate {coordinate}), so the estimates stay as they were; it takes residuals that \
             determine every block that is not constant"
        ))
    }

    /// Takes blocks away for good, with all of their instances, and leaves what these say of the others at the points of the linearisation, as of the last
    /// update. The estimates stay, and the points of the others are kept from now on.
    ///
    /// # Errors
    /// Those of [`Smoother::update`], which comes before where there are changes; `internal` for constant blocks. Blocks are not to be marginalised twice.
    pub fn marginalise(&mut self, blocks: &[u32]) -> Result<()> {
        if !self.due.is_empty() || !self.tree.is_current() {
            self.update()?;
        }
        let mut variables = blocks.iter().map(|&block| self.blocks.variable(block)).list();
        variables.sort_unstable();
        variables.dedup();
        if variables.last().is_none_or(|&last| last == NONE) {
            return Err(Error::internal("marginals of constant blocks"));
        }
        let mut instances = Vec::new();
        instances.push_all(self.instances.of_blocks(blocks));
        self.tree.marginalise(&variables).map_err(|which| self.undetermined(which))?;
        self.take_away(&instances);
        Ok(())
    }

    /// The error of a step that is not finite.
    fn beyond(&self, failure: UpdateFailure) -> Error {
        let (UpdateFailure::NonFinite(variable) | UpdateFailure::Undetermined(Undetermined { variable, .. })) = failure;
        let name = self.blocks.name_of_variable(variable);
        Error::new(
            ErrorCode::NonFinite,
            format!(
                "update: the step of {name} is beyond the range of double precision, so the estimates stay as they were; take another unit for residuals or \
                 parameters, or remove() the residuals that make it so"
            ),
        )
    }

    /// The estimates of blocks of one array.
    ///
    /// # Errors
    /// Those of its kernel.
    pub fn estimate(&self, blocks: &[u32]) -> Result<Vec<f64>> {
        self.blocks.estimates(blocks, &self.tree)
    }

    /// The joint covariance of blocks in their own numbers, as of the last update: a square matrix, row after row. Constant coordinates have zeros.
    ///
    /// # Errors
    /// `invalid-argument` for a block that no update has taken in.
    pub fn covariance(&mut self, blocks: &[u32]) -> Result<Vec<f64>> {
        let mut variables = blocks.iter().map(|&block| self.blocks.variable(block)).filter(|&of| of != NONE).list();
        variables.sort_unstable();
        variables.dedup();
        if let Some(&unknown) = variables.iter().find(|&&variable| !self.tree.contains(variable)) {
            let name = self.blocks.name_of_variable(unknown);
            return Err(Error::invalid_argument(format!(
                "marginalCovariance: blocks got {name}, which no update has taken in; it takes blocks of the last update"
            )));
        }
        let inverse = self.tree.covariance(&variables);
        let firsts = variables.iter().scan(0, |next, &variable| {
            let first = *next;
            *next += self.tree.delta(variable).len();
            Some(first)
        });
        let firsts = firsts.list();
        let tangents: usize = variables.iter().map(|&variable| self.tree.delta(variable).len()).sum();
        let bases = TangentBases::of(self.instances.model())?;
        // For each number of the blocks its derivatives by the coordinates of the variables: place and factor.
        let mut rows: Vec<Vec<(usize, f64)>> = Vec::new();
        for &block in blocks {
            let ParameterBlock { dim, tangent, .. } = self.blocks.place(block);
            let basis = bases.basis(self.blocks.place(block), self.blocks.numbers());
            let variable = self.blocks.variable(block);
            let start = variables.binary_search(&variable).map_or(0, |position| firsts[position]);
            let mut of_block = vec![Vec::new(); dim];
            for (k, &coordinate) in self.blocks.free(block).iter().enumerate() {
                let mut unit = vec![0.0; tangent];
                unit[coordinate as usize] = 1.0;
                for (row, share) in of_block.iter_mut().zip(lift(basis.as_deref(), &unit)) {
                    row.push((start + k, share));
                }
            }
            rows.append(&mut of_block);
        }
        let mut result = Vec::with_capacity(rows.len() * rows.len());
        for row in &rows {
            for column in &rows {
                let mut sum = 0.0;
                for &(i, a) in row {
                    for &(j, b) in column {
                        sum += a * b * inverse[i * tangents + j];
                    }
                }
                result.push(sum);
            }
        }
        if result.iter().any(|number| !number.is_finite()) {
            return Err(Error::new(
                ErrorCode::NonFinite,
                "marginalCovariance: the covariance is beyond the range of double precision; take another unit for residuals or parameters",
            ));
        }
        Ok(result)
    }
}
