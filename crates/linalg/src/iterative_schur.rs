//! Conjugate gradients on a Schur complement that is not formed.
//!
//! J̃ᵀJ̃ + diag(d) has the blocks B, E and C, of which C belongs to independent blocks ([`super::elimination_group`]) and so is block-diagonal.
//! With C = L Lᵀ and W = L⁻¹ Eᵀ the system of the others is (B − Wᵀ W) δ = −g + Wᵀ L⁻¹ g′. Its products take B and W, which stands by eliminated
//! blocks. The preconditioner has the inverses of the diagonal blocks of S = B − Wᵀ W (Schur-Jacobi; S. Agarwal et al., "Bundle Adjustment in the
//! Large", 2010).

use crate::loops::dot;
use crate::loops::schur::{Couplings, add_symmetric_product, couple, subtract_diagonal_blocks};
use residua_base::error::{Error, ErrorCode, Result};
use residua_base::list::{Listed, PushAll};

use super::cholesky::{Eliminated, too_large};
use super::elimination_group::elimination_group;
use super::normal_matrix::NormalMatrix;
use super::pcg::cholesky;
use super::{CoordinateBlocks, JtjOperator, NormalProducts, Pcg, PcgOptions, Solved, System, Trouble};

/// Conjugate gradients on the Schur complement of a pattern.
pub struct IterativeSchur {
    matrix: NormalMatrix,
    eliminated: Group,
    complement: Complement,
    /// What couples both.
    couplings: Vec<Coupling>,
    /// L, block after block, row after row.
    factors: Vec<f64>,
    /// The numbers of W.
    weights: Vec<f64>,
    /// L⁻¹ g′.
    image: Vec<f64>,
    /// W p and S p of a product.
    product_image: Vec<f64>,
    product: Vec<f64>,
    frozen: Vec<bool>,
    reduced: Reduced,
    pcg: Pcg,
    /// The group of rows with which the matrix of a system goes on, until it is there.
    next_group: Option<usize>,
}

/// The blocks that are eliminated.
struct Group {
    /// Them, ascending, and their numbers of coordinates.
    blocks: Vec<u32>,
    dims: Vec<u32>,
    /// Where the couplings of each begin.
    offsets: Vec<u32>,
    /// The first coordinate and the number of coordinates of the other block of each coupling.
    places: Vec<(u32, u32)>,
}

/// The coordinates that are left.
struct Complement {
    /// Their columns.
    columns: Vec<u32>,
    /// Their blocks, as ranges among them.
    blocks: CoordinateBlocks,
    /// For each of them where the numbers of its block begin in a list of diagonal blocks.
    starts: Vec<u32>,
    /// The blocks of B, as [`add_symmetric_product`] takes them.
    matrix: Vec<[u32; 5]>,
}

/// A block of E.
#[derive(Clone, Copy)]
struct Coupling {
    /// Where its numbers begin.
    start: u32,
    /// Whether its rows are those of the eliminated block.
    has_eliminated_rows: bool,
}

/// The system of the complement.
#[derive(Default)]
struct Reduced {
    gradient: Vec<f64>,
    diagonal_blocks: Vec<f64>,
    damping: Vec<f64>,
    frozen: Vec<bool>,
    step: Vec<f64>,
}

impl IterativeSchur {
    /// Finds the complement for a pattern of J̃; `blocks` are those of the parameters.
    ///
    /// # Errors
    /// `limit-exceeded` where J̃ᵀJ̃ is too large.
    pub fn new(
        cols: usize,
        row_offsets: &[u32],
        col_indices: &[u32],
        blocks: &CoordinateBlocks,
    ) -> Result<IterativeSchur> {
        if let Some(why) = too_large(cols, row_offsets) {
            return Err(Error::new(ErrorCode::LimitExceeded, why));
        }
        let matrix = NormalMatrix::new(cols, row_offsets, col_indices, blocks);
        let group = elimination_group(&matrix, &blocks.named);
        let mut complement = Complement::of(&matrix, &group);
        let (eliminated, couplings) = distribute(&matrix, group, &mut complement);
        Ok(IterativeSchur {
            matrix,
            eliminated,
            complement,
            couplings,
            factors: Vec::new(),
            weights: Vec::new(),
            image: Vec::new(),
            product_image: Vec::new(),
            product: Vec::new(),
            frozen: Vec::new(),
            reduced: Reduced::default(),
            pcg: Pcg::new(),
            next_group: None,
        })
    }

