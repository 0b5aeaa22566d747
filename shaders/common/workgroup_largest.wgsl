// The largest of a workgroup of 256. Numbers that are not negative are ordered as their bits are, infinities and then NaNs last.
var<workgroup> candidates: array<u32, 256>;

fn largest_over_workgroup(lane: u32, own: u32) -> u32 {
    candidates[lane] = own;
    workgroupBarrier();
    for (var width = 128u; width > 0u; width /= 2u) {
        if lane < width {
            candidates[lane] = max(candidates[lane], candidates[lane + width]);
        }
        workgroupBarrier();
    }
    return candidates[0];
}
