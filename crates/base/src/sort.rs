//! A sort for lists outside inner loops. The standard sorts are some 3 kB of WebAssembly for each element type, this one 150 bytes (decision 0038).

/// Sorts in ascending order, in place, in O(n log n) comparisons, by a heap. Equal items may change places.
#[inline(never)]
pub fn ascending<T: Ord>(items: &mut [T]) {
    let count = items.len();
    // The first half of the steps makes the heap, from its last parent to its root. Each other step moves its largest item behind it.
    for step in (0..count + count / 2).rev() {
        let (mut parent, end) = if step >= count {
            (step - count, count)
        } else {
            items.swap(0, step);
            (0, step)
        };
        loop {
            let mut child = 2 * parent + 1;
            if child + 1 < end && items[child] < items[child + 1] {
                child += 1;
            }
            if child >= end || items[parent] >= items[child] {
                break;
            }
            items.swap(parent, child);
            parent = child;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ascending;

    #[test]
    fn lists_of_any_length_are_sorted() {
        for count in 0..70u32 {
            for modulus in [1, 3, 64, 1009] {
                let mut items: Vec<u32> = (0..count).map(|k| k.wrapping_mul(2_654_435_761) % modulus).collect();
                let mut expected = items.clone();
                expected.sort();
                ascending(&mut items);
                assert_eq!(items, expected);
            }
        }
    }
}
