use super::super::Rows;
use super::*;
use crate::model::access_plan::{AccessPlan, Entry, Role, Target};
use crate::model::compile_input::CompileInput;
use crate::model::least_squares::LocalTable;
use crate::model::tests::{Recorder, compiled, pair_model};
use residua_codegen::{Epilogue, InstanceRange, Load, View, Width, interpret};
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

/// Two residuals of a unit vector (x, y, z), x² y − z and x z + y, with any loss.
fn class_on_a_sphere() -> (Class, Rows) {
    let mut r = Recorder::default();
    let [x, y, z] = [0, 1, 2].map(|number| r.parameter(number));
    let square = r.square(x);
    let (first, second) = (r.apply(Op::Mul, &[square, y]), r.apply(Op::Mul, &[x, z]));
    let outputs = vec![r.apply(Op::Sub, &[first, z]), r.apply(Op::Add, &[second, y])];
    let mut input = CompileInput::problem();
    input.add_array("v", 3, 1, "unit-vector").unwrap();
    input.add_residuals("r", vec![0], vec![0], Vec::new(), r.tape(outputs, 3)).unwrap();
    let batch = compiled(input).batches.remove(0);
    (Class { losses: Losses::Any, ..Class::clone(&batch.class) }, batch.rows)
}

/// The plan in pairs, and the same with each pair a number, which the host can run.
fn in_pairs(class: &Class, rows: Rows, entry: Entry) -> (AccessPlan, AccessPlan) {
    let plan = AccessPlan::in_width(class, rows, entry, Width::Pair, "").unwrap();
    let mut kernel = plan.kernel.clone().into_kernel();
    for load in &mut kernel.loads {
        if let Load::Read(element) = load {
            element.low = None;
        }
    }
    for output in &mut kernel.outputs {
        match &mut output.epilogue {
            Epilogue::Store(element) | Epilogue::Accumulate(element) => element.low = None,
            Epilogue::Reduce(width) => *width = Width::Single,
        }
    }
    let single = AccessPlan { kernel: kernel.check().unwrap(), ..plan.clone() };
    (plan, single)
}

#[test]
fn a_model_in_pairs_is_that_of_numbers_with_pairs_where_they_decide_where_steps_end() {
    for (class, rows) in classes().into_iter().chain([class_on_a_sphere()]) {
        let table = LocalTable::of(&class);
        let sums = table.width + table.outputs;
        assert_eq!(table.columns_on_device(Width::Pair), table.columns_on_device(Width::Single) + sums);
        for entry in [Entry::Linearise, Entry::Trial] {
            let expected = run_plan(&AccessPlan::new(&class, rows, entry, Target::Gpu, "").unwrap(), &numbers());
            let (plan, single) = in_pairs(&class, rows, entry);
            let found = run_plan(&single, &numbers());
            // The gradient is that of another order of the same products, and some ten roundings.
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-14 * (1.0 + b.abs());
            assert!(close(found.0, expected.0), "{entry:?}: {} is not {}", found.0, expected.0);
            for (found, expected) in found.1.iter().zip(&expected.1) {
                let pairs = found.1.iter().zip(&expected.1);
                let apart = pairs.enumerate().find(|(_, (found, expected))| !close(**found, **expected));
                assert_eq!(apart, None, "{entry:?}, {:?}", found.0);
            }
            assert!(plan.kernel.totals().all(|total| total.width() == Width::Pair), "{entry:?}");
            for element in plan.kernel.outputs.iter().filter_map(|output| output.element()) {
                let column = element.index.as_column().unwrap();
                let low = (column < sums).then(|| table.low(column));
                assert_eq!(element.low.as_ref().map(|low| low.as_column().unwrap()), low, "{entry:?}, column {column}");
            }
        }
        for entry in [Entry::Product, Entry::Jvp] {
            let plan = AccessPlan::in_width(&class, rows, entry, Width::Pair, "").unwrap();
            assert!(!plan.kernel.has_pairs(), "{entry:?}");
        }
    }
}
