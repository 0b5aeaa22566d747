#import guard_zero
// L of A = L Lᵀ in the place of A, column after column (Golub and Van Loan: "Matrix Computations", 4th edition, 4.2). A thread holds four rows of four
// columns, SIDE apart from one another; a column goes through the memory of the matrix, in turns by one of two places.

fn factor(t: u32, n: u32, columns: u32) {
    let row = t / SIDE;
    let own = t % SIDE;
    let numbers = vec4<u32>(own, own + SIDE, own + 2u * SIDE, own + 3u * SIDE);
#for a in 0..4
    let row_{a} = row + {a}u * SIDE;
    var held_{a} = vec4<f32>();
#for b in 0..4
    if (row_{a} < n && numbers[{b}] < n) {
        held_{a}[{b}] = load(row_{a} * n + numbers[{b}]);
    }
#endfor
#endfor
    meet();
    var holds = true;
#for b in 0..4
    for (var k = {b}u * SIDE; k < min(n, {b + 1}u * SIDE); k++) {
        let at = k % 2u * 4u * SIDE;
        let is_own = own == k - {b}u * SIDE;
        if (is_own) {
#for a in 0..4
            store(at + row_{a}, held_{a}[{b}]);
#endfor
        }
        meet();
        let pivot = load(at + k);
        // Positive and finite, by its bits.
        holds = holds && bitcast<u32>(pivot) - 1u < 0x7f7fffffu;
        let root = sqrt(select(1.0, pivot, holds));
        let across = vec4<f32>(load(at + numbers.x), load(at + numbers.y), load(at + numbers.z), load(at + numbers.w)) / root;
        let is_after = numbers > vec4<u32>(k);
#for a in 0..4
        let of_row_{a} = load(at + row_{a}) / root;
        held_{a} = select(held_{a}, held_{a} - of_row_{a} * across, is_after);
        if (is_own) {
            held_{a}[{b}] = select(of_row_{a}, root, row_{a} == k);
        }
#endfor
    }
#endfor
    meet();
    // What is no factor is NaN, and nothing stands above the diagonal.
#for a in 0..4
#for b in 0..4
    if (row_{a} < n && numbers[{b}] < n) {
        let value = select(held_{a}[{b}], 0.0, numbers[{b}] > row_{a});
        store(row_{a} * n + numbers[{b}], select(bitcast<f32>(0x7fc00000u | guard_zero()), value, holds));
    }
#endfor
#endfor
}
