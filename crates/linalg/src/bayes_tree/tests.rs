//! The tree against dense solutions, after every kind of change.
// What fails here fails the test, which is what unwrap() says.
#![allow(clippy::unwrap_used)]

use super::state::{BayesTree, JacobianFactor, NONE, Undetermined, UpdateFailure, Updated, Variable};
use crate::tests::random;

/// The normal equations of all factors, dense, and their solution.
struct Dense {
    matrix: Vec<Vec<f64>>,
    right: Vec<f64>,
}

impl Dense {
    fn of(tree: &BayesTree) -> Dense {
        let n = tree.delta.len();
        let mut dense = Dense { matrix: vec![vec![0.0; n]; n], right: vec![0.0; n] };
        for factor in tree.factors.iter().flatten() {
            let place = |&variable: &u32| {
                let Variable { first, dim, .. } = tree.variables[variable as usize];
                first..first + dim as usize
            };
            let places: Vec<usize> = factor.variables.iter().flat_map(place).collect();
            let column = |k: usize| &factor.numbers[k * factor.rows..(k + 1) * factor.rows];
            let dot = |a: usize, b: usize| column(a).iter().zip(column(b)).map(|(a, b)| a * b).sum::<f64>();
            for (a, &row) in places.iter().enumerate() {
                dense.right[row] += dot(a, places.len());
                places.iter().enumerate().for_each(|(b, &other)| dense.matrix[row][other] += dot(a, b));
            }
        }
        dense
    }

    /// By elimination without pivoting, which a definite matrix allows.
    fn solve(&self, right: &[f64]) -> Vec<f64> {
        let (mut a, mut x, n) = (self.matrix.clone(), right.to_vec(), right.len());
        for k in 0..n {
            for row in k + 1..n {
                let factor = a[row][k] / a[k][k];
                let (above, below) = a.split_at_mut(row);
                below[0][k..].iter_mut().zip(&above[k][k..]).for_each(|(to, from)| *to -= factor * from);
                x[row] -= factor * x[k];
            }
        }
        for k in (0..n).rev() {
            let known: f64 = (k + 1..n).map(|column| a[k][column] * x[column]).sum();
            x[k] = (x[k] - known) / a[k][k];
        }
        x
    }
}

/// A factor with random numbers.
fn factor(tree: &BayesTree, variables: &[u32], rows: usize, next: &mut dyn FnMut() -> f64) -> JacobianFactor {
    let columns: u32 = variables.iter().map(|&variable| tree.variables[variable as usize].dim).sum();
    JacobianFactor {
        variables: variables.to_vec(),
        rows,
        numbers: (0..rows * (columns as usize + 1)).map(|_| next()).collect(),
    }
}

/// A factor that determines a variable by itself.
fn prior(tree: &BayesTree, variable: u32, next: &mut dyn FnMut() -> f64) -> JacobianFactor {
    let dim = tree.variables[variable as usize].dim as usize;
    let mut prior = factor(tree, &[variable], dim, next);
    (0..dim).for_each(|k| prior.numbers[k * dim + k] += 3.0);
    prior
}

fn assert_solved(tree: &BayesTree, what: &str) {
    let dense = Dense::of(tree);
    for (k, (found, expected)) in tree.delta.iter().zip(dense.solve(&dense.right)).enumerate() {
        // A condition below 1e4 in some hundred operations.
        assert!((found - expected).abs() < 1e-9, "{what}: {found}, not {expected} at {k}");
    }
}

/// Every clique hangs where its separator is, and the cliques hold every variable once.
fn assert_sound(tree: &BayesTree) {
    let mut seen = vec![0; tree.variables.len()];
    for (number, clique) in tree.cliques.iter().enumerate().filter(|(_, clique)| !clique.frontals.is_empty()) {
        for &variable in &clique.frontals {
            seen[variable as usize] += 1;
            assert_eq!(tree.variables[variable as usize].clique, number as u32);
        }
        assert!(clique.children.iter().all(|&child| tree.cliques[child as usize].parent == number as u32));
        assert_eq!(clique.parent == NONE, clique.separator.is_empty());
        if clique.parent != NONE {
            let parent = &tree.cliques[clique.parent as usize];
            assert!(parent.children.contains(&(number as u32)));
            assert!(clique.separator.iter().any(|variable| parent.frontals.contains(variable)));
            let is_above = |variable| parent.frontals.contains(variable) || parent.separator.contains(variable);
            assert!(clique.separator.iter().all(is_above));
        }
    }
    assert!(seen.iter().all(|&times| times == 1), "{seen:?}");
    // Whole numbers.
    assert_eq!(tree.work, tree.cliques.iter().map(|clique| clique.work()).sum::<f64>());
}

