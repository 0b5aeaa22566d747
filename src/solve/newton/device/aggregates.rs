//! Aggregates of blocks that lie together, for the coarse part of a preconditioner: M⁻¹ = D⁻¹ + B C⁻¹ Bᵀ with the block diagonal D, a basis B of one vector
//! for each component of an aggregate, and C = BᵀHB (R. A. Nicolaides, "Deflation of conjugate gradients with applications to boundary value problems",
//! 1987; A. Toselli and O. Widlund, *Domain Decomposition Methods*, 2005, chapter 2). Block diagonals alone pass what moves far regions from instance to
//! instance, an iteration each.
//!
//! Blocks of which instances have both are neighbours. Breadth-first searches halve them until there are as many aggregates as wanted. Workgroups take parts of
//! aggregates. C comes from products of H with sums of basis vectors: those of one colour, which have no neighbours in common (A. R. Curtis, M. J. D. Powell
//! and J. K. Reid, "On the estimation of sparse Jacobian matrices", 1974).

use residua_base::list::{Listed, PushAll};
use residua_linalg::loops::dense;

use crate::model::instance_matrices::coordinates;
use crate::model::{ArrayInfo, Model};

/// Workgroups, at most, since each adds up the partial sums of all.
const MOST_PARTS: u32 = 256;
/// Blocks of a part, about, where there are not more parts than there may be.
const BLOCKS_OF_PART: u32 = 128;
/// Aggregates, at most, and rows of C, of which each solve inverts one.
const MOST_AGGREGATES: u32 = 64;
const MOST_ROWS: u32 = 192;
/// Links of a block, one for each instance that has it beside another, through which searches go, at most: all are near by one that all instances share.
const MOST_LINKS: u32 = 256;
/// How many times the mean of its aggregate the diagonal of a coordinate in the basis is, at most. Of nearly degenerate instances rounding of H is larger than
/// what others have in C.
const MOST_OF_MEAN: f64 = 1e3;
/// The share of its diagonal that is added to C: some roundings of the sums in single precision.
const ADDED: f64 = 1e-5;
/// A coordinate without a basis vector.
const NONE: u32 = u32::MAX;

/// The aggregates of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregates {
    /// Numbers of the largest block.
    pub numbers: u32,
    /// How many there are, a power of two, and into how many parts each is divided.
    pub count: u32,
    /// Parts of an aggregate.
    pub each: u32,
    /// Colours of aggregates.
    pub colours: Vec<u32>,
    /// For kernels: where the blocks of each part begin, and the end of the last; the colours; first coordinate and dimension of each block.
    pub table: Vec<u32>,
    /// The row of C for each coordinate, or [`NONE`].
    rows: Vec<u32>,
    /// Of each aggregate its neighbours, itself among them.
    neighbours: Vec<Vec<u32>>,
}

impl Aggregates {
    /// Those of a model whose blocks begin at `blocks`, the last of which is the end.
    pub fn new(model: &Model, blocks: &[u32], numbers: u32) -> Aggregates {
        let block_count = blocks.len() as u32 - 1;
        let parts = block_count.div_ceil(BLOCKS_OF_PART).next_power_of_two().clamp(1, MOST_PARTS);
        let most = (MOST_ROWS / numbers).max(1);
        let count = parts.min(MOST_AGGREGATES).min(1 << most.ilog2());
        let each = parts / count;
        let mut block_at = Vec::new();
        for (block, ends) in (0..).zip(blocks.windows(2)) {
            block_at.push_all(std::iter::repeat_n(block, (ends[1] - ends[0]) as usize));
        }
        let order = halve(&Links::new(model, &block_at, block_count), count);
        let start_of = |part: u32| (u64::from(block_count) * u64::from(part) / u64::from(parts)) as u32;
        let mut table = (0..=parts).map(start_of).list();
        let mut aggregate_of = vec![0; block_count as usize];
        for (part, ends) in (0..).zip(table.windows(2)) {
            for &block in &order[ends[0] as usize..ends[1] as usize] {
                aggregate_of[block as usize] = part / each;
            }
        }
        let neighbours = neighbours(model, &block_at, &aggregate_of, count);
        let colours = colours(&neighbours);
        table.extend_from_slice(&colours);
        for &block in &order {
            let [first, end] = [0, 1].map(|k| blocks[block as usize + k]);
            table.extend_from_slice(&[first, end - first]);
        }
        let mut rows = vec![NONE; model.num_params as usize];
        // Numbers of one array have one meaning.
        let largest = model.arrays.iter().max_by_key(|array| array.count * array.dim);
        if let Some(&ArrayInfo { offset, count, dim, .. }) = largest {
            for place in offset..offset + count * dim {
                rows[place as usize] =
                    aggregate_of[block_at[place as usize] as usize] * numbers + (place - offset) % dim;
            }
        }
        Aggregates { numbers, count, each, colours, table, rows, neighbours }
    }

