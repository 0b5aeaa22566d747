#import nonfinite
#import pair_order
#import pair_product
#import pair_quotient
#import pair_sum
// The normal equations of a problem in pairs: `g`, the gradient, and `h`, the upper triangle of H, column after column. Loops and not unrolled code,
// since compilers take seconds for the pair operations of a factorisation that is written out.
const LEAST = 1.1754944e-38; // normal number
// A pivot below this share of the diagonal is rounding.
const LEAST_PIVOT = 3e-14 * f32(COORDINATES);
const ENTRIES = COORDINATES * (COORDINATES + 1u) / 2u;

// Where an entry of H stands, for row <= column.
fn entry_of(row: u32, column: u32) -> u32 {
    return column * (column + 1u) / 2u + row;
}

fn diagonal_of(normal: Normal, coordinate: u32) -> f32 {
    return normal.h[entry_of(coordinate, coordinate)].x;
}

fn is_frozen(frozen: u32, coordinate: u32) -> bool {
    return ((frozen >> coordinate) & 1u) != 0u;
}

fn is_sound(normal: Normal) -> bool {
    var sound = is_finite(normal.cost.x);
    for (var i = 0u; i < COORDINATES; i++) {
        sound = sound & is_finite(normal.g[i].x);
    }
    for (var i = 0u; i < ENTRIES; i++) {
        sound = sound & is_finite(normal.h[i].x);
    }
    return sound;
}

// The largest |g|/√C in units of the columns, and the length of all of them.
fn scaled_gradient(normal: Normal, frozen: u32) -> vec2<f32> {
    var largest = 0.0;
    var squares = 0.0;
    for (var i = 0u; i < COORDINATES; i++) {
        let diagonal = diagonal_of(normal, i);
        let size = select(0.0, abs(normal.g[i].x) * inverseSqrt(diagonal), diagonal > 0.0);
        let slope = select(size, 0.0, is_frozen(frozen, i));
        largest = max(largest, slope);
        squares += slope * slope;
    }
    return vec2<f32>(largest, sqrt(squares));
}

fn step_length(normal: Normal, step: Step) -> f32 {
    var sum = 0.0;
    for (var i = 0u; i < COORDINATES; i++) {
        sum += diagonal_of(normal, i) * step.d[i] * step.d[i];
    }
    return sqrt(sum);
}

// −δᵀg
fn descent_along(normal: Normal, step: Step) -> f32 {
    var sum = vec2<f32>();
    for (var i = 0u; i < COORDINATES; i++) {
        sum = pair_sum(sum, pair_scaled(normal.g[i], step.d[i]));
    }
    return -sum.x;
}

// δᵀHδ, of which the terms cancel where H is ill-conditioned.
fn curvature_along(normal: Normal, step: Step) -> f32 {
    var sum = vec2<f32>();
    for (var column = 0u; column < COORDINATES; column++) {
        var slope = vec2<f32>();
        for (var row = 0u; row < column; row++) {
            slope = pair_sum(slope, pair_scaled(normal.h[entry_of(row, column)], 2.0 * step.d[row]));
        }
        slope = pair_sum(slope, pair_scaled(normal.h[entry_of(column, column)], step.d[column]));
        sum = pair_sum(sum, pair_scaled(slope, step.d[column]));
    }
    return sum.x;
}

// An entry of H + λD². Of what has never had an effect no unit is known.
fn damped_entry(normal: Normal, scale: Step, row: u32, column: u32, damping: f32, frozen: u32) -> vec2<f32> {
    let entry = normal.h[entry_of(row, column)];
    if is_frozen(frozen, row) || is_frozen(frozen, column) {
        return vec2<f32>(select(0.0, 1.0, row == column), 0.0);
    }
    if row < column {
        return entry;
    }
    if !(scale.d[row] > 0.0) {
        return vec2<f32>(1.0, 0.0);
    }
    return pair_sum(entry, product_with_error(damping, scale.d[row]));
}

// (H + λD²)δ = −g by Cholesky's factorisation LDLᵀ, without roots. A pivot that rounding does not tell from 0 is no step.
fn damped_step(normal: Normal, scale: Step, damping: f32, frozen: u32) -> Solved {
    var solved = Solved();
    solved.sound = true;
    var factor = array<vec2<f32>, ENTRIES>();
    var sums = array<f32, COORDINATES>();
    for (var column = 0u; column < COORDINATES; column++) {
        // The column of L times the pivots, then the column itself and its pivot.
        for (var row = 0u; row < column; row++) {
            var sum = damped_entry(normal, scale, row, column, damping, frozen);
            for (var k = 0u; k < row; k++) {
                sum = pair_difference(sum, pair_product(factor[entry_of(k, row)], factor[entry_of(k, column)]));
            }
            factor[entry_of(row, column)] = sum;
        }
        let diagonal = damped_entry(normal, scale, column, column, damping, frozen);
        var pivot = diagonal;
        // What bounds the inverse of the factor in units of the columns.
        var bound = sqrt(diagonal.x);
        for (var row = 0u; row < column; row++) {
            let scaled = factor[entry_of(row, column)];
            let entry = pair_quotient(scaled, factor[entry_of(row, row)]);
            pivot = pair_difference(pivot, pair_product(scaled, entry));
            factor[entry_of(row, column)] = entry;
            bound += abs(scaled.x) * inverseSqrt(factor[entry_of(row, row)].x) * sums[row];
        }
        factor[entry_of(column, column)] = pivot;
        sums[column] = bound * inverseSqrt(pivot.x);
        solved.trace += sums[column] * sums[column];
        solved.sound = solved.sound & (pivot.x > max(LEAST, LEAST_PIVOT * diagonal.x)) & is_finite(pivot.x);
    }
    var d = array<vec2<f32>, COORDINATES>();
    for (var row = 0u; row < COORDINATES; row++) {
        var sum = select(-normal.g[row], vec2<f32>(), is_frozen(frozen, row));
        for (var k = 0u; k < row; k++) {
            sum = pair_difference(sum, pair_product(factor[entry_of(k, row)], d[k]));
        }
        d[row] = sum;
        solved.promise += 0.5 * sum.x * (sum.x / factor[entry_of(row, row)].x);
    }
    for (var after = COORDINATES; after > 0u; after--) {
        let row = after - 1u;
        var sum = pair_quotient(d[row], factor[entry_of(row, row)]);
        for (var k = after; k < COORDINATES; k++) {
            sum = pair_difference(sum, pair_product(factor[entry_of(row, k)], d[k]));
        }
        d[row] = sum;
        solved.step.d[row] = sum.x;
        solved.square += scale.d[row] * sum.x * sum.x;
    }
    for (var row = 0u; row < COORDINATES; row++) {
        var sum = vec2<f32>(scale.d[row] * solved.step.d[row], 0.0);
        for (var k = 0u; k < row; k++) {
            sum = pair_difference(sum, pair_product(factor[entry_of(k, row)], d[k]));
        }
        d[row] = sum;
        solved.bend += sum.x * (sum.x / factor[entry_of(row, row)].x);
    }
    return solved;
}
