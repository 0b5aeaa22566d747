#import nonfinite
// The matrix of each instance with other eigenvalues in the place of negative ones: those of coordinates that are scaled by powers of two, so that they do not
// depend on units. Rows and columns of constants are 0. Eigenvalues by Jacobi's rotations, one thread an instance.
const WIDTH = {WIDTH}u;
const MOST_SWEEPS = 16u;
const EPSILON = 1.1920929e-7;
const NOT_FINITE = 0x1000000u;

var<workgroup> found: array<u32, 64>;

@compute @workgroup_size(64)
fn project(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = workgroup.x + workgroup.y * workgroups.x;
    let instance = group * 64u + lane;
    found[lane] = 0u;
    if instance < dispatch.count {
        found[lane] = project_instance(instance);
    }
    workgroupBarrier();
    if lane == 0u && group < dispatch.groups {
        var count = 0u;
        for (var k = 0u; k < 64u; k++) {
            count += found[k];
        }
        counts[dispatch.first + group] = count;
    }
}

// Whether there was a negative eigenvalue, or more than there are instances where a number is not finite.
fn project_instance(instance: u32) -> u32 {
    var places: array<u32, WIDTH>;
    {COORDINATES}
    var scale: array<f32, WIDTH>;
    for (var k = 0u; k < WIDTH; k++) {
        scale[k] = select(scales[places[k]], 0.0, constant[places[k]] != 0u);
    }
    var whole: array<f32, WIDTH * WIDTH>;
    var vector: array<f32, WIDTH * WIDTH>;
    var is_usable = true;
    var entry = 0u;
    for (var row = 0u; row < WIDTH; row++) {
        for (var column = 0u; column <= row; column++) {
            var number = 0.0;
            if scale[row] != 0.0 && scale[column] != 0.0 {
                number = matrices[entry * dispatch.stride + instance] * scale[row] * scale[column];
            }
            is_usable = is_usable && is_finite(number);
            whole[row * WIDTH + column] = number;
            whole[column * WIDTH + row] = number;
            vector[row * WIDTH + column] = 0.0;
            vector[column * WIDTH + row] = 0.0;
            entry++;
        }
        vector[row * WIDTH + row] = 1.0;
    }
    if is_usable {
        for (var sweep = 0u; sweep < MOST_SWEEPS; sweep++) {
            var is_rotated = false;
            for (var p = 0u; p < WIDTH; p++) {
                for (var q = p + 1u; q < WIDTH; q++) {
                    let a = whole[p * WIDTH + p];
                    let b = whole[q * WIDTH + q];
                    let off = whole[p * WIDTH + q];
                    if abs(off) <= EPSILON * (abs(a) + abs(b)) {
                        continue;
                    }
                    is_rotated = true;
                    // A large ζ has no square.
                    let zeta = clamp((b - a) / (2.0 * off), -1e9, 1e9);
                    let tangent = select(-1.0, 1.0, zeta >= 0.0) / (abs(zeta) + sqrt(1.0 + zeta * zeta));
                    let cosine = inverseSqrt(1.0 + tangent * tangent);
                    let sine = cosine * tangent;
                    for (var k = 0u; k < WIDTH; k++) {
                        let x = whole[p * WIDTH + k];
                        let y = whole[q * WIDTH + k];
                        whole[p * WIDTH + k] = cosine * x - sine * y;
                        whole[q * WIDTH + k] = sine * x + cosine * y;
                        let u = vector[p * WIDTH + k];
                        let v = vector[q * WIDTH + k];
                        vector[p * WIDTH + k] = cosine * u - sine * v;
                        vector[q * WIDTH + k] = sine * u + cosine * v;
                    }
                    for (var k = 0u; k < WIDTH; k++) {
                        let x = whole[k * WIDTH + p];
                        let y = whole[k * WIDTH + q];
                        whole[k * WIDTH + p] = cosine * x - sine * y;
                        whole[k * WIDTH + q] = sine * x + cosine * y;
                    }
                    whole[p * WIDTH + q] = 0.0;
                    whole[q * WIDTH + p] = 0.0;
                }
            }
            if !is_rotated {
                break;
            }
        }
    }
    var largest = 0.0;
    for (var k = 0u; k < WIDTH; k++) {
        largest = max(largest, abs(whole[k * WIDTH + k]));
    }
    // What rounding makes of eigenvalues that are 0.
    let least = -4.0 * f32(WIDTH) * EPSILON * largest;
    var is_indefinite = false;
    for (var k = 0u; k < WIDTH; k++) {
        let value = whole[k * WIDTH + k];
        // What is added to an eigenvalue, in its place from now on.
        whole[k * WIDTH + k] = 0.0;
        if value < least {
            is_indefinite = true;
            whole[k * WIDTH + k] = -dispatch.factor * value;
        }
    }
    entry = 0u;
    for (var row = 0u; row < WIDTH; row++) {
        for (var column = 0u; column <= row; column++) {
            var number = 0.0;
            if scale[row] != 0.0 && scale[column] != 0.0 {
                number = matrices[entry * dispatch.stride + instance];
                var added = 0.0;
                for (var k = 0u; k < WIDTH && is_indefinite; k++) {
                    added += whole[k * WIDTH + k] * vector[k * WIDTH + row] * vector[k * WIDTH + column];
                }
                number += added / (scale[row] * scale[column]);
            }
            projected[entry * dispatch.stride + instance] = number;
            entry++;
        }
    }
    return select(NOT_FINITE, select(0u, 1u, is_indefinite), is_usable);
}
