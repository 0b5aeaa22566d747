//! The tree with its variables and factors, and what changes them.

use crate::loops::panels::TILE;

/// No clique, no place.
pub(super) const NONE: u32 = u32::MAX;

/// Rows of some variables.
#[derive(Clone, Debug)]
pub struct JacobianFactor {
    /// The variables, each once.
    pub variables: Vec<u32>,
    /// How many rows.
    pub rows: usize,
    /// The columns of J, variable after variable, then b.
    pub numbers: Vec<f64>,
}

/// Coordinates that are eliminated together.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub dim: u32,
    /// Where its numbers begin in δ.
    pub first: usize,
    /// The clique that it is frontal in.
    pub clique: u32,
    pub factors: Vec<u32>,
    /// For each coordinate the sum of the squares of its column of J.
    pub squares: Vec<f64>,
    /// Whether a factor of it has changed since the last update.
    pub is_pending: bool,
    /// Whether all of its factors have.
    pub is_moved: bool,
    /// Whether it was marginalised.
    pub is_gone: bool,
    /// Whether a marginal has it, so that it is not to be linearised anew.
    pub is_fixed: bool,
    /// For each coordinate the sum of squares that marginalisation took away.
    pub lost: Vec<f64>,
}

/// Why an update failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateFailure {
    /// No factor determines a coordinate. Everything is as before the update, and the changes are pending.
    Undetermined(Undetermined),
    /// A coordinate of a variable's δ is not finite. The factorisation is that of the new factors; δ is as before, and 0 for what was linearised anew.
    NonFinite(u32),
}

/// A node of the tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Clique {
    /// The variables that are eliminated here, in their order.
    pub frontals: Vec<u32>,
    /// Those that are left, in the order of their elimination as it was when the clique was made.
    pub separator: Vec<u32>,
    /// The clique nearer to the root, which has the first variable of the separator.
    pub parent: u32,
    pub children: Vec<u32>,
    /// Coordinates of the frontal variables.
    pub width: usize,
    /// Coordinates of the separator.
    pub below: usize,
    /// The columns of L, each with a row for each frontal coordinate, each of the separator, and the solved right side.
    pub panel: Vec<f64>,
    /// The lower half of the update matrix, and below it its right side.
    pub update: Vec<f64>,
    /// δ of the separator when the frontal variables were last computed.
    pub seen: Vec<f64>,
    /// Whether the current update takes it away.
    pub is_removed: bool,
}

impl Clique {
    /// From column to column of the update matrix.
    pub fn update_stride(&self) -> usize {
        (self.below + 1).next_multiple_of(TILE)
    }

    /// What its elimination takes, but for a factor that all cliques share.
    pub fn work(&self) -> f64 {
        work(self.width, self.below)
    }

    /// From column to column of the panel.
    pub fn stride(&self) -> usize {
        self.width + self.update_stride()
    }
}