    /// The blocks that the complement is without.
    pub fn eliminated(&self) -> Eliminated {
        let Group { blocks, dims, .. } = &self.eliminated;
        Eliminated { blocks: blocks.len(), columns: dims.iter().sum::<u32>() as usize }
    }

    /// Begins a system, for [`IterativeSchur::advance`].
    pub fn begin(&mut self) {
        self.next_group = Some(0);
    }

    /// Goes on with a system: about so many multiplications of its matrix, or one iteration. When it is over it says how many iterations there were,
    /// with the step in `step`, or what the trouble is.
    pub fn advance(
        &mut self,
        system: &System,
        options: PcgOptions,
        multiplications: f64,
        step: &mut [f64],
    ) -> Result<Option<Solved>> {
        let Some(group) = self.next_group else { return self.iterate(options, step) };
        self.next_group = self.matrix.assemble(&system.jacobian, system.frozen, group, multiplications);
        if self.next_group.is_none() {
            self.begin_iterations(system, options, step);
        }
        Ok(None)
    }

    fn begin_iterations(&mut self, system: &System, options: PcgOptions, step: &mut [f64]) {
        self.frozen.clear();
        self.frozen.extend_from_slice(system.frozen);
        system.right_side(step);
        self.eliminate(system.damping, step);
        self.reduce(system, step);
        let Reduced { gradient, diagonal_blocks, damping, frozen, step } = &mut self.reduced;
        let normal = NormalProducts { gradient, jtj_blocks: diagonal_blocks, damping, frozen };
        self.pcg.begin(&normal, &self.complement.blocks, options, step);
    }

    fn iterate(&mut self, options: PcgOptions, step: &mut [f64]) -> Result<Option<Solved>> {
        let mut products = ComplementProducts {
            couplings: self.eliminated.couplings(&self.weights),
            blocks: &self.complement.matrix,
            values: &self.matrix.values,
            image: &mut self.product_image,
            product: &mut self.product,
        };
        let Reduced { gradient, diagonal_blocks, damping, frozen, step: reduced } = &mut self.reduced;
        let normal = NormalProducts { gradient, jtj_blocks: diagonal_blocks, damping, frozen };
        let solved = self.pcg.iterate(&normal, &self.complement.blocks, options, &mut products, reduced)?;
        if let Some(Ok(_)) = solved {
            self.substitute(step);
        }
        Ok(solved)
    }

    /// Solves into `step`, from 0; says how many iterations that took.
    pub fn solve(&mut self, system: &System, options: PcgOptions, step: &mut [f64]) -> Solved {
        self.begin();
        loop {
            // Products with a matrix that is there do not fail.
            let done = self.advance(system, options, f64::INFINITY, step);
            if let Some(outcome) = done.map_err(|_| Trouble::NonFinite)? {
                return outcome;
            }
        }
    }

