//! A factorisation of linear least squares that changes with its factors: the Bayes tree of M. Kaess, H. Johannsson, R. Roberts, V. Ila, J. Leonard and
//! F. Dellaert, "iSAM2: Incremental Smoothing and Mapping Using the Bayes Tree" (2012). Pure linear algebra: it knows no residual function.
//!
//! A *variable* is a few coordinates; a *factor* is the rows ‖Jδ − b‖² of some variables. The sum over all factors is minimised by the δ of JᵀJ δ = Jᵀb.
//! Eliminating variable after variable gives the cliques of the tree: a *clique* has the *frontal* variables that it eliminates and its *separator*, the variables
//! that are left of its factors, which are frontal nearer to the root. It holds its columns of Cholesky's factor, and the *update matrix* that its
//! elimination leaves on the separator, as in a multifrontal factorisation.
//!
//! What a changed factor invalidates are the cliques from those of its variables up to the root, and no other: below them the update matrices stay as they are.
//! [`BayesTree::update`] takes these cliques away, orders their variables anew ([`symbolic`]), with the newest last so that the next change stays near the
//! root, and eliminates them from their own factors and the update matrices of the subtrees that were cut off ([`numeric`]). The back-substitution goes down
//! into subtrees as far as something changes that they depend on ([`substitution`]).
//!
//! A variable that was linearised at another point has other numbers in all of its factors, which may have been eliminated deeper in the tree: then the cliques
//! that have it in their separator go, too.
//!
//! A failed update leaves the tree as it was; the changes stay noted, and the next update tries again.

mod numeric;
mod substitution;
mod symbolic;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;

use residua_base::list::Listed;

use crate::loops::panels::TILE;

/// No clique, no place.
const NONE: u32 = u32::MAX;

/// Rows of some variables.
#[derive(Clone, Debug)]
pub struct Factor {
    /// The variables, each once.
    pub variables: Vec<u32>,
    /// How many rows.
    pub rows: usize,
    /// The columns of J, variable after variable, then b.
    pub numbers: Vec<f64>,
}

/// Coordinates that are eliminated together.
#[derive(Clone, Debug)]
struct Variable {
    dim: u32,
    /// Where its numbers begin in δ.
    first: usize,
    /// The clique that it is frontal in.
    clique: u32,
    factors: Vec<u32>,
    /// For each coordinate the sum of the squares of its column of J.
    squares: Vec<f64>,
    /// Whether a factor of it has changed since the last update.
    is_pending: bool,
    /// Whether all of its factors have.
    is_moved: bool,
}

/// A node of the tree.
#[derive(Clone, Debug, Default)]
struct Clique {
    /// The variables that are eliminated here, in their order.
    frontals: Vec<u32>,
    /// Those that are left, in the order of their elimination as it was when the clique was made.
    separator: Vec<u32>,
    /// The clique nearer to the root, which has the first variable of the separator.
    parent: u32,
    children: Vec<u32>,
    /// Coordinates of the frontal variables.
    width: usize,
    /// Coordinates of the separator.
    below: usize,
    /// The columns of L, each with a row for each frontal coordinate, each of the separator, and the solved right side.
    panel: Vec<f64>,
    /// The lower half of the update matrix, and below it its right side.
    update: Vec<f64>,
    /// δ of the separator when the frontal variables were last computed.
    seen: Vec<f64>,
    /// Whether the current update takes it away.
    is_removed: bool,
}

impl Clique {
    /// From column to column of the update matrix.
    fn update_stride(&self) -> usize {
        (self.below + 1).next_multiple_of(TILE)
    }

    /// From column to column of the panel.
    fn stride(&self) -> usize {
        self.width + self.update_stride()
    }
}

/// A coordinate that no factor determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undetermined {
    /// The variable.
    pub variable: u32,
    /// Its coordinate.
    pub coordinate: u32,
}

/// What an update did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Updated {
    /// Variables that were eliminated anew.
    pub eliminated: usize,
    /// Variables whose δ was computed anew.
    pub solved: usize,
}

/// The factors, their factorisation and its solution.
#[derive(Clone, Debug, Default)]
pub struct BayesTree {
    variables: Vec<Variable>,
    factors: Vec<Option<Factor>>,
    /// Factors and cliques that are free for others.
    free_factors: Vec<u32>,
    cliques: Vec<Clique>,
    free_cliques: Vec<u32>,
    delta: Vec<f64>,
    /// Variables that are pending, each once.
    pending: Vec<u32>,
    /// For each variable its place in the part that is eliminated anew, [`NONE`] outside of it.
    place: Vec<u32>,
    /// For each variable its first row in the front that is being assembled.
    row: Vec<u32>,
    /// Numbers of a clique that is being solved.
    scratch: Vec<f64>,
}

