//! Linear algebra as kernels can do it: large matrices block after block, so that most of the work is products (Golub and Van Loan: "Matrix Computations",
//! 4th edition, 4.2.9), and singular values on a device by rotations.

use super::concat::{join, most_parts};
use super::matrices::{block, identity, part, places, size_of};
use super::rotations;
use super::sort::Where;
use crate::dtype::DType;
use crate::expr::{Elementwise as E, Expr, Linalg, Reduction, TensorId};
use crate::fuse::Target;
use crate::size::Size;
use residua_base::list::Listed;

/// An operation of linear algebra on a target.
pub fn linalg(expr: &mut Expr, kind: Linalg, operands: &[TensorId], target: &Target, most_dims: &[u32]) -> TensorId {
    match kind {
        Linalg::Cholesky if is_large(expr, operands[0], target) => cholesky(expr, operands[0], most_parts(target)),
        Linalg::Lu if is_large(expr, operands[0], target) && has_sizes(expr, operands[0]) => {
            pivoted(expr, operands[0], most_parts(target))
        }
        Linalg::TriangularSolve if is_large(expr, operands[0], target) => {
            triangular_solve(expr, operands, most_parts(target))
        }
        Linalg::Qr if !target.is_host && size_of(expr, operands[0]) > REFLECTED && has_sizes(expr, operands[0]) => {
            orthogonal(expr, operands[0], most_parts(target))
        }
        Linalg::Eigh if !target.is_host && in_blocks(expr, operands[0]) => {
            rotations::eigen(expr, operands[0], Where { target, most_dims })
        }
        Linalg::Svd if !target.is_host => singular(expr, operands[0], Where { target, most_dims }),
        Linalg::PseudoInverse => pseudo_inverse(expr, operands, target, most_dims),
        _ => expr.linalg(kind, operands),
    }
}

/// Columns that reflections of one workgroup take, and those of a panel of more.
const REFLECTED: i64 = 32;
/// Columns of a matrix that a workgroup turns by itself.
const MOST_TOGETHER: i64 = 44;
/// Rows of a block of a large matrix: a workgroup has its memory, and products of so many terms are as fast as longer ones.
const BLOCK: i64 = 64;
/// Most rows that the host factors at once, in double precision.
const MOST_OF_HOST: i64 = 256;

/// Whether a matrix is factored block after block.
fn is_large(expr: &Expr, a: TensorId, target: &Target) -> bool {
    let most = if target.is_host { MOST_OF_HOST } else { BLOCK };
    size_of(expr, a) > most
}

/// Whether no size of a matrix is told at a run.
fn has_sizes(expr: &Expr, a: TensorId) -> bool {
    expr.shape(a).iter().rev().take(2).all(|size| size.known().is_some())
}

/// Whether rotations of a matrix go in rounds over blocks of its columns: it has so many that no workgroup has the memory.
fn in_blocks(expr: &Expr, a: TensorId) -> bool {
    size_of(expr, a) > MOST_TOGETHER && has_sizes(expr, a)
}

/// L of A = L Lᵀ: of the first rows, of those below by a triangular system, and of what is left without their products.
pub(super) fn cholesky(expr: &mut Expr, a: TensorId, most: usize) -> TensorId {
    let shape = expr.shape(a).to_vec();
    let size = size_of(expr, a);
    let (mut rest, mut done, mut panels) = (a, 0, Vec::new());
    while size - done > BLOCK {
        let after = size - done - BLOCK;
        let corner = block(expr, rest, [0, 0], [BLOCK, BLOCK]);
        let upper = expr.linalg(Linalg::Cholesky, &[corner]);
        let below = block(expr, rest, [BLOCK, 0], [after, BLOCK]);
        let turned = expr.transpose(below);
        let turned = expr.linalg(Linalg::TriangularSolve, &[upper, turned]);
        let lower = expr.transpose(turned);
        let corner = block(expr, rest, [BLOCK, BLOCK], [after, after]);
        let product = expr.matmul(lower, turned, DType::F32);
        rest = expr.elementwise(E::Sub, &[corner, product]);
        panels.push(expr.concat(&[upper, lower], shape.len() as u32 - 2));
        done += BLOCK;
    }
    let last = expr.linalg(Linalg::Cholesky, &[rest]);
    panels.push(last);
    let mut first = 0;
    for panel in &mut panels {
        let width = size_of(expr, *panel);
        let mut whole = shape.clone();
        whole[shape.len() - 1] = Size::constant(width);
        let mut before = vec![Size::constant(0); shape.len()];
        before[shape.len() - 2] = Size::constant(first);
        *panel = expr.pad_with_zeros(*panel, before, &whole);
        first += width;
    }
    let all = join(expr, panels, shape.len() as u32 - 1, most);
    // A block that has no factor leaves NaN in the last element.
    let end = size - done - 1;
    let last = block(expr, last, [end, end], [1, 1]);
    let is_none = expr.elementwise(E::IsNan, &[last]);
    expr.elementwise(E::Select, &[is_none, last, all])
}

