// The largest of a workgroup, of each of several numbers. Nonnegative numbers are ordered as their bits are, infinities and then NaNs last. A
// kernel calls it once.
const MAXIMA = {MAXIMA}u;

var<workgroup> greatest: array<atomic<u32>, MAXIMA>;

fn largest_of_workgroup(own: array<u32, MAXIMA>) -> array<u32, MAXIMA> {
    var all = array<u32, MAXIMA>();
    #for k in 0..MAXIMA
    if own[{k}] != 0u {
        atomicMax(&greatest[{k}], own[{k}]);
    }
    #endfor
    workgroupBarrier();
    #for k in 0..MAXIMA
    all[{k}] = atomicLoad(&greatest[{k}]);
    #endfor
    return all;
}
