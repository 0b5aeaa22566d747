//! Rules against differences.

use super::*;
use crate::expr::{Border, Combine, Takes};

/// Where the operands of an operation on reals are drawn from, off its kinks; none where it has no derivative.
fn domain(op: Elementwise) -> &'static [(f64, f64)] {
    use Elementwise::*;
    match op {
        Neg | Exp | Expm1 | Erf | Erfc | Sin | Cos | Tan | Atan | Sinh | Cosh | Tanh | Sigmoid | Softplus => {
            &[(-1.2, 1.2)]
        }
        Abs | Sqrt | Log | VectorNorm | InverseNorm => &[(0.5, 2.0)],
        Log1p | Asin | Acos => &[(-0.7, 0.7)],
        Add | Sub | Mul | Atan2 => &[(-2.0, -0.5), (0.5, 2.0)],
        Div => &[(-2.0, 2.0), (0.5, 2.0)],
        // Quotients between 2 and 3, of which the second is about −2.5.
        Mod => &[(4.1, 4.4), (1.6, 1.9)],
        FloorMod => &[(-4.4, -4.1), (1.6, 1.9)],
        Pow => &[(0.5, 2.0), (-2.0, 2.0)],
        Minimum | Maximum => &[(-2.0, 2.0), (-2.0, 2.0)],
        GuardedMul => &[(0.5, 2.0), (-2.0, 2.0)],
        Sign | Floor | Ceil | Round | Trunc | IsNan | IsFinite | Not | StopGradient | Cast | Bitcast | Eq | Ne | Lt
        | Le | Gt | Ge | And | Or | Xor | Shl | Shr | Select => &[],
    }
}

#[test]
fn elementwise_operations() {
    for op in Elementwise::ALL {
        let domain = domain(*op);
        if domain.is_empty() {
            continue;
        }
        assert_ne!(op.takes(), Takes::Bits);
        // The second operand is repeated along the last axis.
        let shapes: [&[i64]; 2] = [&[2, -1], &[2, 1]];
        let reals: Vec<(&[i64], (f64, f64))> = shapes.into_iter().zip(domain.iter().copied()).collect();
        check(op.name(), &reals, &[], &|expr, x| expr.elementwise(*op, x));
    }
    let condition: (DType, &[i64], &[f64]) = (DType::Bool, &[3], &[1.0, 0.0, 1.0]);
    check("where", &[(&[2, 3], (-1.0, 1.0)), (&[], (-1.0, 1.0))], &[condition], &|expr, x| {
        expr.elementwise(Elementwise::Select, &[x[2], x[0], x[1]])
    });
    check("square", &[(&[3], (-1.0, 1.0))], &[], &|expr, x| expr.elementwise(Elementwise::Mul, &[x[0], x[0]]));
    check("f16 and back", &[(&[3], (-1.0, 1.0))], &[], &|expr, x| {
        let half = expr.cast(x[0], DType::F16);
        let squared = expr.elementwise(Elementwise::Mul, &[half, half]);
        expr.cast(squared, DType::F32)
    });
}

/// The cube, so that views have second derivatives.
fn cube(expr: &mut Expr, x: TensorId) -> TensorId {
    let square = expr.elementwise(Elementwise::Mul, &[x, x]);
    expr.elementwise(Elementwise::Mul, &[square, x])
}

