//! Products in one dispatch with others, and what follows them.

use super::*;

#[test]
fn products_of_one_left_factor_run_side_by_side_where_rows_are_few() {
    for (rows, largest) in [(Size::dim(0), 30), (size(1), 0), (size(30), 0)] {
        let mut expr = Expr::default();
        let x = expr.input(0, DType::F32, &[rows.clone(), size(8)]);
        let products: Vec<TensorId> = [5, 4, 7]
            .iter()
            .enumerate()
            .map(|(place, columns)| {
                let weight = expr.input(place as u32 + 1, DType::F32, &shape(&[*columns, 8]));
                let transposed = expr.transpose(weight);
                let product = expr.matmul(x, transposed, DType::F32);
                expr.elementwise([E::Sin, E::Neg, E::Exp][place], &[product])
            })
            .collect();
        let count = if largest > 0 { 30 } else { rows.at(&[]) as usize };
        let inputs = [numbers(8 * count, 1), numbers(40, 2), numbers(32, 3), numbers(56, 4)];
        let dims = if largest > 0 { vec![largest] } else { Vec::new() };
        let plan = check(expr, &products, &inputs, &dims);
        let joined =
            plan.kernels.iter().filter(|kernel| matches!(kernel.body, crate::kernel::Body::Products(_))).count();
        // Kernels for one row and for a few are joined, those for many are not.
        let expected = if largest > 0 {
            (2, 5)
        } else if count == 1 {
            (1, 1)
        } else {
            (0, 3)
        };
        assert_eq!((joined, plan.kernels.len()), expected, "{plan}");
    }
}

#[test]
fn a_gate_and_what_it_gates_are_one_kernel_where_rows_are_few() {
    for dtype in [DType::F32, DType::F16] {
        let mut expr = Expr::default();
        let x = expr.input(0, DType::F32, &[Size::dim(0), size(8)]);
        let [gate, up] = [1, 2].map(|slot| {
            let weight = expr.input(slot, dtype, &shape(&[12, 8]));
            let transposed = expr.transpose(weight);
            expr.matmul(x, transposed, DType::F32)
        });
        let sigmoid = expr.elementwise(E::Sigmoid, &[gate]);
        let activated = expr.elementwise(E::Mul, &[gate, sigmoid]);
        let gated = expr.elementwise(E::Mul, &[activated, up]);
        for rows in [0u32, 1, 7, 20] {
            let eighths = |count: usize, seed: usize| {
                (0..count).map(|k| ((k * 7 + seed) % 23) as f64 * 0.125 - 1.0).collect::<Vec<f64>>()
            };
            let inputs = [numbers(8 * rows as usize, 1), eighths(96, 2), eighths(96, 3)];
            let plan = check(expr.clone(), &[gated], &inputs, &[rows]);
            let sequences =
                plan.kernels.iter().filter(|kernel| matches!(kernel.body, crate::kernel::Body::Sequence(_))).count();
            // Beside them are the kernels for many rows, where there may be as many.
            assert_eq!((sequences, plan.kernels.len()), (2, if rows + 3 > 8 { 4 } else { 2 }), "{plan}");
        }
    }
}

#[test]
fn products_that_need_one_another_do_not_run_side_by_side() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[1, 6]));
    let [first, second] = [1, 2].map(|slot| expr.input(slot, DType::F32, &shape(&[6, 6])));
    let a = expr.matmul(x, first, DType::F32);
    let b = expr.matmul(x, second, DType::F32);
    let gated = expr.elementwise(E::Mul, &[a, b]);
    let chained = expr.matmul(a, second, DType::F32);
    let plan = check(expr, &[gated, chained], &[numbers(6, 1), numbers(36, 2), numbers(36, 3)], &[]);
    assert!(plan.kernels.iter().all(|kernel| !matches!(kernel.body, crate::kernel::Body::Products(_))), "{plan}");
}

#[test]
fn a_sum_with_a_residual_is_written_by_its_product_and_read_by_all() {
    let mut expr = Expr::default();
    let mut x = expr.input(0, DType::F32, &shape(&[6, 5]));
    let mut inputs = vec![numbers(30, 1)];
    for layer in 1..4 {
        let weight = expr.input(layer, DType::F32, &shape(&[5, 5]));
        inputs.push(numbers(25, layer as usize));
        let normal = softmax(&mut expr, x);
        let product = expr.matmul(normal, weight, DType::F32);
        x = expr.elementwise(E::Add, &[x, product]);
    }
    let last = softmax(&mut expr, x);
    let plan = check(expr, &[last], &inputs, &[]);
    // A row kernel and a product a layer, and the last row kernel, none of which reads sums of earlier layers.
    assert_eq!(plan.steps.len(), 7, "{plan}");
    assert!(plan.kernels.iter().all(|kernel| kernel.buffers.len() <= 4), "{plan}");
}

