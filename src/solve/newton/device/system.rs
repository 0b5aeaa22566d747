//! A system on its device: buffers, bound lists, and how they are driven.

use std::rc::Rc;

use super::aggregates::Aggregates;
use super::record::{self, NAME, Recording, Shape};
use super::shaders::SystemKernel;
use super::state::{self, RUNNING, SOLVED, UNSOLVED};
use crate::eval::gpu::GpuEngine;
use crate::eval::layout::Memory;
use crate::eval::pairs::{from_vector, to_f32};
use crate::eval::record::Kernels;
use crate::eval::{Arithmetic, Functions, Objective};
use crate::gauss_newton::host::hessian_system::{Damping, Outcome};
use crate::model::{Class, Model};
use crate::solve::vector::{dot, max_norm};
use residua_base::deadline::Deadline;
use residua_base::error::{Error, ErrorCode, Result};
use residua_base::list::{Listed, PushAll};
use residua_codegen::Width;
use residua_codegen::wgsl::WORKGROUP_SIZE;
use residua_gpu::{Buffer, BufferRequest, Context, DownloadId, PipelineRequest, PreparedList};
use residua_linalg::loops::semidefinite::Negative;

/// Operations of a kernel of Hessians, at most: browsers take longer than a solve to compile more.
const MOST_OPERATIONS: usize = 8_000;
/// Iterations of conjugate gradients for one system. A mesh of a million vertices takes some thousand.
const MOST_ITERATIONS: f32 = 5_000.0;
/// Iterations submitted at a time, at least and at most.
const LEAST_BATCH: u32 = 16;
const MOST_BATCH: u32 = 48;

/// Conjugate gradients over the Hessians of instances, on a device.
pub(in crate::solve::newton) struct DeviceSystem {
    context: Context,
    /// Distance of vectors that share a buffer.
    stride: u64,
    aggregates: Aggregates,
    /// Where the inverse of the coarse part's matrix stands.
    inverse: u64,
    /// The basis of that matrix, if it has been made since the last Hessians.
    basis: Option<Vec<f32>>,
    coarse: Vec<f64>,
    parameters: Buffer,
    buffers: Vec<Buffer>,
    linearise: PreparedList,
    probe: PreparedList,
    begin: PreparedList,
    iterations: [PreparedList; 2],
    read: PreparedList,
    measure: PreparedList,
    linearised: [DownloadId; 2],
    probed: DownloadId,
    of_state: DownloadId,
    measured: DownloadId,
    /// Diagonal of the sum of projected Hessians.
    diagonal: Vec<f64>,
    /// Instances that have negative eigenvalues.
    pub indefinite: usize,
    /// Whether all Hessians are finite.
    is_finite: bool,
    /// Whether the last system was solved as exactly as asked for.
    pub is_solved: bool,
    /// Whether the last step is that of a matrix in which eigenvalues are replaced.
    pub is_replaced: bool,
    /// The power of two that the gradient is multiplied by there.
    scale: f64,
    /// Iterations since the last Hessians, and of the last system.
    pub taken: u32,
    last: u32,
}

impl DeviceSystem {
    /// The system of functions on a device. `None` where that does not take it, or the deadline passes before kernels are there.
    ///
    /// # Errors
    /// What compiling fails with.
    pub async fn new(
        functions: &mut Functions,
        objective: Objective,
        negative: Negative,
        end: Deadline,
    ) -> Result<Option<DeviceSystem>> {
        if functions.arithmetic() != Arithmetic::F32 {
            return Ok(None);
        }
        let constant = words_of(functions.constant());
        let Some((engine, model)) = functions.on_device() else { return Ok(None) };
        let Some(shape) = Shape::of(model, objective) else { return Ok(None) };
        let mut entries = record::entries(shape.numbers);
        for batch in &model.batches {
            let entry = record::hessian(batch, objective);
            if !entries.contains(&entry) {
                entries.push(entry);
            }
        }
        engine.refresh(model, &entries).await?;
        for (number, batch) in model.batches.iter().enumerate() {
            let plan = engine.access_plans().plan(number, record::hessian(batch, objective))?;
            if plan.kernel.text_operations() > MOST_OPERATIONS {
                return Ok(None);
            }
        }
        let factor = match negative {
            Negative::Clamped => 1.0,
            Negative::Absolute => 2.0,
        };
        let recording = match record::record(&engine.descent(model, objective), &shape, factor) {
            Err(error) if error.code == ErrorCode::LimitExceeded => return Ok(None),
            recording => recording?,
        };
        let limits = engine.context().limits();
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        let units = shape.units.len() as u64 / 3;
        let takes_units = units <= u64::from(limits.max_compute_workgroups_per_dimension);
        if !takes_units || recording.sizes.iter().any(|bytes| *bytes > most) {
            return Ok(None);
        }
        match DeviceSystem::make(engine, model, shape, recording, &constant, end).await {
            Err(error) if matches!(error.code, ErrorCode::OutOfMemory | ErrorCode::LimitExceeded) => Ok(None),
            made => made,
        }
    }

