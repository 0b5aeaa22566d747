//! The ordering against minimum degree as it is defined.

use super::ordering::{order, order_graph};
use super::tests::{grid, random};
use std::collections::BTreeSet;

/// The strict lower half of a symmetric pattern: who stands after each column and touches it.
pub struct Below {
    pub offsets: Vec<u32>,
    pub rows: Vec<u32>,
}

impl Below {
    pub fn of(count: usize, edges: &[(usize, usize)]) -> Below {
        let mut columns = vec![BTreeSet::new(); count];
        for &(a, b) in edges.iter().filter(|(a, b)| a != b) {
            columns[a.min(b)].insert(a.max(b) as u32);
        }
        let mut below = Below { offsets: vec![0], rows: Vec::new() };
        for column in columns {
            below.rows.extend(column);
            below.offsets.push(below.rows.len() as u32);
        }
        below
    }

    /// Entries of the factor below its diagonal, by elimination as it is defined.
    pub fn fill(&self, order: &[u32]) -> usize {
        let mut graph = Elimination::of(self);
        order.iter().map(|&pivot| graph.eliminate(pivot)).sum()
    }

    /// The columns by minimum degree as it is defined: the next one has the fewest neighbours of those that are left.
    fn by_minimum_degree(&self) -> Vec<u32> {
        let mut graph = Elimination::of(self);
        let mut left: Vec<u32> = (0..graph.neighbours.len() as u32).collect();
        let mut order = Vec::new();
        while let Some(place) = (0..left.len()).min_by_key(|&place| graph.neighbours[left[place] as usize].len()) {
            let pivot = left.remove(place);
            graph.eliminate(pivot);
            order.push(pivot);
        }
        order
    }
}

/// The neighbours of each column that is left.
struct Elimination {
    neighbours: Vec<BTreeSet<u32>>,
}

impl Elimination {
    fn of(below: &Below) -> Elimination {
        let mut neighbours = vec![BTreeSet::new(); below.offsets.len() - 1];
        for column in 0..neighbours.len() {
            for &row in &below.rows[below.offsets[column] as usize..below.offsets[column + 1] as usize] {
                neighbours[column].insert(row);
                neighbours[row as usize].insert(column as u32);
            }
        }
        Elimination { neighbours }
    }

    /// Makes the neighbours of a column neighbours of each other, and takes the column away; gives their number.
    fn eliminate(&mut self, pivot: u32) -> usize {
        let clique = std::mem::take(&mut self.neighbours[pivot as usize]);
        for &a in &clique {
            self.neighbours[a as usize].extend(clique.iter().filter(|&&b| a != b));
            self.neighbours[a as usize].remove(&pivot);
        }
        clique.len()
    }
}

/// Edges of neighbours in a grid of `side` × `side` blocks of `dim` columns.
fn grid_edges(side: usize, dim: usize) -> Vec<(usize, usize)> {
    let matrix = grid(side, dim);
    let row = |row: usize| &matrix.col_indices[matrix.row_offsets[row] as usize..matrix.row_offsets[row + 1] as usize];
    (0..matrix.row_offsets.len() - 1)
        .flat_map(|number| {
            row(number).iter().flat_map(move |&a| row(number).iter().map(move |&b| (a as usize, b as usize)))
        })
        .collect()
}

#[test]
fn the_factor_has_few_more_entries_than_by_minimum_degree() {
    let mut next = random(3);
    let mut place = |count: usize| ((0.5 * next() + 0.5) * count as f64) as usize % count;
    let scattered: Vec<(usize, usize)> = (0..900).map(|_| (place(400), place(400))).collect();
    let near: Vec<(usize, usize)> = (0..3000).map(|k| (k % 1000, (k % 1000 + 1 + place(8)) % 1000)).collect();
    let star: Vec<(usize, usize)> = (1..300).flat_map(|k| [(0, k), (k, (k + 1) % 300)]).collect();
    let table = [
        ("nothing", 0, vec![]),
        ("no edges", 5, vec![]),
        ("one edge", 3, vec![(0, 2)]),
        ("all edges", 30, (0..900).map(|k| (k / 30, k % 30)).collect()),
        ("a chain", 500, (1..500).map(|k| (k - 1, k)).collect()),
        ("a grid of numbers", 900, grid_edges(30, 1)),
        ("a grid of blocks", 1200, grid_edges(20, 3)),
        ("scattered", 400, scattered),
        ("near neighbours on a ring", 1000, near),
        ("one column that touches all", 300, star),
    ];
    for (name, count, edges) in table {
        let below = Below::of(count, &edges);
        let order = order(&below.offsets, &below.rows, &vec![1; count], &[]);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..count as u32).collect::<Vec<u32>>(), "{name}");
        let (ours, theirs) = (below.fill(&order), below.fill(&below.by_minimum_degree()));
        // Degrees are bounds, and ties are broken differently, which is worth some percent to either side.
        assert!(ours as f64 <= 1.08 * theirs as f64 + 2.0, "{name}: {ours} entries, {theirs} by minimum degree");
    }
}

#[test]
fn neighbours_in_cliques_count_as_those_of_edges() {
    // Two columns that share an entry with all others, which are a chain. They come last, whichever way that is told.
    let count = 600;
    let chain: Vec<(usize, usize)> = (3..count).map(|k| (k - 1, k)).collect();
    let hubs: Vec<[u32; 3]> = (2..count as u32).map(|k| [0, 1, k]).collect();
    let mut edges = vec![Vec::new(); count];
    chain.iter().for_each(|&(a, b)| {
        edges[a].push(b as u32);
        edges[b].push(a as u32);
    });
    let cliques: Vec<&[u32]> = hubs.iter().map(|hub| &hub[..]).collect();
    let mut order = order_graph(edges, &cliques, &vec![1; count], &[], &[]);
    let all = chain.iter().copied().chain((2..count).flat_map(|k| [(0, k), (1, k)])).chain([(0, 1)]);
    assert_eq!(Below::of(count, &all.collect::<Vec<_>>()).fill(&order), (count - 3) + 2 * (count - 2) + 1);
    let mut last = order.split_off(count - 2);
    last.sort_unstable();
    assert_eq!(last, [0, 1]);
}
