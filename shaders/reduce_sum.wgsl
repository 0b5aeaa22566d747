#import double_single
// Sums numbers, or pairs of a number and its error, to one pair a workgroup, in a fixed order. Run again on its own pairs it
// sums to fewer, until the host adds the last of them in double precision.
const THREADS = 64u;
const TERMS_PER_THREAD = 16u;

var<workgroup> sums: array<vec2<f32>, THREADS>;

@compute @workgroup_size(THREADS)
fn reduce_sum(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = workgroup.x + workgroup.y * workgroups.x;
    let first = group * THREADS * TERMS_PER_THREAD;
    var sum = vec2<f32>();
    for (var term = 0u; term < TERMS_PER_THREAD; term++) {
        let position = first + term * THREADS + lane;
        if position < dispatch.count {
            let place = dispatch.input_first + position * dispatch.width;
            var addend = vec2<f32>(input[place], 0.0);
            if dispatch.width == 2u {
                addend.y = input[place + 1u];
            }
            sum = sum_of_pairs(sum, addend);
        }
    }

    sums[lane] = sum;
    workgroupBarrier();
    for (var width = THREADS / 2u; width > 0u; width /= 2u) {
        if lane < width {
            sums[lane] = sum_of_pairs(sums[lane], sums[lane + width]);
        }
        workgroupBarrier();
    }
    // Workgroups beyond the last term, which a dispatch in two dimensions can have, own no pair.
    if lane == 0u && first < dispatch.count {
        output[dispatch.output_first + 2u * group] = sums[0].x;
        output[dispatch.output_first + 2u * group + 1u] = sums[0].y;
    }
}