#[test]
fn after_random_changes_the_solution_is_that_of_the_dense_system() {
    for seed in 1..6 {
        let mut next = random(seed);
        let mut tree = BayesTree::new();
        let mut removable: Vec<u32> = Vec::new();
        for turn in 0..60 {
            let below =
                |count: usize, next: &mut dyn FnMut() -> f64| ((0.5 * next() + 0.5) * count as f64) as usize % count;
            let mut newest = Vec::new();
            for _ in 0..1 + below(2, &mut next) {
                let variable = tree.add_variable(1 + below(3, &mut next) as u32);
                tree.add_factor(prior(&tree, variable, &mut next));
                newest.push(variable);
            }
            let count = tree.variables.len();
            for _ in 0..below(4, &mut next) {
                let mut variables: Vec<u32> =
                    (0..1 + below(3, &mut next)).map(|_| below(count, &mut next) as u32).collect();
                variables.sort_unstable();
                variables.dedup();
                let rows = 1 + below(3, &mut next);
                removable.push(tree.add_factor(factor(&tree, &variables, rows, &mut next)));
            }
            if turn % 3 == 2 && !removable.is_empty() {
                let position = below(removable.len(), &mut next);
                tree.remove_factor(removable.swap_remove(position));
            }
            if turn % 2 == 1 {
                let moved = below(count, &mut next) as u32;
                tree.relinearise(moved);
                for number in tree.variables[moved as usize].factors.clone() {
                    // One that was removed stays listed until the update.
                    let Some(numbers) = tree.factors[number as usize].as_ref().map(|factor| factor.numbers.clone())
                    else {
                        continue;
                    };
                    // The right side changes, as it does with the point, and the matrix by a little.
                    let numbers: Vec<f64> = numbers.iter().map(|x| x + 0.05 * next()).collect();
                    tree.replace_factor(number, &numbers);
                }
            }
            tree.update(&newest, 0.0).unwrap();
            assert_sound(&tree);
            assert_solved(&tree, &format!("seed {seed}, turn {turn}"));
        }
        let some = [0, tree.variables.len() as u32 - 1, tree.variables.len() as u32 / 2];
        let found = tree.covariance(&some);
        let dense = Dense::of(&tree);
        let places: Vec<usize> = some
            .iter()
            .flat_map(|&v| (0..tree.variables[v as usize].dim as usize).map(move |k| (v, k)))
            .map(|(v, k)| tree.variables[v as usize].first + k)
            .collect();
        for (column, &place) in places.iter().enumerate() {
            let mut unit = vec![0.0; dense.right.len()];
            unit[place] = 1.0;
            let inverse = dense.solve(&unit);
            for (row, &other) in places.iter().enumerate() {
                assert!((found[row * places.len() + column] - inverse[other]).abs() < 1e-9, "{row}, {column}");
            }
        }
    }
}

#[test]
fn a_chain_changes_at_its_end_alone() {
    let mut tree = BayesTree::new();
    let mut last = tree.add_variable(1);
    tree.add_factor(JacobianFactor { variables: vec![last], rows: 1, numbers: vec![1.0, 2.0] });
    for turn in 0..50 {
        let variable = tree.add_variable(1);
        tree.add_factor(JacobianFactor { variables: vec![last, variable], rows: 1, numbers: vec![-1.0, 1.0, 1.0] });
        let updated = tree.update(&[variable], 0.0).unwrap();
        assert!(updated.eliminated <= 3, "turn {turn}: {updated:?}");
        last = variable;
    }
    // A chain of 51 has a condition of some thousand.
    assert!((tree.delta(last)[0] - 52.0).abs() < 1e-9);
    assert_eq!(tree.update(&[], 0.0), Ok(Updated { eliminated: 0, solved: 51 }), "nothing changed");
}

