//! The order in which a sparse symmetric matrix is eliminated so that its factor has few entries: the approximate minimum degree of P. Amestoy,
//! T. Davis and I. Duff ("An Approximate Minimum Degree Ordering Algorithm", 1996). Takes the pattern of the strict lower half, gives
//! the columns in their order.
//!
//! What is left of a matrix after some steps is a quotient graph: an eliminated column becomes an *element*, the clique of those
//! that it touched, in place of all the edges between them. Letters are the paper's: 𝒜ᵢ are the edges that are left of variable i,
//! ℰᵢ the elements that it is in, ℒₑ the variables of element e. Variables that nothing tells apart are taken as one, of their joint weight.

use residua_base::list::Listed;

/// Columns with more neighbours than this times the root of their number go last: they touch nearly everything anyhow (section 5 of the
/// user guide of the same authors' program).
const DENSE: f64 = 10.0;
const FEW_NEIGHBOURS: f64 = 16.0;

/// No variable, in lists by degree.
const NONE: u32 = u32::MAX;

struct Quotient {
    /// 𝒜, by variable.
    edges: Vec<Vec<u32>>,
    /// ℰ, by variable.
    elements: Vec<Vec<u32>>,
    /// ℒ, by element: an element has the number of its pivot.
    members: Vec<Vec<u32>>,
    /// How many columns a variable stands for, 0 if it is gone.
    weight: Vec<u32>,
    /// The weight of an element's members, 0 for what is no element any more.
    size: Vec<u32>,
    /// |ℒₑ \ ℒₚ| while pivot p is eliminated, by element; it counts where `seen` is p.
    outside: Vec<u32>,
    seen: Vec<u32>,
    /// Approximate degrees.
    degree: Vec<u32>,
    /// Columns that are eliminated with a variable, after it.
    followers: Vec<Vec<u32>>,
    /// The last stamp that marked a variable or element.
    mark: Vec<u32>,
    stamp: u32,
    /// Variables that are eliminated after all others.
    ends: Vec<bool>,
    /// Variables of each degree, as lists linked both ways: those that end behind the others.
    first: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
}

/// The columns in the order of their elimination. `offsets` and `rows` are the strict lower half of the pattern by columns; a column of
/// `weights` w stands for w columns of one pattern. The columns of `beginning` are eliminated before all others, in their order.
pub fn order(offsets: &[u32], rows: &[u32], weights: &[u32], beginning: &[u32]) -> Vec<u32> {
    let count = offsets.len() - 1;
    let mut edges: Vec<Vec<u32>> = vec![Vec::new(); count];
    for column in 0..count {
        for &row in &rows[offsets[column] as usize..offsets[column + 1] as usize] {
            edges[column].push(row);
            edges[row as usize].push(column as u32);
        }
    }
    order_graph(edges, &[], weights, beginning, &[])
}

