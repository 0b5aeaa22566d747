//! What a message says beside the numbers of a run: that nothing was solved for.

use crate::eval::Functions;
use crate::model::BlockInfo;
use crate::solve::solution::Solution;

/// Says in the message that nothing was solved for, where that is so.
pub(super) fn remark(solution: &mut Solution, functions: &Functions) {
    let takes_part = |block: &BlockInfo| block.enabled && block.weight > 0.0;
    let remark = if functions.constant().iter().all(|constant| *constant) {
        "All parameters are constant, so that nothing was solved for."
    } else if !functions.model().blocks.iter().any(takes_part) {
        "No residual takes part: all blocks are disabled or have the weight 0."
    } else {
        return;
    };
    solution.summary.message = format!("{} {remark}", solution.summary.message);
}
