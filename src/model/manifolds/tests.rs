//! Properties of every manifold, at blocks of all sizes that occur.

use super::*;
use residua_codegen::{InstanceRange, View, Width, interpret};
#[cfg(not(target_arch = "wasm32"))]
use residua_codegen::{wasm, wgsl};
use residua_ir::graph::{Graph, InputId};

/// Manifolds with points on them, poles and edges included.
fn points() -> Vec<(Manifold, Vec<f64>)> {
    let unit = |x: &[f64]| {
        let mut x = x.to_vec();
        Manifold::UnitVector.normalise(&mut x).unwrap();
        x
    };
    let pi = std::f64::consts::PI;
    let mut points = vec![
        (Manifold::Euclidean, vec![3.0]),
        (Manifold::Euclidean, vec![1e10, -0.0, -2.5]),
        (Manifold::UnitQuaternion, vec![1.0, 0.0, -0.0, 0.0]),
        (Manifold::UnitQuaternion, vec![-0.5, 0.5, -0.5, 0.5]),
        (Manifold::UnitQuaternion, unit(&[0.3, -1.2, 0.7, 2.0])),
        (Manifold::UnitVector, unit(&[0.6, -0.8])),
        (Manifold::UnitVector, vec![0.0, 0.0, 1.0]),
        (Manifold::UnitVector, vec![0.0, -0.0, -1.0]),
        (Manifold::UnitVector, vec![1.0, 0.0, 0.0]),
        (Manifold::UnitVector, unit(&[1e-9, 0.0, -1.0])),
        (Manifold::UnitVector, unit(&[0.3, -1.2, 0.7, 2.0, -0.1])),
    ];
    points.extend([0.0, 1.0, pi, -3.0, 4.0 * pi + 0.5].map(|angle| (Manifold::Angle, vec![angle])));
    let product = |name: &str| Manifold::from_name(name).unwrap();
    points.push((product("unit-quaternion 4 × euclidean 3"), vec![-0.5, 0.5, -0.5, 0.5, 1e10, -0.0, -2.5]));
    points.push((product("angle 1 × euclidean 2"), vec![2.0, 3.0, -4.0]));
    points
        .push((product("unit-vector 3 × angle 1 × unit-quaternion 4"), vec![0.0, 0.6, -0.8, 1.0, 0.0, 0.0, 1.0, 0.0]));
    points
}

/// x ⊞ δ by the reference evaluation.
fn moved(manifold: Manifold, x: &[f64], delta: &[f64]) -> Vec<f64> {
    let mut g = Graph::new();
    let mut inputs = |from: usize, count: usize| -> Vec<_> {
        (from..from + count).map(|number| g.input(InputId(number as u32))).collect()
    };
    let (point, step) = (inputs(0, x.len()), inputs(x.len(), delta.len()));
    let nodes = retract(&mut g, manifold, &point, &step);
    let values = g.check((x.len() + delta.len()) as u32).unwrap().evaluate(&[x, delta].concat());
    nodes.iter().map(|node| values[node.index()]).collect()
}

/// A row of partials times B(x), by the reference evaluation; NaN for a structural zero.
fn projected(manifold: Manifold, x: &[f64], row: &[Option<f64>]) -> Vec<f64> {
    let mut g = Graph::new();
    let point: Vec<_> = (0..x.len()).map(|number| g.input(InputId(number as u32))).collect();
    let partials: Vec<_> = row.iter().map(|partial| partial.map(|partial| g.literal(partial))).collect();
    let nodes = tangent_partials(&mut g, manifold, &point, &partials);
    let values = g.check(x.len() as u32).unwrap().evaluate(x);
    nodes.iter().map(|node| node.map_or(f64::NAN, |node| values[node.index()])).collect()
}

fn length(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Some step of a given size, its coordinates all different.
fn step(manifold: Manifold, dim: usize, size: f64) -> Vec<f64> {
    (0..manifold.tangent_dim(dim as u32)).map(|i| size * (f64::from(i) - 0.4)).collect()
}

#[test]
fn no_step_leaves_every_bit() {
    for (manifold, x) in points() {
        let at_rest = moved(manifold, &x, &step(manifold, x.len(), 0.0));
        let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&at_rest), bits(&x), "{} {x:?}", manifold.name());
    }
}

