//! Kernels in parts: a call does a range of the outermost axis.

use super::machine::{reals, run_with, to_reals};
use crate::dtype::DType;
use crate::expr::{Elementwise, Expr, Reduction, TensorId};
use crate::fuse::Target;
use crate::plan::Plan;
use crate::size::Size;
use crate::tape::Recipe;

/// The result of a recipe of one kernel that reads `x`, and in how many parts it was done. Tests cut kernels from 80 points on.
fn run(extents: &[i64], dims: &[u32], x: &[f32], build: impl Fn(&mut Expr, TensorId) -> TensorId) -> (Vec<f32>, usize) {
    let mut expr = Expr::default();
    let mut shape: Vec<Size> = extents.iter().map(|extent| Size::constant(*extent)).collect();
    if !dims.is_empty() {
        shape[0] = Size::dim(0);
    }
    let x_id = expr.input(0, DType::F32, &shape);
    let root = build(&mut expr, x_id);
    let count = expr.count(root).at(dims) as usize;
    let recipe = Recipe { expr, dims: dims.to_vec(), results: vec![root], ..Recipe::default() };
    let plan = Plan::new(&recipe, &Target { is_host: true, most_buffers: 8 }).expect("a recipe that plans");
    let [kernel] = &plan.kernels[..] else { panic!("one kernel") };
    let words: Vec<u32> = kernel.sizes.iter().map(|size| size.word(dims)).collect();
    let mut buffers: Vec<Vec<u8>> =
        kernel.buffers.iter().map(|buffer| if buffer.written { vec![0xa5; 4 * count] } else { reals(x) }).collect();
    let parts = run_with(kernel, &words, &mut buffers);
    let result = kernel.buffers.iter().position(|buffer| buffer.written).expect("a kernel writes");
    (to_reals(&buffers[result]), parts)
}

#[test]
fn parts_do_all_points_once() {
    let numbers: Vec<f32> = (0..1003).map(|number| number as f32).collect();
    let twice = |expr: &mut Expr, x: TensorId| expr.elementwise(Elementwise::Add, &[x, x]);
    for dims in [&[][..], &[1003]] {
        let (found, parts) = run(&[1003], dims, &numbers, twice);
        assert!(found.iter().zip(&numbers).all(|(found, number)| *found == 2.0 * number));
        // Parts are of 64 points: 40 rounded up to bodies of eight vectors.
        assert_eq!(parts, 1003_usize.div_ceil(64));
    }
    let sums = |expr: &mut Expr, x: TensorId| expr.reduce(Reduction::Sum, x, &[1]);
    for dims in [&[][..], &[59]] {
        let (found, parts) = run(&[59, 17], dims, &numbers, sums);
        let expected: Vec<f32> = (0..59).map(|row| numbers[17 * row..17 * row + 17].iter().sum()).collect();
        assert_eq!(found, expected);
        // 40 points are two rows and a part of one.
        assert_eq!(parts, 59_usize.div_ceil(3));
    }
    let turned = |expr: &mut Expr, x: TensorId| expr.transpose(x);
    let (found, parts) = run(&[59, 17], &[], &numbers, turned);
    assert!((0..1003).all(|at| found[at] == numbers[at % 59 * 17 + at / 59]));
    assert_eq!(parts, 17);
}

#[test]
fn bodies_of_many_vectors_end_where_their_part_ends() {
    // The last part has a body of eight vectors, and eight points are left.
    let numbers: Vec<f32> = (0..1032).map(|number| number as f32 / 1032.0).collect();
    let exponentials = |expr: &mut Expr, x: TensorId| expr.elementwise(Elementwise::Exp, &[x]);
    for dims in [&[][..], &[1032]] {
        let (found, parts) = run(&[1032], dims, &numbers, exponentials);
        assert!(found.iter().zip(&numbers).all(|(found, number)| (found / number.exp() - 1.0).abs() < 3e-7));
        assert_eq!(parts, 1032_usize.div_ceil(64));
    }
}

#[test]
fn kernels_of_few_points_and_none_are_one_part() {
    let twice = |expr: &mut Expr, x: TensorId| expr.elementwise(Elementwise::Add, &[x, x]);
    assert_eq!(run(&[79], &[], &[1.0; 79], twice), (vec![2.0; 79], 1));
    assert_eq!(run(&[3], &[0], &[], twice), (vec![], 1));
    assert_eq!(run(&[3], &[48], &[1.0; 48], twice), (vec![2.0; 48], 1));
}
