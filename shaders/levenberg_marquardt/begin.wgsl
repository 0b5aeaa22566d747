#import workgroup_sums
#import workgroup_largest
#import pair_arithmetic
// A step begins: for each block r = -g, z = M⁻¹r, p = z (unless those who read it form it), δ = 0, where M is the block of JᵀJ + λD. A coordinate that must stay is
// marked by a negative number on the diagonal of its block of JᵀJ; its part of every vector is 0.
@group(0) @binding(0) var<storage, read> state: array<u32>;
@group(0) @binding(1) var<storage, read> gradient: array<f32>;
@group(0) @binding(2) var<storage, read_write> curvature: array<f32>;
@group(0) @binding(3) var<storage, read_write> vectors: array<f32>;
@group(0) @binding(4) var<storage, read_write> sums: array<vec2<f32>>;
#pairs @group(0) @binding(5) var<storage, read> low: array<f32>; // errors of the numbers of `curvature`
#constrained @group(0) @binding(_) var<storage, read> trial: array<f32>; // the point where the model was made
#constrained @group(0) @binding(_) var<storage, read> limits: array<f32>; // lower, upper, whether constant
@group(0) @binding(_) var<uniform> dispatch: Figures;

@compute @workgroup_size(256)
fn begin(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    if state[STEP] == 0u {
        return;
    }
    // After a step that was not taken, the marks still stand.
    #constrained let arrived = state[LINEARISE] != 0u;
    let damping = number(DAMPING);
    var rz = vec2<f32>();
    var zdz = 0.0;
    var squares = 0.0;
    var largest = 0u;
    for (var block = workgroup.x * THREADS + lane; block < dispatch.blocks; block += dispatch.threads) {
        let first = dispatch.first + block * DIM;
        let place = dispatch.scale * first;
        #each let g$ = gradient[first + $u];
        #constrained #each if arrived && stays(first + $u, g$) { curvature[place + #diagonal$u] = -1.0; }
        #factor
        #each let r$ = select(0.0, -g$, free$);
        #solve
        #each vectors[RESIDUAL * dispatch.stride + first + $u] = r$;
        #each vectors[PRECONDITIONED * dispatch.stride + first + $u] = z$;
        #ready #each vectors[DIRECTION * dispatch.stride + first + $u] = z$;
        #each vectors[DELTA * dispatch.stride + first + $u] = 0.0;
        // A thread has few blocks: their sums need no pairs but where a block's own energy is one.
        #pairs rz = sum_of_pairs(rz, energy);
        #single rz.x += energy.x;
        #each zdz += z$ * z$ * d$;
        #each squares += r$ * r$;
        #each largest = max(largest, bitcast<u32>(abs(r$)));
    }
    put_addend(0u, lane, rz);
    put_addend(1u, lane, vec2<f32>(zdz, 0.0));
    put_addend(2u, lane, vec2<f32>(squares, 0.0));
    add_over_workgroup(lane, 3u);
    let most = largest_over_workgroup(largest);
    if lane == 0u {
        let own = dispatch.group + workgroup.x;
        sums[RZ_SUMS * dispatch.groups + own] = total_of(0u);
        sums[ZDZ_SUMS * dispatch.groups + own] = total_of(1u);
        sums[SQUARES_SUMS * dispatch.groups + own] = total_of(2u);
        sums[LARGEST_SUMS * dispatch.groups + own] = vec2<f32>(bitcast<f32>(most), 0.0);
    }
}

// Whether a coordinate is constant, or at a bound with the descent pointing outward.
#constrained fn stays(place: u32, g: f32) -> bool {
#constrained let x = trial[place];
#constrained return limits[2u * dispatch.stride + place] != 0.0 || (x <= limits[place] && g > 0.0) || (x >= limits[dispatch.stride + place] && g < 0.0);
#constrained }
