//! Attention, query by query, with all scores of a block or of all keys at once.

use residua_base::error::Result;
use residua_base::list::Listed;

use super::Machine;
use crate::kernel::{Attention, AttentionSchedule};
use crate::scalar::Id;

impl Machine<'_> {
    pub(super) fn attention(&mut self, attention: &Attention) -> Result<()> {
        let [query, key, value, score] =
            [attention.query, attention.key, attention.value, attention.score].map(|id| (id, self.needed([id])));
        let elements = self.needed_by_stores(&attention.elements);
        let batch = self.extents(&attention.batch);
        let (queries, keys) = (self.extent(attention.queries), self.extent(attention.keys));
        let has_blocks = attention.schedule == AttentionSchedule::Blocks;
        let length = if has_blocks { Attention::BLOCK } else { keys.max(1) };
        // Without a key there is no block; a tile gives 0 then.
        let blocks = if has_blocks { keys.div_ceil(length) } else { 1 };
        self.each_point(&batch, |machine| {
            machine.each_point(&[queries, blocks], |machine| {
                let first = machine.coordinates.len() - 2;
                let (row, block) = (machine.coordinates[first], machine.coordinates[first + 1]);
                let at = |machine: &mut Self, of: &(Id, Vec<Id>), key: u32, place: u32| {
                    machine.coordinates.truncate(first);
                    machine.coordinates.extend([row, key, place, block]);
                    machine.evaluate(&of.1)?;
                    Ok::<f32, residua_base::error::Error>(f32::from_bits(machine.values[of.0.index()]))
                };
                let range = block * length..((block + 1) * length).min(keys);
                let mut scores = Vec::new();
                for j in range.clone() {
                    let mut product = 0.0f32;
                    for place in 0..attention.size {
                        product += at(machine, &query, j, place)? * at(machine, &key, j, place)?;
                    }
                    machine.folded = vec![vec![product.to_bits()]];
                    let sees = attention.limits.is_none_or(|limits| {
                        let place = machine.extent(limits.position) as i32 as i64 + i64::from(row);
                        let is_near = |window| i64::from(j) >= place - i64::from(window);
                        i64::from(j) <= place && limits.window.is_none_or(is_near)
                    });
                    scores.push(if sees { at(machine, &score, j, 0)? } else { Attention::LEAST_SCORE });
                }
                let most = scores.iter().copied().fold(Attention::LEAST_SCORE, f32::max);
                let weight = |score: f32| if score <= Attention::LEAST_SCORE { 0.0 } else { (score - most).exp() };
                let weights: Vec<f32> = scores.into_iter().map(weight).list();
                let total: f32 = weights.iter().sum();
                for place in 0..attention.width {
                    let mut sum = 0.0f32;
                    for (j, weight) in range.clone().zip(&weights) {
                        sum += weight * at(machine, &value, j, place)?;
                    }
                    if !has_blocks {
                        sum = if total == 0.0 { 0.0 } else { sum / total };
                    }
                    machine.folded = vec![Vec::new(), [sum, most, total].map(f32::to_bits).to_vec()];
                    machine.coordinates.truncate(first);
                    machine.coordinates.extend([row, 0, place, block]);
                    machine.write(&elements, &attention.elements)?;
                }
                machine.coordinates.truncate(first);
                machine.coordinates.extend([row, block]);
                Ok(())
            })
        })
    }
}