#[test]
fn views() {
    type View = fn(&mut Expr, TensorId, TensorId) -> TensorId;
    let table: &[(&str, &[i64], View)] = &[
        ("reshape", &[2, -1], |e, x, _| e.reshape(x, &[&Size::dim(0) * &Size::constant(2)])),
        ("expand", &[2, 1], |e, x, _| e.expand(x, &sizes(&[4, 2, -1]))),
        ("permute", &[2, -1, 4], |e, x, _| e.permute(x, &[2, 0, 1])),
        ("slice", &[4, -1], |e, x, _| e.slice(x, sizes(&[1, 0]), vec![1, 1], sizes(&[2, -1]))),
        ("slice with steps", &[7, 4], |e, x, _| e.slice(x, sizes(&[1, 3]), vec![2, -1], sizes(&[3, 3]))),
        ("slice backwards with steps", &[8], |e, x, _| e.slice(x, sizes(&[6]), vec![-3], sizes(&[3]))),
        ("set slice", &[4, -1], |e, x, _| {
            let part = e.slice(x, sizes(&[1, 0]), vec![1, 1], sizes(&[2, -1]));
            let cubed = cube(e, part);
            e.set_slice(x, sizes(&[2, 0]), cubed)
        }),
        ("pad", &[2, -1], |e, x, zero| {
            let op = TensorOp::Pad { before: sizes(&[1, -1]), border: Border::Constant };
            of(e, op, &[x, zero], &[4, 9])
        }),
        ("shift", &[5], |e, x, zero| {
            let op = TensorOp::Pad { before: vec![Size::constant(-2)], border: Border::Constant };
            of(e, op, &[x, zero], &[5])
        }),
        ("concat", &[2, -1], |e, x, _| {
            let turned = e.slice(x, sizes(&[1, 0]), vec![-1, 1], sizes(&[2, -1]));
            e.concat(&[x, turned, x], 0)
        }),
        ("windows", &[2, 8, 2], |e, x, _| {
            of(e, TensorOp::Windows { axis: 1, step: 2, dilation: 3 }, &[x], &[2, 2, 2, 2])
        }),
        ("overlapping windows", &[6, 2], |e, x, _| {
            of(e, TensorOp::Windows { axis: 0, step: 1, dilation: 1 }, &[x], &[4, 2, 3])
        }),
        ("long windows", &[70], |e, x, _| of(e, TensorOp::Windows { axis: 0, step: 9, dilation: 1 }, &[x], &[5, 34])),
        ("long windows of whole steps", &[2, 70], |e, x, _| {
            of(e, TensorOp::Windows { axis: 1, step: 16, dilation: 1 }, &[x], &[2, 3, 32])
        }),
        ("long windows with gaps between", &[80], |e, x, _| {
            of(e, TensorOp::Windows { axis: 0, step: 40, dilation: 1 }, &[x], &[2, 33])
        }),
    ];
    for (name, shape, view) in table {
        check(name, &[(shape, (-1.0, 1.0)), (&[], (-1.0, 1.0))], &[], &|expr, x| {
            let cubed = cube(expr, x[0]);
            let view = view(expr, cubed, x[1]);
            let product = expr.elementwise(Elementwise::Sin, &[view]);
            expr.elementwise(Elementwise::Mul, &[product, x[1]])
        });
    }
    for border in [Border::Clamp, Border::Wrap, Border::Mirror] {
        for (extent, before) in [(4, 3), (1, 2), (4, -1)] {
            check(&format!("{border:?}"), &[(&[2, extent], (-1.0, 1.0))], &[], &|expr, x| {
                let cubed = cube(expr, x[0]);
                let op = TensorOp::Pad { before: vec![Size::constant(1), Size::constant(before)], border };
                of(expr, op, &[cubed], &[4, 9])
            });
        }
    }
}

#[test]
fn reductions_and_scans() {
    use Reduction::{Max, Min, Prod, Sum, Variance};
    for reduction in [Sum, Prod, Min, Max, Variance] {
        for axes in [&[1][..], &[0, 2], &[0, 1, 2], &[]] {
            check(&format!("{reduction:?} over {axes:?}"), &[(&[2, -1, 2], (-2.0, 2.0))], &[], &|expr, x| {
                let cubed = cube(expr, x[0]);
                expr.reduce(reduction, cubed, axes)
            });
        }
    }
    for reduction in [Sum, Prod, Min, Max] {
        for (exclusive, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
            let name = format!("scan by {reduction:?}, exclusive {exclusive}, reverse {reverse}");
            check(&name, &[(&[5, 2], (-1.5, 1.5))], &[], &|expr, x| {
                let cubed = cube(expr, x[0]);
                let scanned = expr.scan(cubed, reduction, 0, exclusive, reverse);
                // The extreme of nothing is infinite.
                let limit = expr.constant(50.0, DType::F32);
                let below = expr.elementwise(Elementwise::Minimum, &[scanned, limit]);
                let limit = expr.constant(-50.0, DType::F32);
                expr.elementwise(Elementwise::Maximum, &[below, limit])
            });
        }
    }
}

#[test]
fn products_of_matrices() {
    let shapes: [(&[i64], &[i64]); 5] = [
        (&[2, 3], &[3, 4]),
        (&[2, 1, 2, 3], &[2, 3, 2]),
        (&[2, -1, 2, 3], &[3, 2]),
        (&[2, 3], &[2, 3, 2]),
        (&[1, 2, 3], &[2, 3, 2]),
    ];
    for (a, b) in shapes {
        check(&format!("{a:?} times {b:?}"), &[(a, (-1.0, 1.0)), (b, (-1.0, 1.0))], &[], &|expr, x| {
            let cubed = cube(expr, x[0]);
            expr.matmul(cubed, x[1], DType::F32)
        });
    }
    check("a product of two types", &[(&[2, 3], (-1.0, 1.0)), (&[3, 2], (-1.0, 1.0))], &[], &|expr, x| {
        let half = expr.cast(x[1], DType::F16);
        expr.matmul(x[0], half, DType::F32)
    });
}