/// The same of a graph: for each column those that share an entry with it, and cliques of columns all of which share one. The columns of `ending` are
/// eliminated after all others but those with very many neighbours.
pub fn order_graph(
    edges: Vec<Vec<u32>>,
    cliques: &[&[u32]],
    weights: &[u32],
    beginning: &[u32],
    ending: &[u32],
) -> Vec<u32> {
    let count = edges.len();
    let most = (DENSE * (count as f64).sqrt()).max(FEW_NEIGHBOURS) as usize;
    let mut neighbours = edges.iter().map(Vec::len).list();
    for clique in cliques {
        clique.iter().for_each(|&column| neighbours[column as usize] += clique.len() - 1);
    }
    let mut begins = vec![false; count];
    beginning.iter().for_each(|&column| begins[column as usize] = true);
    let (last, others): (Vec<u32>, Vec<u32>) =
        (0..count as u32).partition(|&column| neighbours[column as usize] > most && !begins[column as usize]);
    let mut ends = vec![false; count];
    ending.iter().for_each(|&column| ends[column as usize] = true);
    let mut weight = weights.to_vec();
    let total: u32 = weights.iter().sum();
    for &column in &last {
        weight[column as usize] = 0;
    }
    let sum_of = |columns: &[u32]| columns.iter().map(|&column| weight[column as usize]).sum::<u32>();
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); count];
    let mut elements: Vec<Vec<u32>> = vec![Vec::new(); count];
    let mut size = vec![0; count];
    let mut degrees = edges.iter().map(|edges| sum_of(edges)).list();
    // A clique is an element from the start, with a number that no variable has.
    for (number, clique) in (count as u32..).zip(cliques) {
        let of_clique = sum_of(clique);
        for &column in *clique {
            elements[column as usize].push(number);
            degrees[column as usize] += of_clique.saturating_sub(weight[column as usize]);
        }
        members.push(clique.to_vec());
        size.push(of_clique);
    }
    let nodes = members.len();
    let mut graph = Quotient {
        edges,
        elements,
        members,
        weight,
        size,
        outside: vec![0; nodes],
        seen: vec![NONE; nodes],
        degree: vec![0; count],
        followers: vec![Vec::new(); count],
        mark: vec![0; nodes],
        stamp: 0,
        ends,
        first: vec![NONE; 2 * (total as usize + 1)],
        next: vec![NONE; count],
        previous: vec![NONE; count],
    };
    for &column in &others {
        graph.file(column, degrees[column as usize].min(total));
    }
    let mut order = Vec::with_capacity(count);
    let mut left: u32 = others.iter().map(|&column| weights[column as usize]).sum();
    let mut least = 0;
    let mut beginning = beginning.iter();
    while left > 0 {
        let pivot = match beginning.next() {
            // It was eliminated with another one.
            Some(&column) if graph.weight[column as usize] == 0 => continue,
            Some(&column) => column,
            None => {
                while graph.first[least] == NONE {
                    least += 1;
                }
                graph.first[least]
            }
        };
        let start = order.len();
        graph.eliminate(pivot, left, &mut least);
        // Followers have followers in turn.
        order.push(pivot);
        let mut position = start;
        while position < order.len() {
            order.append(&mut graph.followers[order[position] as usize]);
            position += 1;
        }
        left -= order[start..].iter().map(|&column| weights[column as usize]).sum::<u32>();
    }
    order.extend_from_slice(&last);
    order
}

impl Quotient {
    /// Puts a variable among those of its degree.
    fn file(&mut self, variable: u32, degree: u32) {
        self.degree[variable as usize] = degree;
        let list = self.list_of(variable);
        let head = self.first[list];
        (self.next[variable as usize], self.previous[variable as usize]) = (head, NONE);
        if head != NONE {
            self.previous[head as usize] = variable;
        }
        self.first[list] = variable;
    }

    /// Where a variable is filed.
    fn list_of(&self, variable: u32) -> usize {
        let behind = if self.ends[variable as usize] { self.first.len() / 2 } else { 0 };
        behind + self.degree[variable as usize] as usize
    }

    /// Takes it from there.
    fn remove(&mut self, variable: u32) {
        let (next, previous) = (self.next[variable as usize], self.previous[variable as usize]);
        match previous {
            NONE => {
                let list = self.list_of(variable);
                self.first[list] = next;
            }
            _ => self.next[previous as usize] = next,
        }
        if next != NONE {
            self.previous[next as usize] = previous;
        }
    }

