//! How far residuals couple parameters: levels by the number of instances between them (E. Cuthill and J. McKee, "Reducing the Bandwidth of Sparse Symmetric
//! Matrices", 1969).
//!
//! A parameter shares instances with those of its own level, the one before and the one after alone, so that J̃ᵀJ̃ is block tridiagonal by levels. Conjugate
//! gradients carry what one end says of the other by one level an iteration; a factorisation takes the cubes of the levels' sizes.

use residua_base::list::Listed;

use super::batch::{Batch, Model};

/// The levels of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Levels {
    /// The most levels that parameters which depend on each other have.
    pub depth: usize,
    /// Multiplications of a factorisation by levels.
    pub multiplications: f64,
}

/// An instance: its batch and its number there.
type Instance = (u32, u32);

struct Search<'a> {
    model: &'a Model,
    constant: &'a [bool],
    /// The instances of each parameter, one after the other.
    offsets: Vec<u32>,
    instances: Vec<Instance>,
    /// The last search that came to a parameter, and to each instance by its batch.
    seen: Vec<u32>,
    visited: Vec<Vec<u32>>,
    number: u32,
}

impl Levels {
    /// The levels from an end of each part; none where a factorisation takes more than `most` multiplications.
    pub fn of(model: &Model, constant: &[bool], most: f64) -> Option<Levels> {
        let mut search = Search::new(model, constant);
        let mut levels = Levels::default();
        for first in 0..model.num_params {
            if constant[first as usize] || search.seen[first as usize] > 0 {
                continue;
            }
            // The parameter that is reached last is an end, or near one.
            let mut end = first;
            search.from(first, &mut |level| {
                end = level[0];
                true
            });
            let (mut depth, mut before) = (0, 0.0);
            let is_within = search.from(end, &mut |level| {
                let size = level.len() as f64;
                levels.multiplications += size * (size + before) * (size + before);
                (depth, before) = (depth + 1, size);
                levels.multiplications <= most
            });
            if !is_within {
                return None;
            }
            levels.depth = levels.depth.max(depth);
        }
        Some(levels)
    }
}

impl<'a> Search<'a> {
    fn new(model: &'a Model, constant: &'a [bool]) -> Search<'a> {
        let count = model.num_params as usize;
        let mut offsets = vec![0u32; count + 1];
        for_each_entry(model, &mut |parameter, _| offsets[parameter as usize + 1] += 1);
        for parameter in 0..count {
            offsets[parameter + 1] += offsets[parameter];
        }
        let mut next = offsets.clone();
        let mut instances = vec![(0, 0); offsets[count] as usize];
        for_each_entry(model, &mut |parameter, instance| {
            let place = &mut next[parameter as usize];
            instances[*place as usize] = instance;
            *place += 1;
        });
        let visited = model.batches.iter().map(|batch| vec![0; batch.count as usize]).list();
        Search { model, constant, offsets, instances, seen: vec![0; count], visited, number: 0 }
    }

    /// Gives the levels from a parameter, until the answer is `false`; whether it was not.
    fn from(&mut self, first: u32, take: &mut dyn FnMut(&[u32]) -> bool) -> bool {
        self.number += 1;
        self.seen[first as usize] = self.number;
        let mut level = vec![first];
        while !level.is_empty() {
            if !take(&level) {
                return false;
            }
            let mut next = Vec::new();
            for parameter in level {
                let own = self.offsets[parameter as usize] as usize..self.offsets[parameter as usize + 1] as usize;
                for &(batch, instance) in &self.instances[own] {
                    if std::mem::replace(&mut self.visited[batch as usize][instance as usize], self.number)
                        == self.number
                    {
                        continue;
                    }
                    parameters_of(&self.model.batches[batch as usize], instance, &mut |other| {
                        let seen = &mut self.seen[other as usize];
                        if !self.constant[other as usize] && std::mem::replace(seen, self.number) != self.number {
                            next.push(other);
                        }
                    });
                }
            }
            level = next;
        }
        true
    }
}

fn parameters_of(batch: &Batch, instance: u32, take: &mut dyn FnMut(u32)) {
    for (column, &dim) in (0..).zip(&batch.class.block_dims) {
        let first = batch.column(column)[instance as usize];
        (first..first + dim).for_each(&mut *take);
    }
}

fn for_each_entry(model: &Model, take: &mut dyn FnMut(u32, Instance)) {
    for (number, batch) in (0..).zip(&model.batches) {
        if !model.blocks[batch.block as usize].takes_part() {
            continue;
        }
        for instance in 0..batch.count {
            parameters_of(batch, instance, &mut |parameter| take(parameter, (number, instance)));
        }
    }
}
