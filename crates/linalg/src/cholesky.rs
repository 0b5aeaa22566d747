//! Sparse Cholesky factorisation of J̃ᵀJ̃ + diag(d): the order and the supernodes once, the numbers at every step.
//!
//! The numbers come supernode after supernode. The panel of a supernode begins with the entries of the matrix and the updates of its children.
//! Its columns are factorised, and the product of the rows below with themselves is subtracted from its own update matrix, which is added to
//! the front of its parent (multifrontal; [`super::supernodes`]). An update matrix exists from the first child's update until it is added.

use crate::loops::{dot, subtract};
use residua_base::list::{Listed, PushAll};
use residua_base::threads::{Divided, are_several, for_each_piece};

use super::choice::grouped;
use super::elimination_group::elimination_group;
use super::fronts::{Matrix, add_to_parent, factorise_columns, reaches_update, subtract_from_update};
use super::normal_matrix::NormalMatrix;
use super::subtrees::{Subtrees, panel_of, update_len};
use super::supernodes::{Order, Supernode, Supernodes};
use super::{CoordinateBlocks, SparseMatrix, System, Trouble};
use residua_base::error::{Error, ErrorCode, Result};

/// So many products may forming J̃ᵀJ̃ take: some seconds.
const MOST_PRODUCTS: u64 = 1_000_000_000;
/// So many entries may J̃ᵀJ̃ have, by the bound that is known before it is formed.
const MOST_ENTRIES: u64 = 200_000_000;
/// Numbers of the factor that are cleared between two such questions.
const CLEARED: usize = 1 << 20;
/// Numbers of a piece of those.
const CLEARED_PIECE: usize = 1 << 17;
/// Columns of an update matrix that are computed between two questions whether to go on, by one thread and by several.
const UPDATE_COLUMNS: usize = 32;
const SHARED_UPDATE_COLUMNS: usize = 256;
/// The cost of a supernode in addition to its multiplications, in multiplications.
const SUPERNODE_WORK: f64 = 300.0;
/// The cost of a number of the factor in addition to its multiplications, in multiplications: it is cleared, loaded and added to.
const NUMBER_WORK: f64 = 8.0;
/// The cost of a number of an update matrix in addition to its multiplications, in multiplications: it is added to the front of the parent.
const UPDATE_WORK: f64 = 6.0;

/// What the pattern of J̃ says of a Cholesky factorisation before it is made: J̃ᵀJ̃, the order of elimination and the size of the factor.
pub struct Analysis {
    matrix: NormalMatrix,
    symbolic: Supernodes,
    eliminated: Option<Eliminated>,
}

/// Which Schur complement a factorisation computes: it eliminates independent blocks first, and then factorises the complement of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complement {
    /// None.
    None,
    /// In an order of its own.
    Sparse,
    /// As a dense matrix.
    Dense,
    /// As a dense matrix if the blocks leave few columns, as points that few cameras see; else none.
    DenseIfSmall,
}

/// The blocks that a Schur complement is without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eliminated {
    /// How many blocks.
    pub blocks: usize,
    /// How many columns they have.
    pub columns: usize,
}

impl Eliminated {
    /// For the report, where there are so many columns in all.
    pub fn in_words(self, cols: usize) -> String {
        let Eliminated { blocks, columns } = self;
        let rest = cols - columns;
        format!(", {} independent blocks are eliminated and leave {}", grouped(blocks as u64), grouped(rest as u64))
    }
}

/// A complement of so many columns is taken as dense.
const DENSE_COMPLEMENT: usize = 1_000;
/// Columns that are eliminated for each that is left, at least, where a Schur complement is chosen.
const LEAST_ELIMINATED: usize = 4;

