//! Subtrees of an elimination tree that threads factorise side by side.
//!
//! A subtree is a range of supernodes, of which the last is the root: all others have their parents in it. Its update matrices stand in memory that is made
//! before, one behind that of its parent, so that those at work form a stack. What the root leaves is added to its parent afterwards, in the order of the
//! supernodes: the factor has the same bits as if one supernode came after another.

use std::ops::Range;

use residua_base::list::Listed;
use residua_base::threads::{Divided, for_each_piece};

use super::cholesky::node_work;
use super::elimination_tree::NONE;
use super::fronts::{Matrix, add_to_parent, factorise_columns, subtract_from_update};
use super::supernodes::{Supernode, Supernodes};

/// Multiplications of a subtree at most, and those that threads do before the caller is asked whether to go on: some milliseconds, and some more of one thread.
const SUBTREE: f64 = 2e7;
const TOGETHER: f64 = 1.2e8;
/// Numbers of the update matrices of roots that wait for their parents: of a piece, and of all. They stay in caches until they are added.
const PIECE_WAITING: usize = 1 << 15;
const WAITING: usize = 1 << 19;
/// Pieces that there are at least, if there is work for them.
const LEAST_PIECES: usize = 16;
/// A subtree has at most this part of all work, so that there are some for every thread.
const SHARE: f64 = 1.0 / 16.0;

/// The subtrees of a factorisation.
#[derive(Clone, Debug, Default)]
pub(super) struct Subtrees {
    /// The supernodes of each, ascending.
    list: Vec<Range<usize>>,
    /// Multiplications of each.
    work: Vec<f64>,
    /// For each supernode where its update matrix begins in the memory of its subtree.
    starts: Vec<usize>,
    /// Numbers of that memory.
    memory: Vec<usize>,
    /// Whether a supernode has children, and whether it is the first of its parent's.
    has_children: Vec<bool>,
    is_first_child: Vec<bool>,
    /// The most work of a piece.
    piece: f64,
}

impl Subtrees {
    /// The largest subtrees of little work.
    pub fn new(symbolic: &Supernodes) -> Subtrees {
        let nodes = &symbolic.nodes;
        let mut below = nodes.iter().map(node_work).list();
        let all: f64 = below.iter().sum();
        let mut first = (0..nodes.len()).list();
        let (mut has_children, mut is_first_child) = (vec![false; nodes.len()], vec![false; nodes.len()]);
        for (number, node) in nodes.iter().enumerate() {
            let parent = node.parent as usize;
            if node.parent != NONE {
                below[parent] += below[number];
                first[parent] = first[parent].min(first[number]);
                is_first_child[number] = !std::mem::replace(&mut has_children[parent], true);
            }
        }
        let piece = SUBTREE.min(SHARE * all);
        let mut found = Subtrees {
            list: Vec::new(),
            work: Vec::new(),
            starts: vec![0; nodes.len()],
            memory: Vec::new(),
            has_children,
            is_first_child,
            piece,
        };
        for (number, node) in nodes.iter().enumerate() {
            let is_within = below.get(node.parent as usize).is_some_and(|work| *work <= piece);
            if below[number] <= piece && !is_within {
                found.add(nodes, first[number]..number + 1, below[number]);
            }
        }
        found
    }

    fn add(&mut self, nodes: &[Supernode], range: Range<usize>, work: f64) {
        let root = range.end - 1;
        let mut memory = 0;
        for number in range.clone().rev() {
            let parent = nodes[number].parent as usize;
            if number < root {
                let of_parent = if parent < root { update_len(&nodes[parent]) } else { 0 };
                self.starts[number] = self.starts[parent] + of_parent;
                memory = memory.max(self.starts[number] + update_len(&nodes[number]));
            }
        }
        self.list.push(range);
        self.work.push(work);
        self.memory.push(memory);
    }

    /// The end of the subtrees from one on, and before another, that follow one another and have one parent.
    pub fn end_of_siblings(&self, from: usize, end: usize, nodes: &[Supernode]) -> usize {
        let parent = |subtree: usize| nodes[self.list[subtree].end - 1].parent;
        let follows = |&next: &usize| {
            self.list[next].start == self.list[next - 1].end && parent(next) == parent(from) && parent(from) != NONE
        };
        from + 1 + (from + 1..end).take_while(follows).count()
    }

    /// The supernodes of a subtree.
    pub fn get(&self, subtree: usize) -> Option<&Range<usize>> {
        self.list.get(subtree)
    }

