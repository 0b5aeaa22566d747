//! Accumulated times of a profiled context: wall times of the stages on the host, and for each kernel the number of dispatches and the time
//! on the device. Takes measured times, gives sums and counts; no device is used here.

use residua_base::list::Listed;

/// Nanoseconds, which timestamps count, in a millisecond.
const NS_PER_MS: f64 = 1e6;

/// Something that was done several times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timing {
    /// How often.
    pub count: u64,
    /// Milliseconds in all.
    pub ms: f64,
}

impl Timing {
    /// `count` more were done, in `ms` together.
    pub fn add(&mut self, count: usize, ms: f64) {
        self.count += count as u64;
        // A clock that browsers blur may go back by a tick.
        self.ms += ms.max(0.0);
    }
}

/// What one kernel did.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelTimes {
    /// Its name in the recordings that run it.
    pub name: String,
    /// How often it was handed to the device.
    pub dispatches: u64,
    /// Of these, the ones whose time on the device is known.
    pub timed: Timing,
}

/// Which kernel of [`Times`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelNumber(u32);

/// Where a context's time went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    /// Compiling pipelines, until they could be used. Counts pipelines.
    pub compile: Timing,
    /// Handing work to the device: data written, commands encoded and submitted. Counts submissions.
    pub encode: Timing,
    /// Waiting for results and copying them, the device's work included. Counts read-backs.
    pub read_back: Timing,
    /// The device measures times.
    pub has_gpu_times: bool,
    kernels: Vec<KernelTimes>,
    /// Waits for pipelines that have not ended, and when the first of them began.
    waits: u32,
    waiting_since: f64,
}

impl Times {
    /// No times yet. `has_gpu_times` states whether the device has timestamps.
    pub fn new(has_gpu_times: bool) -> Times {
        Times { has_gpu_times, ..Times::default() }
    }

    /// A wait for pipelines begins, `now`.
    pub fn begin_compiling(&mut self, now: f64) {
        if self.waits == 0 {
            self.waiting_since = now;
        }
        self.waits += 1;
    }

    /// One ends, with so many pipelines. What was waited for at the same time counts once.
    pub fn end_compiling(&mut self, now: f64, pipelines: usize) {
        self.waits = self.waits.saturating_sub(1);
        self.compile.add(pipelines, if self.waits == 0 { now - self.waiting_since } else { 0.0 });
    }

    /// The number of a kernel, which is entered if it is new.
    pub fn kernel(&mut self, name: &str) -> KernelNumber {
        let position = self.kernels.iter().position(|kernel| kernel.name == name).unwrap_or_else(|| {
            self.kernels.push(KernelTimes { name: name.to_owned(), dispatches: 0, timed: Timing::default() });
            self.kernels.len() - 1
        });
        KernelNumber(position as u32)
    }

    /// A kernel was handed to the device.
    pub fn dispatched(&mut self, kernel: KernelNumber) {
        self.kernels[kernel.0 as usize].dispatches += 1;
    }

    /// The device has reported when the dispatches of `kernels` began and ended: `words` has for each two 64-bit counts of
    /// nanoseconds, lower halves first.
    pub fn timed(&mut self, kernels: &[KernelNumber], words: &[u32]) {
        let stamps: Vec<u64> = words.chunks_exact(2).map(|half| u64::from(half[0]) | u64::from(half[1]) << 32).list();
        for (kernel, stamp) in kernels.iter().zip(stamps.chunks_exact(2)) {
            // Devices that change their clock's rate may count backwards for once.
            let ns = stamp[1].saturating_sub(stamp[0]);
            self.kernels[kernel.0 as usize].timed.add(1, ns as f64 / NS_PER_MS);
        }
    }

    /// All kernels, in the order in which they were first bound.
    pub fn kernels(&self) -> &[KernelTimes] {
        &self.kernels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_has_one_entry_however_often_it_is_named() {
        let mut times = Times::default();
        let numbers = ["gather", "cost", "gather"].map(|name| times.kernel(name));
        assert_eq!(numbers[0], numbers[2]);
        for number in numbers {
            times.dispatched(number);
        }
        let counts: Vec<_> = times.kernels().iter().map(|kernel| (kernel.name.as_str(), kernel.dispatches)).collect();
        assert_eq!(counts, [("gather", 2), ("cost", 1)]);
    }

    #[test]
    fn waits_at_the_same_time_count_once() {
        let mut times = Times::default();
        for (began, now, pipelines) in [(true, 1.0, 0), (true, 2.0, 0), (false, 5.0, 3), (false, 7.0, 4)] {
            if began {
                times.begin_compiling(now);
            } else {
                times.end_compiling(now, pipelines);
            }
        }
        assert_eq!(times.compile, Timing { count: 7, ms: 6.0 });
        times.begin_compiling(10.0);
        times.end_compiling(12.0, 1);
        assert_eq!(times.compile, Timing { count: 8, ms: 8.0 }, "what lies between waits is none");
    }

    #[test]
    fn timestamps_are_pairs_of_64_bit_nanoseconds_and_never_count_backwards() {
        let mut times = Times::default();
        let (a, b) = (times.kernel("a"), times.kernel("b"));
        // a: from 2³² − 1 to 2³² + 1,999,999; b: from 7 to 3, a clock that was set back; a again, 3 ms.
        let words = [u32::MAX, 0, 1_999_999, 1, 7, 0, 3, 0, 0, 5, 3_000_000, 5];
        times.timed(&[a, b, a], &words);
        let timed: Vec<Timing> = times.kernels().iter().map(|kernel| kernel.timed).collect();
        assert_eq!(timed, [Timing { count: 2, ms: 5.0 }, Timing { count: 1, ms: 0.0 }]);
    }
}
