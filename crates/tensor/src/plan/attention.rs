//! Which attention has kernels of its own.

use crate::expr::{Expr, TensorId};
use crate::fuse::Target;

/// Most numbers of a query and a key that the kernels take.
const MOST_SIZE: i64 = 256;
/// Most numbers of a value that they take: a thread holds one in 16 of them for each of 8 queries.
const MOST_WIDTH: i64 = 128;

/// Whether there are kernels for attention of these operands: on a device, where heads have known sizes that are multiples of 4.
pub fn has_kernels(expr: &Expr, operands: &[TensorId], target: &Target) -> bool {
    let fits = |operand: TensorId, most: i64| {
        let size = expr.shape(operand).last().and_then(|size| size.known());
        size.is_some_and(|size| (4..=most).contains(&size) && size % 4 == 0)
    };
    !target.is_host && fits(operands[0], MOST_SIZE) && fits(operands[2], MOST_WIDTH)
}