    /// Factorises subtrees from one on, as many as are done before the caller is asked again; gives the subtree after the last, and the multiplications. The
    /// update matrices of their roots go to `updates`, others to `memory`, and columns without a pivot above `least` are marked.
    pub fn factorise(
        &self,
        from: usize,
        matrix: &Matrix,
        least: f64,
        factor: &mut [f64],
        (updates, memory): (&mut [Vec<f64>], &mut Vec<f64>),
        is_left_out: &mut [bool],
    ) -> (usize, f64) {
        let nodes = &matrix.symbolic.nodes;
        let root = |subtree: usize| self.list[subtree].end - 1;
        let (mut end, mut work, mut waiting) = (from, 0.0, 0);
        // Pieces, each with where its memory begins.
        let mut pieces: Vec<(Range<usize>, usize)> = Vec::new();
        let (mut of_piece, mut of_memory, mut all_memory, mut piece_waiting) = (f64::INFINITY, 0, 0, 0);
        while end < self.list.len() && work < TOGETHER && (waiting < WAITING || pieces.len() < LEAST_PIECES) {
            if of_piece + self.work[end] > self.piece || piece_waiting > PIECE_WAITING {
                all_memory += of_memory;
                pieces.push((end..end, all_memory));
                (of_piece, of_memory, piece_waiting) = (0.0, 0, 0);
            }
            of_piece += self.work[end];
            of_memory = of_memory.max(self.memory[end]);
            work += self.work[end];
            waiting += update_len(&nodes[root(end)]);
            piece_waiting += update_len(&nodes[root(end)]);
            end += 1;
            if let Some((piece, _)) = pieces.last_mut() {
                piece.end = end;
            }
        }
        all_memory += of_memory;

        memory.resize(all_memory.max(memory.len()), 0.0);
        let mut of_roots = (from..end).map(|subtree| vec![0.0; update_len(&nodes[root(subtree)])]).list();
        let run =
            Run { subtrees: self, matrix, least, factor: Divided::new(factor), is_left_out: Divided::new(is_left_out) };
        let (shared, roots) = (Divided::new(memory), of_roots.iter_mut().map(|numbers| Divided::new(numbers)).list());
        for_each_piece(pieces.len(), |piece| {
            let (subtrees, start) = &pieces[piece];
            for subtree in subtrees.clone() {
                let nodes = &self.list[subtree];
                // SAFETY: a piece has memory of its own, and a root its update matrix.
                let memory = unsafe { shared.part(*start..start + self.memory[subtree]) };
                let of_root =
                    unsafe { roots[subtree - from].part(0..update_len(&matrix.symbolic.nodes[nodes.end - 1])) };
                run.factorise(nodes.clone(), memory, of_root);
            }
        });
        drop(roots);
        for (subtree, update) in (from..end).zip(of_roots) {
            updates[root(subtree)] = update;
        }
        (end, work)
    }
}

/// What the pieces of a run share.
struct Run<'a> {
    subtrees: &'a Subtrees,
    matrix: &'a Matrix<'a>,
    least: f64,
    factor: Divided<'a, f64>,
    is_left_out: Divided<'a, bool>,
}

impl Run<'_> {
    /// Factorises the supernodes of a subtree; the update matrix of the root is `of_root`, of zeros.
    fn factorise(&self, numbers: Range<usize>, memory: &mut [f64], of_root: &mut [f64]) {
        let Run { subtrees, matrix, least, .. } = self;
        let symbolic = matrix.symbolic;
        let root = numbers.end - 1;
        for number in numbers {
            let node = &symbolic.nodes[number];
            // SAFETY: the panels of a subtree are those of one piece.
            let panel = unsafe { self.factor.part(panel_of(node)) };
            matrix.load(number, panel);
            let mut column = 0;
            while column < node.width {
                // SAFETY: the columns of a subtree are those of one piece.
                let mut leave_out = |column| unsafe {
                    self.is_left_out.part(node.first + column..node.first + column + 1)[0] = true;
                };
                (column, _) = factorise_columns(panel, node, column, *least, &mut leave_out);
            }
            let starts = !subtrees.has_children[number];
            if number == root {
                subtract_from_update(panel, of_root, node, (0, node.below), starts);
                return;
            }
            let (before, own) = memory.split_at_mut(subtrees.starts[number]);
            let own = &mut own[..update_len(node)];
            subtract_from_update(panel, own, node, (0, node.below), starts);
            let parent = node.parent as usize;
            let of_parent = if parent == root { &mut *of_root } else { &mut before[subtrees.starts[parent]..] };
            let of_parent = &mut of_parent[..update_len(&symbolic.nodes[parent])];
            if subtrees.is_first_child[number] {
                of_parent.fill(0.0);
            }
            // SAFETY: as above.
            let panel = unsafe { self.factor.part(panel_of(&symbolic.nodes[parent])) };
            add_to_parent(symbolic, &[(number, own)], panel, of_parent);
        }
    }
}

/// Where the panel of a supernode stands.
pub(super) fn panel_of(node: &Supernode) -> Range<usize> {
    node.panel..node.panel + node.width * node.stride()
}

/// Numbers of an update matrix.
pub(super) fn update_len(node: &Supernode) -> usize {
    node.update_stride() * node.below
}
