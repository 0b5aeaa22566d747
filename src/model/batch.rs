//! The model: everything that is to be evaluated, grouped, as plain data that both engines read.

use std::rc::Rc;

use residua_base::list::Listed;

use crate::model::losses::LossParameters;
pub use crate::model::manifolds::Manifold;

use super::class::Class;
use super::plain::Plain;

/// A parameter array, for messages and for the places of blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayInfo {
    /// As the user named it.
    pub name: String,
    /// Numbers a block has.
    pub dim: u32,
    /// Blocks.
    pub count: u32,
    /// Where its first number stands among all parameters.
    pub offset: u32,
    /// The space its blocks live in.
    pub manifold: Manifold,
}

/// A block of residuals, as the user added it.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockInfo {
    /// As the user named it.
    pub name: String,
    /// Instances.
    pub instances: u32,
    /// Its first residual among all.
    pub first_row: u32,
    /// Residuals.
    pub rows: u32,
    /// Factor of its part of the objective.
    pub weight: f64,
    /// Its robust loss.
    pub loss: LossParameters,
    /// Whether it is enabled.
    pub enabled: bool,
}

/// Where the residuals of a batch's instances stand among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Instance `i` starts at this + i · outputs.
    From(u32),
    /// Instance `i` starts where this column of the index table says.
    Column(u32),
    /// As `Column`, and several instances add up to one residual: the addends of a long sum.
    Addends(u32),
}

/// Instances of one class, with their tables in structure-of-arrays form: column after column of `count` entries.
#[derive(Clone, Debug)]
pub struct Batch {
    /// What they compute.
    pub class: Rc<Class>,
    /// Instances.
    pub count: u32,
    /// Position of the residual block in [`Model::blocks`].
    pub block: u32,
    /// Columns of absolute scalar addresses into the parameters, one a block slot; then, if [`Rows`] says so, one of rows.
    pub indices: Vec<u32>,
    /// Columns of data; of a plain function the weights alone.
    pub data: Vec<f64>,
    /// The numbers on which all instances agree.
    pub batch_constants: Vec<f64>,
    /// Where their residuals stand.
    pub rows: Rows,
    /// Their numbers within the residual block; none if they are 0, 1, 2, … .
    pub instances: Option<Vec<u32>>,
    /// What fills the columns of data, if they are not the application's.
    pub plain: Option<Plain>,
}

impl Batch {
    /// A column of the index table.
    pub fn column(&self, column: u32) -> &[u32] {
        let count = self.count as usize;
        &self.indices[column as usize * count..(column as usize + 1) * count]
    }

    /// First residual of an instance.
    pub fn row(&self, instance: usize) -> u32 {
        match self.rows {
            Rows::From(first) => first + (instance * self.class.outputs.len()) as u32,
            Rows::Column(column) | Rows::Addends(column) => self.column(column)[instance],
        }
    }

    /// Whether several instances add up to one residual.
    pub fn has_addends(&self) -> bool {
        matches!(self.rows, Rows::Addends(_))
    }
}

/// Everything that is to be evaluated.
#[derive(Clone, Debug)]
pub struct Model {
    /// The parameter arrays, in order of creation.
    pub arrays: Vec<ArrayInfo>,
    /// The residual blocks, in order of creation.
    pub blocks: Vec<BlockInfo>,
    /// The groups of instances that share a kernel.
    pub batches: Vec<Batch>,
    /// The numbers of all tables that residuals read, one table after another.
    pub tables: Vec<f64>,
    /// Numbers that are solved for.
    pub num_params: u32,
    /// Residuals.
    pub num_residuals: u32,
    /// The arrays that were named for elimination by a Schur complement, ascending; see [`Model::eliminated_arrays`].
    pub eliminated: Vec<u32>,
}

impl Model {
    /// A parameter's place in the user's words: `vertices[17].1`, or `parameter 17` in the params form.
    pub fn parameter_name(&self, parameter: u32) -> String {
        let array = self.arrays.iter().find(|array| {
            parameter >= array.offset && parameter - array.offset < array.count.saturating_mul(array.dim)
        });
        match array {
            Some(array) if !array.name.is_empty() => {
                let within = parameter - array.offset;
                match array.dim {
                    1 => format!("{}[{within}]", array.name),
                    dim => format!("{}[{}] coordinate {}", array.name, within / dim, within % dim),
                }
            }
            _ => format!("parameter {parameter}"),
        }
    }

    /// A residual's place in the user's words: block, instance and number within the instance.
    pub fn residual_name(&self, row: u32) -> String {
        for batch in &self.batches {
            let outputs = batch.class.outputs.len() as u32;
            let block = &self.blocks[batch.block as usize];
            if row < block.first_row || row - block.first_row >= block.rows {
                continue;
            }
            let found = match batch.rows {
                Rows::From(first) => {
                    (row >= first && row - first < batch.count * outputs).then(|| (row - first) / outputs)
                }
                Rows::Column(column) | Rows::Addends(column) => {
                    let rows = batch.column(column);
                    rows.iter().position(|&start| row >= start && row - start < outputs).map(|i| i as u32)
                }
            };
            let Some(position) = found else { continue };
            if block.name.is_empty() {
                return format!("residual {row}");
            }
            let (instance, siblings) = match &batch.instances {
                Some(instances) => {
                    let instance = instances[position as usize];
                    // A plain function with many residuals has each in a place of its own.
                    (instance, (0..batch.count).filter(|&other| instances[other as usize] == instance).list())
                }
                None => (position, vec![position]),
            };
            let before = siblings.partition_point(|&other| other < position) as u32;
            return format!(
                "residual {row} (block '{}', instance {instance}, residual {} of {})",
                block.name,
                before * outputs + row - batch.row(position as usize),
                siblings.len() as u32 * outputs
            );
        }
        format!("residual {row}")
    }
}
