// The block's numbers q_k of the product JᵀJp.
#if LISTS
#if VECTOR
// Blocks without a list are in the vector; all others' numbers there stay 0.
#for k in 0..TANGENT
var q{k} = product[first + {k}u];
#endfor
#else
#for k in 0..TANGENT
var q{k} = 0.0;
#endfor
#endif
let end = lists[dispatch.row + block + 1u];
// Four entries at a time, so that the latencies of their loads overlap.
for (var k = lists[dispatch.row + block]; k < end; k += 4u) {
    #for m in 0..4
    let entry{m} = lists[min(k + {m}u, end - 1u)];
    #endfor
    #for m in 0..4
    let slot{m} = 8u * (1u + (entry{m} >> lists[0]));
    #endfor
    #for m in 0..4
    let place{m} = lists[slot{m}] + (entry{m} & lists[slot{m} + 2u]);
    #endfor
    #for m in 0..4
    let stride{m} = lists[slot{m} + 1u];
    #endfor
    #for k in 0..TANGENT
    #for m in 0..4
    let part{k}_{m} = local[place{m} + {k}u * stride{m}];
    #endfor
    #endfor
    #for k in 0..TANGENT
    #for m in 0..4
    q{k} += select(0.0, part{k}_{m}, k + {m}u < end);
    #endfor
    #endfor
}
#else if ENTRIES
#for k in 0..TANGENT
var q{k} = 0.0;
#endfor
let end = offsets[dispatch.row + block + 1u];
// Four entries at a time, so that the latencies of their loads overlap.
for (var k = offsets[dispatch.row + block]; k < end; k += 4u) {
    #for m in 0..4
    let entry{m} = entries[min(k + {m}u, end - 1u)];
    #endfor
    #if MIRRORED
    #for m in 0..4
    let second{m} = entry{m} >= dispatch.local_stride;
    let instance{m} = select(entry{m}, entry{m} - DIM * dispatch.local_stride, second{m});
    let place{m} = instance{m} + dispatch.first_partial;
    #endfor
    #for m in 0..4
    let jvp{m} = local[instance{m}];
    let factor{m} = select(jvp{m}, -jvp{m}, second{m});
    #endfor
    #else if WEIGHTED
    #for m in 0..4
    let place{m} = entry{m} + dispatch.first_partial;
    #endfor
    #for m in 0..4
    let factor{m} = local[entry{m} % dispatch.local_stride];
    #endfor
    #else
    #for m in 0..4
    let place{m} = entry{m};
    let factor{m} = 1.0;
    #endfor
    #endif
    #for k in 0..TANGENT
    #for m in 0..4
    let part{k}_{m} = local[place{m} + {k}u * dispatch.local_stride] * factor{m};
    #endfor
    #endfor
    #for k in 0..TANGENT
    #for m in 0..4
    q{k} += select(0.0, part{k}_{m}, k + {m}u < end);
    #endfor
    #endfor
}
#else
#for k in 0..TANGENT
let q{k} = product[first + {k}u];
#endfor
#endif
