//! The choice at figures that were measured on an H200.

use super::*;

/// An NVIDIA H200 in headless Chromium.
const H200: Speed = Speed { round_trip_ms: 0.15, dispatch_ms: 0.0037, moving_ms: 5.5 };

/// Springs on a grid of so many vertices: three numbers a vertex, nearly three springs, six entries each.
fn springs(vertices: f64) -> Extent {
    let residuals = 3.0 * vertices - 4.0 * vertices.sqrt() + 1.0;
    Extent { params: 3.0 * vertices, residuals, entries: 6.0 * residuals, batches: 1.0, parts: 1.0 }
}

fn measured(device: Speed, cpu: f64, gpu: Option<f64>) -> Measured {
    Measured { device, cpu_gradient_ms: cpu, gpu_gradient_ms: gpu }
}

fn on_cpu(choice: &Choice) -> [bool; 3] {
    [Job::Gradient, Job::LeastSquares, Job::Descent].map(|job| choice.is_on_cpu(job))
}

#[test]
fn springs_on_an_h200_are_evaluated_on_the_cpu_and_solved_on_the_gpu_from_a_thousand_on() {
    // Vertices; the gradient's milliseconds as measured on either engine; whether gradient, Levenberg-Marquardt and L-BFGS run on the CPU.
    for (vertices, cpu, gpu, expected) in [
        (16.0, 0.005, 0.17, [true, true, true]),
        (100.0, 0.01, 0.17, [true, true, true]),
        (1024.0, 0.03, 0.2, [true, false, false]),
        (10_000.0, 0.285, 0.58, [true, false, false]),
        (99_856.0, 2.96, 3.7, [true, false, false]),
        (1_000_000.0, 29.8, 31.0, [true, false, false]),
        // The same with a GPU that moves numbers twice as fast.
        (1_000_000.0, 29.8, 16.0, [false, false, false]),
    ] {
        let choice = Choice::new(&springs(vertices), &measured(H200, cpu, Some(gpu)));
        assert_eq!(on_cpu(&choice), expected, "{vertices} vertices: {choice:?}");
    }
}

#[test]
fn long_residuals_pay_on_the_gpu_where_they_outweigh_its_slow_start() {
    // Developability of a sphere; both gradients as measured.
    for (vertices, batches, cpu, gpu, expected) in [
        (12.0, 2.0, 0.025, 0.255, [true, true, true]),
        (162.0, 3.0, 0.080, 0.289, [true, true, true]),
        (642.0, 3.0, 0.184, 0.379, [true, false, false]),
        (2562.0, 3.0, 0.716, 0.306, [false, false, false]),
        (10_242.0, 3.0, 2.87, 0.501, [false, false, false]),
        (163_842.0, 3.0, 51.3, 5.5, [false, false, false]),
    ] {
        let extent =
            Extent { params: 3.0 * vertices, residuals: 4.0 * vertices, entries: 39.0 * vertices, batches, parts: 1.0 };
        let choice = Choice::new(&extent, &measured(H200, cpu, Some(gpu)));
        assert_eq!(on_cpu(&choice), expected, "{vertices} vertices: {choice:?}");
    }
}

#[test]
fn a_device_that_cannot_win_is_known_before_its_kernels_are_compiled() {
    let known = |device: Speed, vertices: f64, cpu: f64| {
        Choice::new(&springs(vertices), &measured(device, cpu, None)).is_all_on_cpu()
    };
    assert!(known(H200, 100.0, 0.01));
    assert!(!known(H200, 1024.0, 0.03), "L-BFGS may pay");
    // Firefox notices results a millisecond after they are there, and starts kernels at its leisure.
    let slow = Speed { round_trip_ms: 1.2, dispatch_ms: 0.05, moving_ms: 9.0 };
    assert!(known(slow, 1024.0, 0.03));
    assert!(!known(slow, 100_000.0, 3.0));
}

#[test]
fn where_both_take_the_same_the_cpu_is_taken_for_its_digits() {
    let nothing = Speed { round_trip_ms: 0.0, dispatch_ms: 0.0, moving_ms: 0.0 };
    let none = Extent { params: 0.0, residuals: 0.0, entries: 0.0, batches: 1.0, parts: 1.0 };
    assert!(Choice::new(&none, &measured(nothing, 0.0, Some(0.0))).is_all_on_cpu());
}

#[test]
fn the_sentence_tells_both_figures_of_each_job() {
    let choice = Choice::new(&springs(10_000.0), &measured(H200, 0.285, Some(0.58)));
    let sentence = choice.sentence();
    assert!(sentence.contains("gradient 0.285 and 0.580"), "{sentence}");
    for job in Job::ALL {
        assert!(sentence.contains(job.name()), "{} in {sentence}", job.name());
    }
}