#[test]
fn a_layer_with_bias_and_activation_is_one_product() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[6, 9]));
    let w = expr.input(1, DType::F32, &shape(&[5, 9]));
    let bias = expr.input(2, DType::F32, &shape(&[5]));
    let transposed = expr.transpose(w);
    let product = expr.matmul(x, transposed, DType::F32);
    let sum = expr.elementwise(E::Add, &[product, bias]);
    let zero = expr.constant(0.0, DType::F32);
    let activated = expr.elementwise(E::Maximum, &[sum, zero]);
    let plan = check(expr, &[activated], &[numbers(54, 1), numbers(45, 2), numbers(5, 3)], &[]);
    assert_eq!(names(&plan), ["product_maximum_add"]);
}

#[test]
fn batched_products_broadcast() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[2, 1, 3, 4]));
    let y = expr.input(1, DType::F32, &shape(&[5, 4, 1]));
    let product = expr.matmul(x, y, DType::F32);
    check(expr, &[product], &[numbers(24, 1), numbers(20, 2)], &[]);
}

#[test]
fn a_transposed_factor_is_read_in_place() {
    let mut expr = Expr::default();
    let (x, y) = (expr.input(0, DType::F32, &shape(&[6, 5])), expr.input(1, DType::F32, &shape(&[6, 4])));
    let sine = expr.elementwise(E::Sin, &[x]);
    let transposed = expr.transpose(sine);
    let product = expr.matmul(transposed, y, DType::F32);
    let plan = check(expr, &[product, sine], &[numbers(30, 1), numbers(24, 2)], &[]);
    assert_eq!(plan.steps.len(), 2, "{plan}");
}

/// x / √(mean of x² + ε) · g of rows.
fn root_mean_square_norm(expr: &mut Expr, x: TensorId, g: TensorId) -> TensorId {
    let shape = expr.shape(x).to_vec();
    let columns = shape[1].known().expect("a known length");
    let square = expr.elementwise(E::Mul, &[x, x]);
    let sum = expr.reduce(crate::expr::Reduction::Sum, square, &[1]);
    let share = expr.constant(1.0 / columns as f64, DType::F32);
    let mean = expr.elementwise(E::Mul, &[sum, share]);
    let epsilon = expr.constant(1e-5, DType::F32);
    let mean = expr.elementwise(E::Add, &[mean, epsilon]);
    let root = expr.elementwise(E::Sqrt, &[mean]);
    let root = expr.reshape(root, &[shape[0].clone(), size(1)]);
    let normal = expr.elementwise(E::Div, &[x, root]);
    expr.elementwise(E::Mul, &[normal, g])
}

#[test]
fn a_norm_of_one_row_is_part_of_the_products_after_it() {
    for (rows, columns, is_read, expected) in
        [(1, 64, false, 1), (1, 64, true, 2), (3, 64, false, 2), (1, 62, false, 2)]
    {
        let mut expr = Expr::default();
        let x = expr.input(0, DType::F32, &shape(&[rows, columns]));
        let g = expr.input(1, DType::F32, &shape(&[columns]));
        let y = root_mean_square_norm(&mut expr, x, g);
        let mut results: Vec<TensorId> = [5, 4]
            .iter()
            .enumerate()
            .map(|(place, count)| {
                let weight = expr.input(place as u32 + 2, DType::F32, &shape(&[*count, columns]));
                let transposed = expr.transpose(weight);
                let product = expr.matmul(y, transposed, DType::F32);
                expr.elementwise(E::Sin, &[product])
            })
            .collect();
        results.extend(is_read.then_some(y));
        let of = |rows: i64, seed| numbers((rows * columns) as usize, seed);
        let plan = check(expr, &results, &[of(rows, 1), of(1, 2), of(5, 3), of(4, 4)], &[]);
        assert_eq!(plan.kernels.len(), expected, "{rows} rows of {columns}: {plan}");
    }
}

#[test]
fn a_norm_that_its_product_replaces_stays_a_kernel() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[1, 32]));
    let g = expr.input(1, DType::F32, &shape(&[32]));
    let y = root_mean_square_norm(&mut expr, x, g);
    let weight = expr.input(2, DType::F32, &shape(&[32, 32]));
    let transposed = expr.transpose(weight);
    let product = expr.matmul(y, transposed, DType::F32);
    let sum = expr.elementwise(E::Add, &[x, product]);
    let plan = check_assigned(expr, &[], &[(0, sum)], &[numbers(32, 1), numbers(32, 2), numbers(32 * 32, 3)], &[]);
    assert_eq!(plan.kernels.len(), 2, "{plan}");
}