#[test]
fn small_changes_wait_for_an_update_without_others() {
    let mut tree = BayesTree::new();
    let mut next = random(5);
    let variables: Vec<u32> = (0..40).map(|_| tree.add_variable(2)).collect();
    for pair in variables.windows(2) {
        tree.add_factor(prior(&tree, pair[0], &mut next));
        tree.add_factor(factor(&tree, pair, 2, &mut next));
    }
    tree.add_factor(prior(&tree, 39, &mut next));
    tree.update(&[39], 0.0).unwrap();
    tree.add_factor(factor(&tree, &[20, 39], 2, &mut next));
    let part = tree.update(&[20, 39], 0.01).unwrap();
    assert!(part.solved < 40, "{part:?}");
    assert_eq!(tree.update(&[], 0.01).unwrap().solved, 40);
    assert_solved(&tree, "all of it");
}

#[test]
fn what_no_factor_determines_is_named_and_the_next_update_tries_again() {
    let mut tree = BayesTree::new();
    let [a, b] = [tree.add_variable(2), tree.add_variable(1)];
    let prior =
        tree.add_factor(JacobianFactor { variables: vec![a], rows: 2, numbers: vec![1.0, 0.0, 0.0, 1.0, 3.0, 4.0] });
    assert_eq!(tree.update(&[], 0.0), Err(UpdateFailure::Undetermined(Undetermined { variable: b, coordinate: 0 })));
    tree.add_factor(JacobianFactor { variables: vec![a, b], rows: 1, numbers: vec![0.0, -1.0, 2.0, 0.0] });
    tree.update(&[], 0.0).unwrap();
    assert_solved(&tree, "determined");
    assert!((tree.delta(b)[0] - 2.0).abs() < 1e-14);
    tree.remove_factor(prior);
    let Err(UpdateFailure::Undetermined(which)) = tree.update(&[], 0.0) else { panic!("nothing holds it") };
    assert!([a, b].contains(&which.variable));
    assert!((tree.delta(b)[0] - 2.0).abs() < 1e-14, "the last solution stays");
    assert_sound(&tree);
    tree.add_factor(JacobianFactor { variables: vec![a], rows: 2, numbers: vec![1.0, 0.0, 0.0, 1.0, 5.0, 6.0] });
    tree.update(&[], 0.0).unwrap();
    assert!((tree.delta(b)[0] - 3.0).abs() < 1e-14);
}

#[test]
fn a_long_chain_that_nothing_holds_is_undetermined() {
    let mut tree = BayesTree::new();
    let mut next = random(7);
    let mut last = tree.add_variable(1);
    for _ in 0..3000 {
        let variable = tree.add_variable(1);
        let scale = 1.0 + 0.5 * next();
        tree.add_factor(JacobianFactor {
            variables: vec![last, variable],
            rows: 1,
            numbers: vec![-scale, scale, next()],
        });
        last = variable;
    }
    assert!(tree.update(&[last], 0.0).is_err());
}

#[test]
fn the_newest_variables_are_eliminated_last() {
    let mut tree = BayesTree::new();
    let mut next = random(9);
    let variables: Vec<u32> = (0..30).map(|_| tree.add_variable(2)).collect();
    for &variable in &variables {
        tree.add_factor(prior(&tree, variable, &mut next));
        let pair = [variable, (variable + 1) % 30];
        tree.add_factor(factor(&tree, &pair, 2, &mut next));
    }
    tree.update(&[4, 17], 0.0).unwrap();
    for variable in [4, 17] {
        assert_eq!(tree.cliques[tree.variables[variable].clique as usize].parent, NONE, "in the root");
    }
    assert_solved(&tree, "a ring");
}

