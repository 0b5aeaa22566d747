#import workgroup_sums
// The product q = JᵀJp where each instance has one residual and two blocks, whose columns of J differ in the sign alone: each block computes
// the numbers of Jp that it needs by itself, so that nothing is written in between. The direction p = z + βp is formed where it is read.
@group(0) @binding(0) var<storage, read> state: array<u32>;
@group(0) @binding(1) var<storage, read> indices: array<u32>; // where the first and the second blocks of instances start
@group(0) @binding(2) var<storage, read> offsets: array<u32>; // of each block's first entry, and the end of the last's
@group(0) @binding(3) var<storage, read> entries: array<u32>;
@group(0) @binding(4) var<storage, read> local: array<f32>;
@group(0) @binding(5) var<storage, read> vectors: array<f32>;
@group(0) @binding(6) var<storage, read_write> product: array<f32>;
@group(0) @binding(7) var<storage, read_write> image: array<f32>; // parts of ‖Jp‖²
@group(0) @binding(8) var<uniform> dispatch: Figures;

@compute @workgroup_size(256)
fn multiply(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    if state[ITERATE] == 0u {
        return;
    }
    let beta = number(BETA);
    var square = 0.0;
    for (var block = workgroup.x * THREADS + lane; block < dispatch.blocks; block += dispatch.threads) {
        let first = dispatch.first + block * DIM;
        #each let p$ = direction(first + $u, beta);
        #each var q$ = 0.0;
        let end = offsets[block + 1u];
        // Four entries at a time, so that what they point to is on its way together.
        for (var k = offsets[block]; k < end; k += 4u) {
            #four let entry@ = entries[min(k + @u, end - 1u)];
            #four let second@ = entry@ >= dispatch.local_stride;
            #four let instance@ = select(entry@, entry@ - DIM * dispatch.local_stride, second@);
            #four let other@ = indices[select(instance@ + dispatch.local_stride, instance@, second@)];
            #each #four let j$_@ = local[dispatch.first_partial + $u * dispatch.local_stride + instance@];
            #each #four let term$_@ = j$_@ * (p$ - direction(other@ + $u, beta));
            #four var image@ = 0.0;
            #each #four image@ += term$_@;
            #four image@ = select(0.0, image@, k + @u < end);
            #each #four q$ += j$_@ * image@;
            #four square += image@ * image@;
        }
        #each product[first + $u] = q$;
    }
    put_addend(0u, lane, vec2<f32>(square, 0.0));
    add_over_workgroup(lane, 1u);
    if lane == 0u {
        // Both blocks of an instance have counted it.
        image[workgroup.x] = 0.5 * total_of(0u).x;
    }
}

fn direction(place: u32, beta: f32) -> f32 {
    return vectors[PRECONDITIONED * dispatch.stride + place] + beta * vectors[DIRECTION * dispatch.stride + place];
}