/// Why J̃ᵀJ̃ of this pattern is not formed, if it is too large for that: a residual of thousands of parameters makes it so.
pub fn too_large(cols: usize, row_offsets: &[u32]) -> Option<String> {
    let products: u64 = row_offsets.windows(2).map(|ends| u64::from(ends[1] - ends[0]).pow(2)).sum();
    let entries = products.min((cols as u64).pow(2));
    let (count, most, what) = if products > MOST_PRODUCTS {
        (products, MOST_PRODUCTS, "products")
    } else if entries > MOST_ENTRIES {
        (entries, MOST_ENTRIES, "entries")
    } else {
        return None;
    };
    Some(format!("JᵀJ would take {} {what}, and sparse Cholesky takes up to {}", grouped(count), grouped(most)))
}

impl Analysis {
    /// Orders the columns of a pattern and finds the supernodes; `blocks` are those of the parameters.
    pub fn new(
        cols: usize,
        row_offsets: &[u32],
        col_indices: &[u32],
        blocks: &CoordinateBlocks,
        complement: Complement,
    ) -> Result<Analysis> {
        if let Some(why) = too_large(cols, row_offsets) {
            return Err(Error::new(ErrorCode::LimitExceeded, why));
        }
        let matrix = NormalMatrix::new(cols, row_offsets, col_indices, blocks);
        let group = (complement != Complement::None).then(|| elimination_group(&matrix, &blocks.named));
        let columns_of = |group: &[u32]| group.iter().map(|&block| matrix.layout.dim(block as usize)).sum::<usize>();
        let is_small = |group: &[u32]| {
            let columns = columns_of(group);
            let rest = cols - columns;
            rest <= DENSE_COMPLEMENT && columns >= LEAST_ELIMINATED * rest
        };
        let group = group.filter(|group| complement != Complement::DenseIfSmall || is_small(group));
        let eliminated = group.as_deref().map(|group| Eliminated { blocks: group.len(), columns: columns_of(group) });
        let order = match group {
            None => Order::MinimumDegree,
            Some(group) if complement == Complement::Sparse => Order::Before(group),
            Some(group) => Order::BeforeDense(group),
        };
        let symbolic = Supernodes::new(&matrix, &order);
        Ok(Analysis { matrix, symbolic, eliminated })
    }

    /// What is eliminated for a Schur complement.
    pub fn eliminated(&self) -> Option<Eliminated> {
        self.eliminated
    }

    /// How many numbers the factor has: those that are not zero by its structure.
    pub fn factor_len(&self) -> u64 {
        self.symbolic.entries
    }

    /// How many multiplications a factorisation takes, with what stands for the other work on its numbers.
    pub fn multiplications(&self) -> f64 {
        let of_update = |node: &Supernode| 0.5 * (node.below as f64).powi(2);
        let updates: f64 = self.symbolic.nodes.iter().map(of_update).sum();
        self.symbolic.multiplications() + NUMBER_WORK * self.symbolic.len as f64 + UPDATE_WORK * updates
    }

    /// The columns in the order of their elimination.
    pub fn order(&self) -> &[u32] {
        &self.symbolic.order
    }
}

/// What a supernode costs, in multiplications.
pub(super) fn node_work(node: &Supernode) -> f64 {
    let (width, below) = (node.width as f64, node.below as f64);
    let products = width * (width + below).powi(2) / 2.0;
    SUPERNODE_WORK + products + NUMBER_WORK * (node.width * node.stride()) as f64 + UPDATE_WORK * 0.5 * below * below
}

/// A factorisation L Lᵀ of the permuted J̃ᵀJ̃ + diag(d).
pub struct SparseCholesky {
    analysis: Analysis,
    /// The panels of L.
    factor: Vec<f64>,
    damping: Vec<f64>,
    frozen: Vec<bool>,
    elimination: Elimination,
    /// What threads factorise side by side; none for one thread.
    subtrees: Subtrees,
}