#[test]
fn the_derivative_of_a_step_is_the_basis_that_partials_are_multiplied_with() {
    let h = 1e-5;
    for (manifold, x) in points() {
        for tangent in 0..manifold.tangent_dim(x.len() as u32) as usize {
            let along = |size: f64| {
                let mut delta = step(manifold, x.len(), 0.0);
                delta[tangent] = size;
                moved(manifold, &x, &delta)
            };
            let (forward, backward) = (along(h), along(-h));
            for number in 0..x.len() {
                let mut row = vec![None; x.len()];
                row[number] = Some(1.0);
                // A structural zero of the row may be one of the product.
                let analytic = projected(manifold, &x, &row)[tangent];
                let analytic = if analytic.is_nan() { 0.0 } else { analytic };
                let mut difference = forward[number] - backward[number];
                if manifold == Manifold::Angle {
                    difference -= std::f64::consts::TAU * (difference / std::f64::consts::TAU).round();
                }
                // Truncation h²/6 is 2e-11; rounding 2⁻⁵³·|x|/h is 2e-11 at 1 and 0.1 at 1e10.
                let tolerance = 1e-10 * x[number].abs().max(1.0);
                let numeric = difference / (2.0 * h);
                assert!(
                    (analytic - numeric).abs() <= tolerance,
                    "{} {x:?}: ∂x{number}/∂δ{tangent} is {numeric}, not {analytic}",
                    manifold.name()
                );
            }
        }
    }
}

#[test]
fn whole_rows_of_partials_are_the_sums_of_their_entries() {
    for (manifold, x) in points() {
        let row: Vec<f64> = (0..x.len()).map(|i| 1.5 - i as f64).collect();
        let all = projected(manifold, &x, &row.iter().map(|&entry| Some(entry)).collect::<Vec<_>>());
        for (tangent, sum) in all.iter().enumerate() {
            let single = |number: usize| {
                let mut one = vec![None; x.len()];
                one[number] = Some(row[number]);
                let entry = projected(manifold, &x, &one)[tangent];
                if entry.is_nan() { 0.0 } else { entry }
            };
            let expected: f64 = (0..x.len()).map(single).sum();
            // Five products of numbers up to 3.5, rounded.
            assert!((sum - expected).abs() < 1e-14, "{} {x:?}: {sum}, not {expected}", manifold.name());
        }
        let none = projected(manifold, &x, &vec![None; x.len()]);
        assert!(none.iter().all(|entry| entry.is_nan()), "a row of zeros stays one");
        assert_eq!(none.len() as u32, tangent_dim(manifold, x.len() as u32));
    }
}

#[test]
fn a_thousand_steps_keep_unit_length_and_a_long_one_too() {
    for (manifold, mut x) in points() {
        if !matches!(manifold, Manifold::UnitQuaternion | Manifold::UnitVector) {
            continue;
        }
        for turn in 0..1000 {
            x = moved(manifold, &x, &step(manifold, x.len(), 0.01 * f64::from(turn)));
            // Normalised at the end of each step: the error is that of one normalisation.
            assert!((length(&x) - 1.0).abs() < 4.0 * f64::EPSILON, "{} {x:?}", manifold.name());
        }
    }
}

#[test]
fn a_quaternion_turns_by_twice_the_step() {
    // δ = (t, 0, 0) from the identity is the rotation by 2t about the first axis: (cos t, sin t, 0, 0).
    let turned = moved(Manifold::UnitQuaternion, &[1.0, 0.0, 0.0, 0.0], &[0.3, 0.0, 0.0]);
    for (found, expected) in turned.iter().zip([0.3f64.cos(), 0.3f64.sin(), 0.0, 0.0]) {
        assert!((found - expected).abs() < 1e-15, "{turned:?}: a sine, a cosine and a normalisation, rounded");
    }
}