    /// Workgroups.
    pub fn parts(&self) -> u32 {
        self.count * self.each
    }

    /// Rows of C.
    pub fn row_count(&self) -> u32 {
        self.count * self.numbers
    }

    /// Colours and components of the products from which C comes.
    pub fn probes(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let colours = if self.count == 1 { 0 } else { self.colours.iter().max().map_or(0, |most| most + 1) };
        (0..colours).flat_map(|colour| (0..self.numbers).map(move |component| (colour, component)))
    }

    /// The entries of the basis: 1 for each coordinate but those that are held, that have no curvature, or far more than others.
    pub fn basis(&self, diagonal: &[f64], held: &[bool]) -> Vec<f32> {
        let has_curvature = |i: usize| !held[i] && self.rows[i] != NONE && diagonal[i] > 0.0;
        let mut sums = vec![(0.0, 0.0); self.row_count() as usize];
        for i in (0..diagonal.len()).filter(|&i| has_curvature(i)) {
            let (logarithms, count) = &mut sums[self.rows[i] as usize];
            *logarithms += diagonal[i].ln();
            *count += 1.0;
        }
        let most =
            sums.iter().map(|(logarithms, count)| MOST_OF_MEAN * f64::exp(logarithms / f64::max(*count, 1.0))).list();
        (0..diagonal.len())
            .map(|i| if has_curvature(i) && diagonal[i] <= most[self.rows[i] as usize] { 1.0 } else { 0.0 })
            .list()
    }

    /// C from what the products have along the basis, by probes, parts and components.
    pub fn matrix(&self, probed: &[f32]) -> Vec<f64> {
        let (n, numbers) = (self.row_count() as usize, self.numbers as usize);
        let mut matrix = vec![0.0; n * n];
        let of_probe = probed.chunks_exact(self.parts() as usize * numbers);
        for ((colour, component), of_parts) in self.probes().zip(of_probe) {
            let of_aggregates = of_parts.chunks_exact(self.each as usize * numbers);
            for ((aggregate, neighbours), sums) in self.neighbours.iter().enumerate().zip(of_aggregates) {
                let Some(&other) = neighbours.iter().find(|&&other| self.colours[other as usize] == colour) else {
                    continue;
                };
                let column = other as usize * numbers + component as usize;
                for (k, sum) in sums.iter().enumerate() {
                    // Half of each of both places makes it symmetric.
                    let (row, half) = (aggregate * numbers + k % numbers, 0.5 * f64::from(*sum));
                    matrix[row * n + column] += half;
                    matrix[column * n + row] += half;
                }
            }
        }
        matrix
    }

    /// C⁻¹ with that damping, relative to the diagonal of H. Zeros where it is not positive definite in single precision.
    pub fn inverse(&self, matrix: &[f64], damping: f64, diagonal: &[f64], basis: &[f32]) -> Vec<f32> {
        let n = self.row_count() as usize;
        let mut factor = matrix.to_vec();
        for ((&row, entry), basis) in self.rows.iter().zip(diagonal).zip(basis) {
            if row != NONE {
                factor[row as usize * (n + 1)] += damping * entry * f64::from(*basis);
            }
        }
        let mut scales = Vec::new();
        for k in 0..n {
            let entry = &mut factor[k * (n + 1)];
            *entry = if *entry > 0.0 { *entry * (1.0 + ADDED) } else { 1.0 };
            scales.push(entry.sqrt().recip());
        }
        let mut inverse = vec![0.0; n * n];
        if dense::factorise(&mut factor, &scales, 0.5 * ADDED) {
            let mut column = vec![0.0; n];
            for (k, row) in inverse.chunks_exact_mut(n).enumerate() {
                column.fill(0.0);
                column[k] = scales[k];
                dense::substitute(&factor, &mut column);
                for ((entry, number), scale) in row.iter_mut().zip(&column).zip(&scales) {
                    *entry = (number * scale) as f32;
                }
            }
        }
        inverse
    }
}

