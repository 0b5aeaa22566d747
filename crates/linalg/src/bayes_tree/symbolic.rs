//! Which cliques a part of the tree gets: the order of its variables, and the variables of each clique.

use residua_base::list::Listed;

use super::state::{BayesTree, NONE};
use crate::ordering::order_graph;

/// A clique without numbers. Places are those of [`BayesTree::place`], in the order of elimination.
pub(super) struct Plan {
    /// The variables that it eliminates, in their order.
    pub frontals: Vec<u32>,
    /// Those that it leaves, in theirs.
    pub separator: Vec<u32>,
    /// The clique with the first of the separator, among the plans.
    pub parent: Option<u32>,
    /// Those of which it is the parent.
    pub children: Vec<u32>,
    /// The factors whose first variable is eliminated here.
    pub factors: Vec<u32>,
    /// The subtrees that were cut off and hang here now.
    pub orphans: Vec<u32>,
}

impl BayesTree {
    /// The cliques of some variables, children before parents, from the factors among them and the subtrees below.
    pub(super) fn plan(&self, affected: &[u32], orphans: &[u32], newest: &[u32]) -> Vec<Plan> {
        let count = affected.len();
        let factors = self.factors_within(affected);
        let order = self.order(affected, &factors, orphans, newest);
        let mut position = vec![0u32; count];
        for (place, &of) in (0..).zip(&order) {
            position[of as usize] = place;
        }
        let position_of = |variable: u32| position[self.place[variable as usize] as usize];
        let variable_at = |place: u32| affected[order[place as usize] as usize];
        let first_of = |variables: &[u32]| variables.iter().map(|&variable| position_of(variable)).min();

        // What is eliminated first of each factor and subtree has it.
        let mut own_factors: Vec<Vec<u32>> = vec![Vec::new(); count];
        let mut own_orphans: Vec<Vec<u32>> = vec![Vec::new(); count];
        for &factor in &factors {
            let variables = self.variables_of(factor);
            first_of(variables).iter().for_each(|&first| own_factors[first as usize].push(factor));
        }
        for &orphan in orphans {
            let separator = &self.cliques[orphan as usize].separator;
            first_of(separator).iter().for_each(|&first| own_orphans[first as usize].push(orphan));
        }

        let below = self.below(&own_factors, &own_orphans, &position_of);
        let mut plans: Vec<Plan> = Vec::new();
        let mut clique_at = vec![NONE; count];
        // From the last to the first: what leaves just the variables of its parent's clique belongs to that.
        for k in (0..count).rev() {
            let parent = below[k].first().map(|&first| clique_at[first as usize]);
            let joined = parent.filter(|&parent| {
                let Plan { frontals, separator, .. } = &plans[parent as usize];
                below[k].len() == frontals.len() + separator.len()
            });
            let clique = joined.unwrap_or_else(|| {
                let number = plans.len() as u32;
                if let Some(parent) = parent {
                    plans[parent as usize].children.push(number);
                }
                let separator = below[k].iter().map(|&place| variable_at(place)).list();
                let (frontals, children, factors, orphans) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
                plans.push(Plan { frontals, separator, parent, children, factors, orphans });
                number
            });
            clique_at[k] = clique;
            let plan = &mut plans[clique as usize];
            plan.frontals.push(variable_at(k as u32));
            plan.factors.append(&mut own_factors[k]);
            plan.orphans.append(&mut own_orphans[k]);
        }
        // Children before parents.
        let last = plans.len() as u32;
        plans.reverse();
        for plan in &mut plans {
            plan.frontals.reverse();
            plan.parent = plan.parent.map(|parent| last - 1 - parent);
            plan.children.iter_mut().for_each(|child| *child = last - 1 - *child);
        }
        plans
    }

    pub(super) fn variables_of(&self, factor: u32) -> &[u32] {
        self.factors[factor as usize].as_ref().map_or(&[], |factor| &factor.variables)
    }

    /// The factors that have no other variables than these, each once.
    fn factors_within(&self, affected: &[u32]) -> Vec<u32> {
        let mut factors = Vec::new();
        for &variable in affected {
            for &factor in &self.variables[variable as usize].factors {
                let variables = self.variables_of(factor);
                let is_within = |other: &u32| self.place[*other as usize] != NONE;
                // By the first of its variables, each of which lists it.
                if variables.first() == Some(&variable) && variables.iter().all(is_within) {
                    factors.push(factor);
                }
            }
        }
        factors
    }

    /// The places of the variables in the order of their elimination.
    fn order(&self, affected: &[u32], factors: &[u32], orphans: &[u32], newest: &[u32]) -> Vec<u32> {
        let places = |variables: &[u32]| variables.iter().map(|&variable| self.place[variable as usize]).list();
        let mut edges: Vec<Vec<u32>> = vec![Vec::new(); affected.len()];
        let mut cliques: Vec<Vec<u32>> = Vec::new();
        let of_factors = factors.iter().map(|&factor| self.variables_of(factor));
        let of_orphans = orphans.iter().map(|&orphan| self.cliques[orphan as usize].separator.as_slice());
        for variables in of_factors.chain(of_orphans) {
            match places(variables)[..] {
                [] | [_] => {}
                [a, b] => {
                    edges[a as usize].push(b);
                    edges[b as usize].push(a);
                }
                ref more => cliques.push(more.to_vec()),
            }
        }
        for edges in &mut edges {
            edges.sort_unstable();
            edges.dedup();
        }
        let cliques = cliques.iter().map(Vec::as_slice).list();
        let weights = affected.iter().map(|&variable| self.variables[variable as usize].dim).list();
        let ending = places(newest).into_iter().filter(|&place| place != NONE).list();
        order_graph(edges, &cliques, &weights, &[], &ending)
    }

    /// For each place in the order those that its elimination leaves, ascending.
    fn below(
        &self,
        own_factors: &[Vec<u32>],
        own_orphans: &[Vec<u32>],
        position_of: &dyn Fn(u32) -> u32,
    ) -> Vec<Vec<u32>> {
        let count = own_factors.len();
        let mut below: Vec<Vec<u32>> = vec![Vec::new(); count];
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); count];
        let mut seen = vec![NONE; count];
        for k in 0..count {
            let mut list = Vec::new();
            let mut add = |place: u32| {
                if place > k as u32 && std::mem::replace(&mut seen[place as usize], k as u32) != k as u32 {
                    list.push(place);
                }
            };
            for &factor in &own_factors[k] {
                self.variables_of(factor).iter().for_each(|&variable| add(position_of(variable)));
            }
            for &orphan in &own_orphans[k] {
                self.cliques[orphan as usize].separator.iter().for_each(|&variable| add(position_of(variable)));
            }
            for &child in &children[k] {
                below[child as usize].iter().for_each(|&place| add(place));
            }
            list.sort_unstable();
            if let Some(&parent) = list.first() {
                children[parent as usize].push(k as u32);
            }
            below[k] = list;
        }
        below
    }
}
