// Triangular factors with the pivot of largest magnitude, in the place of A, whose rows have two elements more: which row of A they are of, and the sign of
// the exchange of a step (Golub and Van Loan: "Matrix Computations", 4th edition, 3.4).

var<workgroup> sizes_of: array<u32, THREADS>;
var<workgroup> places_of: array<u32, THREADS>;

// The place of the largest size that the threads of a team found.
fn largest(lane: u32, t: u32, size: u32, place: u32) -> u32 {
    sizes_of[lane] = size;
    places_of[lane] = place;
    for (var half = TEAM / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (t < half && (sizes_of[lane + half] > sizes_of[lane] || (sizes_of[lane + half] == sizes_of[lane] && places_of[lane + half] < places_of[lane]))) {
            sizes_of[lane] = sizes_of[lane + half];
            places_of[lane] = places_of[lane + half];
        }
    }
    workgroupBarrier();
    return places_of[lane - t];
}

fn factor(t: u32, rows: u32, columns: u32) {
    let width = columns + 2u;
    for (var i = t; i < rows; i += TEAM) {
        store(i * width + columns, f32(i));
        store(i * width + columns + 1u, 1.0);
    }
    meet();
    for (var k = 0u; k < min(rows, columns); k++) {
        // Sizes are bits: a NaN is the largest, so that it reaches the result.
        var size = 0u;
        var place = k;
        for (var i = k + t; i < rows; i += TEAM) {
            let own = bitcast<u32>(load(i * width + k)) & 0x7fffffffu;
            if (own > size) {
                size = own;
                place = i;
            }
        }
        place = largest(own_lane, t, size, place);
        if (place != k) {
            for (var j = t; j <= columns; j += TEAM) {
                let held = load(k * width + j);
                store(k * width + j, load(place * width + j));
                store(place * width + j, held);
            }
            if (t == 0u) {
                store(k * width + columns + 1u, -1.0);
            }
        }
        meet();
        let pivot = load(k * width + k);
        if ((bitcast<u32>(pivot) & 0x7fffffffu) != 0u) {
            for (var i = k + 1u + t; i < rows; i += TEAM) {
                store(i * width + k, load(i * width + k) / pivot);
            }
        }
        meet();
        for (var i = k + 1u + t / SIDE; i < rows; i += SIDE) {
            let of_row = load(i * width + k);
            for (var j = k + 1u + t % SIDE; j < columns; j += SIDE) {
                store(i * width + j, load(i * width + j) - of_row * load(k * width + j));
            }
        }
        meet();
    }
}
