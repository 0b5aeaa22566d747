#import levenberg_marquardt/state
// Ends a trial: an accepted trial point becomes the point; where its derivatives are not finite, the point becomes the trial point again,
// to be linearised anew.
@compute @workgroup_size(256)
fn settle(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = workgroup.x * 256u + lane;
    if state[COMMIT] != 0u {
        for (var k = first; k < dispatch.blocks; k += dispatch.threads) {
            point[k] = trial[k];
        }
    } else if state[RESTORE] != 0u {
        for (var k = first; k < dispatch.blocks; k += dispatch.threads) {
            trial[k] = point[k];
        }
    }
}
