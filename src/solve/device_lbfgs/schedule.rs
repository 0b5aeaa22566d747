//! How many rounds are submitted at a time. Nothing here changes a number: on the device, rounds after the end do nothing.

/// Milliseconds a batch takes at most, where that leaves few enough read-backs.
const SHORT_BATCH: f64 = 30.0;

/// Milliseconds a batch never exceeds, as far as a round's time is known: read-backs are few even where rounds
/// are slow, and devices are taken for hung after some ten seconds.
const LONG_BATCH: f64 = 8000.0;

/// Rounds of the first batches: four of them hold 20 iterations and the trials that some of them take more.
const LEAST: [u32; 4] = [3, 7, 9, 9];

/// Rounds of a batch at most: the records of two batches have room in the ring.
const MOST_ROUNDS: u32 = super::state::MOST_RECORDS as u32 / 4;

/// Decides the sizes of batches.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    batches: usize,
    observed: usize,
    last: u32,
    /// Milliseconds a round took.
    round: Option<f64>,
}

impl Schedule {
    /// Rounds of the next batch, where so many more iterations may follow.
    pub fn next(&mut self, left: u32) -> u32 {
        let least = LEAST[self.batches.min(LEAST.len() - 1)];
        let doubled = (2 * self.last).max(least);
        let rounds = match self.round {
            None => doubled,
            Some(round) => {
                let fitting = |most: f64| (most / round.max(1e-3)) as u32;
                doubled.min(fitting(SHORT_BATCH)).max(least.min(fitting(LONG_BATCH)))
            }
        };
        self.batches += 1;
        self.last = rounds.clamp(1, MOST_ROUNDS).min(left.max(4));
        self.last
    }

    /// So many rounds are done, so many milliseconds after those before them.
    pub fn observe(&mut self, rounds: u32, milliseconds: f64) {
        self.observed += 1;
        // The first batch also pays for what devices do when a kernel first runs.
        if self.observed > 1 {
            self.round = Some(milliseconds / f64::from(rounds.max(1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of the batches of so many rounds that all take as long, each observed when the next but one is submitted.
    fn sizes(rounds: u32, milliseconds: f64) -> Vec<u32> {
        let (mut schedule, mut sizes, mut done) = (Schedule::default(), Vec::<u32>::new(), 0);
        while done < rounds {
            if let [.., before, _] = sizes[..] {
                schedule.observe(before, milliseconds * f64::from(before));
            }
            sizes.push(schedule.next(rounds - done));
            done += sizes[sizes.len() - 1];
        }
        sizes
    }

    #[test]
    fn twenty_iterations_take_at_most_four_batches_unless_they_are_very_long() {
        for milliseconds in [0.01, 1.0, 10.0, 800.0] {
            assert!(sizes(24, milliseconds).len() <= 4, "{milliseconds} ms: {:?}", sizes(24, milliseconds));
        }
        assert!(sizes(24, 6000.0)[3..].iter().all(|&rounds| rounds == 1));
    }

    #[test]
    fn batches_grow_to_thirty_milliseconds_and_the_ring() {
        assert_eq!(sizes(300, 0.01)[..5], [3, 7, 14, 28, 56]);
        assert!(sizes(2000, 0.01).iter().all(|&rounds| rounds <= MOST_ROUNDS));
        assert!(sizes(300, 2.0)[3..].iter().all(|&rounds| rounds <= 15));
    }
}
