//! Many small problems on the device: so many at a time that a dispatch takes a fraction of a second, whatever the device.

use crate::shader_source::binding_kinds;
use residua_base::clock::now_ms;
use residua_base::cooperative::Yielder;
use residua_base::error::Result;
use residua_codegen::wgsl::PairForm;
use residua_gpu::{BindingKind, BufferRequest, CommandList, Context, PipelineRequest};

use super::device::DeviceBatch;
use super::program::resources;
use super::{Batch, ManyListener, ManyOptions, ManySolutions, SharedProblem};

/// Milliseconds that a dispatch shall take: the device draws in between.
const DISPATCH_MS: f64 = 100.0;

/// Iterations of a problem in one dispatch: more than most need, so that few are dispatched twice.
const TURN: u32 = 32;

/// Operations of the first dispatch, at 8 iterations a problem: a fraction of a second on the slowest device.
const FIRST_OPERATIONS: u64 = 1 << 28;

/// The buffers that the kernel binds, by binding number.
const NAMES: [&str; 5] = [
    "parameters of problems",
    "numbers of problems",
    "numbers of the template",
    "state of problems",
    "figures of problems",
];
const PARAMETERS: usize = 0;
const STATE: usize = 3;

/// Solves the problems of a batch on a device: in f32, or in pairs with products of this form.
///
/// # Errors
/// `limit-exceeded` for problems that are too large for a thread; what the device fails with.
pub async fn solve_many(
    context: &Context,
    template: &SharedProblem,
    batch: &Batch<'_>,
    options: &ManyOptions,
    pairs: Option<PairForm>,
    audience: &mut dyn ManyListener,
) -> Result<ManySolutions> {
    let device = DeviceBatch::new(template, batch, options, pairs)?;
    let layout = binding_kinds(&resources());
    let request =
        PipelineRequest { wgsl: device.program.wgsl.clone(), entry: "solve_many".to_owned(), layout: layout.clone() };
    let pipelines = context.pipelines(&[request], &mut |_, _| Ok(())).await?;
    let template_numbers = device.template_numbers();

    let limits = context.limits();
    let largest =
        limits.max_storage_buffer_binding_size.min(limits.max_buffer_size / 2) / device.largest_column_bytes();
    let most = (largest.saturating_sub(64)).clamp(64, 1 << 20) as f64;
    // f64::clamp between bounds that are not constants brings the formatting of floats into the module: 20 KB.
    let mut at_a_time = ((FIRST_OPERATIONS / (8 * device.program.operations).max(1)) as f64).max(64.0).min(most);
    let mut solutions = ManySolutions::default();
    let mut yielder = Yielder::new();
    let mut first = 0;
    while first < batch.count {
        let problems = first..first.saturating_add(at_a_time as u32).min(batch.count);
        let tables = device.tables(problems.clone());
        let words = device.uniform(&tables, TURN).words();
        let contents: [&[u8]; 5] = [
            bytemuck::cast_slice(&tables.parameters),
            bytemuck::cast_slice(&tables.problem_numbers),
            bytemuck::cast_slice(&template_numbers),
            bytemuck::cast_slice(&tables.state),
            bytemuck::cast_slice(&words),
        ];
        let mut list = CommandList::new();
        let kernel = list.pipeline("solve_many", &layout);
        let (mut requests, mut bound) = (Vec::new(), Vec::new());
        for ((name, content), kind) in NAMES.into_iter().zip(contents).zip(&layout) {
            let bytes = content.len() as u64;
            let of_kind = if *kind == BindingKind::Uniform { BufferRequest::uniform } else { BufferRequest::storage };
            requests.push(of_kind(name, bytes));
            let buffer = list.buffer(name, bytes);
            bound.push(list.whole(buffer));
        }
        let workgroups = context.limits().split_workgroups(u64::from(tables.stride / 64))?;
        list.dispatch(kernel, &bound, workgroups);
        let (solution, endings) = (list.download(bound[PARAMETERS]), list.download(bound[STATE]));
        let buffers = context.allocate(&requests).await?;
        for (buffer, content) in buffers.iter().zip(contents) {
            context.write(buffer, 0, content)?;
        }
        let prepared = context.prepare(&list, &buffers, &pipelines).await?;

        let mut longest = 0.0f64;
        let mut latest = None;
        let mut running = true;
        while running && !audience.aborted() {
            let began = now_ms();
            let downloads = prepared.run(&[]).await?;
            longest = longest.max(now_ms() - began);
            running = downloads.words(endings)[..tables.count()].contains(&0);
            latest = Some(downloads);
        }
        let (x, ends) = match &latest {
            Some(downloads) => (downloads.reals(solution), downloads.words(endings)),
            None => (tables.parameters.as_slice(), tables.state.as_slice()),
        };
        device.finish(&tables, x, ends, &mut solutions);
        first = problems.end;
        audience.progress(first);
        at_a_time = (at_a_time * (DISPATCH_MS / longest.max(0.1)).clamp(0.25, 8.0)).max(64.0).min(most).floor();
        yielder.yield_if_due().await;
    }
    Ok(solutions)
}
