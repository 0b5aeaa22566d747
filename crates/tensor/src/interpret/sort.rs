//! Sorts, and counts of digits.

use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use residua_base::sort::ascending;

use super::Machine;
use crate::expr::Digit;
use crate::kernel::{DigitCounts, DigitSort, Sort, Store};
use crate::scalar::Id;

impl Machine<'_> {
    pub(super) fn sort(&mut self, sort: &Sort) -> Result<()> {
        let (length, kept) = (self.extent(sort.length), self.extent(sort.kept));
        if length > sort.most || kept > length {
            return Err(Error::internal(format!("a sort of {length} keys of which {kept} are wanted")));
        }
        let outer = self.extents(&sort.outer);
        self.each_point(&outer, |machine| {
            let keys = machine.keys(sort.key, length)?;
            let mut pairs = (0..length).map(|place| (keys[place as usize], place)).list();
            ascending(&mut pairs);
            let ranks = (0..kept).map(|rank| (rank, pairs[rank as usize].1));
            machine.write_ranks(ranks, &sort.elements)
        })
    }

    pub(super) fn digit_counts(&mut self, counts: &DigitCounts) -> Result<()> {
        let needed = self.needed_by_stores(&counts.elements);
        let (outer, length) = (self.extents(&counts.outer), self.extent(counts.length));
        self.each_point(&outer, |machine| {
            let keys = machine.keys(counts.key, length)?;
            for digit in 0..Digit::VALUES {
                for block in 0..counts.blocks {
                    let first = (block * Digit::BLOCK).min(length);
                    let end = (first + Digit::BLOCK).min(length);
                    let own = &keys[first as usize..end as usize];
                    let count = own.iter().filter(|key| counts.digit.of(**key) == digit).count() as u32;
                    machine.folded = vec![vec![count]];
                    // No value depends on the place of a key.
                    machine.coordinates.extend([0, digit, block]);
                    machine.write(&needed, &counts.elements)?;
                    machine.coordinates.truncate(outer.len());
                }
            }
            Ok(())
        })
    }

    pub(super) fn digit_sort(&mut self, sort: &DigitSort) -> Result<()> {
        let sums = self.needed([sort.total, sort.before]);
        let (outer, length) = (self.extents(&sort.outer), self.extent(sort.length));
        self.each_point(&outer, |machine| {
            let keys = machine.keys(sort.key, length)?;
            let sum = |machine: &mut Self, of: Id, digit: u32, block: u32| -> Result<u32> {
                machine.coordinates.extend([0, 0, digit, block]);
                machine.evaluate(&sums)?;
                machine.coordinates.truncate(outer.len());
                Ok(machine.values[of.index()])
            };
            // The rank of the next key of each digit.
            let mut next = vec![0; Digit::VALUES as usize];
            for digit in 1..Digit::VALUES {
                next[digit as usize] = next[digit as usize - 1] + sum(machine, sort.total, digit - 1, 0)?;
            }
            let first = next.clone();
            let mut ranks = Vec::with_capacity(keys.len());
            for (place, key) in (0..).zip(&keys) {
                let digit = sort.digit.of(*key);
                if place % Digit::BLOCK == 0 {
                    for digit in 0..Digit::VALUES {
                        let before = sum(machine, sort.before, digit, place / Digit::BLOCK)?;
                        next[digit as usize] = first[digit as usize] + before;
                    }
                }
                ranks.push((next[digit as usize], place));
                next[digit as usize] += 1;
            }
            machine.write_ranks(ranks.into_iter(), &sort.elements)
        })
    }

    /// The keys of the present row.
    fn keys(&mut self, key: Id, length: u32) -> Result<Vec<u32>> {
        let needed = self.needed([key]);
        let mut keys = Vec::with_capacity(length as usize);
        for place in 0..length {
            self.coordinates.push(place);
            self.evaluate(&needed)?;
            keys.push(self.values[key.index()]);
            self.coordinates.pop();
        }
        Ok(keys)
    }

    /// Writes what is computed from the place of each rank of the present row.
    fn write_ranks(&mut self, ranks: impl Iterator<Item = (u32, u32)>, elements: &[Store]) -> Result<()> {
        let needed = self.needed_by_stores(elements);
        let outer = self.coordinates.len();
        for (rank, place) in ranks {
            self.folded = vec![vec![place]];
            // No value depends on the place of a key but by what is found.
            self.coordinates.extend([0, rank]);
            self.write(&needed, elements)?;
            self.coordinates.truncate(outer);
        }
        Ok(())
    }
}
