//! Newton's method on a device, without one: projected Hessians by an interpreter, and what is recorded.

use crate::interpreter::{run, validated};
use crate::landmarks;
use crate::least_squares::{Edge, grid};
use residua::eval::Objective;
use residua::eval::access_plan_cache::AccessPlanCache;
use residua::eval::layout::Layout;
use residua::eval::objective::Descent;
use residua::eval::texts::kernel_numbers;
use residua::model::Class;
use residua::model::instance_matrices::{columns, rows};
use residua::solve::newton::device::aggregates::Aggregates;
use residua::solve::newton::device::record::{self, Recording, Shape, record};
use residua::solve::newton::device::shaders::{SystemKernel, SystemUniforms};
use residua_codegen::Width;
use residua_gpu::{Limits, Submissions};
use residua_linalg::loops::semidefinite::{Negative, Scratch, semidefinite_rows};

/// Matrices of one kind after another: positive definite, singular, indefinite in the range of the scales, indefinite, zero.
fn matrix(instance: usize, row: usize, column: usize, scales: &[f32]) -> f64 {
    let wave = |k: usize| (1.3 * (k * k + 3 * instance) as f64).sin();
    let outer = wave(row) * wave(column);
    let units = f64::from(scales[row] * scales[column]);
    let diagonal = f64::from(u8::from(row == column));
    match instance % 5 {
        0 => outer + diagonal,
        1 => outer,
        2 => (outer - 0.4 * diagonal) / units,
        3 => wave(row + column) - diagonal,
        _ => 0.0,
    }
}

/// Row and column of each entry, by the columns of the table.
fn entries(class: &Class) -> impl Iterator<Item = (u32, u32)> {
    (0..rows(class)).flat_map(|row| (0..=row).map(move |column| (row, column)))
}

#[test]
fn projected_hessians_are_those_of_the_host_without_rows_of_constants() {
    let model = grid(2, Edge::Spring);
    let batch = &model.batches[0];
    let class = &*batch.class;
    let width = rows(class) as usize;
    assert_eq!((width, columns(class)), (6, 21), "two blocks of three numbers");
    // More than one workgroup, of which the last is not full.
    let count = 70_usize;
    let scales = [1.0, 2.0, 0.25, 1.0, 2.0, 0.25_f32];
    for constant in [vec![], vec![1_u32, 4]] {
        for (negative, factor) in [(Negative::Clamped, 1.0), (Negative::Absolute, 2.0)] {
            let mut table = vec![0.0_f32; columns(class) as usize * count];
            for instance in 0..count {
                for (place, (row, column)) in entries(class).enumerate() {
                    table[place * count + instance] = matrix(instance, row as usize, column as usize, &scales) as f32;
                }
            }
            let indices = [vec![0; count], vec![3; count]].concat();
            let uniforms = SystemUniforms {
                count: count as u32,
                stride: count as u32,
                groups: 2,
                first: 1,
                factor,
                ..SystemUniforms::default()
            };
            let reals = |numbers: &[f32]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
            let is_constant = |k: usize| constant.contains(&(k as u32));
            let mut buffers = [
                indices,
                reals(&table),
                reals(&scales),
                (0..6).map(|k| u32::from(is_constant(k))).collect(),
                vec![0; table.len()],
                vec![0; 3],
                uniforms.words().to_vec(),
            ];
            run(&SystemKernel::Project(0).wgsl(3, Some(class)), [2, 1], &mut buffers);
            let mut indefinite = 0;
            for instance in 0..count {
                let mut whole = vec![0.0; width * width];
                for (place, (row, column)) in entries(class).enumerate() {
                    let (row, column) = (row as usize, column as usize);
                    let number = f64::from(table[place * count + instance]) * f64::from(scales[row] * scales[column]);
                    let number = if is_constant(row) || is_constant(column) { 0.0 } else { number };
                    (whole[row * width + column], whole[column * width + row]) = (number, number);
                }
                let size = whole.iter().fold(0.0_f64, |most, entry| most.max(entry.abs()));
                let mut roots = vec![0.0; width * width];
                let is_indefinite = semidefinite_rows(&mut whole, width, negative, &mut roots, &mut Scratch::default());
                // Of singular matrices rounding decides in single precision.
                indefinite += u32::from(is_indefinite && instance % 5 != 1);
                for (place, (row, column)) in entries(class).enumerate() {
                    let (row, column) = (row as usize, column as usize);
                    let expected: f64 = roots.chunks_exact(width).map(|root| root[row] * root[column]).sum();
                    let found = f64::from(f32::from_bits(buffers[4][place * count + instance]));
                    let found = found * f64::from(scales[row] * scales[column]);
                    // Some tens of roundings of the largest entry.
                    assert!(
                        (found - expected).abs() <= 5e-6 * size,
                        "instance {instance}, {row}, {column}: {found}, not {expected}"
                    );
                }
            }
            assert_eq!(buffers[5][0], 0, "counts of other chunks stay");
            assert_eq!(buffers[5][1] + buffers[5][2], indefinite, "instances with negative eigenvalues");
        }
    }
}

