//! Marginalisation: what the factors of variables that are taken away say of the others.
//!
//! It is kept as a clique without frontal variables, a *marginal*, whose update matrix is that information. It is a leaf of the tree: an update sums it into
//! the front of its parent as it does with other subtrees.

use super::state::{BayesTree, NONE, Undetermined};
use super::symbolic::Plan;

impl BayesTree {
    /// Takes variables away for good, ascending, with all of their factors, and leaves what these say of the others. The update before has taken in all
    /// changes; the others are not to be linearised anew from now on. δ stays, also of the variables that go.
    ///
    /// # Errors
    /// A coordinate that the factors of the variables do not determine; then all stays.
    pub fn marginalise(&mut self, variables: &[u32]) -> Result<(), Undetermined> {
        let (mut factors, mut separator, mut absorbed) = (Vec::new(), Vec::new(), Vec::new());
        for &variable in variables {
            factors.extend_from_slice(&self.variables[variable as usize].factors);
        }
        factors.sort_unstable();
        factors.dedup();
        for &factor in &factors {
            separator.extend_from_slice(self.variables_of(factor));
        }
        for &marginal in &self.marginals {
            let own = &self.cliques[marginal as usize].separator;
            if own.iter().any(|variable| variables.binary_search(variable).is_ok()) {
                absorbed.push(marginal);
                separator.extend_from_slice(own);
            }
        }
        separator.sort_unstable();
        separator.dedup();
        leave_out(&mut separator, variables);
        let plan = Plan {
            frontals: variables.to_vec(),
            separator,
            parent: None,
            children: Vec::new(),
            factors,
            orphans: absorbed,
        };
        let mut clique = self.factorise(&plan, &[])?;
        for &factor in &plan.factors {
            for variable in self.variables_of(factor).to_vec() {
                // What counts as determined is a part of the squares of all: the rounding of the update matrix is that of the factors that go.
                let mut lost = std::mem::take(&mut self.variables[variable as usize].lost);
                self.add_squares(variable, factor, &mut lost);
                self.variables[variable as usize].lost = lost;
            }
            self.remove_factor(factor);
        }
        for &variable in variables {
            let of = &mut self.variables[variable as usize];
            // All cliques that have it go.
            (of.is_gone, of.is_moved, of.factors) = (true, true, Vec::new());
        }
        for &variable in variables.iter().chain(&plan.separator) {
            self.variables[variable as usize].is_fixed = true;
            self.mark_pending(variable);
        }
        for &marginal in &plan.orphans {
            let parent = std::mem::take(&mut self.cliques[marginal as usize]).parent;
            if parent != NONE {
                leave_out(&mut self.cliques[parent as usize].children, &[marginal]);
            }
            leave_out(&mut self.marginals, &[marginal]);
            self.free_cliques.push(marginal);
        }
        if clique.below > 0 {
            (clique.frontals, clique.panel, clique.width, clique.parent) = (Vec::new(), Vec::new(), 0, NONE);
            let number = self.place_of_clique();
            self.cliques[number as usize] = clique;
            self.marginals.push(number);
        }
        Ok(())
    }
}

/// Takes numbers, ascending, out of a list.
fn leave_out(list: &mut Vec<u32>, numbers: &[u32]) {
    list.retain(|number| numbers.binary_search(number).is_err());
}