    async fn make(
        engine: &mut GpuEngine,
        model: &Model,
        shape: Shape,
        recording: Recording,
        constant: &[u32],
        end: Deadline,
    ) -> Result<Option<DeviceSystem>> {
        let Recording { linearise, probe, begin, iterations: [projected, exact], read, measure, .. } = &recording;
        let segments = [linearise, probe, begin, projected, exact, read, measure];
        let of_kernel = |kernel: SystemKernel| {
            let is_of = |(number, _): &&(usize, Rc<Class>)| kernel == SystemKernel::Project(*number);
            let class = recording.classes.iter().find(is_of).map(|(_, class)| &**class);
            let (wgsl, layout) = (kernel.wgsl(shape.numbers, class), kernel.layout());
            Ok(PipelineRequest { wgsl, entry: kernel.name().to_owned(), layout })
        };
        let Some(pipelines) = engine.pipelines_of(&segments, of_kernel, end).await? else { return Ok(None) };
        let memory = segments.iter().flat_map(|segment| segment.of_functions()).list();
        let request = |(number, &bytes): (usize, &u64)| match number {
            record::UNIFORMS => BufferRequest::uniform(NAME, bytes),
            _ => BufferRequest::storage(NAME, bytes.max(16)).zeroed(),
        };
        let requests = recording.sizes.iter().enumerate().map(request).list();
        let buffers = engine.allocate_for_solver(model, &memory, requests).await?;
        let context = engine.context().clone();
        let tables = [
            (record::CONSTANT, constant),
            (record::BLOCKS, &shape.aggregates.table),
            (record::UNITS, &shape.units),
            (record::UNIFORMS, &recording.uniforms),
        ];
        for (number, words) in tables {
            context.write(&buffers[number], 0, bytemuck::cast_slice(words))?;
        }
        context.write(&buffers[record::STATE], 4 * state::OPEN as u64, bytemuck::bytes_of(&1.0_f32))?;
        let mut prepared = Vec::new();
        for segment in segments {
            prepared.push(engine.bind_segment(model, segment, |number| Ok(buffers[number].clone()), &pipelines).await?);
        }
        let Ok([linearise, probe, begin, projected, exact, read, measure]) = <[PreparedList; 7]>::try_from(prepared)
        else {
            return Err(Error::internal("Newton's method has seven lists"));
        };
        Ok(Some(DeviceSystem {
            parameters: engine.buffer(model, Memory::Parameters).await?,
            buffers,
            linearise,
            probe,
            begin,
            iterations: [projected, exact],
            read,
            measure,
            linearised: recording.linearised,
            probed: recording.probed,
            of_state: recording.state,
            measured: recording.measured,
            context,
            stride: shape.stride(),
            inverse: 4 * u64::from(shape.coarse_places()[1]),
            aggregates: shape.aggregates,
            basis: None,
            coarse: Vec::new(),
            diagonal: Vec::new(),
            indefinite: 0,
            is_finite: false,
            is_solved: false,
            is_replaced: false,
            scale: 1.0,
            taken: 0,
            last: 0,
        }))
    }

