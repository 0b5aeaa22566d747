#import guard_zero
// R and the vectors of the reflections of few columns in the place of A, and below them T of I − V T Vᵀ, the product of the reflections (Schreiber and Van
// Loan: "A storage-efficient WY representation for products of Householder transformations", 1989).

const WIDTH = 32u;
const TILE = 1024u;
const PITCH = WIDTH;
const MATRIX = TILE;
// Threads of a row: each has four columns.
const GROUPS = 8u;

var<workgroup> work: array<f32, 2048>;
var<workgroup> sums_of: array<vec4<f32>, THREADS>;
var<private> row_length: u32;

// The vectors of the reflections.
fn element(row: u32, column: u32) -> f32 {
    if (row <= column || column >= row_length) {
        return select(0.0, 1.0, row == column);
    }
    return load(row * row_length + column);
}

// Applies the reflection of column k to the columns after it.
fn reflect(t: u32, rows: u32, columns: u32, k: u32, f: f32) {
    let first = t % GROUPS * 4u;
    let is_used = vec4<u32>(first) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(columns);
    let is_after = first + 3u > k && first < columns;
    var sums = vec4<f32>();
    if (is_after) {
        for (var i = k + t / GROUPS; i < rows; i += THREADS / GROUPS) {
            let at = i * columns + first;
            sums += select(load(i * columns + k), 1.0, i == k) * vec4<f32>(load(at), load(at + 1u), load(at + 2u), load(at + 3u));
        }
    }
    workgroupBarrier();
    sums_of[t] = sums;
    for (var half = THREADS / 2u; half >= GROUPS; half /= 2u) {
        workgroupBarrier();
        if (t < half) {
            sums_of[t] += sums_of[t + half];
        }
    }
    workgroupBarrier();
    sums = f * sums_of[t % GROUPS];
    if (is_after) {
        for (var i = k + t / GROUPS; i < rows; i += THREADS / GROUPS) {
            let at = i * columns + first;
            let v = select(load(i * columns + k), 1.0, i == k);
            for (var j = 0u; j < 4u; j++) {
                if (is_used[j] && first + j > k) {
                    store(at + j, load(at + j) - v * sums[j]);
                }
            }
        }
    }
    meet();
}

fn factor(t: u32, rows: u32, columns: u32) {
    let below = rows * columns;
    let is_whole = is_whole_of(t, below);
    reduce(t, rows, columns);
    row_length = columns;
    var own = 0.0;
    if (t < columns) {
        own = load(below + t);
    }
    column_products(t, rows);
    // T takes the place of the tile: its columns in turn, whose factors are known to their threads.
    for (var e = t; e < TILE; e += THREADS) {
        work[e] = 0.0;
    }
    workgroupBarrier();
    if (t < columns) {
        work[t * (WIDTH + 1u)] = own;
    }
    for (var k = 1u; k < columns; k++) {
        workgroupBarrier();
        if (t < k) {
            var sum = 0.0;
            for (var i = t; i < k; i++) {
                sum += work[t * WIDTH + i] * work[TILE + i * WIDTH + k];
            }
            work[t * WIDTH + k] = -work[k * (WIDTH + 1u)] * sum;
        }
    }
    meet();
    for (var e = t; e < columns * columns; e += TEAM) {
        store(below + e, work[e / columns * WIDTH + e % columns]);
    }
    meet();
    if (!is_whole) {
        for (var e = t; e < below + columns * columns; e += TEAM) {
            store(e, bitcast<f32>(0x7fc00000u | guard_zero()));
        }
    }
}
