//! The symbolic part of a Cholesky factorisation: the order of elimination, and the supernodes of the factor.
//!
//! A supernode is a set of consecutive columns of L with the same rows below them. Its columns are a dense panel; the rows below leave an update
//! matrix, which is added to the front of its parent (J. Liu, "The Multifrontal Method for Sparse Matrix Solution", 1992). Small supernodes are
//! merged with their parents where few zeros are stored for it (C. Ashcraft and R. Grimes, "The Influence of Relaxed Supernode Partitions
//! on the Multifrontal Method", 1989), by the thresholds of CHOLMOD.
//!
//! All of it is computed on blocks and then written out for their columns.

use crate::loops::panels::TILE;
use residua_base::list::{Listed, PushAll};

use super::elimination_tree::{NONE, elimination_tree, postorder};
use super::normal_matrix::NormalMatrix;
use super::ordering;

/// In which order blocks are eliminated.
#[derive(Clone, Debug)]
pub enum Order {
    /// By approximate minimum degree.
    MinimumDegree,
    /// These before the others, which follow by minimum degree.
    Before(Vec<u32>),
    /// These, and then the others in one dense supernode.
    BeforeDense(Vec<u32>),
}

/// A block of the matrix that a panel begins with.
#[derive(Clone, Copy, Debug)]
pub struct BlockLoad {
    /// The number of the stored block.
    pub block: u32,
    /// Where it goes in the panel.
    pub row: u32,
    /// See `row`.
    pub column: u32,
    /// Its rows and columns in the panel.
    pub rows: u32,
    /// See `rows`.
    pub cols: u32,
    /// Whether its rows are columns of the matrix.
    pub is_transposed: bool,
}

/// Consecutive columns of L, as a panel of `width` columns with a row for each of them and `below` further rows.
#[derive(Clone, Copy, Debug)]
pub struct Supernode {
    /// The first column, in the order of elimination.
    pub first: usize,
    /// How many columns.
    pub width: usize,
    /// How many rows below.
    pub below: usize,
    /// Where its rows begin in [`Supernodes::rows`].
    pub rows: usize,
    /// Where its panel begins among the numbers of the factor.
    pub panel: usize,
    /// Where its loads begin.
    pub loads: usize,
    /// The supernode whose columns its rows begin with.
    pub parent: u32,
}

impl Supernode {
    /// From column to column of the panel.
    pub fn stride(&self) -> usize {
        self.width + self.update_stride()
    }

    /// From column to column of the update matrix.
    pub fn update_stride(&self) -> usize {
        self.below.next_multiple_of(TILE)
    }
}

/// The order and the supernodes.
#[derive(Clone, Debug)]
pub struct Supernodes {
    /// The column that is eliminated as number `k`.
    pub order: Vec<u32>,
    /// The supernodes, each after its children.
    pub nodes: Vec<Supernode>,
    /// The rows below each supernode, ascending, in the order of elimination.
    pub rows: Vec<u32>,
    /// The same rows in the front of its parent: first the parent's columns, then its rows below.
    pub relative: Vec<u32>,
    /// The blocks that each panel begins with.
    pub loads: Vec<BlockLoad>,
    /// How many numbers the panels have.
    pub len: u64,
    /// How many numbers of L are not zero by its structure.
    pub entries: u64,
}

/// Columns of blocks while supernodes are merged.
struct Group {
    first: usize,
    last: usize,
    width: u64,
    below: u64,
    zeros: u64,
}

impl Group {
    fn entries(&self) -> u64 {
        self.width * (self.width + 1) / 2 + self.width * self.below
    }

    /// Whether a child is taken into this group, which follows it. Gives the zeros that are stored for it.
    fn zeros_with(&self, child: &Group) -> Option<u64> {
        let merged =
            Group { first: child.first, last: self.last, width: child.width + self.width, below: self.below, zeros: 0 };
        let entries = merged.entries();
        let zeros = entries - child.entries() - self.entries() + child.zeros + self.zeros;
        let share = zeros as f64 / entries as f64;
        let most = match merged.width {
            0..=4 => 1.0,
            5..=16 => 0.8,
            17..=48 => 0.1,
            _ => 0.05,
        };
        (share < most).then_some(zeros)
    }
}

