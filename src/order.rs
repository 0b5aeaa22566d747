//! Sorting by small numbers: the one place that does, so that the module holds the code of one sort alone.

/// The positions `0..count` by ascending key, those of one key in order.
pub fn by_key(count: usize, key: impl Fn(usize) -> u32) -> Vec<usize> {
    let mut keys: Vec<u64> = (0..count).map(|position| u64::from(key(position)) << 32 | position as u64).collect();
    ascending(&mut keys);
    keys.into_iter().map(|key| key as u32 as usize).collect()
}

/// Sorts numbers.
#[inline(never)]
pub fn ascending(numbers: &mut [u64]) {
    numbers.sort_unstable();
}

#[cfg(test)]
mod tests {
    use super::by_key;

    #[test]
    fn positions_come_by_key_and_then_in_order() {
        let keys = [3, 1, u32::MAX, 1, 0];
        assert_eq!(by_key(keys.len(), |position| keys[position]), [4, 1, 3, 0, 2]);
    }
}