#[test]
fn what_was_replaced_leaves_no_rounding_in_what_counts_as_determined() {
    // Squares beyond the range, and a weight that falls by more than the digits of a number.
    for before in [1e200, 1e20] {
        let mut tree = BayesTree::new();
        let variable = tree.add_variable(1);
        let factor =
            tree.add_factor(JacobianFactor { variables: vec![variable], rows: 1, numbers: vec![before, before] });
        let _ = tree.update(&[], 0.0);
        tree.replace_factor(factor, &[1e-3, 2e-3]);
        assert!(tree.update(&[], 0.0).is_ok(), "after {before:e}");
        assert_eq!(tree.delta(variable), [2.0]);
    }
}

#[test]
fn a_failed_update_leaves_what_was_linearised_anew_as_it_was() {
    let mut tree = BayesTree::new();
    let mut next = random(11);
    let [a, b] = [tree.add_variable(2), tree.add_variable(2)];
    let numbers = [a, b].map(|variable| tree.add_factor(prior(&tree, variable, &mut next)));
    tree.add_factor(factor(&tree, &[a, b], 3, &mut next));
    tree.update(&[], 0.0).unwrap();
    let (before, covariance) = (tree.delta.clone(), tree.covariance(&[a, b]));
    let old = tree.factors[numbers[0] as usize].as_ref().unwrap().numbers.clone();
    let free = tree.add_variable(1);
    tree.relinearise(a);
    tree.replace_factor(numbers[0], &old.iter().map(|x| 2.0 * x).collect::<Vec<_>>());
    assert_eq!(tree.update(&[], 0.0), Err(UpdateFailure::Undetermined(Undetermined { variable: free, coordinate: 0 })));
    assert_eq!(tree.delta(a), &before[..2]);
    assert_eq!(tree.covariance(&[a, b]), covariance);
    tree.replace_factor(numbers[0], &old);
    tree.add_factor(JacobianFactor { variables: vec![free], rows: 1, numbers: vec![1.0, 3.0] });
    tree.update(&[], 0.0).unwrap();
    assert_solved(&tree, "after the failure");
}

#[test]
fn a_step_beyond_the_range_is_named_and_leaves_the_last_one() {
    let mut tree = BayesTree::new();
    let mut next = random(12);
    let variables: Vec<u32> = (0..20).map(|_| tree.add_variable(2)).collect();
    for pair in variables.windows(2) {
        tree.add_factor(prior(&tree, pair[0], &mut next));
        tree.add_factor(factor(&tree, pair, 2, &mut next));
    }
    tree.add_factor(prior(&tree, 19, &mut next));
    tree.update(&[19], 0.0).unwrap();
    // A right side whose product with its column overflows, and one that the division by a pivot makes too large.
    for numbers in [vec![1e200, 0.0, 1e200], vec![0.0, 0.0, f64::MAX]] {
        let before = tree.delta.clone();
        let bad = tree.add_factor(JacobianFactor { variables: vec![3], rows: 1, numbers });
        let far = tree.add_variable(1);
        let own = tree.add_factor(JacobianFactor { variables: vec![far], rows: 1, numbers: vec![1e-160, 1e160] });
        for _ in 0..2 {
            assert!(matches!(tree.update(&[], 0.0), Err(UpdateFailure::NonFinite(_) | UpdateFailure::Undetermined(_))));
            assert_eq!(tree.delta[..before.len()], before[..]);
        }
        tree.remove_factor(bad);
        tree.replace_factor(own, &[2.0, 6.0]);
        tree.update(&[], 0.0).unwrap();
        assert!((tree.delta(far)[0] - 3.0).abs() < 1e-14);
        tree.delta.iter().zip(&before).for_each(|(now, before)| assert!((now - before).abs() < 1e-12));
    }
}

