// The largest of a workgroup. Nonnegative numbers are ordered as their bits are, infinities and then NaNs last. A kernel calls it once.
var<workgroup> greatest: atomic<u32>;

fn largest_over_workgroup(own: u32) -> u32 {
    atomicMax(&greatest, own);
    workgroupBarrier();
    return atomicLoad(&greatest);
}