impl Supernodes {
    /// The supernodes of a matrix.
    pub fn new(matrix: &NormalMatrix, order: &Order) -> Supernodes {
        let blocks = matrix.layout.len();
        let dims = matrix.layout.dims();
        let (order, is_dense_from) = match order {
            Order::MinimumDegree => (minimum_degree(matrix, &dims, &[]), None),
            Order::Before(group) => (minimum_degree(matrix, &dims, group), None),
            Order::BeforeDense(group) => {
                let (order, count) = dense_last(matrix, group);
                (order, Some(count))
            }
        };
        let entries = entries_by_column(matrix, &inverse(&order));
        let dim = |k: usize| u64::from(dims[order[k] as usize]);
        let (structures, groups) = match is_dense_from {
            Some(count) => dense_complement(&entries, count, blocks, dim),
            None => {
                let (structures, is_last) = structures(&entries, &tree_of(matrix, &inverse(&order)));
                let groups = groups(&structures, &is_last, dim);
                (structures, groups)
            }
        };
        let len = groups.iter().map(Group::entries).sum();
        let groups = if is_dense_from.is_some() { groups } else { merge(groups, &structures) };

        let mut starts = Vec::with_capacity(blocks + 1);
        let mut columns = Vec::with_capacity(matrix.layout.block_of.len());
        for &block in &order {
            starts.push(columns.len() as u32);
            columns.push_all(matrix.layout.columns(block as usize).map(|column| column as u32));
        }
        starts.push(columns.len() as u32);
        let mut symbolic = Supernodes {
            order: columns,
            nodes: Vec::new(),
            rows: Vec::new(),
            relative: Vec::new(),
            loads: Vec::new(),
            len: 0,
            entries: len,
        };
        symbolic.write_out(&groups, structures, &starts, &entries);
        symbolic
    }

    /// How many multiplications a factorisation takes: half the sum of the squared lengths of the panels' columns.
    pub fn multiplications(&self) -> f64 {
        let of_node = |node: &Supernode| -> f64 {
            (0..node.width).map(|k| 0.5 * ((node.width - k + node.below) as f64).powi(2)).sum()
        };
        self.nodes.iter().map(of_node).sum()
    }

    /// The supernodes of groups of blocks. `starts` are the first columns of blocks in the order of elimination.
    fn write_out(&mut self, groups: &[Group], mut structures: Vec<Vec<u32>>, starts: &[u32], entries: &Lists<Entry>) {
        let dim = |block: usize| starts[block + 1] - starts[block];
        let mut node_of = vec![0u32; starts.len() - 1];
        for (number, group) in (0u32..).zip(groups) {
            node_of[group.first..=group.last].fill(number);
        }
        // The row of each block in the front at hand.
        let mut row_of = vec![0u32; starts.len() - 1];
        for group in groups {
            let mut structure = std::mem::take(&mut structures[group.last]);
            structure.sort_unstable();
            let first = starts[group.first];
            let node = Supernode {
                first: first as usize,
                width: group.width as usize,
                below: group.below as usize,
                rows: self.rows.len(),
                panel: self.len as usize,
                loads: self.loads.len(),
                parent: structure.first().map_or(NONE, |&block| node_of[block as usize]),
            };
            for block in group.first..=group.last {
                row_of[block] = starts[block] - first;
            }
            let mut row = node.width as u32;
            for &block in &structure {
                let block = block as usize;
                row_of[block] = row;
                row += dim(block);
                self.rows.push_all(starts[block]..starts[block + 1]);
            }
            for (column, &start) in starts.iter().enumerate().take(group.last + 1).skip(group.first) {
                self.loads.push_all(entries.of(column).iter().map(|entry| BlockLoad {
                    block: entry.block,
                    row: row_of[entry.row as usize],
                    column: start - first,
                    rows: dim(entry.row as usize),
                    cols: dim(column),
                    is_transposed: entry.is_transposed,
                }));
            }
            self.len += (node.width * node.stride()) as u64;
            self.nodes.push(node);
        }
        self.find_relative_rows();
    }