#[test]
fn matrices_that_are_not_finite_are_told_by_the_count() {
    let model = grid(2, Edge::Spring);
    let class = &*model.batches[0].class;
    let mut table = vec![1.0_f32; columns(class) as usize];
    table[4] = f32::INFINITY;
    let uniforms = SystemUniforms { count: 1, stride: 1, groups: 1, factor: 1.0, ..SystemUniforms::default() };
    let mut buffers = [
        vec![0, 3],
        table.iter().map(|number| number.to_bits()).collect(),
        vec![1.0_f32.to_bits(); 6],
        vec![0; 6],
        vec![0; table.len()],
        vec![7],
        uniforms.words().to_vec(),
    ];
    run(&SystemKernel::Project(0).wgsl(3, Some(class)), [1, 1], &mut buffers);
    assert!(buffers[5][0] > 64, "more than a workgroup has instances: {}", buffers[5][0]);
}

#[test]
fn what_is_recorded_keeps_the_limits_and_its_kernels_are_valid() {
    let limits = Limits::default();
    for model in [grid(20, Edge::Spring), landmarks::model(30, 40, 5, true)] {
        for batch_size in [None, Some(100)] {
            let (numbers, count) = kernel_numbers(&model);
            let mut plans = AccessPlanCache::new(&model, numbers, count, Width::Single);
            let shape = Shape::of(&model, Objective::Sum).unwrap();
            let mut wanted = record::entries(shape.numbers);
            wanted.extend(model.batches.iter().map(|batch| record::hessian(batch, Objective::Sum)));
            wanted.iter().for_each(|&entry| plans.make(&model, entry).unwrap());
            let layout =
                Layout::new(&model, Width::Single, &vec![6; model.batches.len()], &limits, batch_size).unwrap();
            let descent =
                Descent { model: &model, layout: &layout, kernels: &plans, limits: &limits, objective: Objective::Sum };
            let recording = record(&descent, &shape, 1.0).unwrap();
            let [projected, exact] = &recording.iterations;
            let Recording { linearise, probe, begin, read, measure, .. } = &recording;
            for segment in [linearise, probe, begin, projected, exact, read, measure] {
                Submissions::new(&segment.list, &limits).unwrap();
            }
            // A buffer has its number as its name.
            let [mut projected, exact] = [projected, exact].map(|segment| format!("{:?}", segment.list));
            for chunk in 0..layout.chunks.len() {
                let [hessians, of_projected] = record::tables(chunk).map(|number| format!("\"Solver({number})\""));
                assert!(projected.contains(&of_projected) && !projected.contains(&hessians), "chunk {chunk}");
                projected = projected.replace(&of_projected, &hessians);
            }
            assert_eq!(projected, exact, "both iterations are the same but for the table that they read");
            for (number, class) in &recording.classes {
                validated(&SystemKernel::Project(*number).wgsl(shape.numbers, Some(class)));
            }
        }
    }
}

/// First coordinate of each block of three numbers, and the end.
fn blocks(count: u32) -> Vec<u32> {
    (0..=count).map(|block| 3 * block).collect()
}

