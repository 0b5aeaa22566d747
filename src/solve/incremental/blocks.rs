//! The blocks of a growing problem: their points, and where the estimate is from there.

use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use residua_codegen::Width;
use residua_codegen::memory::{InstanceRange, View};
use residua_cpu::CompiledKernels;
use residua_linalg::BayesTree;

use crate::model::ArrayInfo;
use crate::model::manifolds::{InPlace, Manifold, in_place_kernel};
use crate::solve::tangent::ParameterBlock;

/// No variable, no factor.
pub(super) const NONE: u32 = u32::MAX;

/// A block of parameters.
#[derive(Clone, Copy, Debug)]
struct Block {
    array: u32,
    /// Its number in the array.
    index: u32,
    /// Where its numbers begin.
    first: u32,
    /// Its variable in the tree; [`NONE`] if all of it is constant.
    variable: u32,
    /// Position of its free coordinates in [`Blocks::masks`].
    mask: u32,
}

/// All blocks, in the order in which they came.
pub(super) struct Blocks {
    arrays: Vec<ArrayInfo>,
    /// Blocks that each array has.
    counts: Vec<u32>,
    /// For each array the kernel that makes steps on its manifold; none if they are sums.
    turns: Vec<Option<usize>>,
    program: CompiledKernels,
    blocks: Vec<Block>,
    /// The block of each variable of the tree.
    of_variable: Vec<u32>,
    /// Sets of free tangent coordinates, each once.
    masks: Vec<Vec<u8>>,
    /// θ, block after block.
    numbers: Vec<f64>,
}

impl Blocks {
    pub async fn new(arrays: &[ArrayInfo]) -> Result<Blocks> {
        let (mut kernels, mut turns) = (Vec::new(), Vec::new());
        for array in arrays {
            let is_flat = array.manifold == Manifold::Euclidean;
            turns.push((!is_flat).then_some(kernels.len()));
            if !is_flat {
                kernels.push(in_place_kernel(InPlace::Turn, array.manifold, array.dim, Width::Single)?);
            }
        }
        Ok(Blocks {
            arrays: arrays.to_vec(),
            counts: vec![0; arrays.len()],
            turns,
            program: CompiledKernels::compile(kernels).await?,
            blocks: Vec::new(),
            of_variable: Vec::new(),
            masks: Vec::new(),
            numbers: Vec::new(),
        })
    }

    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    pub fn add(&mut self, array: u32, numbers: &[f64], constant: &[u8], tree: &mut BayesTree) -> Result<u32> {
        let first_block = self.blocks.len() as u32;
        let of = self.arrays.get(array as usize).ok_or_else(|| Error::internal("blocks of no array"))?;
        let (dim, manifold, name) = (of.dim as usize, of.manifold, of.name.clone());
        let mut points = numbers.to_vec();
        let is_constant = |k: usize| constant.get(k).is_some_and(|&is| is != 0);
        // All are checked before one is added.
        for (k, point) in points.chunks_exact_mut(dim).enumerate() {
            if !is_constant(k * dim) && manifold.normalise(point).is_none() {
                let index = self.counts[array as usize] as usize + k;
                return Err(Error::invalid_argument(format!(
                    "update: {name}[{index}] cannot be brought onto the manifold '{}'; it takes a block that is not 0 there",
                    manifold.name()
                )));
            }
        }
        for (k, point) in points.chunks_exact(dim).enumerate() {
            // Of blocks on manifolds all numbers are constant, or none is.
            let tangents = manifold.tangent_dim(dim as u32);
            let free = (0..tangents as u8).filter(|&coordinate| !is_constant(k * dim + coordinate as usize)).list();
            let variable = if free.is_empty() { NONE } else { tree.add_variable(free.len() as u32) };
            if variable != NONE {
                self.of_variable.push(self.blocks.len() as u32);
            }
            let mask = self.masks.iter().position(|known| *known == free).unwrap_or_else(|| {
                self.masks.push(free);
                self.masks.len() - 1
            });
            let index = self.counts[array as usize];
            self.counts[array as usize] += 1;
            let first = self.numbers.len() as u32;
            self.blocks.push(Block { array, index, first, variable, mask: mask as u32 });
            self.numbers.extend_from_slice(point);
        }
        Ok(first_block)
    }