    /// Makes a variable an element. `left` columns are not eliminated before; no variable is left of a degree below `least`.
    fn eliminate(&mut self, pivot: u32, left: u32, least: &mut usize) {
        let p = pivot as usize;
        self.remove(pivot);
        let of_pivot = self.neighbours(p);
        let mut size: u32 = 0;
        for &i in &of_pivot {
            self.remove(i);
            size += self.weight[i as usize];
            for &e in &self.elements[i as usize] {
                let e = e as usize;
                if self.seen[e] != pivot {
                    (self.seen[e], self.outside[e]) = (pivot, self.size[e]);
                }
                self.outside[e] = self.outside[e].saturating_sub(self.weight[i as usize]);
            }
        }
        let mut left = left - std::mem::take(&mut self.weight[p]);
        let mut hashes: Vec<u64> = Vec::new();
        for &i in &of_pivot {
            let (outside, hash) = self.prune(i as usize, pivot);
            if outside > 0 || self.ends[i as usize] && !self.ends[p] {
                self.degree[i as usize] = self.degree[i as usize].min(outside);
                hashes.push(u64::from(hash) << 32 | u64::from(i));
            } else {
                // Nothing but the pivot's clique touches it: it may as well go now.
                self.followers[p].push(i);
                let own = std::mem::take(&mut self.weight[i as usize]);
                (size, left) = (size - own, left - own);
            }
        }
        hashes.sort_unstable();
        self.join_equal(&hashes);
        let members = of_pivot.into_iter().filter(|&i| self.weight[i as usize] > 0).list();
        for &i in &members {
            // Those outside the clique, and the others within.
            let own = self.weight[i as usize];
            let degree = (self.degree[i as usize] + size - own).min(left - own);
            self.file(i, degree);
            *least = (*least).min(self.list_of(i));
        }
        self.size[p] = size;
        self.members[p] = members;
    }

    /// ℒₚ of a variable that becomes an element, which takes in those that it is in.
    fn neighbours(&mut self, p: usize) -> Vec<u32> {
        self.stamp += 1;
        self.mark[p] = self.stamp;
        let mut lists = vec![std::mem::take(&mut self.edges[p])];
        for e in std::mem::take(&mut self.elements[p]) {
            self.size[e as usize] = 0;
            lists.push(std::mem::take(&mut self.members[e as usize]));
        }
        let mut neighbours = Vec::new();
        for i in lists.into_iter().flatten() {
            if self.weight[i as usize] > 0 && self.mark[i as usize] != self.stamp {
                self.mark[i as usize] = self.stamp;
                neighbours.push(i);
            }
        }
        neighbours
    }

    /// Leaves to a member of the pivot's clique the edges and elements that lead out of it, and the clique; gives the weight of what they lead
    /// to, counted double where elements overlap, and a number that depends on where they lead alone.
    fn prune(&mut self, i: usize, pivot: u32) -> (u32, u32) {
        let Quotient { edges, elements, size, outside, weight, mark, .. } = self;
        let (mut sum, mut hash) = (0u32, 0u32);
        elements[i].retain(|&e| {
            // An element within the clique is the clique's.
            if size[e as usize] > 0 && outside[e as usize] == 0 {
                size[e as usize] = 0;
            }
            let kept = size[e as usize] > 0;
            if kept {
                sum = sum.saturating_add(outside[e as usize]);
                hash = hash.wrapping_add(e);
            }
            kept
        });
        edges[i].retain(|&j| {
            let kept = weight[j as usize] > 0 && mark[j as usize] != self.stamp;
            if kept {
                sum = sum.saturating_add(weight[j as usize]);
                hash = hash.wrapping_add(j);
            }
            kept
        });
        elements[i].push(pivot);
        (sum, hash)
    }

    /// Joins variables that have the same edges and elements; they are among those of the same hash, the upper half of each number.
    fn join_equal(&mut self, hashes: &[u64]) {
        for (position, &number) in hashes.iter().enumerate() {
            let i = number as u32 as usize;
            if self.weight[i] == 0 {
                continue;
            }
            self.stamp += 1;
            for &reached in self.edges[i].iter().chain(&self.elements[i]) {
                self.mark[reached as usize] = self.stamp;
            }
            for &other in hashes[position + 1..].iter().take_while(|&other| other >> 32 == number >> 32) {
                let j = other as u32 as usize;
                let same = self.weight[j] > 0
                    && self.ends[j] == self.ends[i]
                    && self.edges[j].len() == self.edges[i].len()
                    && self.elements[j].len() == self.elements[i].len()
                    && self.edges[j].iter().chain(&self.elements[j]).all(|&r| self.mark[r as usize] == self.stamp);
                if same {
                    self.weight[i] += std::mem::take(&mut self.weight[j]);
                    self.followers[i].push(j as u32);
                    (self.edges[j], self.elements[j]) = (Vec::new(), Vec::new());
                }
            }
        }
    }
}
