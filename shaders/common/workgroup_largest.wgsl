// The largest of a workgroup. Numbers that are not negative are ordered as their bits are, infinities and then NaNs last. Once a kernel.
var<workgroup> greatest: atomic<u32>;

fn largest_over_workgroup(own: u32) -> u32 {
    atomicMax(&greatest, own);
    workgroupBarrier();
    return atomicLoad(&greatest);
}