    /// θ of all blocks.
    pub fn numbers(&self) -> &[f64] {
        &self.numbers
    }

    /// Where a block's numbers begin.
    pub fn address(&self, block: u32) -> u32 {
        self.blocks[block as usize].first
    }

    pub fn variable(&self, block: u32) -> u32 {
        self.blocks[block as usize].variable
    }

    /// The tangent coordinates of a block that are not constant.
    pub fn free(&self, block: u32) -> &[u8] {
        &self.masks[self.blocks[block as usize].mask as usize]
    }

    /// Its place, as tangent bases take it.
    pub fn place(&self, block: u32) -> ParameterBlock {
        let Block { array, first, .. } = self.blocks[block as usize];
        let ArrayInfo { dim, manifold, .. } = self.arrays[array as usize];
        let tangent = manifold.tangent_dim(dim) as usize;
        ParameterBlock { array: array as usize, first: first as usize, dim: dim as usize, tangent }
    }

    pub fn name_of_variable(&self, variable: u32) -> String {
        let Block { array, index, .. } = self.blocks[self.of_variable[variable as usize] as usize];
        format!("{}[{index}]", self.arrays[array as usize].name)
    }

    /// The blocks of which a coordinate of δ is above a threshold.
    pub fn far(&self, tree: &BayesTree, threshold: f64) -> Vec<u32> {
        let is_far = |(variable, _): &(usize, &u32)| {
            let variable = *variable as u32;
            !tree.is_fixed(variable) && tree.delta(variable).iter().any(|x| x.abs() > threshold)
        };
        self.of_variable.iter().enumerate().filter(is_far).map(|(_, &block)| block).list()
    }

    /// θ of some blocks.
    pub fn points(&self, blocks: &[u32]) -> Vec<f64> {
        let mut points = Vec::new();
        for &block in blocks {
            let ParameterBlock { first, dim, .. } = self.place(block);
            points.extend_from_slice(&self.numbers[first..first + dim]);
        }
        points
    }

    /// Gives some blocks other points.
    pub fn restore(&mut self, blocks: &[u32], points: &[f64]) {
        let mut rest = points;
        for &block in blocks {
            let ParameterBlock { first, dim, .. } = self.place(block);
            let (own, others) = rest.split_at(dim);
            self.numbers[first..first + dim].copy_from_slice(own);
            rest = others;
        }
    }

    /// Moves some blocks to their estimates.
    pub fn advance(&mut self, blocks: &[u32], tree: &BayesTree) -> Result<()> {
        for array in 0..self.arrays.len() as u32 {
            let own = blocks.iter().copied().filter(|&block| self.blocks[block as usize].array == array).list();
            if !own.is_empty() {
                let points = self.estimates(&own, tree)?;
                self.restore(&own, &points);
            }
        }
        Ok(())
    }

    /// θ ⊞ δ of blocks of one array.
    pub fn estimates(&self, blocks: &[u32], tree: &BayesTree) -> Result<Vec<f64>> {
        let Some(&first) = blocks.first() else { return Ok(Vec::new()) };
        let points = self.points(blocks);
        let mut steps = Vec::with_capacity(points.len());
        for &block in blocks {
            let (start, ParameterBlock { dim, .. }) = (steps.len(), self.place(block));
            steps.resize(start + dim, 0.0);
            let variable = self.variable(block);
            if variable != NONE {
                let free = self.free(block).iter().zip(tree.delta(variable));
                free.for_each(|(&coordinate, delta)| steps[start + coordinate as usize] = *delta);
            }
        }
        let Some(kernel) = self.turns[self.blocks[first as usize].array as usize] else {
            // What does not move keeps every bit.
            let moved = |(x, step): (&f64, &f64)| if *step == 0.0 { *x } else { x + step };
            return Ok(points.iter().zip(&steps).map(moved).list());
        };
        let mut views = [View::Read(&points), View::Write(&mut steps)];
        let count = blocks.len() as u32;
        self.program.run(
            kernel,
            &mut views,
            &InstanceRange { instances: 0..count, stride: count, first: 0, origin: 0 },
        )?;
        Ok(steps)
    }
}