    /// L, W and L⁻¹g′, where −g′ is the right side.
    fn eliminate(&mut self, damping: &[f64], right_side: &[f64]) {
        let IterativeSchur { matrix, eliminated, couplings, factors, weights, image, frozen, .. } = self;
        for numbers in [&mut *factors, weights, image] {
            numbers.clear();
        }
        let of_blocks = eliminated.blocks.iter().zip(eliminated.offsets.windows(2));
        for (&block, ends) in of_blocks {
            let columns = matrix.layout.columns(block as usize);
            let dim = columns.len();
            let (first_factor, first_image) = (factors.len(), image.len());
            let diagonal = matrix.starts[matrix.offsets[block as usize] as usize] as usize;
            factors.extend_from_slice(&matrix.values[diagonal..diagonal + dim * dim]);
            let factor = &mut factors[first_factor..];
            for (entry, column) in factor.iter_mut().step_by(dim + 1).zip(columns.clone()) {
                let is_unit = frozen[column] || *entry + damping[column] == 0.0;
                *entry += if is_unit { 1.0 } else { damping[column] };
            }
            if !cholesky(factor, dim) {
                // The first product with it is no number, which is a trouble.
                factor.fill(f64::NAN);
            }
            image.push_all(columns.map(|column| -right_side[column]));
            forward(factor, &mut image[first_image..]);
            let of_block = ends[0] as usize..ends[1] as usize;
            for (coupling, &(_, count)) in couplings[of_block.clone()].iter().zip(&eliminated.places[of_block]) {
                let (start, count) = (coupling.start as usize, count as usize);
                let numbers = &matrix.values[start..start + count * dim];
                for k in 0..count {
                    let first = weights.len();
                    if coupling.has_eliminated_rows {
                        weights.extend_from_slice(&numbers[k * dim..(k + 1) * dim]);
                    } else {
                        weights.push_all(numbers[k..].iter().step_by(count).copied());
                    }
                    forward(factor, &mut weights[first..]);
                }
            }
        }
    }

    /// The system of the complement.
    fn reduce(&mut self, system: &System, right_side: &[f64]) {
        let IterativeSchur { matrix, eliminated, complement, reduced, weights, image, .. } = self;
        let Complement { columns, blocks, starts, matrix: of_complement } = complement;
        let couplings = eliminated.couplings(weights);
        let columns = || columns.iter().map(|&column| column as usize);
        reduced.gradient = columns().map(|column| -right_side[column]).list();
        reduced.step.clear();
        reduced.step.resize(columns().count(), 0.0);
        couple(couplings, &reduced.step, image, &mut reduced.gradient);
        reduced.damping = columns().map(|column| system.damping[column]).list();
        reduced.frozen = columns().map(|column| system.frozen[column]).list();
        let numbers = blocks.ranges.iter().map(|(_, count)| count * count).sum();
        reduced.diagonal_blocks.clear();
        reduced.diagonal_blocks.resize(numbers, 0.0);
        for [row, _, rows, _, start] in of_complement.iter().filter(|[row, column, ..]| row == column) {
            let (length, start) = ((rows * rows) as usize, *start as usize);
            let to = starts[*row as usize] as usize;
            reduced.diagonal_blocks[to..to + length].copy_from_slice(&matrix.values[start..start + length]);
        }
        subtract_diagonal_blocks(couplings, starts, &mut reduced.diagonal_blocks);
    }

    /// The step of all coordinates from that of the complement: L Lᵀ δ′ = −g′ − Eᵀ δ.
    fn substitute(&mut self, step: &mut [f64]) {
        let IterativeSchur { matrix, eliminated, complement, reduced, factors, weights, image, frozen, .. } = self;
        for (&column, value) in complement.columns.iter().zip(&reduced.step) {
            step[column as usize] = *value;
        }
        // Its negative, which is in memory that the next system overwrites, as it does the gradient's.
        couple(eliminated.couplings(weights), &reduced.step, image, &mut reduced.gradient);
        let (mut factors, mut image) = (factors.as_slice(), image.as_mut_slice());
        for &block in &eliminated.blocks {
            let columns = matrix.layout.columns(block as usize);
            let (factor, other_factors) = factors.split_at(columns.len().pow(2));
            let (own, others) = image.split_at_mut(columns.len());
            backward(factor, own);
            for (column, value) in columns.zip(own) {
                step[column] = if frozen[column] { 0.0 } else { -*value };
            }
            (factors, image) = (other_factors, others);
        }
    }
}

impl Group {
    fn couplings<'a>(&'a self, weights: &'a [f64]) -> Couplings<'a> {
        Couplings { dims: &self.dims, offsets: &self.offsets, parts: &self.places, weights }
    }
}

