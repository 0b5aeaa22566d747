//! An update: which part of the tree goes, and its replacement.

use residua_base::list::Listed;

use super::numeric::NewClique;
use super::state::{BayesTree, NONE, UpdateFailure, Updated, Variable, work};
use super::symbolic::Plan;

/// An order of all variables is taken if their elimination takes less than this part of what it takes as they are.
const WORTHWHILE: f64 = 0.7;

/// How many times the wait for the next try doubles: a try orders all variables, and eliminates none.
const MOST_PATIENCE: i32 = 2;

impl BayesTree {
    /// Brings the factorisation up to date, with the variables `newest` as near to the root as they can be, and δ where it changes: what depends only on
    /// coordinates that changed by no more than `threshold` stays. Where nothing is pending, all of δ is computed.
    pub fn update(&mut self, newest: &[u32], threshold: f64) -> Result<Updated, UpdateFailure> {
        (0..self.pending.len()).for_each(|position| self.refresh(self.pending[position]));
        self.free_factors.append(&mut self.removed_factors);
        let mut removed = self.affected_cliques();
        let planned = self.plan_anew(&mut removed, newest);
        let is_ordered_anew = planned.is_some() || self.work == 0.0;
        let (affected, plans) = planned.unwrap_or_else(|| self.plan_without(&removed, newest));
        let eliminated = affected.len();
        let result = self.eliminate(plans);
        affected.iter().for_each(|&variable| self.place[variable as usize] = NONE);
        let cliques = result.map_err(|undetermined| {
            removed.iter().for_each(|&clique| self.cliques[clique as usize].is_removed = false);
            UpdateFailure::Undetermined(undetermined)
        })?;
        let top = self.exchange(&removed, cliques);
        if is_ordered_anew {
            self.spent = 0.0;
        }
        let is_unchanged = self.pending.is_empty();
        for variable in std::mem::take(&mut self.pending) {
            let Variable { first, dim, is_moved, is_pending, is_gone, clique, .. } =
                &mut self.variables[variable as usize];
            *is_pending = false;
            if *is_gone {
                *clique = NONE;
            } else if std::mem::take(is_moved) {
                self.delta[*first..*first + *dim as usize].fill(0.0);
            }
        }
        let before = self.delta.clone();
        let solved =
            if is_unchanged || self.is_stale { self.substitute_all() } else { self.substitute(&top, threshold) };
        let beyond = self.delta.iter().position(|x| !x.is_finite());
        self.is_stale = beyond.is_some();
        match beyond {
            None => Ok(Updated { eliminated, solved }),
            Some(coordinate) => {
                self.delta = before;
                let variable = self.variables.partition_point(|of| of.first <= coordinate) as u32 - 1;
                Err(UpdateFailure::NonFinite(variable))
            }
        }
    }

    /// The variables of cliques that are to be removed, and what they are eliminated in.
    fn plan_without(&mut self, removed: &[u32], newest: &[u32]) -> (Vec<u32>, Vec<Plan>) {
        let affected = self.affected_variables(removed);
        let mut orphans = Vec::new();
        for &clique in removed {
            let children = self.cliques[clique as usize].children.iter();
            orphans.extend(children.filter(|&&child| !self.cliques[child as usize].is_removed));
        }
        let is_loose = |marginal: &&u32| self.cliques[**marginal as usize].parent == NONE;
        orphans.extend(self.marginals.iter().filter(is_loose));
        let plans = self.plan(&affected, &orphans, newest);
        (affected, plans)
    }

    /// The same for all cliques, which then are to be removed, where that is due and leaves less to do. Updates order the variables near the root alone, with
    /// what was cut off below as it is: after many of them cliques are several times as large as they would be by an order of all. So all are ordered again
    /// when updates have taken as long as the elimination of all, which at most doubles what they take, and half as often after each time that it was in vain.
    fn plan_anew(&mut self, removed: &mut Vec<u32>, newest: &[u32]) -> Option<(Vec<u32>, Vec<Plan>)> {
        if self.spent <= self.work * f64::from(self.in_vain).exp2() {
            return None;
        }
        self.spent = 0.0;
        let few = removed.len();
        for (number, clique) in (0..).zip(&mut self.cliques) {
            if !clique.frontals.is_empty() && !std::mem::replace(&mut clique.is_removed, true) {
                removed.push(number);
            }
        }
        let (affected, plans) = self.plan_without(removed, newest);
        let dims = |variables: &[u32]| variables.iter().map(|&of| self.variables[of as usize].dim as usize).sum();
        let planned: f64 = plans.iter().map(|plan| work(dims(&plan.frontals), dims(&plan.separator))).sum();
        if planned < WORTHWHILE * self.work {
            self.in_vain = 0;
            return Some((affected, plans));
        }
        self.in_vain = (self.in_vain + 1).min(MOST_PATIENCE);
        affected.iter().for_each(|&variable| self.place[variable as usize] = NONE);
        removed.drain(few..).for_each(|clique| self.cliques[clique as usize].is_removed = false);
        None
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
        affected.retain(|&variable| !self.variables[variable as usize].is_gone);
        for (place, &variable) in (0..).zip(&affected) {
            self.place[variable as usize] = place;
        }
        affected
    }

    /// Puts new cliques, children before parents, in the place of those that are removed; gives their numbers, parents first.
    fn exchange(&mut self, removed: &[u32], cliques: Vec<NewClique>) -> Vec<u32> {
        for &clique in removed {
            self.work -= std::mem::take(&mut self.cliques[clique as usize]).work();
            self.free_cliques.push(clique);
        }
        let taken: f64 = cliques.iter().map(|new| new.clique.work()).sum();
        self.work += taken;
        self.spent += taken;
        let numbers = cliques.iter().map(|_| self.place_of_clique()).list();
        for (&number, new) in numbers.iter().zip(cliques) {
            let NewClique { mut clique, parent, children, orphans } = new;
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