/// What the elimination of `width` coordinates takes that leaves `below`.
pub(super) fn work(width: usize, below: usize) -> f64 {
    width as f64 * ((width + below) as f64).powi(2)
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
    pub(super) variables: Vec<Variable>,
    pub(super) factors: Vec<Option<JacobianFactor>>,
    /// Factors and cliques that are free for others.
    pub(super) free_factors: Vec<u32>,
    /// Factors that are gone, which variables that are pending may still list.
    pub(super) removed_factors: Vec<u32>,
    pub(super) cliques: Vec<Clique>,
    pub(super) free_cliques: Vec<u32>,
    /// Cliques without frontal variables.
    pub(super) marginals: Vec<u32>,
    pub(super) delta: Vec<f64>,
    /// Whether δ is not that of the factorisation.
    pub(super) is_stale: bool,
    /// Variables that are pending, each once.
    pub(super) pending: Vec<u32>,
    /// What the elimination of all cliques takes, and what updates have taken since all variables were last ordered anew, or that was not worth it.
    pub(super) work: f64,
    pub(super) spent: f64,
    /// How often in turn it was not.
    pub(super) in_vain: i32,
    /// For each variable its place in the part that is eliminated anew, [`NONE`] outside of it.
    pub(super) place: Vec<u32>,
    /// For each variable its first row in the front that is being assembled.
    pub(super) row: Vec<u32>,
    /// Numbers of a clique that is being solved.
    pub(super) scratch: Vec<f64>,
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
            lost: squares.clone(),
            squares,
            is_pending: false,
            is_moved: false,
            is_gone: false,
            is_fixed: false,
        });
        self.delta.resize(first + dim as usize, 0.0);
        self.place.push(NONE);
        self.row.push(0);
        self.mark_pending(number);
        number
    }

    /// Adds a factor.
    pub fn add_factor(&mut self, factor: JacobianFactor) -> u32 {
        let number = self.free_factors.pop().unwrap_or(self.factors.len() as u32);
        for &variable in &factor.variables {
            self.variables[variable as usize].factors.push(number);
            self.mark_pending(variable);
        }
        match self.factors.get_mut(number as usize) {
            Some(slot) => *slot = Some(factor),
            None => self.factors.push(Some(factor)),
        }
        number
    }

    /// Gives a factor other numbers. Variables that were linearised anew are to be noted by [`BayesTree::relinearise`].
    pub fn replace_factor(&mut self, number: u32, numbers: &[f64]) {
        let Some(mut factor) = self.factors[number as usize].take() else { return };
        factor.numbers.clear();
        factor.numbers.extend_from_slice(numbers);
        factor.variables.iter().for_each(|&variable| self.mark_pending(variable));
        self.factors[number as usize] = Some(factor);
    }

    /// Takes a factor away.
    pub fn remove_factor(&mut self, number: u32) {
        let Some(factor) = self.factors[number as usize].take() else { return };
        // The update takes it out of the lists of its variables, once for all that are removed of one.
        self.removed_factors.push(number);
        factor.variables.iter().for_each(|&variable| self.mark_pending(variable));
    }

    /// Notes that a variable was linearised at another point: the update takes its δ from there, and all of its factors have been or will be replaced before.
    pub fn relinearise(&mut self, variable: u32) {
        self.variables[variable as usize].is_moved = true;
        self.mark_pending(variable);
    }

    /// δ of a variable, as of the last update.
    pub fn delta(&self, variable: u32) -> &[f64] {
        let Variable { first, dim, .. } = self.variables[variable as usize];
        &self.delta[first..first + dim as usize]
    }

    /// Whether an update has eliminated a variable.
    pub fn contains(&self, variable: u32) -> bool {
        self.variables[variable as usize].clique != NONE
    }

    /// Whether a variable stays where it was linearised, or was marginalised.
    pub fn is_fixed(&self, variable: u32) -> bool {
        self.variables[variable as usize].is_fixed
    }

    /// Whether the last update has taken in all changes.
    pub fn is_current(&self) -> bool {
        self.pending.is_empty() && !self.is_stale
    }

    /// A number for a clique that is to be made.
    pub(super) fn place_of_clique(&mut self) -> u32 {
        self.free_cliques.pop().unwrap_or_else(|| {
            self.cliques.push(Clique::default());
            self.cliques.len() as u32 - 1
        })
    }

    pub(super) fn mark_pending(&mut self, variable: u32) {
        if !std::mem::replace(&mut self.variables[variable as usize].is_pending, true) {
            self.pending.push(variable);
        }
    }

    /// Takes factors that are gone out of a variable's list, and sums the squares of its columns anew: a sum that is kept would keep the rounding of what was
    /// taken away.
    pub(super) fn refresh(&mut self, variable: u32) {
        self.variables[variable as usize].factors.retain(|&number| self.factors[number as usize].is_some());
        let of = &self.variables[variable as usize];
        let mut squares = of.lost.clone();
        of.factors.iter().for_each(|&factor| self.add_squares(variable, factor, &mut squares));
        self.variables[variable as usize].squares = squares;
    }

    /// Adds the squares of a variable's columns in one of its factors.
    pub(super) fn add_squares(&self, variable: u32, factor: u32, squares: &mut [f64]) {
        let Some(factor) = &self.factors[factor as usize] else { return };
        let before = factor.variables.iter().take_while(|&&other| other != variable);
        let first: usize = before.map(|&other| self.variables[other as usize].dim as usize).sum();
        let columns = factor.numbers.chunks_exact(factor.rows.max(1)).skip(first);
        for (square, column) in squares.iter_mut().zip(columns) {
            *square += column.iter().map(|x| x * x).sum::<f64>();
        }
    }
}
