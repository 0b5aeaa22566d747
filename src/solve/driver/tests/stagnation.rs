//! When conjugate gradients that are cut short count as stagnation.

use super::super::stagnation::Stagnation;
use super::*;

#[test]
fn five_steps_of_little_gain_with_conjugate_gradients_cut_short_are_stagnation() {
    let options = options();
    let all = LevenbergMarquardtOptions { linear_tolerance: 0.0, ..options.clone() };
    let slow = |iteration: u32| step(iteration, 9.0);
    let ends =
        |steps: &[IterationSummary], options: &LevenbergMarquardtOptions, watches: bool, stops_at: Option<u32>| {
            let mut listener = Recording { stops_at, ..Recording::default() };
            let mut stagnation = Stagnation::new(&mut listener, options, watches);
            let stopped = steps.iter().any(|step| stagnation.iteration(step));
            (stopped, stagnation.has_occurred())
        };
    let five: Vec<_> = (1..=5).map(slow).collect();
    assert_eq!(ends(&five, &options, true, None), (true, true));
    assert_eq!(ends(&five[1..], &options, true, None), (false, false), "four are too few");
    assert_eq!(ends(&five, &options, false, None), (false, false), "nothing is watched");
    assert_eq!(ends(&five, &all, true, None), (false, false), "with a tolerance of 0 every step runs to the limit");
    assert_eq!(ends(&five, &options, true, Some(5)), (true, false), "the caller's stop is no stagnation");
    for other in
        [IterationSummary { cost_change: 11.0, ..slow(3) }, IterationSummary { linear_iterations: Some(99), ..slow(3) }]
    {
        let mut steps = five.clone();
        steps[2] = other;
        assert_eq!(ends(&steps, &options, true, None), (false, false), "a useful step begins the count anew");
    }
    let mut refused = five.clone();
    refused.insert(2, IterationSummary { accepted: false, ..slow(9) });
    assert_eq!(ends(&refused, &options, true, None), (true, true), "refused steps do not count");
}