/// Calls with each two blocks that follow each other in an instance.
fn each_link(model: &Model, block_at: &[u32], mut found: impl FnMut(u32, u32)) {
    for batch in &model.batches {
        let mut columns = Vec::new();
        for (slot, component) in coordinates(&batch.class) {
            columns.push((batch.column(slot), component));
        }
        let Some(last) = columns.last() else { continue };
        for instance in 0..batch.count as usize {
            let block = |(column, component): &(&[u32], u32)| block_at[(column[instance] + component) as usize];
            let mut before = block(last);
            for column in &columns {
                let next = block(column);
                if next != before {
                    found(before, next);
                }
                before = next;
            }
        }
    }
}

/// Neighbours of each block.
struct Links {
    offsets: Vec<u32>,
    targets: Vec<u32>,
}

impl Links {
    fn new(model: &Model, block_at: &[u32], count: u32) -> Links {
        let mut degrees = vec![0; count as usize];
        each_link(model, block_at, |a, b| {
            degrees[a as usize] += 1;
            degrees[b as usize] += 1;
        });
        let is_wanted = |a: u32, b: u32| degrees[a as usize].max(degrees[b as usize]) <= MOST_LINKS;
        let mut offsets = vec![0; count as usize + 1];
        each_link(model, block_at, |a, b| {
            if is_wanted(a, b) {
                offsets[a as usize + 1] += 1;
                offsets[b as usize + 1] += 1;
            }
        });
        (0..count as usize).for_each(|k| offsets[k + 1] += offsets[k]);
        let mut next = offsets.clone();
        let mut targets = vec![0; offsets.last().map_or(0, |&end| end as usize)];
        each_link(model, block_at, |a, b| {
            for (from, to) in [(a, b), (b, a)] {
                if is_wanted(a, b) {
                    targets[next[from as usize] as usize] = to;
                    next[from as usize] += 1;
                }
            }
        });
        Links { offsets, targets }
    }

    fn of(&self, block: u32) -> &[u32] {
        &self.targets[self.offsets[block as usize] as usize..self.offsets[block as usize + 1] as usize]
    }
}

/// All blocks in an order of which each of `count` equal pieces lies together.
fn halve(links: &Links, count: u32) -> Vec<u32> {
    let blocks = links.offsets.len() as u32 - 1;
    let mut order = (0..blocks).list();
    // Of each block which search has it before it.
    let mut state = vec![0; blocks as usize];
    let (mut search, mut queue) = (0, Vec::new());
    let mut pieces = 1;
    while pieces < count {
        for piece in 0..u64::from(pieces) {
            let end = |piece: u64| (u64::from(blocks) * piece / u64::from(pieces)) as usize;
            let part = &mut order[end(piece)..end(piece + 1)];
            // From a block at one end to the other end, and back.
            for _ in 0..2 {
                search += 1;
                part.iter().for_each(|&block| state[block as usize] = search);
                queue.clear();
                let mut visited = 0;
                for start in part.iter().rev() {
                    let mut visit = |block: u32, queue: &mut Vec<u32>| {
                        if state[block as usize] == search {
                            state[block as usize] = 0;
                            queue.push(block);
                        }
                    };
                    visit(*start, &mut queue);
                    while let Some(&block) = queue.get(visited) {
                        visited += 1;
                        links.of(block).iter().for_each(|&other| visit(other, &mut queue));
                    }
                }
                part.copy_from_slice(&queue);
            }
        }
        pieces *= 2;
    }
    order
}

/// Of each aggregate those that an instance has together with it.
fn neighbours(model: &Model, block_at: &[u32], aggregate_of: &[u32], count: u32) -> Vec<Vec<u32>> {
    let mut neighbours = (0..count).map(|aggregate| vec![aggregate]).list();
    for batch in &model.batches {
        let coordinates = coordinates(&batch.class);
        let mut together = Vec::new();
        for instance in 0..batch.count as usize {
            together.clear();
            for &(slot, component) in &coordinates {
                let block = block_at[(batch.column(slot)[instance] + component) as usize];
                let aggregate = aggregate_of[block as usize];
                if !together.contains(&aggregate) {
                    together.push(aggregate);
                }
            }
            for &a in &together {
                for &b in &together {
                    if !neighbours[a as usize].contains(&b) {
                        neighbours[a as usize].push(b);
                    }
                }
            }
        }
    }
    neighbours
}

/// Colours of which no aggregate has two among its neighbours.
fn colours(neighbours: &[Vec<u32>]) -> Vec<u32> {
    let mut colours: Vec<u32> = Vec::new();
    for of_aggregate in neighbours {
        let mut taken = Vec::new();
        for &neighbour in of_aggregate {
            taken.extend(neighbours[neighbour as usize].iter().filter_map(|&other| colours.get(other as usize)));
        }
        colours.push((0..).find(|colour| !taken.contains(&colour)).unwrap_or_default());
    }
    colours
}