/// Columns of a panel of Gaussian elimination, which one workgroup factors.
const PANEL: i64 = 32;

/// Factors with exchanged rows: of the first columns, of the rows beside them by a triangular system, and of what is left without their products. Rows that
/// are done leave in order, with their part of earlier columns; the others move with each exchange.
pub(super) fn pivoted(expr: &mut Expr, a: TensorId, most: usize) -> TensorId {
    let shape = expr.shape(a).to_vec();
    let axis = shape.len() - 2;
    let [height, width] = [axis, axis + 1].map(|axis| shape[axis].known().unwrap_or_default());
    let matrix = |rows: i64, columns: i64| [&shape[..axis], &[rows, columns].map(Size::constant)].concat();
    let depth = height.min(width);
    let mut order = expr.iota(axis as u32, DType::F32, &matrix(height, 1));
    let (mut rest, mut left, mut done, mut finished) = (a, None, 0, Vec::new());
    while done < depth {
        let count = PANEL.min(depth - done);
        let (rows, columns) = (height - done, width - done);
        let (below, beside) = (rows - count, columns - count);
        let panel = block(expr, rest, [0, 0], [rows, count]);
        let factors = expr.linalg(Linalg::Lu, &[panel]);
        let places = block(expr, factors, [0, count], [rows, 1]);
        let places = expr.cast(places, DType::I32);
        let moved = |expr: &mut Expr, x: TensorId| {
            let columns = size_of(expr, x);
            let places = expr.expand(places, &matrix(rows, columns));
            expr.gather_elements(x, places, axis as u32)
        };
        order = moved(expr, order);
        let earlier: Option<TensorId> = left.map(|left| moved(expr, left));
        let corner = block(expr, factors, [0, 0], [count, count]);
        let mut first = vec![corner];
        if let Some(earlier) = earlier {
            first.insert(0, block(expr, earlier, [0, 0], [count, done]));
        }
        let lower = block(expr, factors, [count, 0], [below, count]);
        if beside > 0 {
            let right = block(expr, rest, [0, count], [rows, beside]);
            let right = moved(expr, right);
            let top = block(expr, right, [0, 0], [count, beside]);
            let unit = unit_diagonal(expr, corner);
            let upper = expr.linalg(Linalg::TriangularSolve, &[unit, top]);
            first.push(upper);
            if below > 0 {
                let bottom = block(expr, right, [count, 0], [below, beside]);
                let product = expr.matmul(lower, upper, DType::F32);
                rest = expr.elementwise(E::Sub, &[bottom, product]);
            }
        }
        first.push(block(expr, order, [0, 0], [count, 1]));
        first.push(block(expr, factors, [0, count + 1], [count, 1]));
        finished.push(expr.concat(&first, axis as u32 + 1));
        if below > 0 {
            let earlier = earlier.map(|earlier| block(expr, earlier, [count, 0], [below, done]));
            let parts: Vec<TensorId> = earlier.into_iter().chain([lower]).list();
            left = Some(expr.concat(&parts, axis as u32 + 1));
            order = block(expr, order, [count, 0], [below, 1]);
        }
        done += count;
    }
    if height > depth
        && let Some(left) = left
    {
        let signs = expr.full(1.0, DType::F32, &matrix(height - depth, 1));
        finished.push(expr.concat(&[left, order, signs], axis as u32 + 1));
    }
    join(expr, finished, axis as u32, most)
}

/// Triangular matrices with ones on their diagonal.
fn unit_diagonal(expr: &mut Expr, x: TensorId) -> TensorId {
    let shape = expr.shape(x).to_vec();
    let numbers = [0, 1].map(|axis| expr.iota(axis, DType::I32, &shape[shape.len() - 2..]));
    let is_diagonal = expr.elementwise(E::Eq, &numbers);
    let one = expr.constant(1.0, DType::F32);
    expr.elementwise(E::Select, &[is_diagonal, one, x])
}

