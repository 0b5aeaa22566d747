//! Convolutions and pools, as the facade composes them.

use super::*;
use crate::expr::winograd::{Convolution, LARGE, SMALL};
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
        let op = TensorOp::Windows { axis: axis as u32, step: stride, dilation: 1 };
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
    let [_, _, product] = convolution(&mut expr, DType::F32, &[1, 64, 256, 256], 31, 1);
    // The picture with its border is 17 MB; its windows would be 151 MB.
    let padded = "map: reads 1 writes 2
product: reads 3 reads 2 writes 0
place 0: 8126464 bytes of a result
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

/// A product of pictures with a border as a convolution.
fn of_product(expr: &Expr, product: TensorId) -> Option<Convolution> {
    let of = expr.tensor(expr.tensor(product).operands[0]);
    Convolution::of(expr, of, &of.operands)
}

/// Numbers of many sizes, of both signs.
fn apart(count: usize, seed: usize) -> Vec<f64> {
    numbers(count, seed)
        .into_iter()
        .enumerate()
        .map(|(k, x)| f64::from((x * 10f64.powi((k * 7 % 9) as i32 - 4)) as f32))
        .collect()
}

/// Runs a plan on the device with inputs in the slots 0 and 1; gives its result.
fn run_on_device(expr: &Expr, result: TensorId, inputs: &[Vec<f64>]) -> Vec<f64> {
    let recipe = Recipe { expr: expr.clone(), dims: Vec::new(), results: vec![result], assignments: Vec::new() };
    let plan = Plan::new(&recipe, &GPU).expect("a recipe that plans");
    for kernel in &plan.kernels {
        let text = crate::wgsl::write(kernel, &crate::wgsl::DeviceLimits::default()).expect("a kernel with a text");
        residua_portable::validated(&text.text);
    }
    let mut slots: Vec<Vec<u8>> = inputs.iter().map(|numbers| bytes_of(DType::F32, numbers)).collect();
    let found = execute(&plan, &[], &mut slots).expect("a plan that runs");
    let count = expr.shape(result).iter().map(|size| size.at(&[])).product::<i64>() as usize;
    elements_of(DType::F32, &found[0], count)
}

/// c (n + 36) u Σ max |x| max |w| is what tiles promise; numbers of one size stay far below it.
#[test]
fn convolutions_in_tiles_are_those_of_the_reference() {
    for (tiles, worst, usual) in [(SMALL, 64.0, 16.0), (LARGE, 752.0, 64.0)] {
        for (pictures, out) in [([1, 3, 8, 8], 4), ([2, 5, 9, 7], 3), ([1, 2, 1, 1], 1), ([2, 1, 5, 6], 2)] {
            for are_apart in [false, true] {
                let mut expr = Expr::default();
                let [_, _, direct] = convolution(&mut expr, DType::F32, &pictures, out, 1);
                let tiled = of_product(&expr, direct).expect("a convolution").in_tiles(&mut expr, &tiles);
                expr.check().expect("a recipe that plans");
                let count = pictures.iter().product::<i64>() as usize;
                let of = if are_apart { apart } else { numbers };
                let inputs = [of(count, 1), of((out * pictures[1] * 9) as usize, 2)];
                let expected = evaluate(&expr, &[], &inputs)[direct.0 as usize].data.clone();
                let found = run_on_device(&expr, tiled, &inputs);
                assert_eq!(found.len(), expected.len());
                let most = |of: &[f64]| of.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
                let largest = pictures[1] as f64 * most(&inputs[0]) * most(&inputs[1]);
                let factor = if are_apart { worst * (pictures[1] as f64 + 36.0) } else { usual };
                let bound = factor * 2f64.powi(-24) * largest;
                for (place, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    let error = (found - expected).abs();
                    assert!(error <= bound, "element {place} of {pictures:?}: {found}, not {expected}");
                }
            }
        }
    }
}

