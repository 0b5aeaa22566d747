//! What the factorisation is for: δ, from the root down, and covariances.

use residua_base::list::{Listed, PushAll};

use super::state::{BayesTree, Clique, NONE, Variable};
use crate::loops::fronts::{solve_lower, solve_upper};

impl BayesTree {
    /// Computes δ of some cliques, parents first, and below them of those whose separator has changed by more than `threshold` since they were computed. Gives
    /// how many variables that are.
    pub(super) fn substitute(&mut self, top: &[u32], threshold: f64) -> usize {
        let mut solved = 0;
        let mut below = Vec::new();
        for &clique in top {
            solved += self.solve_clique(clique);
            // Those of `top` are solved in their turn.
            let is_old = |child: &&u32| !self.cliques[**child as usize].seen.is_empty();
            below.extend(self.cliques[clique as usize].children.iter().filter(is_old));
        }
        while let Some(clique) = below.pop() {
            if self.has_changed(clique, threshold) {
                solved += self.solve_clique(clique);
                below.extend_from_slice(&self.cliques[clique as usize].children);
            }
        }
        solved
    }

    /// Computes δ of all cliques, for what was left since it changed by little.
    pub(super) fn substitute_all(&mut self) -> usize {
        let is_root = |clique: &Clique| clique.parent == NONE && !clique.frontals.is_empty();
        let roots = (0..).zip(&self.cliques).filter(|(_, clique)| is_root(clique)).map(|(number, _)| number).list();
        // Every change is above it.
        self.substitute(&roots, -1.0)
    }

    fn has_changed(&self, clique: u32, threshold: f64) -> bool {
        let Clique { separator, seen, .. } = &self.cliques[clique as usize];
        let now = separator.iter().flat_map(|&variable| self.delta(variable));
        now.zip(seen).any(|(now, seen)| (now - seen).abs() > threshold)
    }

    /// δ of a clique's frontal variables; says how many.
    fn solve_clique(&mut self, number: u32) -> usize {
        let BayesTree { cliques, variables, delta, scratch, .. } = self;
        let clique = &mut cliques[number as usize];
        let place = |variable: &u32| {
            let Variable { first, dim, .. } = variables[*variable as usize];
            first..first + dim as usize
        };
        clique.seen.clear();
        clique.separator.iter().for_each(|variable| clique.seen.extend_from_slice(&delta[place(variable)]));
        let (stride, right_side) = (clique.stride(), clique.width + clique.below);
        scratch.clear();
        scratch.push_all(clique.panel.chunks_exact(stride).map(|column| column[right_side]));
        solve_upper(&clique.panel, stride, clique.width, &clique.seen, scratch);
        let mut rest = scratch.as_slice();
        for variable in &clique.frontals {
            let place = place(variable);
            let (own, others) = rest.split_at(place.len());
            delta[place].copy_from_slice(own);
            rest = others;
        }
        clique.frontals.len()
    }

    /// Variables with how many coordinates they have.
    fn dims<'a>(&'a self, variables: &'a [u32]) -> impl Iterator<Item = (u32, usize)> + 'a {
        variables.iter().map(|&variable| (variable, self.variables[variable as usize].dim as usize))
    }

    /// The covariance (JᵀJ)⁻¹ of some variables that the last update has eliminated: a square matrix of all their coordinates, row after row.
    ///
    /// Each column is solved for along the paths from these variables to the root.
    pub fn covariance(&mut self, variables: &[u32]) -> Vec<f64> {
        // Parents before children: an ancestor is nearer to the root.
        let mut path: Vec<(usize, u32)> = Vec::new();
        for &variable in variables {
            let mut own = Vec::new();
            let mut clique = self.variables[variable as usize].clique;
            while clique != NONE {
                own.push(clique);
                clique = self.cliques[clique as usize].parent;
            }
            path.extend(own.iter().rev().enumerate().map(|(depth, &clique)| (depth, clique)));
        }
        path.sort_unstable();
        path.dedup();
        let mut next = 0;
        for &(_, clique) in &path {
            for position in 0..self.cliques[clique as usize].frontals.len() {
                let variable = self.cliques[clique as usize].frontals[position];
                self.row[variable as usize] = next as u32;
                next += self.variables[variable as usize].dim as usize;
            }
        }
        let mut rows: Vec<u32> = Vec::new();
        for (variable, dim) in self.dims(variables) {
            let first = self.row[variable as usize];
            rows.extend(first..first + dim as u32);
        }
        let size = rows.len();
        let mut result = vec![0.0; size * size];
        let mut x = vec![0.0; next];
        for (number, &row) in rows.iter().enumerate() {
            x.fill(0.0);
            x[row as usize] = 1.0;
            self.solve_along(&path, &mut x);
            rows.iter().enumerate().for_each(|(other, &row)| result[other * size + number] = x[row as usize]);
        }
        for row in 0..size {
            for column in 0..row {
                let mean = 0.5 * (result[row * size + column] + result[column * size + row]);
                (result[row * size + column], result[column * size + row]) = (mean, mean);
            }
        }
        result
    }

    /// Solves L Lᵀ x = b for the cliques of a path, parents before children.
    fn solve_along(&self, path: &[(usize, u32)], x: &mut [f64]) {
        let own = |clique: &Clique| {
            let first = clique.frontals.first().map_or(0, |&first| self.row[first as usize] as usize);
            first..first + clique.width
        };
        for &(_, clique) in path.iter().rev() {
            let clique = &self.cliques[clique as usize];
            let stride = clique.stride();
            let own = own(clique);
            if x[own.clone()].iter().all(|x| *x == 0.0) {
                continue;
            }
            solve_lower(&clique.panel, stride, clique.width, &mut x[own.clone()]);
            let mut row = clique.width;
            for (variable, dim) in self.dims(&clique.separator) {
                for coordinate in 0..dim {
                    let known =
                        (0..clique.width).map(|k| clique.panel[k * stride + row] * x[own.start + k]).sum::<f64>();
                    x[self.row[variable as usize] as usize + coordinate] -= known;
                    row += 1;
                }
            }
        }
        for &(_, clique) in path {
            let clique = &self.cliques[clique as usize];
            let mut above = Vec::new();
            for (variable, dim) in self.dims(&clique.separator) {
                let first = self.row[variable as usize] as usize;
                above.extend_from_slice(&x[first..first + dim]);
            }
            solve_upper(&clique.panel, clique.stride(), clique.width, &above, &mut x[own(clique)]);
        }
    }
}
