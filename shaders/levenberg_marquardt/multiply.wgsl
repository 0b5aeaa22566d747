#import workgroup_sums
#import nonfinite
#import levenberg_marquardt/state
#import levenberg_marquardt/set_number
#import levenberg_marquardt/block_shape
#import levenberg_marquardt/next_direction
// The product q = JᵀJp where each instance has one residual and two blocks, whose columns of J differ in the sign alone: each block computes
// the numbers of Jp that it needs by itself, so that nothing is written in between. The direction p = z + βp is formed where it is read, by
// the β of the update before.
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
        #for k in 0..TANGENT
        let p{k} = direction(first + {k}u, beta);
        #endfor
        #for k in 0..TANGENT
        var q{k} = 0.0;
        #endfor
        let end = offsets[block + 1u];
        // Four entries at a time, so that the latencies of their loads overlap.
        for (var k = offsets[block]; k < end; k += 4u) {
            #for m in 0..4
            let entry{m} = entries[min(k + {m}u, end - 1u)];
            #endfor
            #for m in 0..4
            let second{m} = entry{m} >= dispatch.local_stride;
            let instance{m} = select(entry{m}, entry{m} - DIM * dispatch.local_stride, second{m});
            #endfor
            #for m in 0..4
            let other{m} = indices[select(instance{m} + dispatch.local_stride, instance{m}, second{m})];
            #endfor
            #for k in 0..TANGENT
            #for m in 0..4
            let j{k}_{m} = local[dispatch.first_partial + {k}u * dispatch.local_stride + instance{m}];
            #endfor
            #endfor
            #for k in 0..TANGENT
            #for m in 0..4
            let term{k}_{m} = j{k}_{m} * (p{k} - direction(other{m} + {k}u, beta));
            #endfor
            #endfor
            #for m in 0..4
            var jvp{m} = 0.0;
            #for k in 0..TANGENT
            jvp{m} += term{k}_{m};
            #endfor
            jvp{m} = select(0.0, jvp{m}, k + {m}u < end);
            #endfor
            // In pairs: half the roundings of one after the other.
            #for k in 0..TANGENT
            q{k} += (j{k}_0 * jvp0 + j{k}_1 * jvp1) + (j{k}_2 * jvp2 + j{k}_3 * jvp3);
            #endfor
            #for m in 0..4
            square += jvp{m} * jvp{m};
            #endfor
        }
        #for k in 0..TANGENT
        product[first + {k}u] = q{k};
        #endfor
    }
    put_addend(0u, lane, vec2<f32>(square, 0.0));
    add_over_workgroup(lane, 1u);
    if lane == 0u {
        // Both blocks of an instance have counted it.
        sums[JVP_SUMS * dispatch.groups + workgroup.x] = vec2<f32>(0.5 * total_of(0u).x, 0.0);
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