#[test]
fn tiles_of_as_many_images_as_a_run_tells_are_those_of_the_reference() {
    let mut expr = Expr::default();
    let count = Size::dim(0);
    let with = |numbers: &[i64]| [vec![count.clone()], shape(numbers)].concat();
    let x = expr.input(0, DType::F32, &with(&[2, 5, 6]));
    let mut windows = expr.reshape(x, &with(&[1, 2, 5, 6]));
    windows = expr.pad_with_zeros(windows, shape(&[0, 0, 0, 1, 1]), &with(&[1, 2, 7, 8]));
    for (axis, of) in [(3, [5, 8, 3].as_slice()), (4, &[5, 6, 3, 3])] {
        let op = TensorOp::Windows { axis, step: 1, dilation: 1 };
        windows = expr.push(Tensor {
            op,
            operands: vec![windows],
            dtype: DType::F32,
            shape: [with(&[1, 2]), shape(of)].concat(),
        });
    }
    let beside = expr.permute(windows, &[0, 1, 2, 5, 6, 3, 4]);
    let columns = expr.reshape(beside, &with(&[1, 18, 30]));
    let rows = expr.input(1, DType::F32, &shape(&[1, 3, 18]));
    let direct = expr.matmul(rows, columns, DType::F32);
    let of = expr.tensor(direct);
    let tiled = Convolution::of(&expr, of, &of.operands).expect("a convolution").in_tiles(&mut expr, &SMALL);
    for images in [0, 1, 3] {
        check(expr.clone(), &[tiled], &[numbers(images as usize * 60, 1), numbers(54, 2)], &[images]);
    }
}

#[test]
fn tiles_take_what_follows_into_their_last_kernel() {
    let mut expr = Expr::default();
    let [_, _, product] = convolution(&mut expr, DType::F32, &[1, 64, 128, 128], 64, 1);
    let pictures = expr.reshape(product, &shape(&[1, 64, 128, 128]));
    let bias = expr.input(2, DType::F32, &shape(&[1, 64, 1, 1]));
    let sum = expr.elementwise(E::Add, &[pictures, bias]);
    let zero = expr.constant(0.0, DType::F32);
    let result = expr.elementwise(E::Maximum, &[sum, zero]);
    let plan = plan_of(expr.clone(), vec![result], false);
    // The transforms of the picture, without a copy with its border, and of the weight, the products, and the results with what follows.
    assert_eq!((plan.kernels.len(), plan.steps.len()), (4, 4), "{plan}");
    assert_eq!(plan.kernels.iter().filter(|kernel| kernel.name.starts_with("product")).count(), 1, "{plan}");
    assert_eq!(
        plan_of(expr, vec![result], true).kernels.iter().filter(|kernel| kernel.name.starts_with("product")).count(),
        1
    );
}

#[test]
fn tiles_are_chosen_by_sizes_and_never_where_products_are_direct() {
    for (pictures, out, stride, is_direct, in_tiles) in [
        ([1, 64, 128, 128], 64, 1, false, true),
        ([1, 64, 128, 128], 64, 1, true, false),
        ([1, 64, 128, 128], 64, 2, false, false),
        ([1, 31, 128, 128], 64, 1, false, false),
        ([1, 64, 128, 128], 31, 1, false, false),
        ([1, 64, 52, 52], 64, 1, false, false),
        ([1, 64, 56, 56], 64, 1, false, true),
        ([64, 64, 128, 128], 64, 1, false, false),
    ] {
        let mut expr = Expr::default();
        let [_, _, mut product] = convolution(&mut expr, DType::F32, &pictures, out, stride);
        if is_direct {
            let Tensor { operands, shape, .. } = expr.tensor(product).clone();
            let matrix = expr.tensor(operands[0]).clone();
            let rows = expr.tensor(matrix.operands[0]).clone();
            let op = TensorOp::Permute(vec![0, 1, 2]);
            let same = expr.push(Tensor { op, operands: vec![matrix.operands[0]], ..rows });
            let direct = expr.matmul(same, matrix.operands[1], DType::F32);
            product = expr.reshape(direct, &shape);
        }
        let plan = plan_of(expr, vec![product], false);
        assert_eq!(plan.kernels.len() == 4, in_tiles, "{pictures:?} {out} {stride} {is_direct}: {plan}");
    }
}

