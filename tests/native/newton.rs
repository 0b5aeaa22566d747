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
use residua::solve::newton::device::record::{self, Shape, record};
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
            for segment in [&recording.linearise, &recording.begin, projected, exact, &recording.read] {
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
