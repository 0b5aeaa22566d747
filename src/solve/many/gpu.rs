//! Many small problems on the device: so many at a time that a dispatch takes a fraction of a second, whatever the device.

use crate::clock::now_ms;
use crate::error::{Error, Result};
use crate::gpu::{BindingKind, Buffer, BufferRequest, CommandList, Context, Pipeline, PipelineRequest};
use crate::list::Listed;
use crate::turn::Turns;

use super::device::{DeviceBatch, Tables};
use super::{Audience, Batch, ManyOptions, ManySolutions, Template};

/// Milliseconds that a dispatch shall take: the device draws in between.
const DISPATCH_MS: f64 = 100.0;

/// Iterations of a problem in one dispatch: more than most need, so that few are dispatched twice.
const TURN: u32 = 32;

/// Operations of the first dispatch, at 8 iterations a problem: a fraction of a second on the slowest device.
const FIRST_OPERATIONS: u64 = 1 << 28;

/// The bindings of the kernel: parameters, the problems' numbers, the template's, state, uniform.
const LAYOUT: [BindingKind; 5] = [
    BindingKind::StorageReadWrite,
    BindingKind::StorageRead,
    BindingKind::StorageRead,
    BindingKind::StorageReadWrite,
    BindingKind::Uniform,
];

/// Solves the problems of a batch on a device.
///
/// # Errors
/// `limit-exceeded` for problems that are too large for a thread; what the device fails with.
pub async fn solve_many(
    context: &Context,
    template: &Template,
    batch: &Batch<'_>,
    options: &ManyOptions,
    audience: &mut dyn Audience,
) -> Result<ManySolutions> {
    let device = DeviceBatch::new(template, batch, options)?;
    let request =
        PipelineRequest { wgsl: device.program.wgsl.clone(), entry: "solve_many".to_owned(), layout: LAYOUT.to_vec() };
    let pipelines = context.pipelines(&[request], &mut |_, _| Ok(())).await?;
    let template_numbers = device.template_numbers();
    let bytes: &[u8] = bytemuck::cast_slice(&template_numbers);
    let shared =
        single(context.allocate(&[BufferRequest::storage("numbers of the template", bytes.len() as u64)]).await?)?;
    context.write(&shared, 0, bytes)?;

    let limits = context.limits();
    let largest =
        limits.max_storage_buffer_binding_size.min(limits.max_buffer_size / 2) / device.largest_column_bytes();
    let most = (largest.saturating_sub(64)).clamp(64, 1 << 20) as f64;
    // f64::clamp between bounds that are not constants brings the formatting of floats into the module: 20 KB.
    let mut at_a_time = ((FIRST_OPERATIONS / (8 * device.program.operations).max(1)) as f64).max(64.0).min(most);
    let mut solutions = ManySolutions::default();
    let mut turns = Turns::new();
    let mut first = 0;
    while first < batch.count {
        let problems = first..first.saturating_add(at_a_time as u32).min(batch.count);
        let tables = device.tables(problems.clone());
        let mut longest = 0.0f64;
        solve_chunk(context, &device, &tables, &shared, &pipelines, audience, &mut solutions, &mut longest).await?;
        first = problems.end;
        audience.progress(first);
        at_a_time = (at_a_time * (DISPATCH_MS / longest.max(0.1)).clamp(0.25, 8.0)).max(64.0).min(most).floor();
        turns.take().await;
    }
    Ok(solutions)
}

fn single(buffers: Vec<Buffer>) -> Result<Buffer> {
    buffers.into_iter().next().ok_or_else(|| Error::internal("one buffer was asked for and none came"))
}

/// Solves some problems, in as many dispatches as they need; says how long the longest took.
#[allow(clippy::too_many_arguments)]
async fn solve_chunk(
    context: &Context,
    device: &DeviceBatch<'_>,
    tables: &Tables,
    shared: &Buffer,
    pipelines: &[Pipeline],
    audience: &mut dyn Audience,
    solutions: &mut ManySolutions,
    longest: &mut f64,
) -> Result<()> {
    let Tables { parameters, problem_numbers, state, .. } = tables;
    let words = device.uniform(tables, TURN).words();
    let contents: [&[u8]; 4] = [
        bytemuck::cast_slice(parameters),
        bytemuck::cast_slice(problem_numbers),
        bytemuck::cast_slice(state),
        bytemuck::cast_slice(&words),
    ];
    let names = ["parameters of problems", "numbers of problems", "state of problems", "figures of problems"];
    let requests: Vec<BufferRequest> = names
        .iter()
        .zip(contents)
        .map(|(name, content)| {
            let bytes = content.len() as u64;
            if *name == names[3] { BufferRequest::uniform(*name, bytes) } else { BufferRequest::storage(*name, bytes) }
        })
        .list();
    let buffers = context.allocate(&requests).await?;
    for (buffer, content) in buffers.iter().zip(contents) {
        context.write(buffer, 0, content)?;
    }

    let mut list = CommandList::new();
    let kernel = list.pipeline("solve_many", &LAYOUT);
    let declared: Vec<_> =
        names.iter().zip(contents).map(|(name, content)| list.buffer(*name, content.len() as u64)).list();
    let template = list.buffer("numbers of the template", shared.size());
    let [x, own, ends, figures] = [0, 1, 2, 3].map(|k: usize| list.whole(declared[k]));
    let workgroups = context.limits().split_workgroups(u64::from(tables.stride / 64))?;
    list.dispatch(kernel, &[x, own, list.whole(template), ends, figures], workgroups);
    let (solution, endings) = (list.download(x), list.download(ends));
    let bound: Vec<Buffer> = buffers.iter().chain([shared]).cloned().list();
    let prepared = context.prepare(&list, &bound, pipelines).await?;
    if audience.aborted() {
        device.finish(tables, parameters, state, solutions);
        return Ok(());
    }
    loop {
        let began = now_ms();
        let results = prepared.run(&[]).await?;
        *longest = longest.max(now_ms() - began);
        let ends = results.words(endings);
        let running = ends[..tables.count()].contains(&0);
        if !running || audience.aborted() {
            device.finish(tables, results.reals(solution), ends, solutions);
            return Ok(());
        }
    }
}