    /// Diagonal of the sum of projected Hessians.
    pub fn diagonal(&self) -> &[f64] {
        &self.diagonal
    }

    /// The Hessians at a point.
    ///
    /// # Errors
    /// Those of the device.
    pub async fn linearise(&mut self, x: &[f64]) -> Result<()> {
        self.context.write(&self.parameters, 0, bytemuck::cast_slice(&to_f32(x.iter())))?;
        let downloads = self.context.submit_in_turn(&[&self.linearise])?.finish().await?;
        let [diagonal, counts] = self.linearised;
        self.diagonal = from_vector(Width::Single, downloads.reals(diagonal), x.len());
        let counts = downloads.words(counts);
        self.is_finite = counts.iter().all(|&count| count <= WORKGROUP_SIZE);
        let indefinite: u64 = counts.iter().copied().map(u64::from).sum();
        self.indefinite = if self.is_finite { indefinite as usize } else { 0 };
        self.taken = 0;
        self.basis = None;
        Ok(())
    }

    /// Solves for −gradient over the coordinates that are not frozen, with that damping at least, until the residual has fallen to a share of what it was in
    /// the norm of the preconditioner. With a ratio above 0 the step d is that of the Hessian H itself, in which no eigenvalues are replaced, where that is
    /// positive along each direction of conjugate gradients and dᵀPd ≤ ratio · dᵀHd for the projected one P: by the inequality of Cauchy and Schwarz d promises
    /// at most `ratio` times as much as a step with P then.
    ///
    /// # Errors
    /// Those of the device.
    pub async fn solve(
        &mut self,
        (gradient, frozen): (&[f64], &[bool]),
        relative: &mut f64,
        (ratio, share): (f64, f64),
        step: &mut [f64],
        stops: &mut dyn FnMut() -> bool,
    ) -> Result<Outcome> {
        if !self.is_finite {
            return Ok(Outcome::NotFinite);
        }
        let mut free = gradient.to_vec();
        for (entry, frozen) in free.iter_mut().zip(frozen) {
            if *frozen {
                *entry = 0.0;
            }
        }
        let largest = max_norm(&free);
        step.fill(0.0);
        self.is_solved = true;
        if largest == 0.0 {
            return Ok(Outcome::Solved);
        }
        // No damping that is relative to the diagonal makes a step along a slope without curvature.
        if free.iter().zip(&self.diagonal).any(|(entry, diagonal)| *entry != 0.0 && *diagonal <= 0.0) {
            return Ok(Outcome::Singular);
        }
        // Squares of small and of large gradients are in the range of single precision, too.
        self.scale = reciprocal_power(largest);
        free.iter_mut().for_each(|entry| *entry *= self.scale);
        let scaled = to_f32(free.iter());
        let first = 4 * u64::from(state::GRADIENT) * self.stride;
        self.context.write(&self.buffers[record::VECTORS], first, bytemuck::cast_slice(&scaled))?;
        self.context.write(&self.buffers[record::HELD], 0, bytemuck::cast_slice(&words_of(frozen)))?;
        self.precondition(frozen, *relative).await?;
        self.is_replaced = false;
        if ratio > 0.0 && self.indefinite > 0 {
            let Some(status) = self.iterate(1, *relative, share, stops).await? else { return Ok(Outcome::Stopped) };
            if status == SOLVED || status == UNSOLVED {
                self.read_step(step).await?;
                if self.is_within(ratio, gradient, *relative, step).await? {
                    self.is_solved = status == SOLVED;
                    return Ok(Outcome::Solved);
                }
            }
        }
        self.is_replaced = self.indefinite > 0;
        loop {
            let Some(status) = self.iterate(0, *relative, share, stops).await? else { return Ok(Outcome::Stopped) };
            self.is_solved = status == SOLVED;
            if status == SOLVED || status == UNSOLVED {
                self.read_step(step).await?;
                return Ok(Outcome::Solved);
            }
            match Damping::IN_SINGLE_PRECISION.raised(*relative) {
                Some(damping) => *relative = damping,
                None => return Ok(Outcome::Singular),
            }
        }
    }