/// X of L X = B: of the first rows, and of what is left without their products.
pub(super) fn triangular_solve(expr: &mut Expr, operands: &[TensorId], most: usize) -> TensorId {
    let (lower, mut rest) = (operands[0], operands[1]);
    let shape = expr.shape(rest).to_vec();
    let axis = shape.len() - 2;
    let size = size_of(expr, lower);
    let (mut done, mut blocks) = (0, Vec::new());
    while done < size {
        let count = BLOCK.min(size - done);
        let after = size - done - count;
        let corner = block(expr, lower, [done, done], [count, count]);
        let right = part(expr, rest, &Size::constant(0), &Size::constant(count));
        let solution = expr.linalg(Linalg::TriangularSolve, &[corner, right]);
        blocks.push(solution);
        done += count;
        if after > 0 {
            let below = block(expr, lower, [done, done - count], [after, count]);
            let product = expr.matmul(below, solution, DType::F32);
            let left = part(expr, rest, &Size::constant(count), &Size::constant(after));
            rest = expr.elementwise(E::Sub, &[left, product]);
        }
    }
    join(expr, blocks, axis as u32, most)
}

/// V Σ⁺ Uᵀ of the singular values that are larger than a share of the largest.
fn pseudo_inverse(expr: &mut Expr, operands: &[TensorId], target: &Target, most_dims: &[u32]) -> TensorId {
    let [a, cutoff] = operands[..] else { return operands[0] };
    let shape = expr.shape(a).to_vec();
    let batch = shape.len() - 2;
    let (rows, columns) = (&shape[batch], &shape[batch + 1]);
    if rows.known().zip(columns.known()).is_some_and(|(rows, columns)| rows < columns) {
        let turned = expr.transpose(a);
        let inverse = pseudo_inverse(expr, &[turned, cutoff], target, most_dims);
        return expr.transpose(inverse);
    }
    let factors = linalg(expr, Linalg::Svd, &[a], target, most_dims);
    let left = part(expr, factors, &Size::constant(0), rows);
    let right = part(expr, factors, rows, columns);
    let values = part(expr, factors, &(rows + columns), &Size::constant(1));
    let largest = expr.reduce_keeping(Reduction::Max, values, &[batch as u32 + 1]);
    let least = expr.elementwise(E::Mul, &[largest, cutoff]);
    let is_zero = expr.elementwise(E::Le, &[values, least]);
    let (zero, one) = (expr.constant(0.0, DType::F32), expr.constant(1.0, DType::F32));
    let divisors = expr.elementwise(E::Select, &[is_zero, one, values]);
    let inverses = expr.elementwise(E::Div, &[one, divisors]);
    let inverses = expr.elementwise(E::Select, &[is_zero, zero, inverses]);
    let scaled = expr.elementwise(E::Mul, &[right, inverses]);
    let turned = expr.transpose(left);
    expr.matmul(scaled, turned, DType::F32)
}

/// Rows beyond which a tall matrix is made square first: rotations then go over fewer numbers, which a workgroup's memory may hold.
const MOST_ROTATED: i64 = 64;

/// Q and R of panels of columns, [m, n] with m ≥ n: the reflections of a panel apply to what is beside it as I − V T Vᵀ, which is products (Golub and Van
/// Loan, 5.2.3).
fn orthogonal(expr: &mut Expr, a: TensorId, most: usize) -> TensorId {
    let shape = expr.shape(a).to_vec();
    let axis = shape.len() - 2;
    let [height, width] = [axis, axis + 1].map(|axis| shape[axis].known().unwrap_or_default());
    let matrix = |rows: i64, columns: i64| [&shape[..axis], &[rows, columns].map(Size::constant)].concat();
    let zeros = |rows: i64, columns: i64| {
        let mut before = vec![Size::constant(0); axis + 2];
        (before[axis], before[axis + 1]) = (Size::constant(rows), Size::constant(columns));
        before
    };
    let (mut rest, mut done, mut panels, mut upper) = (a, 0, Vec::new(), Vec::new());
    while done < width {
        let count = REFLECTED.min(width - done);
        let (rows, beside) = (height - done, width - done - count);
        let panel = block(expr, rest, [0, 0], [rows, count]);
        let factors = expr.linalg(Linalg::Reflections, &[panel]);
        let vectors = unit_lower(expr, factors, [rows, count]);
        let triangle = block(expr, factors, [rows, 0], [count, count]);
        let corner = block(expr, factors, [0, 0], [count, count]);
        let mut row = vec![upper_part(expr, corner)];
        if beside > 0 {
            let right = block(expr, rest, [0, count], [rows, beside]);
            let turned = expr.transpose(triangle);
            let right = reflected(expr, vectors, turned, right);
            row.push(block(expr, right, [0, 0], [count, beside]));
            rest = block(expr, right, [count, 0], [rows - count, beside]);
        }
        let row = expr.concat(&row, axis as u32 + 1);
        upper.push(expr.pad_with_zeros(row, zeros(0, done), &matrix(count, width)));
        panels.push((done, vectors, triangle));
        done += count;
    }
    // Q, from the last panel: of its rows and columns alone, of which a product of the panels after it is the rest.
    let mut vectors: Option<TensorId> = None;
    for (from, of, triangle) in panels.into_iter().rev() {
        let (rows, columns) = (height - from, width - from);
        let count = size_of(expr, of);
        let first = identity(expr, &matrix(rows, count));
        let start = match vectors {
            None => first,
            Some(later) => {
                let later = expr.pad_with_zeros(later, zeros(count, 0), &matrix(rows, columns - count));
                expr.concat(&[first, later], axis as u32 + 1)
            }
        };
        vectors = Some(reflected(expr, of, triangle, start));
    }
    let upper = join(expr, upper, axis as u32, most);
    match vectors {
        None => upper,
        Some(vectors) => expr.concat(&[vectors, upper], axis as u32),
    }
}