#[test]
fn marginals_leave_the_solution_and_covariance_of_the_others() {
    for seed in 1..6 {
        let mut next = random(seed);
        // The same changes in two trees, one of which keeps all variables.
        let (mut tree, mut whole) = (BayesTree::new(), BayesTree::new());
        let mut kept: Vec<u32> = Vec::new();
        for turn in 0..40 {
            let variable = tree.add_variable(1 + turn % 3);
            whole.add_variable(1 + turn % 3);
            kept.push(variable);
            let mut added = vec![prior(&tree, variable, &mut next)];
            for _ in 0..2 {
                let other = kept[((0.5 * next() + 0.5) * kept.len() as f64) as usize % kept.len()];
                if other != variable {
                    added.push(factor(&tree, &[other, variable], 2, &mut next));
                }
            }
            for factor in added {
                tree.add_factor(factor.clone());
                whole.add_factor(factor);
            }
            tree.update(&[variable], 0.0).unwrap();
            whole.update(&[variable], 0.0).unwrap();
            if turn % 4 == 3 {
                // Of all ages, some of them neighbours.
                let mut gone: Vec<u32> = (0..3).map(|k| kept.remove((k * 5 + turn as usize) % kept.len())).collect();
                gone.sort_unstable();
                tree.marginalise(&gone).unwrap();
                if turn % 8 == 7 {
                    tree.update(&[], 0.0).unwrap();
                }
            }
        }
        tree.update(&[], 0.0).unwrap();
        for &variable in &kept {
            for (a, b) in tree.delta(variable).iter().zip(whole.delta(variable)) {
                assert!((a - b).abs() < 1e-9, "seed {seed}: {a}, not {b}");
            }
        }
        for (a, b) in tree.covariance(&kept).iter().zip(whole.covariance(&kept)) {
            assert!((a - b).abs() < 1e-9, "seed {seed}: {a}, not {b}");
        }
    }
}

#[test]
fn a_window_over_a_chain_has_as_many_cliques_and_factors_as_its_variables_need() {
    let mut tree = BayesTree::new();
    let mut last = tree.add_variable(1);
    tree.add_factor(JacobianFactor { variables: vec![last], rows: 1, numbers: vec![1.0, 2.0] });
    for turn in 1..2000u32 {
        let variable = tree.add_variable(1);
        tree.add_factor(JacobianFactor { variables: vec![last, variable], rows: 1, numbers: vec![-1.0, 1.0, 1.0] });
        tree.update(&[variable], 0.0).unwrap();
        if turn >= 10 {
            tree.marginalise(&[turn - 10]).unwrap();
        }
        last = variable;
    }
    tree.update(&[], 0.0).unwrap();
    assert!((tree.delta(last)[0] - 2001.0).abs() < 1e-8);
    // The variance of a random walk.
    assert!((tree.covariance(&[last])[0] - 2000.0).abs() < 1e-6);
    assert!(tree.cliques.len() < 40 && tree.factors.len() < 40 && tree.marginals.len() == 1);
}

#[test]
fn a_marginal_that_determines_nothing_counts_as_nothing() {
    let mut tree = BayesTree::new();
    let mut next = random(13);
    let [a, b] = [tree.add_variable(2), tree.add_variable(2)];
    let hold = tree.add_factor(prior(&tree, b, &mut next));
    tree.add_factor(JacobianFactor {
        variables: vec![a, b],
        rows: 2,
        numbers: [0.3, 0.7, 0.2, -0.1].repeat(2).into_iter().chain([1.0, 2.0]).collect(),
    });
    tree.update(&[], 0.0).unwrap();
    tree.marginalise(&[a]).unwrap();
    tree.remove_factor(hold);
    assert!(
        matches!(tree.update(&[], 0.0), Err(UpdateFailure::Undetermined(Undetermined { variable, .. })) if variable == b)
    );
}

#[test]
fn the_list_of_a_variable_is_searched_once_for_all_of_its_factors_that_are_removed() {
    let mut tree = BayesTree::new();
    let hub = tree.add_variable(1);
    let mut add = |right| tree.add_factor(JacobianFactor { variables: vec![hub], rows: 1, numbers: vec![1.0, right] });
    let (removed, kept) = ([0; 100].map(|_| add(1.0)), add(5.0));
    removed.iter().for_each(|&number| tree.remove_factor(number));
    assert_eq!(tree.variables[hub as usize].factors.len(), 101, "they wait");
    // Their numbers are not given to others before.
    assert_eq!(tree.add_factor(JacobianFactor { variables: vec![hub], rows: 1, numbers: vec![1.0, 7.0] }), kept + 1);
    tree.update(&[], 0.0).unwrap();
    // The square of a root of 2 is rounded.
    assert!((tree.delta(hub)[0] - 6.0).abs() < 1e-14);
    assert_eq!(tree.variables[hub as usize].factors, [kept, kept + 1]);
}
