//! Templates of many small problems, made by hand, and what runs them natively: the CPU's solver, whose kernels are interpreted,
//! and the device's kernel in the interpreter of shaders.

use residua::model::losses::LossParameters;
use residua::model::{Model, Tape};
use residua::solve::findings::sentences;
use residua::solve::many::device::DeviceBatch;
use residua::solve::many::guard::Guarded;
use residua::solve::many::{Batch, ManyListener, ManyOptions, ManySolutions, SharedProblem, Varying, cpu};
use residua::solve::rules::Tolerances;
pub use residua_base::cooperative::run_synchronously as block_on;
use residua_codegen::wgsl::PairForm;
use residua_ir::graph::Op;

use super::recorder::{Recorder, compiled, problem};
use crate::interpreter;

/// Hears nothing and never stops.
pub struct Silent;

impl ManyListener for Silent {
    fn progress(&mut self, _: u32) {}
    fn aborted(&mut self) -> bool {
        false
    }
}

/// What was found of many problems, in sentences.
pub fn message(guarded: &Guarded) -> String {
    sentences(guarded.findings().iter())
}

/// A residual block of a draft.
struct Block {
    slots: Vec<u32>,
    indices: Vec<u32>,
    data: Vec<f64>,
    tape: Tape,
    loss: LossParameters,
    /// The data column that is the weight of an instance.
    weight: Option<u32>,
}

/// A template under construction: arrays of parameters, then residual blocks over them.
#[derive(Default)]
pub struct Draft {
    /// Dimension, count and manifold.
    arrays: Vec<(u32, u32, &'static str)>,
    blocks: Vec<Block>,
    pub values: Vec<f64>,
}

impl Draft {
    pub fn array(&mut self, dim: u32, manifold: &'static str, values: &[f64]) {
        self.arrays.push((dim, values.len() as u32 / dim, manifold));
        self.values.extend_from_slice(values);
    }

    /// Residuals of instances that take one block each slot: `slots` has the array and, by instance, the number of its block.
    pub fn block(
        &mut self,
        slots: &[(usize, &[u32])],
        data: &[&[f64]],
        loss: LossParameters,
        residuals: impl FnOnce(&mut Recorder, &[u32], &[u32]) -> Vec<u32>,
    ) {
        let parameters = slots.iter().map(|&(array, _)| self.arrays[array].0).sum();
        let mut recorder = Recorder::default();
        let inputs: Vec<u32> = (0..parameters).map(|number| recorder.parameter(number)).collect();
        let of_data: Vec<u32> = (0..data.len() as u32).map(|column| recorder.data(column)).collect();
        let outputs = residuals(&mut recorder, &inputs, &of_data);
        self.blocks.push(Block {
            slots: slots.iter().map(|&(array, _)| array as u32).collect(),
            indices: slots.iter().flat_map(|(_, blocks)| blocks.iter().copied()).collect(),
            data: data.concat(),
            tape: recorder.tape(outputs, parameters, data.len() as u32),
            loss,
            weight: None,
        });
    }

    /// The last data column of the last block is the weight of its instances.
    pub fn weighted(mut self) -> Draft {
        let block = self.blocks.last_mut().unwrap();
        block.weight = Some((block.data.len() / (block.indices.len() / block.slots.len())) as u32 - 1);
        self
    }

    pub fn model(&self) -> Model {
        let names: Vec<String> = (0..self.arrays.len()).map(|array| format!("array{array}")).collect();
        let arrays: Vec<_> = names
            .iter()
            .zip(&self.arrays)
            .map(|(name, &(dim, count, manifold))| (name.as_str(), dim, count, manifold))
            .collect();
        let mut input = problem(&arrays);
        for (number, Block { slots, indices, data, tape, weight, .. }) in self.blocks.iter().enumerate() {
            let name = format!("block {number}");
            input.add_residuals(&name, slots.clone(), indices.clone(), data.clone(), tape.clone()).unwrap();
            if let Some(column) = *weight {
                input.set_instance_weights(number as u32, column).unwrap();
            }
        }
        let mut model = compiled(input);
        for (info, block) in model.blocks.iter_mut().zip(&self.blocks) {
            info.loss = block.loss;
        }
        model
    }