/// How far a factorisation is.
#[derive(Default)]
struct Elimination {
    /// The supernode that is at work, and its stage.
    node: usize,
    stage: Stage,
    /// The update matrices, by supernode.
    updates: Vec<Vec<f64>>,
    /// The update matrix of supernodes without children.
    scratch: Vec<f64>,
    /// Columns that had no pivot.
    left_out: Vec<usize>,
    /// The subtree that is added to its parent next, and the one that is factorised next.
    subtree: usize,
    next_subtree: usize,
    /// The update matrices of subtrees at work.
    memory: Vec<f64>,
}

/// What is next: for the matrix, and then for a supernode.
#[derive(Clone, Copy, Default)]
enum Stage {
    /// Groups of rows of J̃, from this one on.
    Assemble(usize),
    /// Zeros in the place of the factor of the system before, or of none, from this number on.
    Clear(usize),
    #[default]
    Load,
    /// Columns of the panel, from this one on.
    Panel(usize),
    /// Columns of the update matrix, from this one on.
    Update(usize),
    /// To its parent.
    Add,
}

impl SparseCholesky {
    /// Lays out the factor. 'out-of-memory' if that is too much.
    pub fn new(analysis: Analysis) -> Result<SparseCholesky> {
        let out_of_memory = || Error::new(ErrorCode::OutOfMemory, "there is no memory for the Cholesky factor");
        let length = usize::try_from(analysis.symbolic.len).map_err(|_| out_of_memory())?;
        let mut factor = Vec::new();
        factor.try_reserve_exact(length).map_err(|_| out_of_memory())?;
        let subtrees = if are_several() { Subtrees::new(&analysis.symbolic) } else { Subtrees::default() };
        Ok(SparseCholesky {
            analysis,
            subtrees,
            factor,
            damping: Vec::new(),
            frozen: Vec::new(),
            elimination: Elimination::default(),
        })
    }

    /// [`Analysis::multiplications`]
    pub fn multiplications(&self) -> f64 {
        self.analysis.multiplications()
    }

    /// How many numbers are stored for the factor.
    pub fn stored_len(&self) -> usize {
        self.analysis.symbolic.len as usize
    }

