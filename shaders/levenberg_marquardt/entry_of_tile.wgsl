// An entry of an eliminated block: the places of its instance's tables, its rows of J, and e = Jp of the kept blocks.
let slot = 8u * (1u + (lists[k] >> lists[0]));
let instance = lists[k] & lists[slot + 2u];
let stride = lists[slot + 1u];
let addresses = lists[slot + 6u] + instance;
let partial = lists[slot + 3u] + instance - {OWN}u * stride;
let row = lists[slot + 4u];
#for o in 0..OUTPUTS
#for c in 0..WIDTH
let j{o}_{c} = local[partial + {o}u * row + {c}u * stride];
#endfor
#endfor
{DIRECTIONS}
#for o in 0..OUTPUTS
let e{o} = 0.0
    #for c in 0..OWN
    + j{o}_{c} * p{c}
    #endfor
    #for c in OWN + DIM..WIDTH
    + j{o}_{c} * p{c}
    #endfor
    ;
#endfor