#[test]
fn aggregates_are_equal_pieces_of_a_grid_that_lie_together() {
    let side = 40_usize;
    let count = (side * side) as u32;
    let aggregates = Aggregates::new(&grid(side as u32, Edge::Spring), &blocks(count), 3);
    let (parts, places) = (aggregates.parts() as usize, aggregates.parts() as usize + 1 + aggregates.count as usize);
    assert_eq!((aggregates.count, aggregates.each), (16, 1), "128 blocks a part at most");
    let (mut seen, mut lengths) = (vec![false; count as usize], 0);
    for part in 0..parts {
        let range = aggregates.table[part] as usize..aggregates.table[part + 1] as usize;
        assert_eq!(range.len(), 100, "part {part}");
        let [mut least, mut most] = [[side; 2], [0; 2]];
        for place in range {
            let [first, dim] = [0, 1].map(|k| aggregates.table[places + 2 * place + k]);
            assert!(first % 3 == 0 && dim == 3);
            let block = first as usize / 3;
            assert!(!std::mem::replace(&mut seen[block], true), "block {block} twice");
            for (k, at) in [block % side, block / side].into_iter().enumerate() {
                (least[k], most[k]) = (least[k].min(at), most[k].max(at));
            }
        }
        lengths += (most[0] - least[0]).max(most[1] - least[1]);
    }
    // A square of 100 has a side of 10, a triangle that is half of a square one of 14 or, along its longest side, of 20. A strip would be 40 long.
    assert!(lengths < parts * 20, "parts are {} long", lengths / parts);
    assert!(seen.iter().all(|seen| *seen));
}

#[test]
fn products_with_colours_give_the_matrix_along_the_basis() {
    let side = 20_u32;
    let model = grid(side, Edge::Spring);
    let n = model.num_params as usize;
    let aggregates = Aggregates::new(&model, &blocks(side * side), 3);
    assert_eq!((aggregates.count, aggregates.each), (4, 1));
    // Hessians of springs that all coordinates of a kind have for themselves, and 1 on the diagonal.
    let mut hessian = vec![0.0; n * n];
    for k in 0..n {
        hessian[k * n + k] = 1.0;
    }
    let batch = &model.batches[0];
    for (&a, &b) in batch.column(0).iter().zip(batch.column(1)) {
        for k in 0..3 {
            let [a, b] = [a, b].map(|first| (first + k) as usize);
            for (row, column, sign) in [(a, a, 1.0), (b, b, 1.0), (a, b, -1.0), (b, a, -1.0)] {
                hessian[row * n + column] += sign;
            }
        }
    }
    let mut diagonal: Vec<f64> = (0..n).map(|k| hessian[k * n + k]).collect();
    let mut held = vec![false; n];
    held[7] = true;
    diagonal[30] *= 1e9;
    let basis = aggregates.basis(&diagonal, &held);
    let out: Vec<usize> = (0..n).filter(|&k| basis[k] == 0.0).collect();
    assert_eq!(out, [7, 30], "what is held, and what is far stiffer than its neighbours");
    // Which aggregate a coordinate is in.
    let (parts, numbers) = (aggregates.parts() as usize, 3);
    let places = parts + 1 + aggregates.count as usize;
    let mut part_of = vec![0; n];
    for part in 0..parts {
        for place in aggregates.table[part]..aggregates.table[part + 1] {
            let first = aggregates.table[places + 2 * place as usize] as usize;
            part_of[first..first + numbers].fill(part);
        }
    }
    let row = |k: usize| part_of[k] / aggregates.each as usize * numbers + k % numbers;
    let mut probed = Vec::new();
    for (colour, component) in aggregates.probes() {
        let is_in = |k: &usize| aggregates.colours[row(*k) / numbers] == colour && k % numbers == component as usize;
        let mut found = vec![0.0_f32; parts * numbers];
        for k in 0..n {
            let product: f64 = (0..n).filter(is_in).map(|j| hessian[k * n + j] * f64::from(basis[j])).sum();
            found[part_of[k] * numbers + k % numbers] += basis[k] * product as f32;
        }
        probed.extend(found);
    }
    let rows = aggregates.row_count() as usize;
    let mut expected = vec![0.0; rows * rows];
    for k in 0..n {
        for j in 0..n {
            expected[row(k) * rows + row(j)] += hessian[k * n + j] * f64::from(basis[k] * basis[j]);
        }
    }
    let matrix = aggregates.matrix(&probed);
    // Sums of small integers.
    assert_eq!(matrix, expected);
    let damping = 0.5;
    let inverse = aggregates.inverse(&matrix, damping, &diagonal, &basis);
    for k in 0..n {
        expected[row(k) * (rows + 1)] += damping * diagonal[k] * f64::from(basis[k]);
    }
    for i in 0..rows {
        for j in 0..rows {
            let product: f64 = (0..rows).map(|k| expected[i * rows + k] * f64::from(inverse[k * rows + j])).sum();
            let identity = f64::from(u8::from(i == j));
            assert!(
                (product - identity).abs() < 1e-4,
                "the share that is added to the diagonal, ten times: {product} at {i}, {j}"
            );
        }
    }
}
