//! Rules of factorisations and triangular systems. With an adjoint X̄ of each matrix X:
//!
//! | of | adjoint of A |
//! |---|---|
//! | X = L⁻¹ B, dense or sparse | B̄ = L⁻ᵀ X̄, L̄ = −tril(B̄ Xᵀ) |
//! | A = L Lᵀ | L⁻ᵀ Φ(Lᵀ L̄) L⁻¹, where Φ takes the lower triangle and halves the diagonal (Murray: "Differentiation of the Cholesky decomposition", 2016) |
//! | P A = L U | Pᵀ L⁻ᵀ (tril(Lᵀ L̄, −1) + triu(Ū Uᵀ)) U⁻ᵀ (Giles: "An extended collection of matrix derivative results", 2008) |
//! | A = Q R | (Q̄ + Q C) R⁻ᵀ, where C is the lower triangle of M = R R̄ᵀ − Q̄ᵀ Q, mirrored (Walter, Lehmann and Lamour, 2012) |
//! | A = V Λ Vᵀ | V (diag(λ̄) + F ∘ (Vᵀ V̄)) Vᵀ with Fᵢⱼ = 1 / (λⱼ − λᵢ) (Giles) |
//! | P = A⁺ | −Pᵀ P̄ Pᵀ + (P̄ᵀ − A P P̄ᵀ) P Pᵀ + Pᵀ P (P̄ᵀ − P̄ᵀ P A) (Golub and Pereyra: "The differentiation of pseudo-inverses", 1973) |
//! | A = U Σ Vᵀ | Townsend: "Differentiating the singular value decomposition", 2016 |
//!
//! Where two eigenvalues or singular values are equal, F is taken for 0: what depends on their vectors as a whole has its derivative.

use residua_base::list::Listed;

use super::{Adjoint, PullBack, Shares};
use crate::dtype::DType;
use crate::expr::{Elementwise as E, Linalg, Reduction, TensorId};
use crate::size::Size;

