//! Gradients by sums over lists, interpreted in f32 as the device would run them, against the reference in f64: derivatives by
//! central differences are others' business, so what is compared with is the CPU engine's gradient.

use crate::interpreter;
use crate::recorder::{Recorder, compiled, problem};
use residua::model::access_plan::{Entry, Role};
use residua::model::incidence::gather_passes;
use residua::model::recompute::{self, ListShape, ListTables, RecomputePlan};
use residua::model::{Batch, Tape};
use residua_base::cooperative::{Slices, run_synchronously};
use residua_codegen::wgsl::{self, RecomputeDispatch};
use residua_codegen::{InstanceRange, View, Width, interpret};
use residua_ir::graph::Op;

const VERTICES: u32 = 70;
const POSES: u32 = 30;
const PARAMETERS: u32 = 3 * VERTICES + 4 * POSES;

/// |a − b| − rest.
fn spring(rest_is_data: bool) -> Tape {
    let mut r = Recorder::default();
    let squared = r.squared_distance();
    let length = r.apply(Op::Norm, &[squared]);
    let rest = if rest_is_data { r.data(1) } else { r.constant(1.0) };
    let residual = r.apply(Op::Sub, &[length, rest]);
    r.tape(vec![residual], 6, if rest_is_data { 2 } else { 0 })
}

/// Two residuals of a pose of four numbers, of which one is left out, and two vertices.
fn turned() -> Tape {
    let mut r = Recorder::default();
    let q: Vec<u32> = (0..4).map(|number| r.parameter(number)).collect();
    let v: Vec<u32> = (4..10).map(|number| r.parameter(number)).collect();
    let wx = r.apply(Op::Mul, &[q[0], v[0]]);
    let yz = r.apply(Op::Mul, &[q[2], v[5]]);
    let first = r.apply(Op::Sub, &[wx, yz]);
    let held = r.apply(Op::StopGradient, &[v[1]]);
    let second = r.apply(Op::Mul, &[q[1], held]);
    r.tape(vec![first, second], 10, 0)
}

fn batch(slots: Vec<u32>, indices: Vec<u32>, data: Vec<f64>, tape: Tape) -> Batch {
    let mut input = problem(&[("vertices", 3, VERTICES, "euclidean"), ("poses", 4, POSES, "euclidean")]);
    input.add_residuals("r", slots, indices, data, tape).unwrap();
    compiled(input).batches.remove(0)
}

/// Both ends of springs, of which vertex 7 has twenty and vertex 9 none.
fn ends() -> Vec<u32> {
    let avoid = |vertex: u32| if vertex % VERTICES == 9 { 8 } else { vertex % VERTICES };
    let first = (0..130).map(|i| if i < 20 { 7 } else { avoid(i) });
    first.chain((0..130).map(|i| avoid(5 * i + 11))).collect()
}

fn batches() -> Vec<(&'static str, Batch)> {
    let data = (0..260).map(|i| f64::from(i) / 128.0).collect();
    let turns = (0..60).map(|i| i % POSES).chain((0..120).map(|i| (i * 3 + 2) % VERTICES)).collect();
    vec![
        ("springs of one length", batch(vec![0, 0], ends(), Vec::new(), spring(false))),
        ("springs with lengths of their own", batch(vec![0, 0], ends(), data, spring(true))),
        ("poses and vertices", batch(vec![1, 0, 0], turns, Vec::new(), turned())),
    ]
}

/// Numbers in [0, 10), the same in every run: multiples of an irrational number, rounded to f32.
fn point() -> Vec<f64> {
    (0..PARAMETERS).map(|k| f64::from((f64::from(k) * 0.618_033_988_749_895).fract() as f32 * 10.0)).collect()
}

/// Weight, a loss with slopes of its own (Cauchy's), and the numbers on which instances agree.
fn batch_constants(batch: &Batch) -> Vec<f64> {
    [0.75, 3.0, 0.5, 0.0, 1.25].into_iter().chain(batch.batch_constants.iter().copied()).collect()
}

