//! Kernels of many points.

use std::cell::Cell;
use std::rc::Rc;

use super::*;
use crate::expr::{Fourier, FourierKind, Linalg};
use crate::wgsl::{self, DeviceLimits};

/// The text and the workgroups of the only kernel of a map of so many numbers.
fn map_of(count: i64) -> (String, [u32; 3]) {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[count]));
    let y = expr.elementwise(E::Exp, &[x]);
    let recipe = Recipe { expr, dims: Vec::new(), results: vec![y], assignments: Vec::new() };
    let plan = Plan::new(&recipe, &GPU).expect("a recipe that plans");
    let [kernel] = plan.kernels.as_slice() else { panic!("{} kernels", plan.kernels.len()) };
    let text = wgsl::write(kernel, &DeviceLimits::default()).expect("a kernel with a text");
    residua_portable::validated(&text.text);
    let words: Vec<u32> = kernel.sizes.iter().map(|size| size.at(&[]) as u32).collect();
    (text.text, text.workgroups.count(&words).expect("a dispatch within limits"))
}

#[test]
fn a_thread_of_a_long_map_takes_two_fours_of_points() {
    for (count, loads, workgroups) in [(1 << 20, 1, 1 << 10), (1 << 21, 2, 1 << 10), ((1 << 21) + 1, 2, (1 << 10) + 1)]
    {
        let (text, found) = map_of(count);
        assert_eq!(text.matches("= b0[").count(), loads, "{count}:\n{text}");
        assert_eq!(found, [workgroups, 1, 1], "{count}");
    }
}

/// An operation of one operand.
type Operation<'a> = &'a dyn Fn(&mut Expr, TensorId) -> TensorId;

/// The result of an operation on the host, whose only kernel is a loop, and how many parts the loop was run in.
fn on_host(operation: Operation<'_>, extents: &[i64], data: &[f64]) -> (Vec<u8>, usize) {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(extents));
    let result = operation(&mut expr, x);
    let recipe = Recipe { expr, dims: Vec::new(), results: vec![result], assignments: Vec::new() };
    let plan = Plan::new(&recipe, &Target { is_host: true, ..GPU }).expect("a recipe that plans");
    let parts = Rc::new(Cell::new(0));
    let counter = parts.clone();
    let run = move |kernel: &_, words: &[u32], buffers: &mut [Vec<u8>]| {
        counter.set(counter.get() + crate::wasm::run_loop(kernel, words, buffers)?);
        Ok(())
    };
    let mut found = execute_by(&plan, &[], &mut [bytes_of(DType::F32, data)], &run).expect("a plan that runs");
    (found.remove(0), parts.get())
}

#[test]
fn transforms_and_factors_go_on_where_a_part_ended() {
    let half = Fourier { axis: 1, to: 1, length: 1024, kind: FourierKind::Half, scale: 1.0 };
    let transform = move |expr: &mut Expr, x: TensorId| expr.fourier(half, &[x]);
    let factor = |expr: &mut Expr, x: TensorId| expr.linalg(Linalg::Lu, &[x]);
    let cases: [(Operation<'_>, Vec<i64>); 2] = [(&transform, vec![300, 1024]), (&factor, vec![6, 128, 128])];
    for (operation, extents) in cases {
        let data = numbers(extents.iter().product::<i64>() as usize, 4);
        let (whole, parts) = on_host(operation, &extents, &data);
        assert!(parts > 1, "{extents:?} in one part");
        let third = [&[extents[0] / 3], &extents[1..]].concat();
        let of_third = |data: &[f64]| {
            let (found, parts) = on_host(operation, &third, data);
            assert_eq!(parts, 1, "{third:?}");
            found
        };
        let expected: Vec<u8> = data.chunks(data.len() / 3).flat_map(of_third).collect();
        assert!(whole == expected, "parts of {extents:?}");
    }
}

#[test]
fn roundings_of_equal_factors_do_not_add_up() {
    // Blocks of equal factors have equal roundings: in f32 those of 300 blocks would be 1e-5.
    let count = 5000;
    for number in [1.000_123_4, 0.999_876_5] {
        let factor = f64::from(number as f32);
        let mut expr = Expr::default();
        let x = expr.input(0, DType::F32, &shape(&[count]));
        let results = [expr.scan(x, Reduction::Prod, 0, false, false), expr.reduce(Reduction::Prod, x, &[0])];
        let recipe = Recipe { expr, dims: vec![], results: results.to_vec(), assignments: vec![] };
        for is_host in [false, true] {
            let plan = Plan::new(&recipe, &Target { is_host, ..GPU }).unwrap();
            let mut slots = vec![bytes_of(DType::F32, &vec![factor; count as usize])];
            let found = match is_host {
                false => execute(&plan, &[], &mut slots).unwrap(),
                true => execute_by(&plan, &[], &mut slots, &crate::wasm::run_generated).unwrap(),
            };
            let scanned = elements_of(DType::F32, &found[0], count as usize);
            let whole = elements_of(DType::F32, &found[1], 1);
            for (place, found) in (1..).zip(&scanned).chain([(count as i32, &whole[0])]) {
                let expected = factor.powi(place);
                // One rounding to f32.
                assert!((found / expected - 1.0).abs() < 6.1e-8, "{place}: {found}, not {expected}");
            }
        }
    }
}