    /// Makes the coarse part of the preconditioner.
    async fn precondition(&mut self, frozen: &[bool], damping: f64) -> Result<()> {
        if self.aggregates.count == 1 {
            return Ok(());
        }
        let basis = self.aggregates.basis(&self.diagonal, frozen);
        if self.basis.as_ref() != Some(&basis) {
            let first = 4 * u64::from(state::BASIS) * self.stride;
            self.context.write(&self.buffers[record::VECTORS], first, bytemuck::cast_slice(&basis))?;
            let downloads = self.context.submit_in_turn(&[&self.probe])?.finish().await?;
            self.coarse = self.aggregates.matrix(downloads.reals(self.probed));
        }
        let inverse = self.aggregates.inverse(&self.coarse, damping, &self.diagonal, &basis);
        self.basis = Some(basis);
        self.context.write(&self.buffers[record::COARSE], self.inverse, bytemuck::cast_slice(&inverse))
    }

    /// Whether the projected Hessian along the step that was read is at most so many times what the Hessian is.
    async fn is_within(&self, ratio: f64, gradient: &[f64], damping: f64, step: &[f64]) -> Result<bool> {
        if ratio == f64::INFINITY {
            return Ok(true);
        }
        let downloads = self.context.submit_in_turn(&[&self.measure])?.finish().await?;
        let sums = downloads.reals(self.measured).iter().map(|sum| f64::from(*sum));
        let damped = self.diagonal.iter().zip(step).map(|(diagonal, entry)| diagonal * entry * entry);
        let projected = sums.sum::<f64>() / self.scale.powi(2) + damping * damped.sum::<f64>();
        Ok(projected <= -ratio * dot(gradient, step))
    }

    /// Runs conjugate gradients from 0 over one of the tables; `None` where the caller stops them.
    async fn iterate(
        &mut self,
        table: usize,
        damping: f64,
        share: f64,
        stops: &mut dyn FnMut() -> bool,
    ) -> Result<Option<f32>> {
        let wanted = [damping as f32, (share * share) as f32, MOST_ITERATIONS];
        self.context.write(&self.buffers[record::STATE], 4 * state::DAMPING as u64, bytemuck::cast_slice(&wanted))?;
        let batch = (self.last / 4).clamp(LEAST_BATCH, MOST_BATCH);
        let mut lists = vec![&self.begin];
        let mut submit = || {
            lists.push_all(std::iter::repeat_n(&self.iterations[table], batch as usize));
            lists.push(&self.read);
            self.context.submit_in_turn(&std::mem::take(&mut lists))
        };
        let mut underway = submit()?;
        let status = loop {
            // One batch ahead of what is read: what it does after the end changes nothing.
            let next = submit()?;
            let downloads = underway.finish().await?;
            underway = next;
            let words = downloads.reals(self.of_state);
            if words[state::STATUS] != RUNNING {
                self.last = words[state::ITERATIONS] as u32;
                self.taken += self.last;
                break Some(words[state::STATUS]);
            }
            if stops() {
                break None;
            }
        };
        underway.finish().await?;
        Ok(status)
    }

    async fn read_step(&self, step: &mut [f64]) -> Result<()> {
        // The first of the vectors.
        let (downloads, found) = self.context.read(&self.buffers[record::VECTORS], 4 * step.len() as u64).await?;
        let found = from_vector(Width::Single, downloads.reals(found), step.len());
        step.iter_mut().zip(found).for_each(|(entry, number)| *entry = number / self.scale);
        Ok(())
    }
}

/// 1 for each flag that is set.
fn words_of(flags: &[bool]) -> Vec<u32> {
    flags.iter().map(|&flag| u32::from(flag)).list()
}

/// The reciprocal of the power of two that is not above a number, or 1 where that has none of these.
fn reciprocal_power(number: f64) -> f64 {
    const BIAS: u64 = 1023;
    match number.to_bits() >> 52 {
        exponent @ 1..=2045 => f64::from_bits((2 * BIAS - exponent) << 52),
        _ => 1.0,
    }
}
