//! The Gauss-Newton model on the CPU without its matrix: J̃ stays in local tables as its kernel wrote it, and kernels multiply by it. What
//! they are, [`crate::batch::least_squares`] says.
//!
//! That is less memory than compressed rows, and less to read: entries that are the negatives of others are not even stored.

use crate::batch::least_squares::LocalTable;
use crate::batch::plan::{Entry, Target};
use crate::batch::{Batch, Model};
use crate::error::Result;
use crate::linear::{Blocks, Products};

use super::Functions;
use super::cpu::{CpuEngine, Memory};
use super::least_squares::LeastSquares;

/// What takes the place of the matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Normal {
    /// How many residuals there are.
    pub residuals: usize,
    /// J̃ᵀr̃.
    pub gradient: Vec<f64>,
    /// The diagonal blocks of J̃ᵀJ̃, as [`crate::linear::Normal`] has them.
    pub curvature: Vec<f64>,
}

impl Functions {
    /// Compiles what products take, for the tangent coordinates of these blocks. `false` where the model needs its matrix: for long sums,
    /// whose rows are only known when their addends are added up, where an instance has a block twice, whose columns are sums, and where
    /// parameters were found to stand side by side that are no block.
    pub async fn prepare_products(&mut self, blocks: &Blocks) -> Result<bool> {
        let model = &self.model;
        if model.batches.iter().any(|batch| batch.has_addends() || has_a_block_twice(batch)) {
            return Ok(false);
        }
        // Where in the curvature each block begins, and how wide it is.
        let mut starts = vec![(0u32, 0u32); model.num_params as usize];
        let mut total = 0;
        for &(first, count) in &blocks.ranges {
            starts[first] = (total, count as u32);
            total += (count * count) as u32;
        }
        let mut places = Vec::new();
        for batch in &model.batches {
            let mut of_batch = Vec::with_capacity(batch.class.block_dims.len() * batch.count as usize);
            for (column, (&dim, manifold)) in (0..).zip(batch.class.block_dims.iter().zip(&batch.class.manifolds)) {
                for &first in batch.column(column) {
                    let (start, width) = starts[first as usize];
                    if width != manifold.tangent_dim(dim) {
                        return Ok(false);
                    }
                    of_batch.push(start);
                }
            }
            places.push(of_batch);
        }
        let engine = self.engine.on_cpu();
        for entry in [Entry::Linearise, Entry::Normal, Entry::Product, Entry::Image, Entry::Trial] {
            engine.prepare(model, entry).await?;
        }
        engine.linearised.curvature_places = places;
        engine.linearised.curvature_len = total as usize;
        Ok(true)
    }

    /// The Gauss-Newton model at a point, in f64, with [`LeastSquares::normal`] in place of residuals and entries; of what
    /// [`Functions::prepare_products`] has compiled.
    pub fn linearise_for_products(&mut self, x: &[f64]) -> Result<LeastSquares> {
        self.expect_parameters(x.len())?;
        let Functions { model, engine, constant, has_constants, .. } = self;
        let engine = engine.on_cpu();
        let mut tables = std::mem::take(&mut engine.linearised.tables);
        tables.resize(model.batches.len(), Vec::new());
        let mut gradient = vec![0.0; model.num_params as usize];
        let mut curvature = vec![0.0; engine.linearised.curvature_len];
        let mut cost = 0.0;
        for (number, table) in enabled(model, &mut tables) {
            let batch = &model.batches[number];
            let columns = LocalTable::of(&batch.class).columns(Target::Cpu);
            // Entries that are zero whatever the point are not written, here or later.
            table.resize(columns as usize * batch.count as usize, 0.0);
            let memory = Memory { x, local: table, ..Memory::default() };
            cost += engine.run_prepared(model, number, Entry::Linearise, memory)?;
            let places = engine.linearised.curvature_places[number].as_slice();
            let (gradient, curvature) = (gradient.as_mut_slice(), curvature.as_mut_slice());
            let memory = Memory { gradient, curvature, places, local: table, ..Memory::default() };
            engine.run_prepared(model, number, Entry::Normal, memory)?;
        }
        engine.linearised.tables = tables;
        if *has_constants {
            let entries = gradient.iter_mut().zip(constant.iter());
            entries.filter(|(_, constant)| **constant).for_each(|(entry, _)| *entry = 0.0);
        }
        let normal = Some(Normal { residuals: model.num_residuals as usize, gradient, curvature });
        Ok(LeastSquares { cost, residuals: Vec::new(), entries: Vec::new(), normal })
    }

    /// ‖J̃p‖² where the model was last made for products.
    pub fn image(&mut self, p: &[f64]) -> Result<f64> {
        self.multiply(Entry::Image, p, &mut [])
    }

    fn multiply(&mut self, entry: Entry, p: &[f64], image: &mut [f64]) -> Result<f64> {
        let Functions { model, engine, .. } = self;
        let engine = engine.on_cpu();
        let mut tables = std::mem::take(&mut engine.linearised.tables);
        let square = engine.multiply(model, entry, p, image, &mut tables);
        engine.linearised.tables = tables;
        square
    }
}

impl Products for Functions {
    fn product(&mut self, p: &[f64], image: &mut [f64]) -> Result<f64> {
        self.multiply(Entry::Product, p, image)
    }
}

impl CpuEngine {
    fn multiply(
        &self,
        model: &Model,
        entry: Entry,
        p: &[f64],
        image: &mut [f64],
        tables: &mut [Vec<f64>],
    ) -> Result<f64> {
        let mut square = 0.0;
        for (number, table) in enabled(model, tables) {
            let memory = Memory { x: p, gradient: &mut *image, local: table, ..Memory::default() };
            square += self.run_prepared(model, number, entry, memory)?;
        }
        Ok(square)
    }
}

/// The batches that take part, by number, with their tables.
fn enabled<'a>(model: &'a Model, tables: &'a mut [Vec<f64>]) -> impl Iterator<Item = (usize, &'a mut Vec<f64>)> {
    let takes_part = |number: &usize| model.blocks[model.batches[*number].block as usize].enabled;
    tables.iter_mut().enumerate().filter(move |(number, _)| takes_part(number))
}

fn has_a_block_twice(batch: &Batch) -> bool {
    let columns = batch.class.block_dims.len() as u32;
    (0..columns).any(|a| (0..a).any(|b| batch.column(a).iter().zip(batch.column(b)).any(|(a, b)| a == b)))
}