#[test]
fn the_derivative_by_pictures_is_a_convolution_in_tiles_too() {
    let recipe = |pictures: &[i64], out: i64| {
        let mut expr = Expr::default();
        let [x, weight, product] = convolution(&mut expr, DType::F32, pictures, out, 1);
        let of = expr.shape(product).to_vec();
        let other = expr.input(2, DType::F32, &of);
        let weighted = expr.elementwise(E::Mul, &[product, other]);
        let loss = expr.reduce(Reduction::Sum, weighted, &[0, 1, 2]);
        let results = [x, weight].map(|leaf| expr.gradient(loss, leaf)).to_vec();
        Recipe { expr, dims: Vec::new(), results, assignments: Vec::new() }
    };
    let [mut on_device, mut on_host] = [(); 2].map(|()| recipe(&[1, 64, 128, 128], 64));
    crate::grad::differentiate_on(&mut on_device, false).expect("a recipe with derivatives");
    crate::grad::differentiate(&mut on_host).expect("a recipe with derivatives");
    let plan = Plan::new(&on_device, &GPU).expect("a recipe that plans");
    let products = plan.kernels.iter().filter(|kernel| kernel.name.starts_with("product")).count();
    // Of the adjoint's tiles, and two slices of the depth of that by the weight.
    assert!(products >= 2 && plan.kernels.iter().any(|kernel| kernel.name.starts_with("map_add_sub")), "{plan}");
    assert!(
        on_host.expr.nodes.iter().any(|tensor| matches!(tensor.op, TensorOp::Gather(_))),
        "as it is added on the host"
    );
    assert!(!on_device.expr.nodes.iter().any(|tensor| matches!(tensor.op, TensorOp::Gather(_))));
    // The same numbers, where a border takes some elements away too.
    for (pictures, out) in [([2, 3, 5, 6], 4), ([1, 2, 3, 9], 5)] {
        let mut expr = Expr::default();
        let [x, _, direct] = convolution(&mut expr, DType::F32, &pictures, out, 1);
        let adjoint = expr.input(2, DType::F32, &shape(&[pictures[0], 1, out, pictures[2] * pictures[3]]));
        let share = of_product(&expr, direct).expect("a convolution").by_pictures(&mut expr, adjoint);
        let share = expr.reshape(share, &shape(&pictures));
        let of = expr.shape(direct).to_vec();
        let seen = expr.reshape(adjoint, &of);
        let weighted = expr.elementwise(E::Mul, &[direct, seen]);
        let loss = expr.reduce(Reduction::Sum, weighted, &[0, 1, 2]);
        let slope = expr.gradient(loss, x);
        let mut recipe = Recipe { expr, dims: Vec::new(), results: vec![share, slope], assignments: Vec::new() };
        crate::grad::differentiate(&mut recipe).expect("a recipe with derivatives");
        let count = pictures.iter().product::<i64>() as usize;
        let inputs = [
            numbers(count, 1),
            numbers((out * pictures[1] * 9) as usize, 2),
            numbers(count / pictures[1] as usize * out as usize, 3),
        ];
        let all = evaluate(&recipe.expr, &[], &inputs);
        let [found, expected] = [0, 1].map(|place| all[recipe.results[place].0 as usize].data.clone());
        found
            .iter()
            .zip(&expected)
            .for_each(|(found, expected)| assert!((found - expected).abs() < 1e-12, "{found}, not {expected}"));
    }
}

#[test]
fn tiles_of_what_is_made_of_tiles_are_kernels_of_their_own() {
    let size = 128;
    let mut expr = Expr::default();
    let [_, _, first] = convolution(&mut expr, DType::F32, &[1, 64, size, size], 64, 1);
    let pictures = expr.reshape(first, &shape(&[1, 1, 64, size, size]));
    let zero = expr.constant(0.0, DType::F32);
    let pictures = expr.elementwise(E::Maximum, &[pictures, zero]);
    let mut windows = expr.pad_with_zeros(pictures, shape(&[0, 0, 0, 1, 1]), &shape(&[1, 1, 64, size + 2, size + 2]));
    for (axis, of) in [(3, [size, size + 2, 3].as_slice()), (4, &[size, size, 3, 3])] {
        let (op, shape) = (TensorOp::Windows { axis, step: 1, dilation: 1 }, [shape(&[1, 1, 64]), shape(of)].concat());
        windows = expr.push(Tensor { op, operands: vec![windows], dtype: DType::F32, shape });
    }
    let beside = expr.permute(windows, &[0, 1, 2, 5, 6, 3, 4]);
    let columns = expr.reshape(beside, &shape(&[1, 1, 64 * 9, size * size]));
    let rows = expr.input(2, DType::F32, &shape(&[1, 64, 64 * 9]));
    let second = expr.matmul(rows, columns, DType::F32);
    let plan = plan_of(expr, vec![second], false);
    // Four for each convolution, of which none computes the tiles of the other again.
    assert_eq!(plan.steps.len(), 8, "{plan}");
    for kernel in &plan.kernels {
        let text =
            crate::wgsl::write(kernel, &crate::wgsl::DeviceLimits::default()).expect("a kernel with a text").text;
        assert!(text.lines().count() < 1000, "{} has {} lines", kernel.name, text.lines().count());
    }
}
