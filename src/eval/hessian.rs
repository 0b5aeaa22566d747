//! Hessians of the weighted sum and of the least-squares cost, exact, in f64 on the host: as sparse symmetric matrices, and in products with vectors.
//!
//! Each instance gives a dense matrix of its own numbers ([`crate::model::hessian`]), which is added to the rows of all. A residual that is a long sum is
//! known when its addends are added up: with r its value, a its addends and J its row of the Jacobian, its part of the cost has the Hessian
//! w ρ′ r Σ ∂²a + w (ρ′ + 2 ρ″ r²) JᵀJ.

use residua_base::cooperative::Yielder;
use residua_base::deadline::Deadline;
use residua_base::error::{Error, ErrorCode, Result};
use residua_base::list::{Listed, PushAll};
use residua_linalg::sparse::Columns;

use super::cpu::{CpuEngine, Memory, PIECE};
use super::hessian_pattern::HessianPattern;
use super::{Functions, Objective, Part};
use crate::model::access_plan::Entry;
use crate::model::energy::{Coordinates, Energy};
use crate::model::hessian::MOST_NUMBERS;
use crate::model::losses;
use crate::model::pattern::{Compressed, Give, compress};
use crate::model::{Batch, Model, Rows};

/// A residual that is a long sum: its row, and the factor of JᵀJ.
pub(crate) struct LongSum {
    pub(crate) row: u32,
    pub(crate) factor: f64,
}

/// What the kernels of a batch differentiate.
pub(crate) fn energy(batch: &Batch, objective: Objective) -> Energy {
    match objective {
        Objective::Sum => Energy::Sum,
        Objective::LeastSquares if batch.has_addends() => Energy::Seeded,
        Objective::LeastSquares => Energy::Cost,
    }
}

/// Where the entries of an instance's matrix stand among all parameters: the block column and component of row and of column.
pub(crate) struct InstanceEntries<'a> {
    batch: &'a Batch,
    /// Of the places of a row and of a column in the instance.
    entries: Vec<[(u32, u32); 2]>,
}