impl BayesTree {
    /// No variables and no factors.
    pub fn new() -> BayesTree {
        BayesTree::default()
    }

    /// Adds a variable of so many coordinates, at least one. It has to have factors at the next update.
    pub fn add_variable(&mut self, dim: u32) -> u32 {
        let (number, first) = (self.variables.len() as u32, self.delta.len());
        let squares = vec![0.0; dim as usize];
        let factors = Vec::new();
        self.variables.push(Variable {
            dim,
            first,
            clique: NONE,
            factors,
            squares,
            is_pending: false,
            is_moved: false,
        });
        self.delta.resize(first + dim as usize, 0.0);
        self.place.push(NONE);
        self.row.push(0);
        self.mark_pending(number);
        number
    }

    /// Adds a factor.
    pub fn add_factor(&mut self, factor: Factor) -> u32 {
        let number = self.free_factors.pop().unwrap_or(self.factors.len() as u32);
        for &variable in &factor.variables {
            self.variables[variable as usize].factors.push(number);
            self.mark_pending(variable);
        }
        self.add_squares(&factor, 1.0);
        match self.factors.get_mut(number as usize) {
            Some(slot) => *slot = Some(factor),
            None => self.factors.push(Some(factor)),
        }
        number
    }

    /// Gives a factor other numbers. Variables that were linearised anew are to be noted by [`BayesTree::relinearise`].
    pub fn replace_factor(&mut self, number: u32, numbers: &[f64]) {
        let Some(mut factor) = self.factors[number as usize].take() else { return };
        self.add_squares(&factor, -1.0);
        factor.numbers.clear();
        factor.numbers.extend_from_slice(numbers);
        self.add_squares(&factor, 1.0);
        factor.variables.iter().for_each(|&variable| self.mark_pending(variable));
        self.factors[number as usize] = Some(factor);
    }

    /// Takes a factor away.
    pub fn remove_factor(&mut self, number: u32) {
        let Some(factor) = self.factors[number as usize].take() else { return };
        self.free_factors.push(number);
        for &variable in &factor.variables {
            let of = &mut self.variables[variable as usize];
            of.factors.retain(|&other| other != number);
            // Summed anew: a difference would keep the rounding of what was taken away.
            let mut squares = std::mem::take(&mut of.squares);
            squares.fill(0.0);
            for &other in &self.variables[variable as usize].factors {
                if let Some(other) = &self.factors[other as usize] {
                    self.add_squares_of(other, variable, 1.0, &mut squares);
                }
            }
            self.variables[variable as usize].squares = squares;
            self.mark_pending(variable);
        }
    }

    /// Notes that a variable was linearised at another point: its δ begins at 0, and all of its factors have been or will be replaced before the update.
    pub fn relinearise(&mut self, variable: u32) {
        let of = &mut self.variables[variable as usize];
        of.is_moved = true;
        self.delta[of.first..of.first + of.dim as usize].fill(0.0);
        self.mark_pending(variable);
    }

    /// δ of a variable, as of the last update.
    pub fn delta(&self, variable: u32) -> &[f64] {
        let Variable { first, dim, .. } = self.variables[variable as usize];
        &self.delta[first..first + dim as usize]
    }

    /// The factors of a variable.
    pub fn factors_of(&self, variable: u32) -> &[u32] {
        &self.variables[variable as usize].factors
    }

    /// Whether an update has eliminated a variable.
    pub fn contains(&self, variable: u32) -> bool {
        self.variables[variable as usize].clique != NONE
    }

    /// Whether there is something to update.
    pub fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    fn mark_pending(&mut self, variable: u32) {
        if !std::mem::replace(&mut self.variables[variable as usize].is_pending, true) {
            self.pending.push(variable);
        }
    }

    fn add_squares(&mut self, factor: &Factor, sign: f64) {
        for &variable in &factor.variables {
            let mut squares = std::mem::take(&mut self.variables[variable as usize].squares);
            self.add_squares_of(factor, variable, sign, &mut squares);
            self.variables[variable as usize].squares = squares;
        }
    }