impl Complement {
    /// The coordinates of all blocks but those of a group, ascending, without a matrix yet.
    fn of(matrix: &NormalMatrix, group: &[u32]) -> Complement {
        let layout = &matrix.layout;
        let (mut columns, mut blocks, mut starts) = (Vec::new(), CoordinateBlocks::default(), Vec::new());
        let mut start = 0;
        for block in (0..layout.len()).filter(|&block| group.binary_search(&(block as u32)).is_err()) {
            let dim = layout.dim(block);
            blocks.ranges.push((columns.len(), dim));
            columns.push_all(layout.columns(block).map(|column| column as u32));
            starts.resize(columns.len(), start);
            start += (dim * dim) as u32;
        }
        Complement { columns, blocks, starts, matrix: Vec::new() }
    }
}

/// Distributes the blocks of a matrix: those of the complement, and those that couple it with the group.
fn distribute(matrix: &NormalMatrix, group: Vec<u32>, complement: &mut Complement) -> (Group, Vec<Coupling>) {
    let layout = &matrix.layout;
    // The place of each block: the number of an eliminated one, and the first coordinate of any other.
    let mut places: Vec<std::result::Result<u32, u32>> = vec![Err(0); layout.len()];
    (0..).zip(&complement.columns).for_each(|(place, &column)| {
        let block = layout.block_of[column as usize] as usize;
        if layout.starts[block] == column {
            places[block] = Err(place);
        }
    });
    (0..).zip(&group).for_each(|(number, &block)| places[block as usize] = Ok(number));
    let mut coupled: Vec<Vec<((u32, u32), Coupling)>> = vec![Vec::new(); group.len()];
    for column in 0..layout.len() {
        for position in matrix.column(column) {
            let (row, start) = (matrix.rows[position] as usize, matrix.starts[position]);
            let [rows, cols] = [row, column].map(|block| layout.dim(block) as u32);
            match (places[row], places[column]) {
                (Err(row), Err(column)) => complement.matrix.push([row, column, rows, cols, start]),
                (Ok(number), Err(column)) => {
                    coupled[number as usize].push(((column, cols), Coupling { start, has_eliminated_rows: true }));
                }
                (Err(row), Ok(number)) => {
                    coupled[number as usize].push(((row, rows), Coupling { start, has_eliminated_rows: false }));
                }
                // A diagonal block: the others of the group are independent.
                (Ok(_), Ok(_)) => {}
            }
        }
    }
    let (mut offsets, mut places, mut couplings) = (vec![0], Vec::new(), Vec::new());
    for of_block in &coupled {
        for &(place, coupling) in of_block {
            places.push(place);
            couplings.push(coupling);
        }
        offsets.push(places.len() as u32);
    }
    let dims = group.iter().map(|&block| layout.dim(block as usize) as u32).list();
    (Group { blocks: group, dims, offsets, places }, couplings)
}

/// S without its damping, as an operator.
struct ComplementProducts<'a> {
    couplings: Couplings<'a>,
    blocks: &'a [[u32; 5]],
    values: &'a [f64],
    image: &'a mut Vec<f64>,
    product: &'a mut Vec<f64>,
}

impl JtjOperator for ComplementProducts<'_> {
    fn product(&mut self, p: &[f64], product: &mut [f64]) -> Result<f64> {
        self.image.clear();
        self.image.resize(self.couplings.dims.iter().sum::<u32>() as usize, 0.0);
        self.product.clear();
        self.product.resize(p.len(), 0.0);
        add_symmetric_product(self.blocks, self.values, p, self.product);
        couple(self.couplings, p, self.image, self.product);
        product.iter_mut().zip(&*self.product).for_each(|(product, own)| *product += own);
        Ok(dot(p, self.product))
    }
}

/// L⁻¹x in place of x.
fn forward(factor: &[f64], x: &mut [f64]) {
    for i in 0..x.len() {
        let row = &factor[i * x.len()..];
        let known: f64 = row.iter().zip(&x[..i]).map(|(l, x)| l * x).sum();
        x[i] = (x[i] - known) / row[i];
    }
}

/// L⁻ᵀx in place of x.
fn backward(factor: &[f64], x: &mut [f64]) {
    let dim = x.len();
    for i in (0..dim).rev() {
        let known: f64 = (i + 1..dim).map(|k| factor[k * dim + i] * x[k]).sum();
        x[i] = (x[i] - known) / factor[i * dim + i];
    }
}
