#import workgroup_sums
#import nonfinite
#import levenberg_marquardt/state
#import levenberg_marquardt/set_number
#import levenberg_marquardt/block_shape
#import levenberg_marquardt/next_direction
#import levenberg_marquardt/direction_at
#if PAIRS
#import pair_arithmetic
#import levenberg_marquardt/solve_block
#endif
// The product of a Schur complement, where all instances have an eliminated block. For a direction p of the kept blocks, that of the eliminated ones is
// -C⁻¹Eᵀp, with E their coupling; then JᵀJp of both is left for the kept blocks in the local tables, instance by instance. A workgroup takes some
// eliminated blocks at a time, whose entries are neighbours in the lists, and goes through these twice. Before conjugate gradients begin, z is the
// eliminated blocks' own step.
const TILE = 64u;

var<workgroup> starts: array<u32, TILE + 1u>;
var<workgroup> shares: array<f32, TANGENT * THREADS>;
var<workgroup> steps: array<f32, TANGENT * TILE>;

@compute @workgroup_size(256)
fn complement(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let next = next_direction(lane, workgroup.x == 0u);
    if workgroupUniformLoad(&going_on) == 0u {
        return;
    }
    beta = next.y;
    // Where an update is accounted for, the word is being written.
    var reduces = false;
    if updated == 0u {
        reduces = state[LINEAR] == REDUCING;
    }
    let damping = number(DAMPING);
    // ‖Jp‖² and λpᵀDp of the eliminated blocks.
    var total = 0.0;
    for (var tile = workgroup.x; tile * TILE < dispatch.blocks; tile += dispatch.threads / THREADS) {
        let block = tile * TILE + lane;
        if lane <= TILE {
            starts[lane] = lists[dispatch.row + min(block, dispatch.blocks)];
        }
        let start = workgroupUniformLoad(&starts[0]);
        let end = workgroupUniformLoad(&starts[TILE]);
        #for k in 0..TANGENT
        var u{k} = 0.0;
        #endfor
        for (var base = start; base < end; base += THREADS) {
            let k = base + lane;
            if k < end {
                #include levenberg_marquardt/entry_of_tile
                #for k in 0..TANGENT
                shares[{k}u * THREADS + lane] = 0.0
                    #for o in 0..OUTPUTS
                    + j{o}_{OWN + k} * e{o}
                    #endfor
                    ;
                #endfor
            }
            workgroupBarrier();
            if lane < TILE {
                let lower = max(starts[lane], base);
                let upper = min(starts[lane + 1u], base + THREADS);
                for (var j = lower; j < upper; j++) {
                    #for k in 0..TANGENT
                    u{k} += shares[{k}u * THREADS + j - base];
                    #endfor
                }
            }
            workgroupBarrier();
        }
        if lane < TILE && block < dispatch.blocks {
            let first = dispatch.first + block * DIM;
            let place = dispatch.scale * first;
            #include levenberg_marquardt/damped_block
            #for k in 0..TANGENT
            let r{k} = select(0.0, -u{k}, free{k});
            #endfor
            #include levenberg_marquardt/preconditioned_residual
            #for k in 0..TANGENT
            let step{k} = select(z{k}, vectors[PRECONDITIONED * dispatch.stride + first + {k}u], reduces);
            #endfor
            #for k in 0..TANGENT
            vectors[DIRECTION * dispatch.stride + first + {k}u] = step{k};
            steps[{k}u * TILE + lane] = step{k};
            total += damping * d{k} * step{k} * step{k};
            #endfor
        }
        workgroupBarrier();
        for (var base = start; base < end; base += THREADS) {
            let k = base + lane;
            if k < end {
                // The last block that starts no later.
                var owner = 0u;
                var after = TILE;
                while after - owner > 1u {
                    let middle = (owner + after) / 2u;
                    if starts[middle] <= k {
                        owner = middle;
                    } else {
                        after = middle;
                    }
                }
                #include levenberg_marquardt/entry_of_tile
                #for o in 0..OUTPUTS
                let v{o} = e{o}
                    #for k in 0..TANGENT
                    + j{o}_{OWN + k} * steps[{k}u * TILE + owner]
                    #endfor
                    ;
                total += v{o} * v{o};
                #endfor
                let column = lists[slot] + instance - {OWN}u * stride;
                #for c in 0..OWN
                local[column + {c}u * stride] = 0.0
                    #for o in 0..OUTPUTS
                    + j{o}_{c} * v{o}
                    #endfor
                    ;
                #endfor
                #for c in OWN + DIM..WIDTH
                local[column + {c}u * stride] = 0.0
                    #for o in 0..OUTPUTS
                    + j{o}_{c} * v{o}
                    #endfor
                    ;
                #endfor
            }
        }
        workgroupBarrier();
    }
    put_addend(0u, lane, vec2<f32>(total, 0.0));
    add_over_workgroup(lane, 1u);
    if lane == 0u {
        jvp_squares[workgroup.x] = total_of(0u).x;
    }
}