impl<'a> InstanceEntries<'a> {
    pub(crate) fn new(batch: &'a Batch, places: &[(u32, u32)]) -> InstanceEntries<'a> {
        let coordinate = |place: u32| {
            let mut first = 0;
            for (column, dim) in (0..).zip(&batch.class.block_dims) {
                if place < first + dim {
                    return (column, place - first);
                }
                first += dim;
            }
            (0, 0)
        };
        InstanceEntries { batch, entries: places.iter().map(|&(a, b)| [a, b].map(coordinate)).list() }
    }

    /// The parameters of row and column of an entry.
    fn parameters(&self, instance: usize, entry: usize) -> [u32; 2] {
        self.entries[entry].map(|(column, component)| self.batch.column(column)[instance] + component)
    }

    /// The parameters that an instance's matrix has rows of, ascending.
    pub(crate) fn columns(&self, instance: usize, columns: &mut Vec<u32>) {
        columns.clear();
        for entry in 0..self.entries.len() {
            columns.push_all(self.parameters(instance, entry));
        }
        columns.sort_unstable();
        columns.dedup();
    }

    /// Adds an instance's entries to its matrix, of which these are rows and columns.
    pub(crate) fn fill(&self, instance: usize, numbers: &[f64], columns: &[u32], matrix: &mut [f64]) {
        let place = |parameter: u32| columns.partition_point(|&column| column < parameter);
        for (entry, number) in numbers.iter().enumerate() {
            let [row, column] = self.parameters(instance, entry).map(place);
            matrix[row * columns.len() + column] += number;
            if self.entries[entry][0] != self.entries[entry][1] {
                matrix[column * columns.len() + row] += number;
            }
        }
    }

    /// Whether an entry beside an instance's diagonal is on that of all parameters: its block is in two slots.
    fn is_twice(&self, instance: usize, entry: usize) -> bool {
        let [row, column] = self.entries[entry];
        row.0 != column.0 && {
            let [row, column] = self.parameters(instance, entry);
            row == column
        }
    }
}

impl Functions {
    /// Compiles the kernels of Hessians by these coordinates on the host; whether they are there at the deadline.
    ///
    /// # Errors
    /// `limit-exceeded` naming an enabled block of residuals whose instances have more than [`MOST_NUMBERS`] numbers.
    pub(crate) async fn prepare_hessian(
        &mut self,
        objective: Objective,
        coordinates: Coordinates,
        end: Deadline,
    ) -> Result<bool> {
        for batch in &self.model.batches {
            let numbers = batch.class.locals.len();
            let block = &self.model.blocks[batch.block as usize];
            if block.enabled && numbers > MOST_NUMBERS {
                let name = &block.name;
                let of_block = if name.is_empty() { String::new() } else { format!(" of block '{name}'") };
                return Err(Error::new(
                    ErrorCode::LimitExceeded,
                    format!(
                        "a residual{of_block} depends on {numbers} numbers; a Hessian takes at most {MOST_NUMBERS} an instance, a product with it any number"
                    ),
                ));
            }
        }
        for of in self.energies(objective) {
            if !self.engine.on_cpu().prepare_until(&self.model, Entry::Hessian(of, coordinates), end).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn energies(&self, objective: Objective) -> Vec<Energy> {
        let mut energies = Vec::new();
        for batch in &self.model.batches {
            let of = energy(batch, objective);
            if !energies.contains(&of) {
                energies.push(of);
            }
        }
        energies
    }

    /// Seeds w ρ′ r of residuals that are long sums, and these, ascending; empty where the objective has none. Those of disabled blocks have a factor of 0.
    pub(crate) async fn long_sums(&mut self, objective: Objective, x: &[f64]) -> Result<(Vec<f64>, Vec<LongSum>)> {
        if !self.has_addends(objective) {
            return Ok((Vec::new(), Vec::new()));
        }
        let residuals = self.engine.on_cpu().values(&self.model, x).await?;
        let (_, seeds) = self.seeds_of_long_sums(&residuals);
        let mut sums = Vec::new();
        for batch in self.model.batches.iter().filter(|batch| batch.has_addends()) {
            let block = &self.model.blocks[batch.block as usize];
            let weight = if block.enabled { block.weight } else { 0.0 };
            let of_loss = losses::derivatives(&block.loss);
            for row in rows_of(batch) {
                let square = residuals[row as usize].powi(2);
                let [slope, bend] = of_loss(square);
                sums.push(LongSum { row, factor: weight * (slope + 2.0 * bend * square) });
            }
        }
        sums.sort_unstable_by_key(|sum| sum.row);
        sums.dedup_by_key(|sum| sum.row);
        Ok((seeds, sums))
    }

    /// The columns of the Jacobian that residuals depend on which are long sums, in the order of [`Functions::long_sums`].
    pub(crate) fn rows_of_long_sums(&mut self, objective: Objective) -> Result<Vec<Vec<u32>>> {
        if !self.has_addends(objective) {
            return Ok(Vec::new());
        }
        self.differentiate()?;
        let pattern = self.pattern().ok_or_else(|| Error::internal("a pattern was made and is not there"))?;
        let of_row =
            |row: u32| pattern.row_offsets[row as usize] as usize..pattern.row_offsets[row as usize + 1] as usize;
        Ok(rows_of_long_sums(&self.model).into_iter().map(|row| pattern.col_indices[of_row(row)].to_vec()).list())
    }

    /// The entries of the Jacobian, on the host. Columns of constant parameters are zeros.
    pub(crate) async fn jacobian_on_host(&mut self, x: &[f64]) -> Result<Vec<f64>> {
        let mut entries = vec![0.0; self.differentiate()?.col_indices.len()];
        let mut give = |part, start: usize, piece: &mut [f64]| {
            if part == Part::Entries {
                entries[start..start + piece.len()].copy_from_slice(piece);
            }
        };
        let Functions { model, engine, differentiated, spare, constant, has_constants, .. } = self;
        let Some(differentiated) = differentiated else {
            return Err(Error::internal("a pattern was made and is not there"));
        };
        let (partials, pattern) = (&differentiated.partials, &differentiated.pattern);
        engine.on_cpu().jacobian(model, partials, pattern, x, spare, &mut give).await?;
        if *has_constants {
            super::mask(&mut entries, &pattern.col_indices, constant);
        }
        Ok(entries)
    }

    /// The Hessian of an objective with respect to the numbers of the parameters: the entries of [`Functions::hessian_pattern`]. Rows and columns of constant
    /// parameters are explicit zeros.
    ///
    /// # Errors
    /// `limit-exceeded` where an instance has more than [`MOST_NUMBERS`] numbers, or the matrix has too many entries.
    pub async fn evaluate_hessian(&mut self, objective: Objective, x: Option<&[f64]>) -> Result<Vec<f64>> {
        self.bring_shared_data().await?;
        let x = self.point(x).await?;
        self.prepare_hessian(objective, Coordinates::Numbers, Deadline::NEVER).await?;
        self.make_hessian_pattern(objective)?;
        let (seeds, sums) = self.long_sums(objective, &x).await?;
        let of_sums = if sums.is_empty() { None } else { Some(self.jacobian_on_host(&x).await?) };
        let Functions { model, engine, hessians, differentiated, constant, has_constants, .. } = self;
        let Some(pattern) = &hessians[objective as usize] else {
            return Err(Error::internal("a pattern was made and is not there"));
        };
        let mut lower = vec![0.0; pattern.lower_len];
        let mut places = pattern.places.as_slice();
        let mut yielder = Yielder::new();
        for number in 0..model.batches.len() {
            let batch = &model.batches[number];
            let entry = Entry::Hessian(energy(batch, objective), Coordinates::Numbers);
            let of_batch = engine.on_cpu().partials_of(entry, number).to_vec();
            let width = of_batch.len();
            let (own, others) = places.split_at(width * batch.count as usize);
            places = others;
            if !model.blocks[batch.block as usize].enabled || width == 0 {
                continue;
            }
            let instance_entries = InstanceEntries::new(batch, &of_batch);
            let mut add = |instances: std::ops::Range<u32>, numbers: &[f64]| {
                let places = own[instances.start as usize * width..].chunks_exact(width);
                for ((instance, places), numbers) in instances.zip(places).zip(numbers.chunks_exact(width)) {
                    for (entry, (&place, &number)) in places.iter().zip(numbers).enumerate() {
                        let is_twice = instance_entries.is_twice(instance as usize, entry);
                        lower[place as usize] += if is_twice { 2.0 * number } else { number };
                    }
                }
            };
            let point = (&*x, seeds.as_slice());
            hessians_of_instances(engine.on_cpu(), model, (number, entry), point, &mut yielder, &mut add).await?;
        }
        if let (Some(entries), Some(differentiated)) = (of_sums, differentiated) {
            let pattern = &differentiated.pattern;
            for LongSum { row, factor } in sums {
                let of_row = pattern.row_offsets[row as usize] as usize..pattern.row_offsets[row as usize + 1] as usize;
                let of_row = &entries[of_row];
                for (k, a) in of_row.iter().enumerate() {
                    for b in &of_row[..=k] {
                        let (place, rest) =
                            places.split_first().ok_or_else(|| Error::internal("places are missing"))?;
                        lower[*place as usize] += factor * a * b;
                        places = rest;
                    }
                }
            }
        }
        let mut entries = pattern.lower.iter().map(|&place| lower[place as usize]).list();
        if *has_constants {
            for (row, ends) in pattern.row_offsets.windows(2).enumerate() {
                let of_row = ends[0] as usize..ends[1] as usize;
                if constant[row] {
                    entries[of_row].fill(0.0);
                } else {
                    super::mask(&mut entries[of_row.clone()], &pattern.col_indices[of_row], constant);
                }
            }
        }
        Ok(entries)
    }

    /// The pattern of the Hessian of an objective, once that has been evaluated.
    pub fn hessian_pattern(&self, objective: Objective) -> Option<&HessianPattern> {
        self.hessians[objective as usize].as_ref()
    }

    fn make_hessian_pattern(&mut self, objective: Objective) -> Result<()> {
        if self.hessians[objective as usize].is_some() {
            return Ok(());
        }
        let has_sums = self.has_addends(objective);
        if has_sums {
            self.differentiate()?;
        }
        let Functions { model, engine, differentiated, .. } = self;
        let of_jacobian = differentiated.as_ref().filter(|_| has_sums).map(|differentiated| &differentiated.pattern);
        let batches = (0..model.batches.len()).map(|number| {
            let batch = &model.batches[number];
            let entry = Entry::Hessian(energy(batch, objective), Coordinates::Numbers);
            InstanceEntries::new(batch, engine.on_cpu().partials_of(entry, number))
        });
        let batches = batches.list();
        let rows = if has_sums { rows_of_long_sums(model) } else { Vec::new() };
        let each = |give: Give| {
            for of_batch in &batches {
                for instance in 0..of_batch.batch.count as usize {
                    for entry in 0..of_batch.entries.len() {
                        let [row, column] = of_batch.parameters(instance, entry);
                        give(row.max(column), row.min(column));
                    }
                }
            }
            let Some(pattern) = of_jacobian else { return };
            for &row in &rows {
                let of_row = pattern.row_offsets[row as usize] as usize..pattern.row_offsets[row as usize + 1] as usize;
                let columns = &pattern.col_indices[of_row];
                for (k, a) in columns.iter().enumerate() {
                    columns[..=k].iter().for_each(|b| give(*a, *b));
                }
            }
        };
        let n = model.num_params as usize;
        let Compressed { row_offsets: offsets, col_indices: columns, places } = compress("Hessian", n, &each)?;
        let by_columns = Columns::of(n, &offsets, &columns);
        let (mut row_offsets, mut col_indices, mut lower) = (vec![0], Vec::new(), Vec::new());
        for row in 0..n {
            for place in offsets[row]..offsets[row + 1] {
                col_indices.push(columns[place as usize]);
                lower.push(place);
            }
            for (column, place) in by_columns.column(row).filter(|&(column, _)| column > row) {
                col_indices.push(column as u32);
                lower.push(place as u32);
            }
            row_offsets.push(col_indices.len() as u32);
        }
        self.hessians[objective as usize] =
            Some(HessianPattern { row_offsets, col_indices, lower, lower_len: columns.len(), places });
        Ok(())
    }

    /// The Hessian of an objective times a vector, with respect to the numbers of the parameters. Rows and columns of constant parameters are zeros. What a 0 of
    /// the vector multiplies counts as 0, also where it is infinite; of instances with more than [`MOST_NUMBERS`] numbers it may be NaN.
    pub async fn evaluate_hessian_product(
        &mut self,
        objective: Objective,
        x: Option<&[f64]>,
        vector: &[f64],
    ) -> Result<Vec<f64>> {
        self.expect_parameters(vector.len())?;
        self.bring_shared_data().await?;
        let x = self.point(x).await?;
        let free = |(number, constant): (&f64, &bool)| if *constant { 0.0 } else { *number };
        let vector = vector.iter().zip(&self.constant).map(free).list();
        let (seeds, sums) = self.long_sums(objective, &x).await?;
        let mut product = vec![0.0; vector.len()];
        if !sums.is_empty() {
            let entries = self.jacobian_on_host(&x).await?;
            let pattern = self.differentiate()?;
            for LongSum { row, factor } in sums {
                let of_row = pattern.row_offsets[row as usize] as usize..pattern.row_offsets[row as usize + 1] as usize;
                let columns = || pattern.col_indices[of_row.clone()].iter().zip(&entries[of_row.clone()]);
                let along: f64 = columns().map(|(&column, entry)| entry * vector[column as usize]).sum();
                columns().for_each(|(&column, entry)| product[column as usize] += factor * along * entry);
            }
        }
        let Functions { model, engine, constant, .. } = self;
        for number in 0..model.batches.len() {
            let batch = &model.batches[number];
            if !model.blocks[batch.block as usize].enabled {
                continue;
            }
            let entry = Entry::HessianProduct(energy(batch, objective));
            let memory = Memory { x: &x, vector: &vector, seeds: &seeds, gradient: &mut product, ..Memory::default() };
            engine.on_cpu().run(model, number, entry, memory).await?;
        }
        product.iter_mut().zip(constant).filter(|(_, constant)| **constant).for_each(|(entry, _)| *entry = 0.0);
        if product.iter().any(|entry| !entry.is_finite()) && vector.contains(&0.0) {
            match self.evaluate_hessian(objective, Some(&x)).await {
                Err(error) if error.code == ErrorCode::LimitExceeded => {}
                entries => self.multiply_entries(objective, &entries?, &vector, &mut product),
            }
        }
        Ok(product)
    }

    /// The product by the entries of the matrix, without those that a 0 multiplies.
    fn multiply_entries(&self, objective: Objective, entries: &[f64], vector: &[f64], product: &mut [f64]) {
        let Some(HessianPattern { row_offsets, col_indices, .. }) = self.hessian_pattern(objective) else { return };
        for (row, ends) in row_offsets.windows(2).enumerate() {
            let places = ends[0] as usize..ends[1] as usize;
            let factors = places.map(|place| (entries[place], vector[col_indices[place] as usize]));
            product[row] = factors.filter(|(_, number)| *number != 0.0).map(|(entry, number)| entry * number).sum();
        }
    }
}

/// The residuals that are long sums, ascending.
fn rows_of_long_sums(model: &Model) -> Vec<u32> {
    let mut rows = model.batches.iter().flat_map(rows_of).list();
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// The residuals that a batch has addends of.
fn rows_of(batch: &Batch) -> impl Iterator<Item = u32> + '_ {
    let column = match batch.rows {
        Rows::Addends(column) => batch.column(column),
        Rows::From(_) | Rows::Column(_) => &[],
    };
    let outputs = batch.class.outputs.len() as u32;
    column.iter().flat_map(move |&row| row..row + outputs)
}

/// Takes instances and their matrices, one after the other.
pub(crate) type TakeMatrices<'a> = &'a mut dyn FnMut(std::ops::Range<u32>, &[f64]);

/// The matrices of all instances of a batch at a point with seeds of long sums, piece by piece. The kernels of the entry have been compiled.
pub(crate) async fn hessians_of_instances(
    engine: &CpuEngine,
    model: &Model,
    (number, entry): (usize, Entry),
    (x, seeds): (&[f64], &[f64]),
    yielder: &mut Yielder,
    take: TakeMatrices<'_>,
) -> Result<()> {
    let width = engine.partials_of(entry, number).len();
    let count = model.batches[number].count;
    // An even number, so that pairs of instances stay pairs. Eigenvectors of a matrix take as many times as long as its numbers as it has rows.
    let rows = model.batches[number].class.locals.len();
    let size = ((PIECE / (width * rows).max(1)).max(2) & !1) as u32;
    let mut numbers = Vec::new();
    for start in (0..count).step_by(size as usize) {
        yielder.yield_if_due().await;
        let instances = start..count.min(start + size);
        numbers.resize(width * instances.len(), 0.0);
        let memory =
            Memory { x, seeds, partials: &mut numbers, instances: Some(instances.clone()), ..Memory::default() };
        engine.run_prepared(model, number, entry, memory)?;
        take(instances, &numbers);
    }
    Ok(())
}

#[cfg(test)]
#[path = "hessian_tests.rs"]
mod tests;
