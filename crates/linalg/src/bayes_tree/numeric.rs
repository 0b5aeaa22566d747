//! The elimination of cliques: each front is summed from factors and from the update matrices of its children, and factorised as far as its frontal columns go.

use super::state::{BayesTree, Clique, Undetermined};
use super::symbolic::Plan;
use crate::loops::fronts::Front;
use crate::loops::panels::{PanelProduct, Pivots, TILE, cells, factorise_strip, subtract_product};

/// A pivot that is below this part of its column's length squared is what rounding left: some thousand roundings.
const LEAST_PIVOT: f64 = 1.0 / (1u64 << 42) as f64;

/// A clique that is not in the tree yet, with numbers among the new ones, and of the subtrees that hang on it.
pub(super) struct NewClique {
    pub clique: Clique,
    pub parent: Option<u32>,
    pub children: Vec<u32>,
    pub orphans: Vec<u32>,
}

impl BayesTree {
    /// Eliminates variables anew, as planned; gives the new cliques, children before parents.
    pub(super) fn eliminate(&mut self, plans: Vec<Plan>) -> Result<Vec<NewClique>, Undetermined> {
        let mut new: Vec<NewClique> = Vec::new();
        for plan in plans {
            let clique = self.factorise(&plan, &new)?;
            let Plan { parent, children, orphans, .. } = plan;
            new.push(NewClique { clique, parent, children, orphans });
        }
        Ok(new)
    }

    pub(super) fn factorise(&mut self, plan: &Plan, new: &[NewClique]) -> Result<Clique, Undetermined> {
        let (frontals, separator) = (plan.frontals.clone(), plan.separator.clone());
        let width = self.set_rows(&frontals, 0);
        let below = self.set_rows(&separator, width) - width;
        let mut clique = Clique { frontals, separator, width, below, ..Clique::default() };
        let (stride, update_stride) = (clique.stride(), clique.update_stride());
        let mut panel = vec![0.0; width * stride];
        let mut update = vec![0.0; below * update_stride];
        self.assemble(
            plan,
            new,
            &mut Front { panel: &mut panel, update: &mut update, width, stride, update_stride },
            (width + below) as u32,
        );
        for column in (0..width).step_by(TILE) {
            let count = TILE.min(width - column);
            let (before, strip) = panel.split_at_mut(column * stride);
            let strip = &mut strip[..count * stride];
            if column > 0 {
                // Rows in whole tiles up to the last one; those above the diagonal do not count.
                let rows = (stride - column).next_multiple_of(TILE);
                let (a, b) = (stride - rows, column);
                let product = PanelProduct {
                    rows,
                    cols: count,
                    depth: column,
                    stride,
                    panel_stride: stride,
                    a,
                    b,
                    starts: false,
                    lower: false,
                };
                subtract_product(cells(&mut strip[a..]), (&*before).into(), product);
            }
            let pivots = factorise_strip(strip, stride, column, count, 0.0);
            for k in 0..count {
                let is_missing = matches!(pivots, Pivots::Without(missing) if missing[k]);
                let pivot = strip[k * stride + column + k];
                self.check_pivot(&clique, column + k, if is_missing { 0.0 } else { pivot * pivot })?;
            }
        }
        if below > 0 {
            let (cols, depth) = (below, width);
            let product = PanelProduct {
                rows: update_stride,
                cols,
                depth,
                stride: update_stride,
                panel_stride: stride,
                a: width,
                b: width,
                starts: false,
                lower: true,
            };
            subtract_product(cells(&mut update), panel.as_slice().into(), product);
        }
        (clique.panel, clique.update) = (panel, update);
        Ok(clique)
    }

    /// Gives variables their rows in a front, from a row on; gives the end.
    fn set_rows(&mut self, variables: &[u32], first: usize) -> usize {
        let mut next = first;
        for &variable in variables {
            self.row[variable as usize] = next as u32;
            next += self.variables[variable as usize].dim as usize;
        }
        next
    }

    /// The rows of variables in the front, coordinate after coordinate, then that of the right side.
    fn rows_of(&self, variables: &[u32], right_side: u32, rows: &mut Vec<u32>) {
        rows.clear();
        for &variable in variables {
            let first = self.row[variable as usize];
            rows.extend(first..first + self.variables[variable as usize].dim);
        }
        rows.push(right_side);
    }

    fn assemble(&self, plan: &Plan, new: &[NewClique], front: &mut Front, right_side: u32) {
        let mut rows = Vec::new();
        for factor in plan.factors.iter().filter_map(|&factor| self.factors[factor as usize].as_ref()) {
            if factor.rows > 0 {
                self.rows_of(&factor.variables, right_side, &mut rows);
                front.add_products(&factor.numbers, factor.rows, &rows);
            }
        }
        let children = plan.children.iter().map(|&child| &new[child as usize].clique);
        let orphans = plan.orphans.iter().map(|&orphan| &self.cliques[orphan as usize]);
        for child in children.chain(orphans) {
            self.rows_of(&child.separator, right_side, &mut rows);
            front.add_update(&child.update, child.update_stride(), &rows);
        }
    }

    /// An error unless the square of a pivot is more than rounding of its column.
    fn check_pivot(&self, clique: &Clique, column: usize, square: f64) -> Result<(), Undetermined> {
        let mut first = 0;
        for &variable in &clique.frontals {
            let squares = &self.variables[variable as usize].squares;
            if let Some(&length) = column.checked_sub(first).and_then(|coordinate| squares.get(coordinate)) {
                let is_determined = square > LEAST_PIVOT * length && square > 0.0;
                let undetermined = Undetermined { variable, coordinate: (column - first) as u32 };
                return if is_determined { Ok(()) } else { Err(undetermined) };
            }
            first += squares.len();
        }
        Ok(())
    }
}
