//! Residuals that read tables: the kernels of a device, interpreted in f32 and in pairs, against the same in f64.

use crate::interpreter::{run, validated};
use crate::many::{Draft, on_cpu, on_device_in, options};
use crate::recorder::{Recorder, compiled, problem};
use residua::eval::pairs::to_table;
use residua::model::access_plan::{AccessPlan, Entry, Role};
use residua::model::losses::LossParameters;
use residua::model::recompute::pays;
use residua::model::{Batch, Model};
use residua_codegen::Width;
use residua_codegen::wgsl::{self, Dispatch, PairDispatch, PairForm, kernel_resources};
use residua_ir::graph::Op;

const COUNT: u32 = 40;

/// A wave, of which the samples have digits that f32 has not.
fn table() -> Vec<f64> {
    (0..60).map(|place| 20.0 + (0.3 * f64::from(place)).sin()).collect()
}

/// v + t (w − v), of v and w around a + b s in the table.
fn interpolated(r: &mut Recorder, [a, b, s]: [u32; 3], first: f64) -> u32 {
    let product = r.mul(b, s);
    let place = r.add(a, product);
    let floor = r.apply(Op::Floor, &[place]);
    let t = r.sub(place, floor);
    let [first, second, length] = [first, first + 1.0, 58.0].map(|number| r.literal(number));
    let [v, w] = [first, second].map(|first| r.apply(Op::Lookup, &[floor, first, length]));
    let difference = r.sub(w, v);
    let change = r.mul(t, difference);
    r.add(v, change)
}

fn interpolate(table: &[f64], first: usize, place: f64) -> f64 {
    let (floor, rest) = (place.floor() as usize, place.fract());
    table[first + floor] + rest * (table[first + floor + 1] - table[first + floor])
}

/// c · table(a + b s) − y, of instances that have an a each, and share b and c.
fn model() -> Model {
    let mut r = Recorder::default();
    let [a, b, c] = [0, 1, 2].map(|number| r.parameter(number));
    let [s, y] = [0, 1].map(|number| r.data(number));
    let value = interpolated(&mut r, [a, b, s], 1.0);
    let scaled = r.mul(c, value);
    let constant = r.constant(0.25);
    let shifted = r.add(scaled, constant);
    let residual = r.sub(shifted, y);
    let mut input = problem(&[("a", 1, COUNT, "euclidean"), ("b", 2, 1, "euclidean")]);
    let indices = (0..COUNT).chain((0..COUNT).map(|_| 0)).collect();
    let data = (0..COUNT).map(s_of).chain((0..COUNT).map(|instance| 19.5 + f64::from(instance % 3))).collect();
    input.add_residuals("r", vec![0, 1], indices, data, r.tape(vec![residual], 3, 2)).unwrap();
    input.set_tables(table());
    compiled(input)
}

fn s_of(instance: u32) -> f64 {
    f64::from(instance) + 0.1
}

fn point() -> Vec<f64> {
    (0..COUNT).map(|instance| 0.3 + 0.21 * f64::from(instance % 11)).chain([1.1, 1.05]).collect()
}

/// Numbers with their low parts after all of them, as vectors over parameters have them in pairs.
fn vector(numbers: &[f64], width: Width) -> (Vec<f32>, u32) {
    let low = numbers.len().next_multiple_of(64);
    let mut padded = numbers.to_vec();
    padded.resize(low, 0.0);
    (to_table(width, &padded), low as u32)
}

fn residuals(batch: &Batch, tables: &[f64], width: Width) -> Vec<f64> {
    let plan = AccessPlan::in_width(&batch.class, batch.rows, Entry::Values, width, "").unwrap();
    let ((x, low), constants) =
        (vector(&point(), width), [&[1.0, 0.0, 1.0, 1.0, 1.0][..], &batch.batch_constants].concat());
    let bits = |numbers: Vec<f32>| numbers.into_iter().map(f32::to_bits).collect::<Vec<u32>>();
    let of_role = |role: &Role| match role {
        Role::Parameters => bits(x.clone()),
        Role::Indices => batch.indices.clone(),
        Role::Data => bits(to_table(width, &batch.data)),
        Role::BatchConstants => bits(to_table(width, &constants)),
        Role::Tables => bits(to_table(width, tables)),
        Role::Residuals => vec![0; 128],
        _ => unreachable!("residuals have no such buffer"),
    };
    let mut buffers: Vec<Vec<u32>> = plan.roles.iter().map(of_role).collect();
    let place = plan.roles.iter().position(|role| *role == Role::Residuals).unwrap();
    if wgsl::reads_zero(&plan.kernel) {
        buffers.push(vec![0]);
    }
    let dispatch = Dispatch::new(COUNT, COUNT, 0);
    buffers.push(match width {
        Width::Single => dispatch.words().to_vec(),
        Width::Pair => PairDispatch::new(dispatch, [low, 64]).words().to_vec(),
    });
    run(&wgsl::write(&plan.kernel, PairForm::Split).unwrap(), [1, 1], &mut buffers);
    let number = |place: usize| f64::from(f32::from_bits(place as u32));
    let of = |words: &[u32]| words.iter().map(|&word| number(word as usize)).collect::<Vec<f64>>();
    let (high, low) = (of(&buffers[place][..COUNT as usize]), of(&buffers[place][64..64 + COUNT as usize]));
    high.iter().zip(low).map(|(high, low)| if width == Width::Pair { high + low } else { *high }).collect()
}