    /// Factorises J̃ᵀJ̃ + diag(d). Frozen columns, and those of zeros with a damping of 0, count as unit vectors: no other column depends on them, and
    /// a solve leaves their part of the right side as it is.
    pub fn factorise(
        &mut self,
        jacobian: &SparseMatrix,
        damping: &[f64],
        frozen: &[bool],
    ) -> Result<Factorisation<'_>, Trouble> {
        self.begin(damping, frozen);
        self.advance(jacobian, f64::INFINITY).unwrap_or(Ok(()))?;
        Ok(self.factorisation())
    }

    /// Factorises J̃ᵀJ̃ of columns of unit length as far as it goes: a column whose pivot is at most `least` is left out, as if it were
    /// frozen. Tells which these are.
    pub fn factorise_independent(&mut self, jacobian: &SparseMatrix, frozen: &[bool], least: f64) -> Vec<usize> {
        self.begin(&vec![0.0; jacobian.cols], frozen);
        self.eliminate(jacobian, least, f64::INFINITY);
        // Subtrees come before supernodes between them.
        self.elimination.left_out.sort_unstable();
        self.clear_rows_of_left_out();
        let order = &self.analysis.symbolic.order;
        std::mem::take(&mut self.elimination.left_out).iter().map(|&k| order[k] as usize).list()
    }

    /// The factor as the last call left it.
    pub fn factorisation(&self) -> Factorisation<'_> {
        Factorisation { symbolic: &self.analysis.symbolic, values: &self.factor }
    }

    /// Begins to factorise J̃ᵀJ̃ + diag(d), for [`SparseCholesky::advance`].
    pub fn begin(&mut self, damping: &[f64], frozen: &[bool]) {
        self.damping.clear();
        self.damping.extend_from_slice(damping);
        self.frozen.clear();
        self.frozen.extend_from_slice(frozen);
        let elimination = &mut self.elimination;
        (elimination.node, elimination.stage) = (0, Stage::Assemble(0));
        (elimination.subtree, elimination.next_subtree) = (0, 0);
        elimination.left_out.clear();
        elimination.updates.clear();
        elimination.updates.resize(self.analysis.symbolic.nodes.len(), Vec::new());
    }

    /// The matrix of the same pattern as J̃ᵀJ̃.
    pub fn matrix(&self) -> &NormalMatrix {
        &self.analysis.matrix
    }

    /// Begins to factorise another matrix of that pattern in the place of J̃ᵀJ̃. `add` adds its numbers to zeros, and leaves those of frozen columns 0.
    pub fn begin_with(&mut self, damping: &[f64], frozen: &[bool], add: impl FnOnce(&mut [f64])) {
        self.begin(damping, frozen);
        let values = &mut self.analysis.matrix.values;
        values.fill(0.0);
        add(values);
        self.elimination.stage = Stage::Clear(0);
    }

    /// Goes on for about so many multiplications, with the same J̃; says when the factor is there, or that there is none.
    pub fn advance(&mut self, jacobian: &SparseMatrix, multiplications: f64) -> Option<Result<(), Trouble>> {
        if !self.eliminate(jacobian, 0.0, multiplications) {
            return None;
        }
        Some(if self.elimination.left_out.is_empty() { Ok(()) } else { Err(Trouble::NotPositiveDefinite) })
    }

    /// L on for so many multiplications; whether all of it is there. Columns whose pivot is not above `least` are noted, and left out of the
    /// rest: their columns of L are those of the unit matrix. With 0 the first of them ends it.
    fn eliminate(&mut self, jacobian: &SparseMatrix, least: f64, multiplications: f64) -> bool {
        if let Stage::Assemble(group) = self.elimination.stage {
            let next = self.analysis.matrix.assemble(jacobian, &self.frozen, group, multiplications);
            self.elimination.stage = next.map_or(Stage::Clear(0), Stage::Assemble);
            if next.is_some() {
                return false;
            }
        }
        let mut work = 0.0;
        while work < multiplications {
            if let Stage::Clear(from) = self.elimination.stage {
                let to = (from + CLEARED).min(self.stored_len());
                let known = to.min(self.factor.len());
                clear(&mut self.factor[from.min(known)..known]);
                self.factor.resize(to.max(self.factor.len()), 0.0);
                work += (to - from) as f64;
                self.elimination.stage = if to < self.stored_len() { Stage::Clear(to) } else { Stage::Load };
                continue;
            }
            let Some(&node) = self.analysis.symbolic.nodes.get(self.elimination.node) else { return true };
            let (stage, cost) = match self.subtree(least) {
                Some(of_subtree) => of_subtree,
                None => self.step(&node, least),
            };
            work += cost;
            if least == 0.0 && !self.elimination.left_out.is_empty() {
                self.elimination.node = usize::MAX;
                self.elimination.updates.clear();
                return true;
            }
            self.elimination.stage = stage;
        }
        self.elimination.node >= self.analysis.symbolic.nodes.len()
    }

    /// Goes on to the root of the subtree that begins with the supernode at work, if one does; gives the next stage, and the work.
    fn subtree(&mut self, least: f64) -> Option<(Stage, f64)> {
        let elimination = &mut self.elimination;
        let subtree = self.subtrees.get(elimination.subtree)?;
        if !matches!(elimination.stage, Stage::Load) || subtree.start != elimination.node {
            return None;
        }
        let mut work = 0.0;
        if elimination.subtree == elimination.next_subtree {
            let matrix = matrix_of(&self.analysis, &self.damping, &self.frozen);
            let mut is_left_out = vec![false; self.frozen.len()];
            let (from, memory) = (elimination.subtree, (&mut elimination.updates[..], &mut elimination.memory));
            (elimination.next_subtree, work) =
                self.subtrees.factorise(from, &matrix, least, &mut self.factor, memory, &mut is_left_out);
            elimination.left_out.push_all((0..is_left_out.len()).filter(|&k| is_left_out[k]));
        }
        // All siblings are added together.
        let nodes = &self.analysis.symbolic.nodes;
        let end = self.subtrees.end_of_siblings(elimination.subtree, elimination.next_subtree, nodes);
        let roots = (elimination.subtree..end).filter_map(|sibling| Some(self.subtrees.get(sibling)?.end - 1)).list();
        (elimination.subtree, elimination.node) = (end, roots.last()? + 1);
        self.add_to_parent(&roots);
        let added = |&root: &usize| 0.5 * (self.analysis.symbolic.nodes[root].below as f64).powi(2);
        Some((Stage::Load, work + roots.iter().map(added).sum::<f64>()))
    }

    /// One stage of a supernode, or a part of it; gives the next stage, and the work.
    fn step(&mut self, node: &Supernode, least: f64) -> (Stage, f64) {
        let (width, below) = (node.width, node.below);
        let panel = &mut self.factor[panel_of(node)];
        match self.elimination.stage {
            // The matrix is there, and zeros for the factor.
            Stage::Assemble(_) | Stage::Clear(_) | Stage::Load => {
                matrix_of(&self.analysis, &self.damping, &self.frozen).load(self.elimination.node, panel);
                (Stage::Panel(0), SUPERNODE_WORK)
            }
            Stage::Panel(column) => {
                let left_out = &mut self.elimination.left_out;
                let mut leave_out = |column| left_out.push(node.first + column);
                let (next, work) = factorise_columns(panel, node, column, least, &mut leave_out);
                let stage = if next < width { Stage::Panel(next) } else { Stage::Update(0) };
                (stage, work)
            }
            Stage::Update(column) if column < below => {
                let Elimination { node: number, updates, scratch, .. } = &mut self.elimination;
                let own = &mut updates[*number];
                let starts = own.is_empty();
                let update = if starts {
                    if scratch.len() < update_len(node) {
                        scratch.resize(update_len(node), 0.0);
                    }
                    &mut scratch[..update_len(node)]
                } else {
                    own
                };
                let most = if are_several() { SHARED_UPDATE_COLUMNS } else { UPDATE_COLUMNS };
                let cols = most.min(below - column);
                let work = subtract_from_update(panel, update, node, (column, cols), starts);
                (Stage::Update(column + cols), work)
            }
            Stage::Update(_) if below > 0 => (Stage::Add, 0.0),
            Stage::Update(_) => {
                self.elimination.node += 1;
                (Stage::Load, 0.0)
            }
            Stage::Add => {
                self.add_to_parent(&[self.elimination.node]);
                self.elimination.node += 1;
                (Stage::Load, 0.5 * (below * below) as f64)
            }
        }
    }

    /// Adds the update matrices of supernodes of one parent to its front.
    fn add_to_parent(&mut self, siblings: &[usize]) {
        let Elimination { updates, scratch, .. } = &mut self.elimination;
        let symbolic = &self.analysis.symbolic;
        let Some(number) = siblings.first().map(|&child| symbolic.nodes[child].parent as usize) else { return };
        let Some(parent) = symbolic.nodes.get(number) else { return };
        let mut of_parent = std::mem::take(&mut updates[number]);
        let update = |child: usize| (child, if updates[child].is_empty() { &scratch[..] } else { &updates[child][..] });
        let (single, several);
        let children: &[(usize, &[f64])] = if let &[child] = siblings {
            single = [update(child)];
            &single
        } else {
            several = siblings.iter().map(|&child| update(child)).list();
            &several
        };
        if children.iter().any(|&(child, _)| reaches_update(symbolic, child)) {
            of_parent.resize(update_len(parent), 0.0);
        }
        add_to_parent(symbolic, children, &mut self.factor[panel_of(parent)], &mut of_parent);
        siblings.iter().for_each(|&child| updates[child] = Vec::new());
        updates[number] = of_parent;
    }

    /// Makes the rows of L that belong to columns without a pivot those of the unit matrix.
    fn clear_rows_of_left_out(&mut self) {
        let symbolic = &self.analysis.symbolic;
        let mut is_left_out = vec![false; symbolic.order.len()];
        self.elimination.left_out.iter().for_each(|&k| is_left_out[k] = true);
        for node in &symbolic.nodes {
            let own = node.first as u32..(node.first + node.width) as u32;
            let below = symbolic.rows[node.rows..node.rows + node.below].iter().copied();
            for (row, k) in own.chain(below).enumerate().filter(|(_, k)| is_left_out[*k as usize]) {
                for column in (0..node.width).filter(|column| node.first + column < k as usize) {
                    self.factor[node.panel + column * node.stride() + row] = 0.0;
                }
            }
        }
    }

    /// Solves into `step`.
    pub fn solve(&mut self, system: &System, step: &mut [f64]) -> Result<(), Trouble> {
        system.right_side(step);
        self.factorise(&system.jacobian, system.damping, system.frozen)?.solve(step);
        Ok(())
    }
}

