//! Linear algebra: as on the host.

use residua_base::error::Result;
use residua_tensor_loops::sparse;

use super::Machine;
use crate::kernel::{Extent, Linalg};
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
