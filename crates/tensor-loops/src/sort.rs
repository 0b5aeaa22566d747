//! Sorts of pairs of a key and a place.

/// Fewest pairs that are sorted digit by digit.
const FEWEST: usize = 256;
/// Bits of a digit.
const DIGIT: u32 = 8;

/// Puts the smallest `kept` of the pairs first, in ascending order. A pair with a smaller key is smaller, of equal keys the one with the smaller
/// place. The places of the pairs ascend before; keys have at most `bits` bits; `spare` is memory for the sort, whose contents do not matter.
pub fn smallest(pairs: &mut [(u32, u32)], kept: usize, bits: u32, spare: &mut Vec<(u32, u32)>) {
    if kept == 0 {
        return;
    }
    // A selection goes over the pairs a few times, a sort once and a half for each digit.
    if kept <= pairs.len() / 8 {
        pairs.select_nth_unstable(kept - 1);
        pairs[..kept].sort_unstable();
    } else if pairs.len() < FEWEST {
        pairs.sort_unstable();
    } else {
        by_digits(pairs, bits, spare);
    }
}

/// Sorts by one digit after another, the lowest first; pairs with equal digits keep their order.
fn by_digits(pairs: &mut [(u32, u32)], bits: u32, spare: &mut Vec<(u32, u32)>) {
    spare.resize(pairs.len(), (0, 0));
    let (mut from, mut to) = (&mut *pairs, spare.as_mut_slice());
    let mut is_moved = false;
    for shift in (0..bits).step_by(DIGIT as usize) {
        let digit = |key: u32| ((key >> shift) & ((1 << DIGIT) - 1)) as usize;
        let mut next = [0usize; 1 << DIGIT];
        from.iter().for_each(|pair| next[digit(pair.0)] += 1);
        if next.contains(&from.len()) {
            continue;
        }
        let mut before = 0;
        for place in &mut next {
            before += std::mem::replace(place, before);
        }
        for pair in from.iter() {
            let place = &mut next[digit(pair.0)];
            to[*place] = *pair;
            *place += 1;
        }
        std::mem::swap(&mut from, &mut to);
        is_moved = !is_moved;
    }
    if is_moved {
        to.copy_from_slice(from);
    }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_sorted_by_key_and_place() {
        for count in [0usize, 1, 2, 255, 256, 1000, 5000] {
            for (bits, spread) in [(32, u32::MAX), (8, 255), (1, 1), (12, 30)] {
                let keys = (0..count as u32).map(|k| k.wrapping_mul(2_654_435_761) % spread.max(1));
                let pairs: Vec<(u32, u32)> = keys.zip(0..).collect();
                let mut sorted = pairs.clone();
                sorted.sort();
                for kept in [0, 1, count / 9, count / 2, count] {
                    let mut found = pairs.clone();
                    let kept = kept.min(count);
                    smallest(&mut found, kept, bits, &mut Vec::new());
                    assert_eq!(found[..kept], sorted[..kept], "{kept} of {count}");
                }
            }
        }
    }
}
