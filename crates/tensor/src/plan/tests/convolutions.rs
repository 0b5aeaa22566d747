//! Convolutions and pools, as the facade composes them.

use super::*;
use crate::recorded::cases;

/// The windows of 3 × 3 elements of pictures [images, channels, height, width] with a border of zeros, as columns of matrices [images, 1, elements, windows].
fn columns(expr: &mut Expr, x: TensorId, stride: u32) -> TensorId {
    let extents: Vec<i64> = expr.shape(x).iter().map(|size| size.at(&[])).collect();
    let [images, channels, height, width] = extents[..] else { panic!("pictures") };
    let x = expr.reshape(x, &shape(&[images, 1, channels, height, width]));
    let count = |extent: i64| (extent - 1) / i64::from(stride) + 1;
    let mut sizes = vec![images, 1, channels, height + 2, width + 2];
    let mut windows = expr.pad_with_zeros(x, shape(&[0, 0, 0, 1, 1]), &shape(&sizes));
    for axis in [3, 4] {
        sizes[axis] = count(extents[axis - 1]);
        sizes.push(3);
        let op = Op::Windows { axis: axis as u32, step: stride, dilation: 1 };
        let dtype = expr.dtype(x);
        windows = expr.push(Tensor { op, operands: vec![windows], dtype, shape: shape(&sizes) });
    }
    let beside = expr.permute(windows, &[0, 1, 2, 5, 6, 3, 4]);
    expr.reshape(beside, &shape(&[images, 1, channels * 9, count(height) * count(width)]))
}

/// The convolution with a weight [out, channels, 3, 3] as [images, out, positions], for x in slot 0 and the weight in slot 1.
fn convolution(expr: &mut Expr, dtype: DType, pictures: &[i64], out: i64, stride: u32) -> [TensorId; 3] {
    let x = expr.input(0, dtype, &shape(pictures));
    let weight = expr.input(1, DType::F32, &shape(&[out, pictures[1], 3, 3]));
    let right = columns(expr, x, stride);
    // One group.
    let rows = expr.reshape(weight, &shape(&[1, out, pictures[1] * 9]));
    let product = expr.matmul(rows, right, DType::F32);
    let result = [size(pictures[0]), size(out), expr.shape(right)[3].clone()];
    [x, weight, expr.reshape(product, &result)]
}

fn plan_of(expr: Expr, results: Vec<TensorId>, is_host: bool) -> Plan {
    let mut recipe = Recipe { expr, dims: Vec::new(), results, assignments: Vec::new() };
    crate::grad::differentiate(&mut recipe).expect("a recipe with derivatives");
    Plan::new(&recipe, &Target { is_host, ..GPU }).expect("a recipe that plans")
}

#[test]
fn windows_are_read_in_place_and_have_no_memory() {
    let mut expr = Expr::default();
    let [_, _, product] = convolution(&mut expr, DType::F32, &[1, 64, 256, 256], 64, 1);
    // The picture with its border is 17 MB; its windows would be 151 MB.
    let padded = "map: reads 1 writes 2
product: reads 3 reads 2 writes 0
place 0: 16777216 bytes of a result
place 1: slot 0
place 2: 17040384 bytes
place 3: slot 1
";
    assert_eq!(plan_of(expr.clone(), vec![product], false).to_string(), padded);
    assert_eq!(plan_of(expr, vec![product], true).to_string(), padded);
}

#[test]
fn what_follows_a_reshaped_product_is_part_of_its_kernel() {
    let mut expr = Expr::default();
    let [_, _, product] = convolution(&mut expr, DType::F32, &[2, 3, 6, 6], 40, 1);
    let pictures = expr.reshape(product, &shape(&[2, 40, 6, 6]));
    let [bias, other] =
        [(2, [1, 40, 1, 1]), (3, [2, 40, 6, 6])].map(|(slot, of)| expr.input(slot, DType::F32, &shape(&of)));
    let biased = expr.elementwise(E::Add, &[pictures, bias]);
    let gate = expr.elementwise(E::Sigmoid, &[biased]);
    let gated = expr.elementwise(E::Mul, &[gate, biased]);
    let sum = expr.elementwise(E::Sub, &[other, gated]);
    let half = expr.constant(0.5, DType::F32);
    let result = expr.elementwise(E::Mul, &[half, sum]);
    let inputs = [numbers(216, 1), numbers(40 * 27, 2), numbers(40, 3), numbers(2880, 4)];
    for is_host in [false, true] {
        let plan = plan_of(expr.clone(), vec![result], is_host);
        let products = plan.kernels.iter().filter(|kernel| kernel.name.starts_with("product")).count();
        // On the host a product has no epilogue.
        assert_eq!((products, plan.kernels.len()), (1, if is_host { 3 } else { 1 }), "{plan}");
    }
    check(expr, &[result], &inputs, &[]);
}

