#import nonfinite
// R in the place of A, by reflections I - f v vᵀ with v₀ = 1, which stand below the diagonal (Golub and Van Loan: "Matrix Computations", 4th edition, 5.1
// and 5.2).

var<workgroup> parts: array<f32, THREADS>;

// The sum of what the threads of a team have at a distance, in a fixed order.
fn total(t: u32, x: f32, least: u32) -> f32 {
    workgroupBarrier();
    parts[own_lane] = x;
    for (var half = TEAM / 2u; half >= least; half /= 2u) {
        workgroupBarrier();
        if (t < half) {
            parts[own_lane] += parts[own_lane + half];
        }
    }
    workgroupBarrier();
    return parts[own_lane - t + t % least];
}

fn most(t: u32, x: f32) -> f32 {
    workgroupBarrier();
    parts[own_lane] = x;
    for (var half = TEAM / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (t < half) {
            parts[own_lane] = max(parts[own_lane], parts[own_lane + half]);
        }
    }
    workgroupBarrier();
    return parts[own_lane - t];
}

// Whether all elements are finite.
fn is_whole_of(t: u32, count: u32) -> bool {
    var unfit = 0.0;
    for (var e = t; e < count; e += TEAM) {
        unfit = select(1.0, unfit, is_finite(load(e)));
    }
    return most(t, unfit) == 0.0;
}

// Leaves R and the vectors, and in a row below them the factors f.
fn reduce(t: u32, rows: u32, columns: u32) {
    let below = rows * columns;
    for (var k = 0u; k < columns; k++) {
        // Squares of numbers that are divided by the largest neither overflow nor vanish.
        var largest = 0.0;
        for (var i = k + 1u + t; i < rows; i += TEAM) {
            largest = max(largest, abs(load(i * columns + k)));
        }
        largest = most(t, largest);
        let head = load(k * columns + k);
        // What is no normal number counts as 0, as it does on devices without others.
        let is_normal = largest >= 1.1754944e-38;
        let scale = select(1.0, max(largest, abs(head)), is_normal);
        var square = 0.0;
        for (var i = k + 1u + t; i < rows; i += TEAM) {
            let x = select(0.0, load(i * columns + k) / scale, is_normal || is_nan(load(i * columns + k)));
            store(i * columns + k, x);
            square += x * x;
        }
        square = total(t, square, 1u);
        let first = head / scale;
        var result = head;
        var f = 0.0;
        // By its bits, since a NaN has to reach the result.
        if (bitcast<u32>(square) != 0u) {
            let norm = sqrt(first * first + square) * select(1.0, -1.0, first > 0.0);
            f = (norm - first) / norm;
            result = norm * scale;
            for (var i = k + 1u + t; i < rows; i += TEAM) {
                store(i * columns + k, load(i * columns + k) / (first - norm));
            }
        }
        meet();
        reflect(t, rows, columns, k, f);
        if (t == 0u) {
            store(k * columns + k, result);
            store(below + k, f);
        }
        meet();
    }
}