impl PullBack<'_> {
    pub(super) fn linalg(&mut self, kind: Linalg) -> Shares {
        let of = match kind {
            Linalg::TriangularSolve => return self.triangular_solve(),
            Linalg::SparseSolve => return self.sparse_solve(),
            Linalg::Cholesky => self.cholesky(),
            Linalg::Lu => self.lu(),
            Linalg::Qr => self.qr(),
            Linalg::Eigh => self.eigh(),
            Linalg::Svd => self.svd(),
            Linalg::PseudoInverse => self.pseudo_inverse(),
            // Planning makes them, of what has been differentiated.
            Linalg::Rotations | Linalg::Diagonal | Linalg::Orthogonal | Linalg::Reflections => return vec![None],
        };
        let share = Some(Adjoint { node: of, guarded: false });
        // A cutoff is a constant.
        (0..self.operands.len()).map(|place| share.filter(|_| place == 0)).list()
    }

    fn triangular_solve(&mut self) -> Shares {
        let (lower, result, adjoint) = (self.operands[0], self.result, self.adjoint.node);
        let right = self.solve_transposed(lower, adjoint);
        let turned = self.expr().transpose(result);
        let product = self.product_of(right, turned);
        let product = self.triangle(product, E::Ge);
        let of_lower = self.apply(E::Neg, &[product]);
        [of_lower, right].map(|node| Some(Adjoint { node, guarded: false })).to_vec()
    }

    /// Of a value the adjoint is that of its element of T̄ = −B̄ Xᵀ.
    fn sparse_solve(&mut self) -> Shares {
        let [_, values, pattern, turned, rows, columns] = self.operands[..] else { return Vec::new() };
        let (result, adjoint) = (self.result, self.adjoint.node);
        let operands = [adjoint, values, turned, pattern, columns, rows];
        let right = self.expr().linalg(Linalg::SparseSolve, &operands);
        let mut shares: Shares = vec![None; 6];
        shares[0] = Some(Adjoint { node: right, guarded: false });
        if self.wanted[1] {
            let [of_right, of_result] =
                [(right, rows), (result, columns)].map(|(of, at)| self.expr().gather(of, at, 0));
            let product = self.times(of_right, of_result);
            let sum = self.expr().reduce(Reduction::Sum, product, &[1]);
            let node = self.apply(E::Neg, &[sum]);
            shares[1] = Some(Adjoint { node, guarded: false });
        }
        shares
    }

    fn cholesky(&mut self) -> TensorId {
        let (lower, adjoint) = (self.result, self.adjoint.node);
        // What stands above the diagonal is always 0.
        let adjoint = self.triangle(adjoint, E::Ge);
        let turned = self.expr().transpose(lower);
        let product = self.product_of(turned, adjoint);
        let inner = self.triangle(product, E::Ge);
        let half = self.scaled(0.5, product);
        let inner = self.on_diagonal(half, inner);
        self.congruent(lower, inner)
    }

    /// L⁻ᵀ X L⁻¹.
    fn congruent(&mut self, lower: TensorId, x: TensorId) -> TensorId {
        let left = self.solve_transposed(lower, x);
        let turned = self.expr().transpose(left);
        let both = self.solve_transposed(lower, turned);
        self.expr().transpose(both)
    }

    fn lu(&mut self) -> TensorId {
        let (result, adjoint) = (self.result, self.adjoint.node);
        let of = self.shape(0);
        let batch = of.len() - 2;
        let (rows, columns) = (&of[batch], &of[batch + 1]);
        let (zero, one) = (&Size::constant(0), &Size::constant(1));
        let factors = self.part(result, [zero, zero], [rows, columns]);
        let order = self.part(result, [zero, columns], [rows, one]);
        // Of the square with as many rows as the shorter side, and of what is below or beside it.
        let [is_tall, is_wide] = match rows.known().zip(columns.known()) {
            Some((rows, columns)) => [rows > columns, rows < columns],
            None => [false; 2],
        };
        let side = if is_tall { columns } else { rows };
        let [square, of_square] = [factors, adjoint].map(|x| self.part(x, [zero, zero], [side, side]));
        let unit = self.number(1.0);
        let below = self.triangle(square, E::Gt);
        let lower = self.on_diagonal(unit, below);
        let upper = self.triangle(square, E::Le);
        let mut of_lower = self.triangle(of_square, E::Gt);
        let mut of_upper = self.triangle(of_square, E::Le);
        let mut rest = None;
        if is_tall {
            // L₂ = A₂ U⁻¹.
            let size = rows - columns;
            let [own, of_own] = [factors, adjoint].map(|x| self.part(x, [columns, zero], [&size, columns]));
            let below = self.divided_by_transposed(of_own, upper);
            let turned = self.expr().transpose(own);
            let product = self.product_of(turned, below);
            let product = self.triangle(product, E::Le);
            of_upper = self.apply(E::Sub, &[of_upper, product]);
            rest = Some((below, 0));
        }
        if is_wide {
            // U₂ = L⁻¹ A₂.
            let size = columns - rows;
            let [own, of_own] = [factors, adjoint].map(|x| self.part(x, [zero, rows], [rows, &size]));
            let beside = self.solve_transposed(lower, of_own);
            let turned = self.expr().transpose(own);
            let product = self.product_of(beside, turned);
            let product = self.triangle(product, E::Gt);
            of_lower = self.apply(E::Sub, &[of_lower, product]);
            rest = Some((beside, 1));
        }
        let [lower_turned, upper_turned] = [lower, upper].map(|factor| self.expr().transpose(factor));
        let left = self.product_of(lower_turned, of_lower);
        let left = self.triangle(left, E::Gt);
        let right = self.product_of(of_upper, upper_turned);
        let right = self.triangle(right, E::Le);
        let inner = self.apply(E::Add, &[left, right]);
        let inner = self.solve_transposed(lower, inner);
        let mut moved = self.divided_by_transposed(inner, upper);
        if let Some((rest, axis)) = rest {
            moved = self.expr().concat(&[moved, rest], (batch + axis) as u32);
        }
        // Row i of the factors is of the row of A with its number.
        let numbers = self.expr().transpose(order);
        let own = self.expr().iota(0, DType::F32, &[rows.clone(), one.clone()]);
        let is_own = self.apply(E::Eq, &[own, numbers]);
        let permutation = self.expr().cast(is_own, DType::F32);
        self.product_of(permutation, moved)
    }

    fn qr(&mut self) -> TensorId {
        let of = self.shape(0);
        let (rows, columns) = (&of[of.len() - 2], &of[of.len() - 1]);
        let zero = &Size::constant(0);
        let [[q, of_q], [upper, of_upper]] = [(zero, rows), (rows, columns)].map(|(first, count)| {
            [self.result, self.adjoint.node].map(|x| self.part(x, [first, zero], [count, columns]))
        });
        let of_upper = self.triangle(of_upper, E::Le);
        let turned = self.expr().transpose(of_upper);
        let first = self.product_of(upper, turned);
        let turned = self.expr().transpose(of_q);
        let second = self.product_of(turned, q);
        let difference = self.apply(E::Sub, &[first, second]);
        let lower = self.triangle(difference, E::Ge);
        let strictly = self.triangle(difference, E::Gt);
        let mirrored = self.expr().transpose(strictly);
        let symmetric = self.apply(E::Add, &[lower, mirrored]);
        let product = self.product_of(q, symmetric);
        let sum = self.apply(E::Add, &[of_q, product]);
        self.divided_by_transposed(sum, upper)
    }

    fn eigh(&mut self) -> TensorId {
        let of = self.shape(0);
        let size = &of[of.len() - 1];
        let (zero, one) = (&Size::constant(0), &Size::constant(1));
        let [[vectors, of_vectors], [values, of_values]] = [(zero, size), (size, one)]
            .map(|(first, count)| [self.result, self.adjoint.node].map(|x| self.part(x, [first, zero], [count, size])));
        let of_pairs = self.expr().transpose(values);
        let differences = self.apply(E::Sub, &[values, of_pairs]);
        let turned = self.expr().transpose(vectors);
        let product = self.product_of(turned, of_vectors);
        let inner = self.divided_or_zero(product, differences);
        let inner = self.on_diagonal(of_values, inner);
        let left = self.product_of(vectors, inner);
        self.product_of(left, turned)
    }

    fn svd(&mut self) -> TensorId {
        let of = self.shape(0);
        let (rows, columns) = (&of[of.len() - 2], &of[of.len() - 1]);
        let (zero, one, both) = (&Size::constant(0), &Size::constant(1), &(rows + columns));
        let [[left, of_left], [right, of_right], [values, of_values]] = [(zero, rows), (rows, columns), (both, one)]
            .map(|(first, count)| {
                [self.result, self.adjoint.node].map(|x| self.part(x, [first, zero], [count, columns]))
            });
        let of_rows = self.expr().transpose(values);
        let sums = self.apply(E::Add, &[values, of_rows]);
        let differences = self.apply(E::Sub, &[values, of_rows]);
        let squares = self.apply(E::Mul, &[differences, sums]);
        let [product_of_left, product_of_right] = [(left, of_left), (right, of_right)].map(|(vectors, adjoint)| {
            let turned = self.expr().transpose(vectors);
            self.product_of(turned, adjoint)
        });
        let [of_u, of_v] = [product_of_left, product_of_right].map(|product| {
            let turned = self.expr().transpose(product);
            let difference = self.apply(E::Sub, &[product, turned]);
            self.divided_or_zero(difference, squares)
        });
        let first = self.apply(E::Mul, &[of_u, values]);
        let second = self.apply(E::Mul, &[of_v, of_rows]);
        let inner = self.apply(E::Add, &[first, second]);
        let inner = self.on_diagonal(of_values, inner);
        let inner = self.product_of(left, inner);
        // What of the left adjoint is not in their span.
        let within = self.product_of(left, product_of_left);
        let beyond = self.apply(E::Sub, &[of_left, within]);
        let beyond = self.divided_or_zero(beyond, values);
        let sum = self.apply(E::Add, &[inner, beyond]);
        let turned = self.expr().transpose(right);
        self.product_of(sum, turned)
    }

    fn pseudo_inverse(&mut self) -> TensorId {
        let (a, inverse, adjoint) = (self.operands[0], self.result, self.adjoint.node);
        let [inverse_turned, adjoint_turned] = [inverse, adjoint].map(|x| self.expr().transpose(x));
        let both = self.product_of(inverse_turned, adjoint);
        let first = self.product_of(both, inverse_turned);
        let projected = self.product_of(inverse, adjoint_turned);
        let projected = self.product_of(a, projected);
        let rest = self.apply(E::Sub, &[adjoint_turned, projected]);
        let rest = self.product_of(rest, inverse);
        let second = self.product_of(rest, inverse_turned);
        let projected = self.product_of(adjoint_turned, inverse);
        let projected = self.product_of(projected, a);
        let rest = self.apply(E::Sub, &[adjoint_turned, projected]);
        let rest = self.product_of(inverse, rest);
        let third = self.product_of(inverse_turned, rest);
        let sum = self.apply(E::Add, &[second, third]);
        self.apply(E::Sub, &[sum, first])
    }

    /// x / y, and 0 where y is 0.
    fn divided_or_zero(&mut self, x: TensorId, y: TensorId) -> TensorId {
        let (zero, one) = (self.number(0.0), self.number(1.0));
        let is_zero = self.apply(E::Eq, &[y, zero]);
        let divisor = self.apply(E::Select, &[is_zero, one, y]);
        let quotient = self.apply(E::Div, &[x, divisor]);
        self.apply(E::Select, &[is_zero, zero, quotient])
    }

    fn product_of(&mut self, a: TensorId, b: TensorId) -> TensorId {
        self.expr().matmul(a, b, DType::F32)
    }

    /// A part of each matrix of a batch: from a row and a column on, so many of both.
    fn part(&mut self, x: TensorId, from: [&Size; 2], count: [&Size; 2]) -> TensorId {
        let mut shape = self.sweep.expr.shape(x).to_vec();
        let batch = shape.len() - 2;
        let mut starts = vec![Size::constant(0); batch];
        for (axis, (from, count)) in from.into_iter().zip(count).enumerate() {
            starts.push(from.clone());
            shape[batch + axis] = count.clone();
        }
        let steps = vec![1; shape.len()];
        self.expr().slice(x, starts, steps, shape)
    }

    /// Row numbers and column numbers of matrices.
    fn numbers_of(&mut self, x: TensorId) -> [TensorId; 2] {
        let shape = self.sweep.expr.shape(x);
        let shape = shape[shape.len() - 2..].to_vec();
        [0, 1].map(|axis| self.expr().iota(axis, DType::I32, &shape))
    }

    /// The elements whose row compares with their column so, and 0 for others.
    fn triangle(&mut self, x: TensorId, comparison: E) -> TensorId {
        let numbers = self.numbers_of(x);
        let holds = self.apply(comparison, &numbers);
        self.where_holds(holds, x)
    }

    /// Matrices with other elements on their diagonal.
    fn on_diagonal(&mut self, diagonal: TensorId, x: TensorId) -> TensorId {
        let numbers = self.numbers_of(x);
        let holds = self.apply(E::Eq, &numbers);
        self.apply(E::Select, &[holds, diagonal, x])
    }

    /// Matrices with rows, or rows and columns, in the opposite order.
    fn flipped(&mut self, x: TensorId, has_columns: bool) -> TensorId {
        let shape = self.sweep.expr.shape(x).to_vec();
        let batch = shape.len() - 2;
        let is_flipped = |axis: usize| axis == batch || (has_columns && axis == batch + 1);
        let last = |axis: usize| &shape[axis] - &Size::constant(1);
        let starts = (0..shape.len()).map(|axis| if is_flipped(axis) { last(axis) } else { Size::constant(0) }).list();
        let steps = (0..shape.len()).map(|axis| if is_flipped(axis) { -1 } else { 1 }).list();
        self.expr().slice(x, starts, steps, shape)
    }

    /// U⁻¹ X of an upper triangular U, which is lower triangular from its other end.
    fn solve_upper(&mut self, upper: TensorId, x: TensorId) -> TensorId {
        let lower = self.flipped(upper, true);
        let right = self.flipped(x, false);
        let solution = self.expr().linalg(Linalg::TriangularSolve, &[lower, right]);
        self.flipped(solution, false)
    }

    /// L⁻ᵀ X.
    fn solve_transposed(&mut self, lower: TensorId, x: TensorId) -> TensorId {
        let upper = self.expr().transpose(lower);
        self.solve_upper(upper, x)
    }

    /// X U⁻ᵀ.
    fn divided_by_transposed(&mut self, x: TensorId, upper: TensorId) -> TensorId {
        let turned = self.expr().transpose(x);
        let solution = self.solve_upper(upper, turned);
        self.expr().transpose(solution)
    }
}
