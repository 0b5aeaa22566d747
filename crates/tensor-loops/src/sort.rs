//! Sorts of rows of keys.

/// Fewest pairs that are sorted digit by digit.
const FEWEST: usize = 256;
/// Most of the smallest that are selected, and then sorted at once: some milliseconds.
const MOST_SELECTED: usize = 1 << 16;
/// Bits of a digit.
const DIGIT: u32 = 8;

/// Values of a digit.
const DIGITS: usize = 1 << DIGIT;

/// The smallest keys of a row with their places, in steps of as many keys as the caller likes.
#[derive(Default)]
pub struct Sorting {
    length: usize,
    kept: usize,
    /// How many keys were taken.
    taken: usize,
    pairs: Vec<(u32, u32)>,
    /// Where pairs are moved.
    spare: Vec<(u32, u32)>,
    /// How many pairs have each value of each digit; of the digit that they are moved by, where the next one goes.
    counts: Vec<[usize; DIGITS]>,
    /// The digit that pairs are moved by, and how many were moved.
    digit: usize,
    moved: usize,
}

impl Sorting {
    /// Begins a row of so many keys of at most `bits` bits, of which the smallest `kept` are asked for. The memory of another row is used.
    pub fn begin(&mut self, length: usize, kept: usize, bits: u32) {
        let Sorting { pairs, spare, counts, .. } = std::mem::take(self);
        *self = Sorting { length, kept: kept.min(length), pairs, spare, counts, ..Sorting::default() };
        self.pairs.clear();
        self.counts.clear();
        if self.is_by_digits() {
            self.counts.resize(bits.div_ceil(DIGIT) as usize, [0; DIGITS]);
        }
    }

    /// A selection goes over the pairs a few times, a sort once for each digit.
    fn is_selection(&self) -> bool {
        self.kept <= MOST_SELECTED.min(self.length / 8)
    }

    fn is_by_digits(&self) -> bool {
        !self.is_selection() && self.length >= FEWEST
    }

    /// How many keys of the row were taken.
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// Takes the next keys of the row, so many from an address on with a distance between them, in elements.
    ///
    /// # Safety
    /// They are memory that nothing writes.
    pub unsafe fn take(&mut self, first: *const u32, distance: isize, count: usize) {
        self.pairs.reserve(count);
        for at in 0..count {
            // SAFETY: by the caller.
            let key = unsafe { first.offset(at as isize * distance).read() };
            self.pairs.push((key, (self.taken + at) as u32));
        }
        for (digit, counts) in self.counts.iter_mut().enumerate() {
            self.pairs[self.taken..].iter().for_each(|pair| counts[digit_of(pair.0, digit)] += 1);
        }
        self.taken += count;
        if self.is_selection() && self.pairs.len() > self.kept {
            // The one after the kept ones is there, too.
            self.pairs.select_nth_unstable(self.kept);
            self.pairs.truncate(self.kept);
        }
    }

    /// Goes on with a row that was taken, and takes what pairs are moved from `work`, of which there is some. Gives the smallest in ascending order once
    /// they are sorted: a pair with a smaller key is smaller, of equal keys the one with the smaller place.
    pub fn sorted(&mut self, work: &mut usize) -> Option<&[(u32, u32)]> {
        if !self.is_by_digits() {
            self.pairs.sort_unstable();
        }
        self.spare.resize(if self.counts.is_empty() { 0 } else { self.length }, (0, 0));
        while let Some(next) = self.counts.get_mut(self.digit) {
            if self.moved == 0 {
                if next.contains(&self.length) {
                    self.digit += 1;
                    continue;
                }
                let mut before = 0;
                next.iter_mut().for_each(|place| before += std::mem::replace(place, before));
            }
            let end = self.length.min(self.moved.saturating_add(*work));
            for pair in &self.pairs[self.moved..end] {
                let place = &mut next[digit_of(pair.0, self.digit)];
                self.spare[*place] = *pair;
                *place += 1;
            }
            *work -= end - self.moved;
            self.moved = end % self.length;
            if self.moved == 0 {
                std::mem::swap(&mut self.pairs, &mut self.spare);
                self.digit += 1;
            }
            if *work == 0 {
                return None;
            }
        }
        Some(&self.pairs[..self.kept])
    }
}

fn digit_of(key: u32, digit: usize) -> usize {
    (key >> (digit as u32 * DIGIT)) as usize % DIGITS
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_with_their_places_in_steps_of_any_length() {
        let mut sorting = Sorting::default();
        for count in [0usize, 1, 2, 255, 256, 1000, 5000] {
            for (bits, spread) in [(32, u32::MAX), (8, 255), (1, 1), (12, 30)] {
                let keys: Vec<u32> = (0..count as u32).map(|k| k.wrapping_mul(2_654_435_761) % spread).collect();
                let mut sorted: Vec<(u32, u32)> = keys.iter().copied().zip(0..).collect();
                sorted.sort();
                for kept in [0, 1, count / 9, count / 2, count] {
                    for step in [97, usize::MAX] {
                        sorting.begin(count, kept, bits);
                        while sorting.taken() < count {
                            let rest = &keys[sorting.taken()..];
                            // SAFETY: the keys lie one after the other.
                            unsafe { sorting.take(rest.as_ptr(), 1, rest.len().min(step)) };
                        }
                        let mut calls = 1;
                        while sorting.sorted(&mut step.clone()).is_none() {
                            calls += 1;
                        }
                        assert_eq!(sorting.sorted(&mut 1), Some(&sorted[..kept.min(count)]), "{kept} of {count}");
                        // A call moves no more pairs than it is told.
                        let moves = if spread == 1 || kept <= count / 8 || count < FEWEST { 0 } else { count };
                        assert!(calls >= moves / step, "{calls} calls for {kept} of {count}");
                    }
                }
            }
        }
    }
}
