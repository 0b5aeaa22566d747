//! Smallest and largest integers: no reduction begins with a number that lies between those of its rows.

use super::*;

#[test]
fn extremes_of_integers_are_those_of_the_reference() {
    // Rows without a number on one side of 0, of the middle of the range, or of its ends.
    let rows: [(DType, &[f64]); 7] = [
        (DType::I32, &[-5.0, -3.0, -4.0]),
        (DType::I32, &[5.0, 3.0, 4.0]),
        (DType::U32, &[3e9, 4e9, 2_147_483_648.0]),
        (DType::U32, &[5.0, 3.0, 4.0]),
        (DType::U8, &[200.0, 255.0, 190.0]),
        (DType::Bool, &[1.0, 1.0, 1.0]),
        (DType::Bool, &[0.0, 0.0, 0.0]),
    ];
    for (dtype, row) in rows {
        let input: Vec<f64> = row.iter().cycle().take(40).copied().collect();
        for axis in 0..2 {
            let mut expr = Expr::default();
            let x = expr.input(0, dtype, &shape(&[4, 10]));
            let results = [Reduction::Min, Reduction::Max].map(|reduction| expr.reduce(reduction, x, &[axis]));
            check(expr, &results, std::slice::from_ref(&input), &[]);
        }
    }
}
