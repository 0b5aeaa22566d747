//! Sorting by small numbers: the one place that does, so that the module holds the code of one sort alone.

use crate::list::Listed;

/// The positions `0..count` by ascending key, those of one key in order.
pub fn by_key(count: usize, key: impl Fn(usize) -> u32) -> Vec<usize> {
    let mut keys: Vec<u64> = (0..count).map(|position| u64::from(key(position)) << 32 | position as u64).list();
    ascending(&mut keys);
    keys.into_iter().map(|key| key as u32 as usize).list()
}

/// Sorts numbers, by insertion where there are few, else with a heap: a fraction of the code of the standard library's sorts.
pub fn ascending(numbers: &mut [u64]) {
    if numbers.len() <= FEW {
        for end in 1..numbers.len() {
            let mut place = end;
            while place > 0 && numbers[place - 1] > numbers[place] {
                numbers.swap(place - 1, place);
                place -= 1;
            }
        }
        return;
    }
    for root in (0..numbers.len() / 2).rev() {
        sink(numbers, root);
    }
    for end in (1..numbers.len()).rev() {
        numbers.swap(0, end);
        sink(&mut numbers[..end], 0);
    }
}

/// So many are sorted by insertion.
const FEW: usize = 24;

/// Lets a number sink to its place in a heap of which the rest is in order, largest first.
fn sink(heap: &mut [u64], mut root: usize) {
    loop {
        let mut child = 2 * root + 1;
        if child + 1 < heap.len() && heap[child + 1] > heap[child] {
            child += 1;
        }
        if child >= heap.len() || heap[root] >= heap[child] {
            return;
        }
        heap.swap(root, child);
        root = child;
    }
}

#[cfg(test)]
mod tests {
    use super::{FEW, ascending, by_key};

    #[test]
    fn positions_come_by_key_and_then_in_order() {
        let keys = [3, 1, u32::MAX, 1, 0];
        assert_eq!(by_key(keys.len(), |position| keys[position]), [4, 1, 3, 0, 2]);
    }

    #[test]
    fn numbers_come_in_order_however_many_there_are() {
        for count in [0, 1, 2, FEW, FEW + 1, 1000] {
            // A generator of Lehmer's; every third number twice.
            let mut state = 1u64;
            let mut numbers: Vec<u64> = (0..count)
                .map(|position| {
                    state = if position % 3 == 0 { state } else { state * 48_271 % 0x7fff_ffff };
                    state
                })
                .collect();
            let mut expected = numbers.clone();
            expected.sort_unstable();
            ascending(&mut numbers);
            assert_eq!(numbers, expected);
        }
    }
}