#[test]
fn a_norm_of_one_row_is_part_of_a_gate_and_what_it_gates() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[1, 64]));
    let g = expr.input(1, DType::F32, &shape(&[64]));
    let y = root_mean_square_norm(&mut expr, x, g);
    let [gate, up] = [2, 3].map(|slot| {
        let weight = expr.input(slot, DType::F32, &shape(&[12, 64]));
        let transposed = expr.transpose(weight);
        expr.matmul(y, transposed, DType::F32)
    });
    let activated = expr.elementwise(E::Sigmoid, &[gate]);
    let gated = expr.elementwise(E::Mul, &[activated, up]);
    let inputs = [numbers(64, 1), numbers(64, 2), numbers(12 * 64, 3), numbers(12 * 64, 4)];
    let plan = check(expr, &[gated], &inputs, &[]);
    assert_eq!(plan.kernels.len(), 1, "{plan}");
}

#[test]
fn results_that_are_read_together_share_memory_where_a_norm_needs_a_buffer() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[1, 64]));
    let g = expr.input(1, DType::F32, &shape(&[64]));
    let y = root_mean_square_norm(&mut expr, x, g);
    let products = [2, 3, 4].map(|slot| {
        let weight = expr.input(slot, DType::F32, &shape(&[12, 64]));
        let transposed = expr.transpose(weight);
        expr.matmul(y, transposed, DType::F32)
    });
    let both = expr.concat(&products[1..], 0);
    let both = expr.elementwise(E::Sin, &[both]);
    let results = [products[0], both];
    let inputs = [numbers(64, 1), numbers(64, 2), numbers(768, 3), numbers(768, 4), numbers(768, 5)];
    let kernels = |most_buffers| {
        let recipe = Recipe { expr: expr.clone(), results: results.to_vec(), ..Recipe::default() };
        Plan::new(&recipe, &Target { most_buffers, ..GPU }).expect("a recipe that plans")
    };
    // Of eight buffers a norm and three products with a result each have all, of seven none for the norm's weight.
    assert_eq!([8, 7].map(|most| kernels(most).kernels.len()), [2, 2]);
    let plan = kernels(7);
    let mut slots: Vec<Vec<u8>> = inputs.iter().map(|numbers| bytes_of(DType::F32, numbers)).collect();
    let found = execute(&plan, &[], &mut slots).expect("a plan that runs");
    let expected = evaluate(&expr, &[], &inputs);
    for (id, found) in results.iter().zip(found) {
        let expected = &expected[id.0 as usize].data;
        for (found, expected) in elements_of(DType::F32, &found, expected.len()).iter().zip(expected) {
            assert!((found - expected).abs() <= 1e-4 * (1.0 + expected.abs()), "{found}, not {expected}");
        }
    }
    check(expr, &results, &inputs, &[]);
}

#[test]
fn products_of_many_small_matrices_have_a_thread_for_each_element() {
    // Batches, rows, columns and depth: what has too many terms, rows or multiplications, or too few elements, is a product.
    for ([left, right, rows, columns, depth], is_small) in [
        ([200, 200, 3, 3, 3], true),
        ([1, 200, 6, 1, 6], true),
        ([60, 1, 5, 4, 4], true),
        ([64, 64, 4, 4, 256], true),
        ([1, 1, 400, 3, 3], true),
        ([1, 1, 3, 400, 16], true),
        ([1, 1, 3, 400, 17], false),
        ([1, 1, 9, 400, 3], false),
        ([4, 4, 17, 17, 2], false),
        ([4, 4, 16, 16, 17], false),
        ([100, 100, 3, 3, 3], false),
    ] {
        let mut expr = Expr::default();
        let a = expr.input(0, DType::F32, &shape(&[left, rows, depth]));
        let b = expr.input(1, DType::F32, &shape(&[right, depth, columns]));
        let product = expr.matmul(a, b, DType::F32);
        let result = expr.elementwise(E::Neg, &[product]);
        let inputs = [numbers((left * rows * depth) as usize, 1), numbers((right * depth * columns) as usize, 2)];
        let plan = check(expr, &[result], &inputs, &[]);
        let is_of_rows = matches!(plan.kernels[0].body, crate::kernel::Body::Rows(_));
        assert_eq!((is_of_rows, plan.kernels.len()), (is_small, 1), "{rows} x {columns} x {depth}: {plan}");
    }
}
