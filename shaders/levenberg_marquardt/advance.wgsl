#import workgroup_sums
#import nonfinite
#import levenberg_marquardt/state
#import levenberg_marquardt/set_number
#import levenberg_marquardt/part_of_jvp
// After the product of a Schur complement: δ += αp of the eliminated blocks. Their residual is 0 from the first step of theirs on, and so are
// their parts of the sums rᵀz, zᵀDz and zᵀDp.
var<workgroup> running: u32;

@compute @workgroup_size(256)
fn advance(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    #include levenberg_marquardt/step_length

    for (var k = workgroup.x * THREADS + lane; k < dispatch.blocks; k += dispatch.threads) {
        let place = dispatch.first + k;
        vectors[DELTA * dispatch.stride + place] += alpha * vectors[DIRECTION * dispatch.stride + place];
        if reduces {
            vectors[RESIDUAL * dispatch.stride + place] = 0.0;
        }
    }
    if lane == 0u {
        sums[RZ_SUMS * dispatch.groups + own] = vec2<f32>();
        sums[ZDZ_SUMS * dispatch.groups + own] = vec2<f32>();
        sums[ZDP_SUMS * dispatch.groups + own] = vec2<f32>();
    }
}