#[test]
fn selections_by_indices() {
    // With repeated, negative and absent places.
    let matrix: (DType, &[i64], &[f64]) = (DType::I32, &[2, 3], &[0.0, 2.0, -1.0, 2.0, 7.0, 1.0]);
    let vector: (DType, &[i64], &[f64]) = (DType::U32, &[4], &[2.0, 0.0, 2.0, 9.0]);
    check("gather", &[(&[2, 4, 2], (-1.0, 1.0))], &[matrix], &|expr, x| {
        let cubed = cube(expr, x[0]);
        expr.gather(cubed, x[1], 1)
    });
    check("gather elements", &[(&[3, 4], (-1.0, 1.0))], &[matrix], &|expr, x| {
        let cubed = cube(expr, x[0]);
        expr.gather_elements(cubed, x[1], 1)
    });
    for combine in [Combine::Set, Combine::Add, Combine::Mul, Combine::Min, Combine::Max] {
        check(
            &format!("scatter {combine:?}"),
            &[(&[3, 4], (0.5, 2.0)), (&[2, 3], (0.5, 2.0))],
            &[matrix],
            &|expr, x| {
                let [cubed, source] = [x[0], x[1]].map(|id| cube(expr, id));
                expr.scatter(cubed, x[2], source, 1, combine)
            },
        );
        check(&format!("put {combine:?}"), &[(&[2, 3], (0.5, 2.0)), (&[2, 4], (0.5, 2.0))], &[vector], &|expr, x| {
            let [cubed, source] = [x[0], x[1]].map(|id| cube(expr, id));
            expr.index_put(cubed, x[2], source, 1, combine)
        });
    }
}

#[test]
fn folds_and_scans_by_rules() {
    // Products of 2 × 2 matrices of determinant 1 up to scale: not commutative.
    let matrices = || {
        rule(&[1.0, 0.0, 0.0, 1.0], |g, a, b| {
            let mut entry = |row: usize, column: usize| {
                let first = g.mul(a[2 * row], b[column]);
                let second = g.mul(a[2 * row + 1], b[2 + column]);
                g.add(first, second)
            };
            vec![entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1)]
        })
    };
    let states: [(&[i64], (f64, f64)); 4] = [(&[2, 4], (-1.0, 1.0)); 4];
    for axes in [&[1][..], &[0, 1]] {
        check(&format!("a fold over {axes:?}"), &states, &[], &|expr, x| {
            let shape = sizes(if axes.len() == 1 { &[2] } else { &[] });
            let op = TensorOp::Fold { rule: matrices(), axes: axes.to_vec(), result: 1 };
            expr.push(Tensor { op, operands: x.to_vec(), dtype: DType::F32, shape })
        });
    }
    // The linear recurrence y = a y + x: states are (a, x).
    let linear = || {
        rule(&[1.0, 0.0], |g, a, b| {
            let product = g.mul(a[1], b[0]);
            vec![g.mul(a[0], b[0]), g.add(product, b[1])]
        })
    };
    let states: [(&[i64], (f64, f64)); 2] = [(&[2, 4], (-1.0, 1.0)); 2];
    for (exclusive, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
        for result in [0, 1] {
            let name = format!("a recurrence's number {result}, exclusive {exclusive}, reverse {reverse}");
            check(&name, &states, &[], &|expr, x| {
                let op = TensorOp::ScanBy { rule: linear(), axis: 1, exclusive, reverse, result };
                of(expr, op, x, &[2, 4])
            });
        }
    }
    // The derivatives that are checked are the second and the third: recurrences of recurrences.
    let squares_by_first = |expr: &mut Expr, y: TensorId, x: TensorId| {
        let squares = expr.elementwise(Elementwise::Mul, &[y, y]);
        let sum = expr.reduce(Reduction::Sum, squares, &[0]);
        expr.gradient(sum, x)
    };
    check("a slope of a cumulative product", &[(&[4], (-1.0, 1.0))], &[], &|expr, x| {
        let y = expr.scan(x[0], Reduction::Prod, 0, false, false);
        squares_by_first(expr, y, x[0])
    });
    check("a slope of a recurrence", &[(&[3][..], (-1.0, 1.0)); 2], &[], &|expr, x| {
        let op = TensorOp::ScanBy { rule: linear(), axis: 0, exclusive: false, reverse: true, result: 1 };
        let y = of(expr, op, x, &[3]);
        squares_by_first(expr, y, x[0])
    });
    // log(eᵃ + eᵇ) has a derivative that is no polynomial.
    let log_sum = || {
        rule(&[-30.0], |g, a, b| {
            let difference = g.sub(b[0], a[0]);
            let above = g.softplus(difference);
            vec![g.add(a[0], above)]
        })
    };
    check("a logarithm of sums", &[(&[5], (-1.0, 1.0))], &[], &|expr, x| {
        let op = TensorOp::ScanBy { rule: log_sum(), axis: 0, exclusive: false, reverse: false, result: 0 };
        of(expr, op, x, &[5])
    });
}