    pub fn template(&self) -> SharedProblem {
        SharedProblem::new(self.model(), self.values.clone(), &vec![false; self.values.len()], None).unwrap()
    }
}

/// Samples of a peak: amplitude, centre, width, offset, slope at t = −1 … 1.
pub const SAMPLES: usize = 25;

pub fn time(sample: usize) -> f64 {
    (sample as f64 - 12.0) / 12.0
}

pub fn peak(p: &[f64], t: f64) -> f64 {
    let z = (t - p[1]) / p[2];
    p[0] * (-z * z).exp() + p[3] + p[4] * t
}

/// One fit: 5 parameters that all samples share; data columns t and y.
pub fn peaks(loss: LossParameters) -> Draft {
    let mut draft = Draft::default();
    draft.array(5, "euclidean", &[1.0, 0.0, 0.4, 0.0, 0.0]);
    let t: Vec<f64> = (0..SAMPLES).map(time).collect();
    let y: Vec<f64> = (0..SAMPLES).map(|sample| peak(&[2.0, 0.1, 0.3, 0.5, 0.2], time(sample))).collect();
    draft.block(&[(0, &[0; SAMPLES])], &[&t, &y], loss, |g, p, data| {
        let offset = g.sub(data[0], p[1]);
        let z = g.div(offset, p[2]);
        let square = g.mul(z, z);
        let negative = g.apply(Op::Neg, &[square]);
        let bell = g.apply(Op::Exp, &[negative]);
        let bell = g.mul(p[0], bell);
        let line = g.mul(p[4], data[0]);
        let sum = g.add(bell, p[3]);
        let sum = g.add(sum, line);
        vec![g.sub(sum, data[1])]
    });
    draft
}

/// Numbers spread over [−1, 1), the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// So many peaks with noise: parameters, and samples of each.
pub fn noisy_peaks(count: u32, noise: f64) -> (Vec<f64>, Vec<f64>) {
    let mut random = Random(7);
    let (mut truth, mut samples) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let p = [
            2.0 + random.next(),
            0.4 * random.next(),
            0.35 + 0.1 * random.next(),
            0.5 * random.next(),
            0.3 * random.next(),
        ];
        samples.extend((0..SAMPLES).map(|sample| peak(&p, time(sample)) + noise * random.next()));
        truth.extend(p);
    }
    (truth, samples)
}

/// Numbers that stand in memory.
pub fn numbers<'a>(values: Vec<f64>) -> residua::solve::many::Numbers<'a> {
    Box::new(move |first, into| into.copy_from_slice(&values[first..first + into.len()]))
}

/// A batch of which the samples of column `column` differ.
pub fn samples_batch<'a>(count: u32, samples: Vec<f64>, column: u32) -> Batch<'a> {
    let per_problem = samples.len() / (count as usize).max(1);
    let varying = Varying {
        batch: 0,
        first_column: column,
        sources: (0..per_problem as u32).collect(),
        length: per_problem,
        numbers: numbers(samples),
    };
    Batch { count, parameters: Vec::new(), data: vec![varying] }
}

pub fn options() -> ManyOptions {
    ManyOptions {
        max_iterations: Some(100),
        tolerances: Tolerances { cost: 1e-12, gradient: 1e-10, parameter: 1e-10 },
        initial_damping: Some(1e-3),
    }
}

pub fn on_cpu(template: &SharedProblem, batch: &Batch, options: &ManyOptions) -> ManySolutions {
    block_on(cpu::solve_many(template, batch, options, &mut Silent)).unwrap()
}

/// The device's kernel in the interpreter, in turns of so many iterations.
pub fn on_device(template: &SharedProblem, batch: &Batch, options: &ManyOptions, turn: u32) -> ManySolutions {
    on_device_in(template, batch, options, turn, None)
}

/// The same in f32, or in pairs with products of a form.
pub fn on_device_in(
    template: &SharedProblem,
    batch: &Batch,
    options: &ManyOptions,
    turn: u32,
    pairs: Option<PairForm>,
) -> ManySolutions {
    let device = DeviceBatch::new(template, batch, options, pairs).unwrap();
    let mut solutions = ManySolutions::default();
    let tables = device.tables(0..batch.count);
    let bits = |numbers: &[f32]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<u32>>();
    let mut buffers = [
        bits(&tables.parameters),
        bits(&tables.problem_numbers),
        bits(&device.template_numbers()),
        tables.state.clone(),
        device.uniform(&tables, turn).words().to_vec(),
    ];
    for _ in 0..=options.max_iterations.unwrap_or(100) / turn {
        interpreter::run(&device.program.wgsl, [batch.count.div_ceil(64), 1], &mut buffers);
    }
    let x: Vec<f32> = buffers[0].iter().map(|word| f32::from_bits(*word)).collect();
    device.finish(&tables, &x, &buffers[3], &mut solutions);
    solutions
}
