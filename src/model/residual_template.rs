//! The problem form: one recorded expression with index and data tables for its instances.

use residua_base::list::PushAll;
use std::rc::Rc;

use residua_base::error::{Error, Result};
use residua_ir::graph::InputId;

use super::batch::{ArrayInfo, Batch, Rows};
use super::class::{Class, Local, Losses};
use super::samples::masked;
use super::signature::fold_numbers;
use super::tape::Tape;
use super::tape_graph::record_graph;

/// The expression of a template.
#[derive(Clone, Debug)]
pub struct Expression {
    /// For each block slot its parameter array.
    pub slots: Vec<u32>,
    /// Data scalars that an instance has.
    pub data_columns: u32,
    /// The expression: parameters are numbered over the slots' components, data by column.
    pub tape: Tape,
    /// The column that is the weight of an instance, if it has one. The tape does not apply it.
    pub weight: Option<u32>,
}

/// The tables of a template as a batch has them, see [`Batch`].
#[derive(Clone, Debug)]
pub struct Tables {
    /// Position of the residual block.
    pub block: u32,
    /// Instances.
    pub count: u32,
    /// Columns of addresses, and of rows if they are not contiguous.
    pub indices: Vec<u32>,
    /// Columns of data.
    pub data: Vec<f64>,
    /// Where the residuals stand.
    pub rows: Rows,
    /// Numbers within the residual block, if they are not 0, 1, 2, … .
    pub instances: Option<Vec<u32>>,
}

impl ArrayInfo {
    /// Makes addresses of the block indices of some instances, of which the first has the number `first`.
    pub fn to_addresses(&self, first: usize, indices: &mut [u32]) -> Result<()> {
        let (count, offset, dim) = (self.count, self.offset, self.dim);
        for (instance, index) in indices.iter_mut().enumerate() {
            if *index >= count {
                return Err(Error::invalid_argument(format!(
                    "instance {} takes block {index} of parameter array '{}', which has {count}",
                    first + instance,
                    self.name
                )));
            }
            *index = offset + *index * dim;
        }
        Ok(())
    }
}

impl Expression {
    /// The batch of instances with these tables.
    pub fn batch_of(self, tables: Tables, arrays: &[ArrayInfo], numbers_of_tables: u32) -> Result<Batch> {
        let Expression { slots, data_columns, mut tape, weight } = self;
        let mut locals = Vec::new();
        let (mut block_dims, mut manifolds) = (Vec::new(), Vec::new());
        for (column, &slot) in slots.iter().enumerate() {
            let array = &arrays[slot as usize];
            block_dims.push(array.dim);
            manifolds.push(array.manifold);
            locals.push_all((0..array.dim).map(|component| Local { column: column as u32, component }));
        }
        fold_numbers(&mut tape);
        let (mut graph, mut outputs, batch_constants) = record_graph(&tape, locals.len() as u32, data_columns)?;
        if let Some(column) = weight {
            outputs = masked(&mut graph, &outputs, InputId(locals.len() as u32 + column));
        }
        let (graph, outputs) = graph.extract(&outputs);
        let reads_tables = graph.reads_tables();
        let inputs = locals.len() as u32 + data_columns + batch_constants.len() as u32;
        let Tables { block, count, indices, data, rows, instances } = tables;
        Ok(Batch {
            class: Rc::new(Class {
                graph: graph.check(inputs)?,
                outputs,
                locals,
                block_dims,
                manifolds,
                data: data_columns,
                batch_constants: batch_constants.len() as u32,
                tables: if reads_tables { numbers_of_tables } else { 0 },
                losses: Losses::Any,
                weight,
            }),
            count,
            block,
            indices,
            data,
            batch_constants,
            rows,
            instances,
            plain: None,
        })
    }
}