/// The objective and its gradient in f64.
fn reference(batch: &Batch, entry: Entry) -> (f64, Vec<f64>) {
    use residua::model::access_plan::{AccessPlan, Target};
    let plan = AccessPlan::new(&batch.class, batch.rows, entry, Target::Cpu, "").unwrap();
    let (x, batch_constants) = (point(), batch_constants(batch));
    let mut gradient = vec![0.0; PARAMETERS as usize];
    let mut written = Some(gradient.as_mut_slice());
    let mut views: Vec<View> = plan
        .roles
        .iter()
        .map(|role| match role {
            Role::Parameters => View::Read(&x),
            Role::Indices => View::Index(&batch.indices),
            Role::Data => View::Read(&batch.data),
            Role::BatchConstants => View::Read(&batch_constants),
            Role::Gradient => View::Write(written.take().unwrap()),
            other => panic!("{other:?}"),
        })
        .collect();
    let dispatch = InstanceRange { instances: 0..batch.count, stride: batch.count, first: 0, origin: 0 };
    let total = interpret::run(&plan.kernel, &mut views, &dispatch).unwrap();
    (total, gradient)
}

fn words(numbers: &[f64]) -> Vec<u32> {
    numbers.iter().map(|&number| (number as f32).to_bits()).collect()
}

/// What stands in the gradient before.
const BEFORE: f32 = 0.5;

/// Runs the sums over lists of a range of instances as the device would; `add` as their figures have it.
fn listed(batch: &Batch, range: std::ops::Range<usize>, entry: Entry, add: u32, gradient: &mut Vec<u32>) -> f64 {
    let passes = gather_passes(batch, range.clone(), PARAMETERS).unwrap();
    let shapes = run_synchronously(recompute::shapes(batch, &passes, &Slices::unlimited()))
        .unwrap()
        .expect("blocks with few entries");
    let columns = |table: &[f64]| -> Vec<f64> {
        table.chunks(batch.count as usize).flat_map(|column| &column[range.clone()]).copied().collect()
    };
    let mut value = 0.0;
    for shape in &shapes {
        let plan = RecomputePlan::new(&batch.class, entry, &shape.slots, "").unwrap();
        let text = wgsl::write_recompute(&plan.kernel, wgsl::PairForm::Split);
        residua_portable::assert_guard_reads_storage(&residua_portable::validated(&text));
        let ListTables { offsets, others } =
            run_synchronously(recompute::tables(batch, range.clone(), shape, &Slices::unlimited())).unwrap();
        let mut buffers: Vec<Vec<u32>> = plan
            .roles
            .iter()
            .map(|role| match role {
                Role::Parameters => words(&point()),
                Role::Others => others.clone(),
                Role::Data => words(&columns(&batch.data)),
                Role::BatchConstants => words(&batch_constants(batch)),
                Role::Gradient => gradient.clone(),
                other => panic!("{other:?}"),
            })
            .collect();
        buffers.push(offsets);
        // Fewer workgroups than owners fill, so that threads take several.
        let groups = shape.owners.div_ceil(64).div_ceil(2);
        if plan.kernel.has_total() {
            buffers.push(vec![0; groups as usize]);
        }
        let ListShape { owners, entries, first, .. } = *shape;
        buffers.push(RecomputeDispatch::new(owners, entries, first, range.len() as u32, add).words().to_vec());
        interpreter::run(&text, [groups, 1], &mut buffers);
        if plan.kernel.has_total() {
            value += buffers[plan.roles.len() + 1].iter().map(|&word| f64::from(f32::from_bits(word))).sum::<f64>();
        }
        let result = plan.roles.iter().position(|role| *role == Role::Gradient).unwrap();
        gradient.clone_from(&buffers[result]);
    }
    value
}

