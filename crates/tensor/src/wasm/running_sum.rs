//! Scans of sums of reals in f64: each result is rounded once.

use residua_codegen::wasm::encoding::lanes::{self as wasm, shuffle};

use super::code::{Code, Local};

/// Four sums in f64: the lower two lanes and the upper two.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunningSum(pub [Local; 2]);

/// Lanes of f64 in terms of lanes of 32 bits.
const UPPER: [u8; 4] = [2, 3, 2, 3];
const SHIFTED: [u8; 4] = [0, 1, 4, 5];

impl RunningSum {
    /// Four reals.
    pub fn of(code: &mut Code, block: usize, reals: Local) -> RunningSum {
        let upper = code.two(block, shuffle(UPPER), reals, reals);
        RunningSum([reals, upper].map(|part| code.one(block, wasm::F64X2_PROMOTE_LOW_F32X4, part)))
    }

    /// Variables with the sums of two vectors.
    pub fn variables(code: &mut Code, block: usize, sum: Local, error: Local) -> RunningSum {
        let (sum, error) = (RunningSum::of(code, block, sum), RunningSum::of(code, block, error));
        sum.plus(code, block, &error)
    }

    /// The sums, lane by lane.
    pub fn plus(&self, code: &mut Code, block: usize, other: &RunningSum) -> RunningSum {
        RunningSum([0, 1].map(|part| code.two(block, wasm::F64X2_ADD, self.0[part], other.0[part])))
    }

    /// Replaces the sums.
    pub fn assign(&self, code: &mut Code, block: usize, other: &RunningSum) {
        for (own, other) in self.0.iter().zip(other.0) {
            code.put(block, &[other.get(), own.set()]);
        }
    }

    /// The sums as f32.
    pub fn narrow(&self, code: &mut Code, block: usize) -> Local {
        let [low, high] = self.0.map(|part| code.one(block, wasm::F32X4_DEMOTE_F64X2_ZERO, part));
        code.two(block, shuffle([0, 1, 4, 5]), low, high)
    }

    /// Of each lane the sum of the lanes before it, with its own if not `exclusive`, and the sum of all lanes in every lane.
    pub fn within(&self, code: &mut Code, block: usize, exclusive: bool) -> (RunningSum, RunningSum) {
        let zero = code.word(0);
        let shifted = self.0.map(|part| code.two(block, shuffle(SHIFTED), zero, part));
        let pairs = [0, 1].map(|part| code.two(block, wasm::F64X2_ADD, self.0[part], shifted[part]));
        let lower = code.two(block, shuffle(UPPER), pairs[0], pairs[0]);
        let kept = if exclusive { shifted } else { pairs };
        let upper = code.two(block, wasm::F64X2_ADD, kept[1], lower);
        let total = code.two(block, shuffle(UPPER), pairs[1], pairs[1]);
        let total = code.two(block, wasm::F64X2_ADD, total, lower);
        (RunningSum([kept[0], upper]), RunningSum([total, total]))
    }
}
