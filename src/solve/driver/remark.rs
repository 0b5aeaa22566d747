//! What a message says beside the numbers of a run: that nothing was solved for, and that it ran on the host since kernels on the device do not hold.

use crate::eval::Functions;
use crate::model::BlockInfo;
use crate::solve::solution::Solution;

/// Says in the message that nothing was solved for, where that is so, and why the device was left.
pub(super) fn remark(solution: &mut Solution, functions: &Functions) {
    let message = &mut solution.summary.message;
    if functions.constant().iter().all(|constant| *constant) {
        message.push_str(" All parameters are constant, so that nothing was solved for.");
    } else if functions.sample_count() == 0 {
        let reason = match functions.model().blocks.iter().any(BlockInfo::takes_part) {
            true => "all instances have the weight 0",
            false => "all blocks are disabled or have the weight 0",
        };
        message.push_str(&format!(" No residual takes part: {reason}."));
    }
    if let Some(fault) = functions.device_fault() {
        message.push_str(&format!(" On the CPU, since {}.", fault.message));
    }
}
