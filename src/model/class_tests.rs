use super::super::Rows;
use super::*;
use crate::model::access_plan::{AccessPlan, Entry, Role, Target};
use crate::model::tests::{Recorder, pair_model};
use residua_codegen::{Epilogue, InstanceRange, View, interpret};
use residua_ir::graph::Op;

/// Two residuals an instance, a² b and a − b, with any loss, and with the squared one alone.
fn classes() -> [(Class, Rows); 2] {
    let mut r = Recorder::default();
    let (a, b) = (r.parameter(0), r.parameter(1));
    let square = r.square(a);
    let outputs = vec![r.apply(Op::Mul, &[square, b]), r.apply(Op::Sub, &[a, b])];
    let batch = pair_model(r.tape(outputs, 2)).batches.remove(0);
    assert_eq!(batch.class.losses, Losses::Any, "a loss may be set for any block of a problem");
    [Losses::Any, Losses::Squared].map(|losses| (Class { losses, ..Class::clone(&batch.class) }, batch.rows))
}

/// Buffers that a kernel has written, by role.
type Written = Vec<(Role, Vec<f64>)>;

/// The totals of a kernel, what it writes by role, and how many calls of losses it has. Buffers begin as 64 numbers that do not vanish, the
/// local table as `local`.
fn run(class: &Class, rows: Rows, entry: Entry, target: Target, local: &[f64]) -> (Vec<f64>, Written, usize) {
    let plan = AccessPlan::new(class, rows, entry, target, "").unwrap();
    let mut totals: Vec<f64> = Vec::new();
    let mut written = Written::new();
    // The host gives one total a call.
    for number in 0..plan.kernel.reduced().count().max(1) {
        let mut kernel = plan.kernel.clone().into_kernel();
        let total = kernel.reduced().nth(number);
        kernel.outputs.retain(|output| !matches!(output.epilogue, Epilogue::Reduce(_)) || Some(output.node) == total);
        let plan = AccessPlan { kernel: kernel.check().unwrap(), ..plan.clone() };
        let (total, buffers) = run_plan(&plan, local);
        totals.push(total);
        written = buffers;
    }
    (totals, written, plan.kernel.calls.len())
}

fn run_plan(plan: &AccessPlan, local: &[f64]) -> (f64, Written) {
    let indices: Vec<u32> = (0..64).collect();
    let content = |role: &Role| match role {
        // Weight, loss with its scales, and factor.
        Role::BatchConstants => vec![3.0, 0.0, 1.0, 1.0, 0.5],
        Role::Local => local.to_vec(),
        _ => numbers(),
    };
    let mut buffers: Vec<(Role, Vec<f64>)> = plan.roles.iter().map(|role| (*role, content(role))).collect();
    let mut views: Vec<View> = Vec::new();
    for ((role, buffer), declared) in buffers.iter_mut().zip(&plan.kernel.buffers) {
        views.push(match role {
            Role::Indices | Role::Places => View::Index(&indices),
            _ if declared.written => View::Write(buffer),
            _ => View::Read(buffer),
        });
    }
    let total =
        interpret::run(&plan.kernel, &mut views, &InstanceRange { instances: 0..1, stride: 1, first: 0, origin: 0 })
            .unwrap();
    let is_written =
        |role| plan.roles.iter().zip(&plan.kernel.buffers).any(|(known, buffer)| *known == role && buffer.written);
    buffers.retain(|(role, _)| is_written(*role));
    buffers.sort_by_key(|(role, _)| *role as u32);
    (total, buffers)
}

fn numbers() -> Vec<f64> {
    (0..64).map(|number| 1.25 - 0.375 * f64::from(number % 5)).collect()
}

#[test]
fn kernels_of_residuals_without_losses_compute_what_others_do_for_the_squared_one() {
    let [(any, rows), (squared, _)] = classes();
    assert!(!any.has_kernels_of(&squared), "their texts differ");
    let mut with_losses = 0;
    let on_cpu = [Entry::CostGradient, Entry::Linearise, Entry::Trial, Entry::Normal].map(|entry| (entry, Target::Cpu));
    for (entry, target) in Entry::ALL.map(|entry| (entry, Target::Gpu)).into_iter().chain(on_cpu) {
        // A product, or a sum of them, is one with what was linearised before.
        let [mut expected, mut found] = [&any, &squared].map(|class| {
            let local = match entry {
                Entry::Product | Entry::Jvp | Entry::Normal => {
                    let linearised = run(class, rows, Entry::Linearise, target, &numbers()).1;
                    linearised.into_iter().find(|(role, _)| *role == Role::Local).unwrap().1
                }
                _ => numbers(),
            };
            run(class, rows, entry, target, &local)
        });
        if target == Target::Cpu {
            // What is not read is not written to its table, and which entries these are may differ.
            for (_, written, _) in [&mut expected, &mut found] {
                written.retain(|(role, _)| *role != Role::Local);
            }
        }
        // Factors of 1 and addends of 0 are all that is left out, so that not a bit changes.
        assert_eq!((&found.0, &found.1), (&expected.0, &expected.1), "{entry:?} on the {target:?}");
        assert_eq!(found.2, 0, "{entry:?} on the {target:?} asks for a loss");
        with_losses += expected.2;
    }
    assert!(with_losses > 0, "no kernel asks for a loss, so that this test compares nothing");
}