#[test]
fn factors_that_are_memory_in_other_shapes_need_no_copy() {
    for dtype in [DType::F32, DType::I32] {
        for (from, to) in [([5, 6, 4], [5, 3, 8]), ([5, 3, 8], [5, 6, 4]), ([6, 5, 4], [2, 3, 20])] {
            let mut expr = Expr::default();
            let right = expr.input(0, dtype, &shape(&from));
            let right = expr.reshape(right, &shape(&to));
            let left = expr.input(1, dtype, &shape(&[7, to[1]]));
            let product = expr.matmul(left, right, dtype);
            let whole =
                |count: i64, seed: i64| (0..count).map(|k| ((k * 7 + seed) % 11 - 5) as f64).collect::<Vec<f64>>();
            let inputs = [whole(120, 1), whole(7 * to[1], 2)];
            let plan = check(expr.clone(), &[product], &inputs, &[]);
            assert_eq!(
                (plan.kernels.len(), plan_of(expr, vec![product], true).kernels.len()),
                (1, 1),
                "{from:?} {to:?}"
            );
        }
    }
}

#[test]
fn results_that_are_one_memory_in_several_shapes_are_given_for_each() {
    let mut expr = Expr::default();
    let [x, _, pictures] = convolution(&mut expr, DType::F32, &[1, 2, 4, 4], 3, 1);
    let flat = expr.reshape(pictures, &shape(&[48]));
    let given = expr.reshape(x, &shape(&[32]));
    check(expr, &[pictures, flat, given, pictures], &[numbers(32, 1), numbers(54, 2)], &[]);
}

#[test]
fn a_border_is_read_in_place_where_a_dispatch_takes_longer_than_its_copy() {
    let mut expr = Expr::default();
    let [_, _, product] = convolution(&mut expr, DType::F32, &[2, 3, 8, 8], 40, 2);
    let bias = expr.input(2, DType::F32, &shape(&[40, 1]));
    let sum = expr.elementwise(E::Add, &[product, bias]);
    let zero = expr.constant(0.0, DType::F32);
    let result = expr.elementwise(E::Maximum, &[sum, zero]);
    let inputs = [numbers(384, 1), numbers(40 * 27, 2), numbers(40, 3)];
    let plan = check(expr, &[result], &inputs, &[]);
    assert_eq!(names(&plan), ["product_maximum_add"], "{plan}");
}

#[test]
fn a_long_depth_is_cut_within_windows() {
    let mut expr = Expr::default();
    let [_, _, product] = convolution(&mut expr, DType::F32, &[1, 256, 3, 3], 9, 1);
    let plan = check(expr, &[product], &[numbers(2304, 1), numbers(9 * 2304, 2)], &[]);
    assert_eq!(plan.kernels.len(), 2, "{plan}");
}

#[test]
fn what_windows_are_of_has_memory_where_it_is_computed() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[1, 2, 6, 6]));
    let computed = expr.elementwise(E::Sin, &[x]);
    let weight = expr.input(1, DType::F32, &shape(&[12, 18]));
    let right = columns(&mut expr, computed, 1);
    let product = expr.matmul(weight, right, DType::F32);
    let plan = check(expr, &[product], &[numbers(72, 1), numbers(216, 2)], &[]);
    // 72 numbers, not the 648 of the windows.
    assert!(plan.to_string().contains(": 288 bytes"), "{plan}");
}

#[test]
fn convolutions_and_their_derivatives_are_those_of_the_reference() {
    for dtype in [DType::F32, DType::F16] {
        for (pictures, out, stride) in [([2, 2, 4, 5], 20, 1), ([1, 3, 6, 5], 3, 2)] {
            let mut expr = Expr::default();
            let [x, weight, product] = convolution(&mut expr, dtype, &pictures, out, stride);
            let square = expr.elementwise(E::Mul, &[product, product]);
            let loss = expr.reduce(Reduction::Sum, square, &[0, 1, 2]);
            let slopes = [x, weight].map(|leaf| expr.gradient(loss, leaf));
            // That by x has its type, whose rounding is more than what is allowed here.
            let results =
                if dtype == DType::F16 { vec![product, slopes[1]] } else { vec![product, slopes[0], slopes[1]] };
            let mut recipe = Recipe { expr, dims: Vec::new(), results, assignments: Vec::new() };
            crate::grad::differentiate(&mut recipe).expect("a recipe with derivatives");
            let eighths = |count: i64, seed: i64| {
                (0..count).map(|k| ((k * 7 + seed) % 23) as f64 * 0.125 - 1.0).collect::<Vec<f64>>()
            };
            let inputs = [eighths(pictures.iter().product(), 2), eighths(out * pictures[1] * 9, 3)];
            check(recipe.expr, &recipe.results, &inputs, &[]);
        }
    }
}

#[test]
fn recorded_pictures_are_computed_by_kernels() {
    let mut count = 0;
    for case in cases().into_iter().filter(|case| case.title.starts_with("pictures")) {
        let recipe = Recipe::decode(&case.tape).unwrap();
        check(recipe.expr, &recipe.results, &case.inputs, &case.dims);
        count += 1;
    }
    assert!(count > 20, "{count} recipes");
}
