// Sorts the first keys of a workgroup's memory in ascending order, and equal ones by their places: the sorting network of Batcher ("Sorting
// networks and their applications", 1968) in the form in which all comparisons put the smaller key first. What lies beyond the length is then
// never moved, and is not compared.

var<workgroup> sorted_keys: array<u32, {CAPACITY}>;
var<workgroup> sorted_places: array<u32, {CAPACITY}>;

fn sort_row(lane: u32, length: u32) {
    for (var size = 2u; size < 2u * length; size <<= 1u) {
        for (var stride = size >> 1u; stride > 0u; stride >>= 1u) {
            workgroupBarrier();
            for (var pair = lane; pair < min(length, {CAPACITY / 2}u); pair += {THREADS}u) {
                let low = 2u * pair - (pair & (stride - 1u));
                // The first comparisons of a size merge a run with the mirror image of the next.
                let high = select(low + stride, low ^ (size - 1u), 2u * stride == size);
                if (high < length) {
                    let low_key = sorted_keys[low];
                    let high_key = sorted_keys[high];
                    let low_place = sorted_places[low];
                    let high_place = sorted_places[high];
                    if (high_key < low_key || (high_key == low_key && high_place < low_place)) {
                        sorted_keys[low] = high_key;
                        sorted_keys[high] = low_key;
                        sorted_places[low] = high_place;
                        sorted_places[high] = low_place;
                    }
                }
            }
        }
    }
    workgroupBarrier();
}