#[test]
fn angles_stay_above_minus_pi_and_up_to_pi() {
    let pi = std::f64::consts::PI;
    let table = [
        (0.0, 1.0, 1.0),
        (3.0, 0.5, 3.5 - 2.0 * pi),
        (-3.0, -0.5, 2.0 * pi - 3.5),
        (0.0, pi, pi),
        (0.0, -pi, pi),
        (pi, -pi, 0.0),
        (1.0, 6.0 * pi, 1.0),
        (100.0, 1e-3, 100.001 - 32.0 * pi),
    ];
    for (x, delta, expected) in table {
        let found = moved(Manifold::Angle, &[x], &[delta])[0];
        // A few roundings of numbers up to 100.
        assert!((found - expected).abs() < 5e-14, "{x} + {delta} is {found}, not {expected}");
        assert!(-pi < found && found <= pi);
    }
}

#[test]
fn a_step_that_is_nan_is_not_taken_for_none() {
    for (manifold, x) in points() {
        let mut delta = step(manifold, x.len(), 0.0);
        delta[0] = f64::NAN;
        assert!(moved(manifold, &x, &delta)[0].is_nan(), "{}", manifold.name());
    }
}

#[test]
fn normalising_goes_to_the_nearest_point_and_says_how_far_off_it_was() {
    let mut x = [3e200, 0.0, -4e200];
    assert!(Manifold::UnitVector.normalise(&mut x).unwrap() > 1e200);
    assert!((x[0] - 0.6).abs() < 1e-15 && (x[2] + 0.8).abs() < 1e-15, "{x:?}: two roundings");
    let once = x;
    assert!(Manifold::UnitVector.normalise(&mut x).unwrap() <= 4.0 * f64::EPSILON);
    assert_eq!(x, once);
    for mut lost in [[0.0, 0.0], [f64::NAN, 1.0], [f64::INFINITY, 1.0]] {
        assert_eq!(Manifold::UnitVector.normalise(&mut lost), None);
    }
    assert_eq!(Manifold::Angle.normalise(&mut [100.0]), Some(0.0));
}

#[test]
fn the_kernel_projects_on_bounds_and_tells_the_step_that_was_made() {
    let kernel = retraction_kernel(Manifold::Euclidean, 2, true, Width::Single).unwrap();
    let x = [9.0, 1.0, 2.0, 5.0, 5.0];
    let delta = [9.0, 3.0, -0.5, 0.0, -9.0];
    let (lower, upper) = ([f64::NEG_INFINITY, 0.0, 0.0, 6.0, 4.0], [f64::INFINITY, 3.0, 3.0, 7.0, f64::INFINITY]);
    let (mut trial, mut made) = (vec![-1.0; 5], vec![-1.0; 5]);
    let mut views = [
        View::Read(&x),
        View::Read(&delta),
        View::Read(&lower),
        View::Read(&upper),
        View::Write(&mut trial),
        View::Write(&mut made),
    ];
    interpret::run(&kernel, &mut views, &InstanceRange { instances: 0..2, stride: 2, first: 1, origin: 0 }).unwrap();
    assert_eq!(trial, [-1.0, 3.0, 1.5, 5.0, 4.0], "what does not move is not projected");
    assert_eq!(made, [-1.0, 2.0, -0.5, 0.0, -1.0]);
}

#[cfg(not(target_arch = "wasm32"))]
#[test]
fn kernels_of_all_manifolds_are_written_for_both_engines() {
    for (manifold, x) in points() {
        let kernel = retraction_kernel(manifold, x.len() as u32, true, Width::Single).unwrap();
        let text = wgsl::write(&kernel, wgsl::PairForm::Split).unwrap();
        residua_portable::validated(&text);
        wasm::module(std::slice::from_ref(&kernel), 0).unwrap();
        for bounded in [false, true] {
            let pairs = retraction_kernel(manifold, x.len() as u32, bounded, Width::Pair).unwrap();
            residua_portable::validated(&wgsl::write(&pairs, wgsl::PairForm::Split).unwrap());
        }
        let mut made = vec![0.0; x.len()];
        let mut trial = vec![0.0; x.len()];
        let mut delta = step(manifold, x.len(), 0.5);
        delta.resize(x.len(), 7.0);
        let (lower, upper) = (vec![f64::NEG_INFINITY; x.len()], vec![f64::INFINITY; x.len()]);
        let mut views = [
            View::Read(&x),
            View::Read(&delta),
            View::Read(&lower),
            View::Read(&upper),
            View::Write(&mut trial),
            View::Write(&mut made),
        ];
        interpret::run(&kernel, &mut views, &InstanceRange { instances: 0..1, stride: 1, first: 0, origin: 0 })
            .unwrap();
        let tangents = tangent_dim(manifold, x.len() as u32) as usize;
        assert_eq!(trial, moved(manifold, &x, &delta[..tangents]));
        assert!(made[tangents..].iter().all(|&left_over| left_over == 0.0));
    }
}