    fn find_relative_rows(&mut self) {
        self.relative.resize(self.rows.len(), 0);
        for node in &self.nodes {
            let Some(parent) = self.nodes.get(node.parent as usize) else { continue };
            let end = (parent.first + parent.width) as u32;
            let of_parent = &self.rows[parent.rows..parent.rows + parent.below];
            let mut position = 0;
            let rows = node.rows..node.rows + node.below;
            for (relative, &row) in self.relative[rows.clone()].iter_mut().zip(&self.rows[rows]) {
                if row < end {
                    *relative = row - parent.first as u32;
                    continue;
                }
                while of_parent[position] != row {
                    position += 1;
                }
                *relative = (parent.width + position) as u32;
            }
        }
    }
}

/// The blocks in an order of minimum degree after those of `beginning`, with the descendants in the elimination tree directly before each.
fn minimum_degree(matrix: &NormalMatrix, dims: &[u32], beginning: &[u32]) -> Vec<u32> {
    let (offsets, rows) = strict_lower_half(matrix);
    let order = ordering::order(&offsets, &rows, dims, beginning);
    postorder(&tree_of(matrix, &inverse(&order))).iter().map(|&k| order[k as usize]).list()
}

/// Blocks without entries beside the diagonal, those of a group, and the others; and how many are not among the others.
fn dense_last(matrix: &NormalMatrix, group: &[u32]) -> (Vec<u32>, usize) {
    let count = matrix.layout.len();
    let mut is_other = vec![false; count];
    for column in 0..count {
        for &row in &matrix.rows[matrix.column(column)][1..] {
            is_other[column] = true;
            is_other[row as usize] = true;
        }
    }
    let mut order = (0..count as u32).filter(|&block| !is_other[block as usize]).list();
    for &block in group {
        is_other[block as usize] = false;
        order.push(block);
    }
    let before = order.len();
    order.push_all((0..count as u32).filter(|&block| is_other[block as usize]));
    (order, before)
}

/// A supernode for each of the first `count` blocks, which are independent, and one for all others.
fn dense_complement(
    entries: &Lists<Entry>,
    count: usize,
    blocks: usize,
    dim: impl Fn(usize) -> u64,
) -> (Vec<Vec<u32>>, Vec<Group>) {
    let below_of = |column: usize| {
        let rows = entries.of(column).iter().map(|entry| entry.row);
        rows.filter(|&row| row as usize != column).list()
    };
    let mut structures: Vec<Vec<u32>> = (0..count).map(below_of).list();
    structures.resize(blocks, Vec::new());
    let mut groups = Vec::with_capacity(count + 1);
    for (column, structure) in structures[..count].iter().enumerate() {
        let below = structure.iter().map(|&row| dim(row as usize)).sum();
        groups.push(Group { first: column, last: column, width: dim(column), below, zeros: 0 });
    }
    if count < blocks {
        let width = (count..blocks).map(dim).sum();
        groups.push(Group { first: count, last: blocks - 1, width, below: 0, zeros: 0 });
    }
    (structures, groups)
}

fn inverse(order: &[u32]) -> Vec<u32> {
    let mut place = vec![0u32; order.len()];
    for (position, &block) in (0..).zip(order) {
        place[block as usize] = position;
    }
    place
}

/// The blocks below the diagonal by block columns.
fn strict_lower_half(matrix: &NormalMatrix) -> (Vec<u32>, Vec<u32>) {
    let mut offsets = vec![0];
    let mut rows = Vec::with_capacity(matrix.rows.len());
    for column in 0..matrix.layout.len() {
        rows.extend_from_slice(&matrix.rows[matrix.column(column)][1..]);
        offsets.push(rows.len() as u32);
    }
    (offsets, rows)
}

