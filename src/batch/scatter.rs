//! Partials on their way into compressed rows, on the CPU: a kernel writes them where they belong.
//!
//! Components of a block stand side by side in a row, so that one place serves a run of them. Takes a batch's partials with their places
//! in a [`super::pattern::Pattern`]; gives the places of the runs, as an index table beside the batch's own.

use super::class::Local;

/// Where the partials of a batch go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scatter {
    /// For each partial the column of its run in `places`, and how far behind the run's first it stands.
    pub(super) columns: Vec<(u32, u32)>,
    /// Where the first partial of a run stands: run after run, and within it instance after instance.
    pub places: Vec<u32>,
    /// Whether several partials may go to one place, and add up there.
    pub accumulate: bool,
}

impl Scatter {
    /// Of partials, pairs of an output and what it is differentiated by, whose places are given partial after partial.
    pub fn new(partials: &[(u32, Local)], places: &[u32], count: usize, accumulate: bool) -> Scatter {
        let of_partial = |partial: usize| &places[partial * count..(partial + 1) * count];
        let mut columns: Vec<(u32, u32)> = Vec::with_capacity(partials.len());
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
                _ => {
                    columns.push((runs, 0));
                    first_places.extend_from_slice(of_partial(partial));
                    runs += 1;
                }
            }
        }
        Scatter { columns, places: first_places, accumulate }
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
        type Case = (Vec<(u32, Local)>, Vec<u32>, Vec<(u32, u32)>, Vec<u32>);
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
            let scatter = Scatter::new(&partials, &places, 2, false);
            assert_eq!(scatter, Scatter { columns, places: first_places, accumulate: false }, "{partials:?}");
        }
    }
}
