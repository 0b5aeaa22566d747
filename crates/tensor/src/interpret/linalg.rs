//! Linear algebra: as on the host.

use residua_base::error::Result;
use residua_base::list::Listed;
use residua_tensor_loops::{dense, sparse};

use super::Machine;
use crate::kernel::{Extent, Linalg, Turns};
use crate::scalar::Id;

impl Machine<'_> {
    pub(super) fn linalg(&mut self, linalg: &Linalg) -> Result<()> {
        let [rows, columns, width] = [linalg.rows, linalg.columns, linalg.width].map(|extent| self.extent(extent));
        let batch = self.extents(&linalg.batch);
        let needed = self.needed_by_stores(&linalg.elements);
        self.each_point(&batch, |machine| {
            let a = machine.matrix(linalg.matrix, 0, [rows, columns])?;
            if let (Some(values), Some((pattern, count))) = (linalg.second, linalg.pattern) {
                let mut result = a;
                let values = machine.matrix(values, 2, [width, 1])?;
                let pattern = machine.words(pattern, count)?;
                sparse::solve(&pattern, &values, &mut result, columns as usize);
                return machine.write_matrix(linalg, &needed, batch.len(), &result);
            }
            let b = linalg.second.map(|second| machine.matrix(second, 2, [rows, width])).transpose()?;
            let extents = [rows, columns, width].map(|extent| extent as usize);
            let result = linalg.kind.computed(extents, a, b.unwrap_or_default());
            machine.write_matrix(linalg, &needed, batch.len(), &result)
        })
    }

    /// All rounds at once, the first time that rotations are sought: each matrix without them has no rounds behind it.
    pub(super) fn turns(&mut self, turns: &Turns) -> Result<()> {
        if turns.applies {
            return Ok(());
        }
        let [rows, columns] = [turns.rows, turns.columns].map(|extent| self.extent(extent) as usize);
        let most = rows - 1 - columns;
        let count: usize = self.extents(&turns.batch).iter().map(|extent| *extent as usize).product();
        for state in self.buffers[turns.state as usize].chunks_exact_mut(4 * rows * columns).take(count) {
            let word = |bytes: &[u8]| f64::from(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
            let mut numbers: Vec<f64> = state.chunks_exact(4).map(word).list();
            let rounds = (rows - 1) * columns;
            if numbers[rounds] > 0.0 {
                continue;
            }
            numbers[rounds] = 1.0;
            // Columns behind those of the matrix are turned with no other one.
            let at = |numbers: &[f64], row: usize, column: usize| numbers[row * columns + column];
            let is_behind = |column: &usize| match turns.is_symmetric {
                true => at(&numbers, *column, *column) < 0.1 * Turns::BEHIND,
                false => (0..most).all(|row| at(&numbers, row, *column) == 0.0),
            };
            let own = columns - (0..columns).rev().take_while(is_behind).count();
            let height = if turns.is_symmetric { own } else { most };
            let mut matrix: Vec<f64> = (0..height * own).map(|k| at(&numbers, k / own, k % own)).list();
            let right = if turns.is_symmetric {
                let values = dense::eigen(&mut matrix, own);
                let vectors = dense::transposed(&matrix, own, own);
                matrix.fill(0.0);
                values.iter().enumerate().for_each(|(place, value)| matrix[place * (own + 1)] = *value);
                vectors
            } else {
                let (values, right) = dense::singular(&mut matrix, most, own);
                matrix.iter_mut().enumerate().for_each(|(place, x)| *x *= values[place % own]);
                right
            };
            for (from, first) in [(matrix, 0), (right, most)] {
                for (place, x) in from.into_iter().enumerate() {
                    numbers[(first + place / own) * columns + place % own] = x;
                }
            }
            for (bytes, number) in state.chunks_exact_mut(4).zip(numbers) {
                bytes.copy_from_slice(&(number as f32).to_le_bytes());
            }
        }
        Ok(())
    }

    /// Writes the numbers of a result at the present point of a batch of so many axes.
    fn write_matrix(&mut self, linalg: &Linalg, needed: &[Id], axes: usize, numbers: &[f64]) -> Result<()> {
        let [height, length] = [linalg.height, linalg.length].map(|extent| self.extent(extent));
        for row in 0..height {
            for column in 0..length {
                self.folded = vec![vec![(numbers[(row * length + column) as usize] as f32).to_bits()]];
                self.coordinates.extend([0, 0, 0, 0, row, column]);
                self.write(needed, &linalg.elements)?;
                self.coordinates.truncate(axes);
            }
        }
        Ok(())
    }

    /// The numbers of a pattern.
    fn words(&mut self, id: Id, count: Extent) -> Result<Vec<u32>> {
        let needed = self.needed([id]);
        let first = self.coordinates.len();
        let mut words = Vec::new();
        for place in 0..self.extent(count) {
            self.coordinates.extend([0, 0, 0, place]);
            self.evaluate(&needed)?;
            words.push(self.values[id.index()]);
            self.coordinates.truncate(first);
        }
        Ok(words)
    }

    /// A matrix of the present point of the batch, whose axes are so many after those of the batch.
    fn matrix(&mut self, id: Id, axis: usize, [rows, columns]: [u32; 2]) -> Result<Vec<f64>> {
        let needed = self.needed([id]);
        let first = self.coordinates.len();
        let mut numbers = Vec::with_capacity(rows as usize * columns as usize);
        for row in 0..rows {
            for column in 0..columns {
                let mut at = [0; 4];
                at[axis..axis + 2].copy_from_slice(&[row, column]);
                self.coordinates.extend(at);
                self.evaluate(&needed)?;
                numbers.push(f64::from(f32::from_bits(self.values[id.index()])));
                self.coordinates.truncate(first);
            }
        }
        Ok(numbers)
    }
}
