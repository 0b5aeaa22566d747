//! Partials on their way into compressed rows, on the CPU: a kernel writes them where they belong.
//!
//! Components of a block stand side by side in a row, so that one place serves a run of them, and none at all where the run stands alike in
//! every instance. Takes a batch's partials with their places in a [`super::pattern::Pattern`]; gives the places of the runs, as an index
//! table beside the batch's own.

use super::class::Local;

/// Where the partials of a batch go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scatter {
    /// For each partial the column of its run in `places`, none if every instance has it at the same place among its own, and how far
    /// behind the run's first, or the instance's, it stands.
    pub(super) columns: Vec<(Option<u32>, u32)>,
    /// Where the first partial of a run stands: run after run, and within it instance after instance.
    pub places: Vec<u32>,
    /// Where the entries of the first instance begin, if those of an instance stand together and follow those of the one before.
    pub in_turn: Option<u32>,
    /// Whether several partials may go to one place, and add up there.
    pub accumulate: bool,
}

impl Scatter {
    /// Of partials, pairs of an output and what it is differentiated by, whose places are given partial after partial. `in_turn` as in
    /// the result.
    pub fn new(
        partials: &[(u32, Local)],
        places: &[u32],
        count: usize,
        accumulate: bool,
        in_turn: Option<u32>,
    ) -> Scatter {
        let of_partial = |partial: usize| &places[partial * count..(partial + 1) * count];
        // The same in every instance: how far behind its first entry.
        let fixed = |partial: usize| {
            let (of_partial, start) = (of_partial(partial), in_turn?);
            let behind = of_partial.first()? - start;
            let width = partials.len() as u32;
            (0..).zip(of_partial).all(|(instance, &place)| place == start + instance * width + behind).then_some(behind)
        };
        let mut columns: Vec<(Option<u32>, u32)> = Vec::with_capacity(partials.len());
        let mut first_places = Vec::new();
        let mut runs = 0;
        for (partial, &(output, local)) in partials.iter().enumerate() {
            let follows = partial.checked_sub(1).is_some_and(|last| {
                let (of, before) = partials[last];
                let beside = |(place, before): (&u32, &u32)| *place == before + 1;
                (of, before.column, before.component + 1) == (output, local.column, local.component)
                    && of_partial(partial).iter().zip(of_partial(last)).all(beside)
            });
            match columns.last() {
                Some(&(run, component)) if follows => columns.push((run, component + 1)),
                _ => match fixed(partial) {
                    Some(behind) => columns.push((None, behind)),
                    None => {
                        columns.push((Some(runs), 0));
                        first_places.extend_from_slice(of_partial(partial));
                        runs += 1;
                    }
                },
            }
        }
        Scatter { columns, places: first_places, in_turn, accumulate }
    }

    /// Whether kernels that write along it are those of another: only where the places are differs.
    pub fn has_kernel_of(&self, other: &Scatter) -> bool {
        (&self.columns, self.accumulate) == (&other.columns, other.accumulate)
    }

    /// How many partials an instance has.
    pub fn width(&self) -> u32 {
        self.columns.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_that_stand_side_by_side_in_every_instance_share_a_place() {
        let local = |column, component| Local { column, component };
        let of = |component| (0, local(0, component));
        // Two instances each: (partials, their places, expected columns, expected places).
        type Columns = Vec<(u32, u32)>;
        type Case = (Vec<(u32, Local)>, Vec<u32>, Columns, Vec<u32>);
        let table: [Case; 5] = [
            (vec![of(0), of(1), of(2)], vec![0, 7, 1, 8, 2, 9], vec![(0, 0), (0, 1), (0, 2)], vec![0, 7]),
            // In the second instance another column stands between them.
            (vec![of(0), of(1)], vec![0, 7, 1, 9], vec![(0, 0), (1, 0)], vec![0, 7, 1, 9]),
            // A component that is never differentiated by.
            (vec![of(0), of(2)], vec![0, 7, 1, 8], vec![(0, 0), (1, 0)], vec![0, 7, 1, 8]),
            // Another output, another block.
            (vec![of(0), (1, local(0, 1))], vec![0, 7, 1, 8], vec![(0, 0), (1, 0)], vec![0, 7, 1, 8]),
            (vec![of(0), (0, local(1, 1))], vec![0, 7, 1, 8], vec![(0, 0), (1, 0)], vec![0, 7, 1, 8]),
        ];
        for (partials, places, columns, first_places) in table {
            let columns = columns.into_iter().map(|(run, component)| (Some(run), component)).collect();
            let scatter = Scatter::new(&partials, &places, 2, false, None);
            let expected = Scatter { columns, places: first_places, in_turn: None, accumulate: false };
            assert_eq!(scatter, expected, "{partials:?}");
        }
    }

    #[test]
    fn what_stands_alike_in_every_instance_needs_no_places() {
        let of = |column, component| (0, Local { column, component });
        let partials = [of(0, 0), of(0, 1), of(1, 0), of(2, 0)];
        // Three instances of four entries, from 5 on; those of the last two change places in the second instance.
        let places = [5, 9, 13, 6, 10, 14, 7, 12, 15, 8, 11, 16];
        let scatter = Scatter::new(&partials, &places, 3, false, Some(5));
        assert_eq!(scatter.columns, [(None, 0), (None, 1), (Some(0), 0), (Some(1), 0)]);
        assert_eq!(scatter.places, [7, 12, 15, 8, 11, 16]);
    }
}