#[test]
fn residuals_of_a_device_are_those_of_the_table() {
    let (model, x) = (model(), point());
    let batch = &model.batches[0];
    let expected = (0..COUNT as usize).map(|instance| {
        let place = x[instance] + x[COUNT as usize] * s_of(instance as u32);
        x[COUNT as usize + 1] * interpolate(&table(), 1, place) + 0.25 - batch.data[COUNT as usize + instance]
    });
    let expected: Vec<f64> = expected.collect();
    // Numbers of 20 and places up to 50, rounded to 24 and to 48 bits, some of them several times.
    for (width, most) in [(Width::Single, 2e-5), (Width::Pair, 1e-12)] {
        for (instance, (found, expected)) in residuals(batch, &model.tables, width).iter().zip(&expected).enumerate() {
            assert!((found - expected).abs() < most, "instance {instance} in {width:?}: {found}, not {expected}");
        }
    }
}

#[test]
fn every_kernel_is_valid_and_binds_what_every_device_takes() {
    let model = model();
    let batch = &model.batches[0];
    let check = |text: &str, storage: usize, about: &str| {
        validated(text);
        assert!(storage <= 8, "{about} binds {storage} storage buffers");
    };
    for width in [Width::Single, Width::Pair] {
        // Long sums alone have seeds, and they are of the params form, which has no tables.
        for entry in Entry::ALL.into_iter().filter(|entry| *entry != Entry::SeededGradient) {
            let plan = AccessPlan::in_width(&batch.class, batch.rows, entry, width, "").unwrap();
            let storage = kernel_resources(&plan.kernel).len() - 1;
            check(&wgsl::write(&plan.kernel, PairForm::Split).unwrap(), storage, &format!("{entry:?} in {width:?}"));
        }
        // Kernels over the lists of blocks have one buffer more, so there are none.
        assert!(!pays(&batch.class, width).unwrap());
    }
}

#[test]
fn many_problems_share_the_tables() {
    // a and c of c · table(a + s) from 24 samples each.
    let mut draft = Draft::default();
    draft.array(2, "euclidean", &[10.4, 1.0]);
    let s: Vec<f64> = (0..24).map(f64::from).collect();
    let y = vec![0.0; 24];
    draft.block(&[(0, &[0; 24])], &[&s, &y], LossParameters::squared(), |g, p, data| {
        let one = g.literal(1.0);
        let value = interpolated(g, [p[0], one, data[0]], 1.0);
        let scaled = g.mul(p[1], value);
        vec![g.sub(scaled, data[1])]
    });
    let mut template = draft.template();
    template.model.tables = table();
    let class = residua::model::Class { tables: 60, ..residua::model::Class::clone(&template.model.batches[0].class) };
    template.model.batches[0].class = std::rc::Rc::new(class);
    let truth = [[10.2, 1.3], [10.7, 0.6], [10.45, 2.0]];
    let samples = truth.iter().flat_map(|[a, c]| s.iter().map(move |s| c * interpolate(&table(), 1, a + s))).collect();
    let batch = crate::many::samples_batch(3, samples, 1);
    let difference = |x: &[f64]| x.iter().zip(truth.iter().flatten()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let cpu = on_cpu(&template, &batch, &options());
    assert!(difference(&cpu.x) < 1e-10, "{:?} {:?}", cpu.x, cpu.termination);
    // The slope of the samples is a fiftieth of them: of 24 and 48 bits that leaves some thousandth parts of a place and the square of that.
    for (form, most) in [(None, 1e-3), (Some(PairForm::Split), 1e-9)] {
        let device = on_device_in(&template, &batch, &options(), 40, form);
        assert!(difference(&device.x) < most, "{form:?}: {:?} {:?}", device.x, device.termination);
    }
}