#[test]
fn a_product_does_to_each_part_what_its_manifold_does() {
    let pose = Manifold::from_name("unit-quaternion 4 × euclidean 3").unwrap();
    assert_eq!(pose, Manifold::from_name("unit-quaternion 4 × euclidean 3").unwrap());
    assert_eq!((pose.tangent_dim(7), pose.takes(7), pose.takes(8)), (6, true, false));
    let (rotation, translation) = ([0.5, 0.5, -0.5, 0.5], [3.0, -2.0, 7.0]);
    let (turn, shift) = ([0.1, -0.2, 0.3], [1.0, 0.0, -1.0]);
    let expected =
        [moved(Manifold::UnitQuaternion, &rotation, &turn), moved(Manifold::Euclidean, &translation, &shift)].concat();
    assert_eq!(moved(pose, &[&rotation[..], &translation].concat(), &[turn, shift].concat()), expected);
    let mut far = [0.0, 0.0, 3.0, 4.0, 9.0, 9.0, 9.0];
    assert_eq!(pose.normalise(&mut far), Some(4.0));
    assert_eq!(far, [0.0, 0.0, 0.6, 0.8, 9.0, 9.0, 9.0]);
    assert_eq!(pose.normalise(&mut [0.0, 0.0, 0.0, 0.0, 9.0, 9.0, 9.0]), None);
    let flat = Manifold::from_name("angle 1 × euclidean 2").unwrap();
    assert!(flat.has_unit_basis() && !pose.has_unit_basis());
}

#[test]
fn names_that_are_no_products_give_none() {
    for name in [
        "",
        "circle",
        "euclidean 3",
        "euclidean 3 ×",
        "euclidean × euclidean 3",
        "unit-quaternion 3 × euclidean 3",
        "unit-vector 1 × euclidean 3",
        "angle 2 × angle 1",
        "euclidean 0 × angle 1",
        "euclidean -1 × angle 1",
        "euclidean 99999999 × angle 1",
    ] {
        assert_eq!(Manifold::from_name(name), None, "{name}");
    }
}

#[test]
fn the_size_in_a_coordinate_is_that_of_its_own_part() {
    let numbers = |places: std::ops::Range<u32>| places.map(CoordinateSize::Number);
    let sphere = |tangent: u32| vec![CoordinateSize::InverseSquare(tangent); tangent as usize];
    assert_eq!(Manifold::Euclidean.coordinate_sizes(2), numbers(0..2).collect::<Vec<_>>());
    assert_eq!(Manifold::UnitQuaternion.coordinate_sizes(4), sphere(3));
    assert_eq!(Manifold::UnitVector.coordinate_sizes(6), sphere(5));
    let sizes = |name: &str, dim: u32| Manifold::from_name(name).unwrap().coordinate_sizes(dim);
    assert_eq!(
        sizes("unit-quaternion 4 × euclidean 3", 7),
        sphere(3).into_iter().chain(numbers(4..7)).collect::<Vec<_>>()
    );
    assert_eq!(sizes("euclidean 3 × unit-quaternion 4", 7), numbers(0..3).chain(sphere(3)).collect::<Vec<_>>());
    let block = [0.6, 0.0, 0.8, 0.0, 5.0, -6.0, 7.0];
    let squares: Vec<f64> =
        sizes("unit-quaternion 4 × euclidean 3", 7).iter().map(|size| size.squared(&block)).collect();
    assert_eq!(squares, [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 25.0, 36.0, 49.0]);
}