/// Clears numbers.
fn clear(numbers: &mut [f64]) {
    let count = numbers.len();
    let divided = Divided::new(numbers);
    for_each_piece(count.div_ceil(CLEARED_PIECE), |piece| {
        let first = piece * CLEARED_PIECE;
        // SAFETY: each piece has its own numbers.
        unsafe { divided.part(first..count.min(first + CLEARED_PIECE)) }.fill(0.0);
    });
}

fn matrix_of<'a>(analysis: &'a Analysis, damping: &'a [f64], frozen: &'a [bool]) -> Matrix<'a> {
    Matrix { symbolic: &analysis.symbolic, matrix: &analysis.matrix, damping, frozen }
}

/// The factor of the last [`SparseCholesky::factorise`].
pub struct Factorisation<'a> {
    symbolic: &'a Supernodes,
    values: &'a [f64],
}

impl Factorisation<'_> {
    /// Replaces the right side by the solution.
    pub fn solve(&self, x: &mut [f64]) {
        let order = &self.symbolic.order;
        let mut y: Vec<f64> = order.iter().map(|&k| x[k as usize]).list();
        let mut below = Vec::new();
        for node in &self.symbolic.nodes {
            let (panel, rows) = self.parts(node);
            let own = &mut y[node.first..node.first + node.width];
            below.clear();
            below.resize(node.below, 0.0);
            for (k, column) in panel.chunks_exact(node.stride()).enumerate() {
                own[k] /= column[k];
                let value = own[k];
                if value != 0.0 {
                    subtract(value, &column[k + 1..node.width], &mut own[k + 1..]);
                    subtract(value, &column[node.width..], &mut below);
                }
            }
            rows.iter().zip(&below).for_each(|(&row, below)| y[row as usize] += below);
        }
        for node in self.symbolic.nodes.iter().rev() {
            let (panel, rows) = self.parts(node);
            below.clear();
            below.push_all(rows.iter().map(|&row| y[row as usize]));
            let own = &mut y[node.first..node.first + node.width];
            for (k, column) in panel.chunks_exact(node.stride()).enumerate().rev() {
                let known = dot(&column[k + 1..node.width], &own[k + 1..]) + dot(&column[node.width..], &below);
                own[k] = (own[k] - known) / column[k];
            }
        }
        for (value, &k) in y.iter().zip(order) {
            x[k as usize] = *value;
        }
    }

    /// The panel of a supernode, and the rows below it.
    fn parts(&self, node: &Supernode) -> (&[f64], &[u32]) {
        let panel = &self.values[node.panel..node.panel + node.width * node.stride()];
        (panel, &self.symbolic.rows[node.rows..node.rows + node.below])
    }
}
