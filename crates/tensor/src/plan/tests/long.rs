//! Kernels of many points.

use super::*;
use crate::wgsl::{self, Limits};

/// The text and the workgroups of the only kernel of a map of so many numbers.
fn map_of(count: i64) -> (String, [u32; 3]) {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[count]));
    let y = expr.elementwise(E::Exp, &[x]);
    let recipe = Recipe { expr, dims: Vec::new(), results: vec![y], assignments: Vec::new() };
    let plan = Plan::new(&recipe, &GPU).expect("a recipe that plans");
    let [kernel] = plan.kernels.as_slice() else { panic!("{} kernels", plan.kernels.len()) };
    let text = wgsl::write(kernel, &Limits::default()).expect("a kernel with a text");
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
