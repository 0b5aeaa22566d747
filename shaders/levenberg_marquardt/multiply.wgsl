#import workgroup_sums
#import nonfinite
// The product q = JᵀJp where each instance has one residual and two blocks, whose columns of J differ in the sign alone: each block computes
// the numbers of Jp that it needs by itself, so that nothing is written in between. The direction p = z + βp is formed where it is read, by the β that
// the update before has led to.
@group(0) @binding(0) var<storage, read_write> state: array<u32>;
@group(0) @binding(1) var<storage, read> indices: array<u32>; // where the first and the second blocks of instances start
@group(0) @binding(2) var<storage, read> offsets: array<u32>; // of each block's first entry, and the end of the last's
@group(0) @binding(3) var<storage, read> entries: array<u32>;
@group(0) @binding(4) var<storage, read> local: array<f32>;
@group(0) @binding(5) var<storage, read> vectors: array<f32>;
@group(0) @binding(6) var<storage, read_write> product: array<f32>;
@group(0) @binding(7) var<storage, read_write> sums: array<vec2<f32>>;
@group(0) @binding(8) var<uniform> dispatch: Figures;

@compute @workgroup_size(256)
fn multiply(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let next = next_direction(lane, workgroup.x == 0u);
    if workgroupUniformLoad(&going_on) == 0u {
        return;
    }
    let beta = next.y;
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
            // In pairs: half the roundings of one after the other.
            #each q$ += (j$_0 * image0 + j$_1 * image1) + (j$_2 * image2 + j$_3 * image3);
            #four square += image@ * image@;
        }
        #each product[first + $u] = q$;
    }
    put_addend(0u, lane, vec2<f32>(square, 0.0));
    add_over_workgroup(lane, 1u);
    if lane == 0u {
        // Both blocks of an instance have counted it.
        sums[IMAGE_SUMS * dispatch.groups + workgroup.x] = vec2<f32>(0.5 * total_of(0u).x, 0.0);
    }
}

fn direction(place: u32, beta: f32) -> f32 {
    var p = vectors[PRECONDITIONED * dispatch.stride + place];
    // The first direction of a step is z.
    if beta != 0.0 {
        p += beta * vectors[DIRECTION * dispatch.stride + place];
    }
    return p;
}