    /// Adds the squares of a factor's columns of a variable.
    fn add_squares_of(&self, factor: &Factor, variable: u32, sign: f64, squares: &mut [f64]) {
        let before = factor.variables.iter().take_while(|&&other| other != variable);
        let first: usize = before.map(|&other| self.variables[other as usize].dim as usize).sum();
        let columns = factor.numbers.chunks_exact(factor.rows.max(1)).skip(first);
        for (square, column) in squares.iter_mut().zip(columns) {
            *square += sign * column.iter().map(|x| x * x).sum::<f64>();
        }
    }

    /// Brings the factorisation up to date, with the variables `newest` as near to the root as they can be, and δ where it changes: what depends only on
    /// coordinates that changed by no more than `threshold` stays. Where nothing is pending, all of δ is computed. An error names a coordinate that the factors
    /// do not determine.
    pub fn update(&mut self, newest: &[u32], threshold: f64) -> Result<Updated, Undetermined> {
        if self.pending.is_empty() {
            return Ok(Updated { eliminated: 0, solved: self.substitute_all() });
        }
        let removed = self.affected_cliques();
        let affected = self.affected_variables(&removed);
        let eliminated = affected.len();
        let result = self.eliminate(&removed, &affected, newest);
        affected.iter().for_each(|&variable| self.place[variable as usize] = NONE);
        match result {
            Ok(cliques) => {
                let top = self.replace(&removed, cliques);
                for variable in std::mem::take(&mut self.pending) {
                    let variable = &mut self.variables[variable as usize];
                    (variable.is_pending, variable.is_moved) = (false, false);
                }
                let solved = self.substitute(&top, threshold);
                Ok(Updated { eliminated, solved })
            }
            Err(undetermined) => {
                removed.iter().for_each(|&clique| self.cliques[clique as usize].is_removed = false);
                Err(undetermined)
            }
        }
    }

    /// Marks the cliques that the pending changes invalidate.
    fn affected_cliques(&mut self) -> Vec<u32> {
        let mut removed = Vec::new();
        for position in 0..self.pending.len() {
            let variable = self.pending[position];
            let Variable { clique, is_moved, .. } = self.variables[variable as usize];
            self.mark_path(clique, &mut removed);
            let mut below = if is_moved && clique != NONE { vec![clique] } else { Vec::new() };
            while let Some(clique) = below.pop() {
                for position in 0..self.cliques[clique as usize].children.len() {
                    let child = self.cliques[clique as usize].children[position];
                    if self.cliques[child as usize].separator.contains(&variable) {
                        self.mark_path(child, &mut removed);
                        below.push(child);
                    }
                }
            }
        }
        removed
    }

    fn mark_path(&mut self, mut clique: u32, removed: &mut Vec<u32>) {
        while clique != NONE {
            let of = &mut self.cliques[clique as usize];
            if std::mem::replace(&mut of.is_removed, true) {
                return;
            }
            removed.push(clique);
            clique = of.parent;
        }
    }

    /// The variables of these cliques, and those that have none, with their places.
    fn affected_variables(&mut self, removed: &[u32]) -> Vec<u32> {
        let mut affected = Vec::new();
        removed.iter().for_each(|&clique| affected.extend_from_slice(&self.cliques[clique as usize].frontals));
        let fresh = |variable: &&u32| self.variables[**variable as usize].clique == NONE;
        affected.extend(self.pending.iter().filter(fresh));
        for (place, &variable) in (0..).zip(&affected) {
            self.place[variable as usize] = place;
        }
        affected
    }

    /// Puts new cliques, children before parents, in the place of those that are removed; gives their numbers, parents first.
    fn replace(&mut self, removed: &[u32], cliques: Vec<numeric::NewClique>) -> Vec<u32> {
        for &clique in removed {
            self.cliques[clique as usize] = Clique::default();
            self.free_cliques.push(clique);
        }
        let numbers = cliques
            .iter()
            .map(|_| {
                self.free_cliques.pop().unwrap_or_else(|| {
                    self.cliques.push(Clique::default());
                    self.cliques.len() as u32 - 1
                })
            })
            .list();
        for (&number, new) in numbers.iter().zip(cliques) {
            let numeric::NewClique { mut clique, parent, children, orphans } = new;
            clique.parent = parent.map_or(NONE, |parent| numbers[parent as usize]);
            clique.children = children.iter().map(|&child| numbers[child as usize]).list();
            for orphan in orphans {
                self.cliques[orphan as usize].parent = number;
                clique.children.push(orphan);
            }
            for &variable in &clique.frontals {
                self.variables[variable as usize].clique = number;
            }
            self.cliques[number as usize] = clique;
        }
        let mut top = numbers;
        top.reverse();
        top
    }
}
