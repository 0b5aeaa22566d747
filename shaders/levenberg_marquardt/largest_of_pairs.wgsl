// The largest of a workgroup, of each of two numbers. Nonnegative numbers are ordered as their bits are, infinities and then NaNs last. A
// kernel calls it once.
var<workgroup> greatest: array<atomic<u32>, 2>;

fn largest_of_pairs(own: vec2<u32>) -> vec2<u32> {
    atomicMax(&greatest[0], own.x);
    atomicMax(&greatest[1], own.y);
    workgroupBarrier();
    return vec2<u32>(atomicLoad(&greatest[0]), atomicLoad(&greatest[1]));
}
