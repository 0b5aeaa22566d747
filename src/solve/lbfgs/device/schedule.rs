//! The number of rounds per batch. It has no influence on results, since rounds after the end of a run change nothing.

/// Duration of a batch in milliseconds that growing batches do not exceed.
const SHORT_BATCH: f64 = 30.0;

/// Duration in milliseconds that no batch exceeds once the time of a round is known: operating systems reset a device that does not
/// respond for about ten seconds.
const LONG_BATCH: f64 = 8000.0;

/// Rounds of the first batches at least. Four batches hold 20 iterations with their additional trials, so that read-backs are few even
/// where rounds are slow.
const LEAST: [u32; 4] = [3, 7, 9, 9];

/// Rounds of a batch at most, so that the ring has room for the records of all batches in flight.
const MOST_ROUNDS: u32 = super::state::MOST_RECORDS as u32 / 4;

/// Chooses the sizes of the batches of a run.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    batches: usize,
    observed: usize,
    last: u32,
    /// Duration of a round in milliseconds, as measured last.
    round: Option<f64>,
}

impl Schedule {
    /// Rounds of the next batch, with `left` more rounds expected in the run.
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

    /// Takes the duration of a batch of so many rounds.
    pub fn observe(&mut self, rounds: u32, milliseconds: f64) {
        self.observed += 1;
        // The first batch includes the one-time cost of the first run of each kernel.
        if self.observed > 1 {
            self.round = Some(milliseconds / f64::from(rounds.max(1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Batch sizes for so many rounds of equal duration, each batch observed before the next but one is submitted.
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
    fn twenty_iterations_take_at_most_four_batches_unless_a_round_takes_seconds() {
        for milliseconds in [0.01, 1.0, 10.0, 800.0] {
            assert!(sizes(24, milliseconds).len() <= 4, "{milliseconds} ms: {:?}", sizes(24, milliseconds));
        }
        assert!(sizes(24, 6000.0)[3..].iter().all(|&rounds| rounds == 1));
    }

    #[test]
    fn batches_grow_up_to_thirty_milliseconds_and_the_size_of_the_ring() {
        assert_eq!(sizes(300, 0.01)[..5], [3, 7, 14, 28, 56]);
        assert!(sizes(2000, 0.01).iter().all(|&rounds| rounds <= MOST_ROUNDS));
        assert!(sizes(300, 2.0)[3..].iter().all(|&rounds| rounds <= 15));
    }
}