#[test]
fn sums_over_lists_are_the_gradient_and_count_every_instance_once() {
    for (name, batch) in batches() {
        for entry in [Entry::SumGradient, Entry::CostGradient] {
            let (value, expected) = reference(&batch, entry);
            let scale = expected.iter().fold(0.0f64, |scale, g| scale.max(g.abs()));
            let mut gradient = vec![BEFORE.to_bits(); PARAMETERS as usize];
            let found = listed(&batch, 0..batch.count as usize, entry, 0, &mut gradient);
            // Some tens of roundings of terms that are all of one sign, or nearly.
            assert!((found - value).abs() < 2e-6 * value.abs(), "{name}, {entry:?}: {found}, not {value}");
            for (place, (word, expected)) in gradient.iter().zip(&expected).enumerate() {
                let got = f64::from(f32::from_bits(*word));
                let touched = *expected != 0.0;
                let is_right = (got - expected).abs() < 2e-6 * scale || (!touched && got == f64::from(BEFORE));
                assert!(is_right, "{name}, {entry:?}: gradient[{place}] is {got}, not {expected}");
            }
        }
    }
}

#[test]
fn ranges_of_instances_add_up() {
    for (name, batch) in batches() {
        let (value, expected) = reference(&batch, Entry::CostGradient);
        let scale = expected.iter().fold(0.0f64, |scale, g| scale.max(g.abs()));
        let mut gradient = vec![0; PARAMETERS as usize];
        let middle = batch.count as usize / 2;
        let mut found = listed(&batch, 0..middle, Entry::CostGradient, 1, &mut gradient);
        found += listed(&batch, middle..batch.count as usize, Entry::CostGradient, 1, &mut gradient);
        assert!((found - value).abs() < 2e-6 * value.abs(), "{name}: {found}, not {value}");
        for (word, expected) in gradient.iter().zip(&expected) {
            let got = f64::from(f32::from_bits(*word));
            assert!((got - expected).abs() < 2e-6 * scale, "{name}: {got}, not {expected}");
        }
    }
}

#[test]
fn short_residuals_pay_and_long_ones_do_not() {
    for (name, batch) in batches() {
        assert!(recompute::pays(&batch.class, Width::Single).unwrap(), "{name}");
        assert!(recompute::pays(&batch.class, Width::Pair).unwrap(), "{name} in pairs");
    }
    let mut r = Recorder::default();
    let (a, b) = (r.parameter(0), r.parameter(3));
    let mut residual = r.apply(Op::Mul, &[a, b]);
    for _ in 0..20 {
        residual = r.apply(Op::Pow, &[residual, b]);
    }
    let tape = r.tape(vec![residual], 6, 0);
    let long = batch(vec![0, 0], ends(), Vec::new(), tape);
    assert!(!recompute::pays(&long.class, Width::Single).unwrap());
}

#[test]
fn a_block_with_very_many_entries_has_no_lists() {
    let mut indices = ends();
    indices[..40].fill(7);
    let heavy = batch(vec![0, 0], indices, Vec::new(), spring(false));
    let passes = gather_passes(&heavy, 0..heavy.count as usize, PARAMETERS).unwrap();
    assert_eq!(run_synchronously(recompute::shapes(&heavy, &passes, &Slices::unlimited())).unwrap(), None);
}

#[test]
fn the_text_of_springs_is_the_golden_one() {
    let (_, batch) = batches().remove(0);
    let slots = recompute::slots_by_dim(&batch.class).remove(0);
    let plan = RecomputePlan::new(&batch.class, Entry::SumGradient, &slots, "springs").unwrap();
    let text = wgsl::write_recompute(&plan.kernel, wgsl::PairForm::Split);
    interpreter::validated(&text);
    let text = residua_portable::without_libraries(&text, &[]);
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/springs_by_block.wgsl");
    if std::env::var_os("RESIDUA_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == golden, "springs_by_block.wgsl differs; RESIDUA_BLESS=1 accepts it:\n{text}");
}