/// X − V (T (Vᵀ X)).
fn reflected(expr: &mut Expr, vectors: TensorId, triangle: TensorId, x: TensorId) -> TensorId {
    let turned = expr.transpose(vectors);
    let product = expr.matmul(turned, x, DType::F32);
    let product = expr.matmul(triangle, product, DType::F32);
    let product = expr.matmul(vectors, product, DType::F32);
    expr.elementwise(E::Sub, &[x, product])
}

/// The elements below the diagonal of the first rows, with ones on it and zeros above.
fn unit_lower(expr: &mut Expr, x: TensorId, [rows, columns]: [i64; 2]) -> TensorId {
    let x = block(expr, x, [0, 0], [rows, columns]);
    let shape = expr.shape(x).to_vec();
    let [row, column] = places(expr, &shape);
    let is_below = expr.elementwise(E::Gt, &[row, column]);
    let identity = identity(expr, &shape);
    expr.elementwise(E::Select, &[is_below, x, identity])
}

/// The elements on the diagonal and above it, and zeros below.
fn upper_part(expr: &mut Expr, x: TensorId) -> TensorId {
    let shape = expr.shape(x).to_vec();
    let [row, column] = places(expr, &shape);
    let is_below = expr.elementwise(E::Gt, &[row, column]);
    let zero = expr.constant(0.0, DType::F32);
    expr.elementwise(E::Select, &[is_below, zero, x])
}

/// Singular values by rotations, which leave the left vectors times the values. Reflections make orthonormal vectors of these where values are 0 too.
fn singular(expr: &mut Expr, a: TensorId, on: Where) -> TensorId {
    let shape = expr.shape(a).to_vec();
    let batch = shape.len() - 2;
    let (rows, columns) = (&shape[batch], &shape[batch + 1]);
    let first = Size::constant(0);
    let rest_of = columns + &Size::constant(1);
    if rows.known().zip(columns.known()).is_some_and(|(rows, columns)| rows > MOST_ROTATED.max(columns)) {
        // A = Q R, and R = U Σ Vᵀ.
        let factors = linalg(expr, Linalg::Qr, &[a], on.target, on.most_dims);
        let [vectors, upper] = [(&first, rows), (rows, columns)].map(|(from, count)| part(expr, factors, from, count));
        let inner = singular(expr, upper, on);
        let left = part(expr, inner, &first, columns);
        let left = expr.matmul(vectors, left, DType::F32);
        let rest = part(expr, inner, columns, &rest_of);
        return expr.concat(&[left, rest], batch as u32);
    }
    let turned = match in_blocks(expr, a) {
        true => rotations::orthogonal(expr, a, on),
        false => expr.linalg(Linalg::Rotations, &[a]),
    };
    let scaled = part(expr, turned, &first, rows);
    let factors = linalg(expr, Linalg::Qr, &[scaled], on.target, on.most_dims);
    let vectors = part(expr, factors, &first, rows);
    let upper = part(expr, factors, rows, columns);
    // The diagonal of R has the signs of the vectors.
    let diagonal = expr.diagonal(upper);
    let (zero, one, opposite) =
        (expr.constant(0.0, DType::F32), expr.constant(1.0, DType::F32), expr.constant(-1.0, DType::F32));
    let is_negative = expr.elementwise(E::Lt, &[diagonal, zero]);
    let sign = expr.elementwise(E::Select, &[is_negative, opposite, one]);
    let left = expr.elementwise(E::Mul, &[vectors, sign]);
    let rest = part(expr, turned, rows, &rest_of);
    expr.concat(&[left, rest], batch as u32)
}