/// A list for each block column, one after another.
struct Lists<T> {
    offsets: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy + Default> Lists<T> {
    /// Files what `each` gives: items with their columns.
    fn new(columns: usize, each: impl Fn(&mut dyn FnMut(u32, T))) -> Lists<T> {
        let mut offsets = vec![0u32; columns + 1];
        each(&mut |column, _| offsets[column as usize + 1] += 1);
        for column in 0..columns {
            offsets[column + 1] += offsets[column];
        }
        let mut next = offsets.clone();
        let mut items = vec![T::default(); offsets[columns] as usize];
        each(&mut |column, item| {
            let place = &mut next[column as usize];
            items[*place as usize] = item;
            *place += 1;
        });
        Lists { offsets, items }
    }

    fn of(&self, column: usize) -> &[T] {
        &self.items[self.offsets[column] as usize..self.offsets[column + 1] as usize]
    }
}

/// A stored block in the order of elimination.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    block: u32,
    row: u32,
    is_transposed: bool,
}

/// The lower half in the order of elimination, with the diagonal.
fn entries_by_column(matrix: &NormalMatrix, place: &[u32]) -> Lists<Entry> {
    Lists::new(place.len(), |file| {
        for (column, &p) in place.iter().enumerate() {
            for block in matrix.column(column) {
                let q = place[matrix.rows[block] as usize];
                file(p.min(q), Entry { block: block as u32, row: p.max(q), is_transposed: q < p });
            }
        }
    })
}

/// The elimination tree of an order.
fn tree_of(matrix: &NormalMatrix, place: &[u32]) -> Vec<u32> {
    let upper: Lists<u32> = Lists::new(place.len(), |file| {
        for (column, &p) in place.iter().enumerate() {
            for &row in &matrix.rows[matrix.column(column)][1..] {
                let q = place[row as usize];
                file(p.max(q), p.min(q));
            }
        }
    });
    elimination_tree(&upper.offsets, &upper.items)
}

/// The rows of L below the diagonal of each column that is the last of a supernode, unsorted, and empty lists for the others; and whether
/// each column is the last of one. A column continues the supernode of the one before it if that has no other rows.
fn structures(entries: &Lists<Entry>, tree: &[u32]) -> (Vec<Vec<u32>>, Vec<bool>) {
    let blocks = tree.len();
    let children: Lists<u32> = Lists::new(blocks, |file| {
        for (child, &parent) in (0u32..).zip(tree) {
            if parent != NONE {
                file(parent, child);
            }
        }
    });
    let mut structures: Vec<Vec<u32>> = vec![Vec::new(); blocks];
    let mut is_last = vec![true; blocks];
    let mut mark = vec![NONE; blocks];
    for column in 0..blocks {
        mark[column] = column as u32;
        let mut rows = Vec::new();
        let mut add = |row: u32| {
            if mark[row as usize] != column as u32 {
                mark[row as usize] = column as u32;
                rows.push(row);
            }
        };
        entries.of(column).iter().for_each(|entry| add(entry.row));
        for &child in children.of(column) {
            structures[child as usize].iter().for_each(|&row| add(row));
        }
        if column > 0 && tree[column - 1] == column as u32 && structures[column - 1].len() == rows.len() + 1 {
            is_last[column - 1] = false;
            structures[column - 1] = Vec::new();
        }
        structures[column] = rows;
    }
    (structures, is_last)
}

/// The supernodes before any is merged.
fn groups(structures: &[Vec<u32>], is_last: &[bool], dim: impl Fn(usize) -> u64) -> Vec<Group> {
    let mut groups = Vec::new();
    let (mut first, mut width) = (0, 0);
    for (column, structure) in structures.iter().enumerate() {
        width += dim(column);
        if is_last[column] {
            let below = structure.iter().map(|&row| dim(row as usize)).sum();
            groups.push(Group { first, last: column, width, below, zeros: 0 });
            (first, width) = (column + 1, 0);
        }
    }
    groups
}

/// Merges supernodes with their parents.
fn merge(groups: Vec<Group>, structures: &[Vec<u32>]) -> Vec<Group> {
    let mut merged: Vec<Group> = Vec::with_capacity(groups.len());
    for mut group in groups {
        while let Some(child) = merged.last() {
            let is_child =
                structures[child.last].iter().any(|&row| (group.first..=group.last).contains(&(row as usize)));
            let Some(zeros) = is_child.then(|| group.zeros_with(child)).flatten() else { break };
            (group.first, group.width, group.zeros) = (child.first, group.width + child.width, zeros);
            merged.pop();
        }
        merged.push(group);
    }
    merged
}
