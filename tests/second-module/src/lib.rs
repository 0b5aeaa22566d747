//! A second WebAssembly module: one element-wise kernel on the device, made of the device, code generation and expression crates alone.
#![cfg(target_arch = "wasm32")]

use residua_base::Result;
use residua_codegen::wgsl::{self, Access, Dispatch, WORKGROUP_SIZE};
use residua_codegen::{Buffer, DType, Index, Kernel, Load, Output};
use residua_gpu::{BindingKind, BufferRequest, CommandList, Context, PipelineRequest};
use residua_ir::graph::{Graph, InputId, Op};
use wasm_bindgen::prelude::*;

/// √(x² + 1) of each number.
#[wasm_bindgen]
pub async fn hypotenuses(numbers: Vec<f32>) -> std::result::Result<Vec<f32>, String> {
    compute(&numbers).await.map_err(|error| error.message.clone())
}

async fn compute(numbers: &[f32]) -> Result<Vec<f32>> {
    let mut graph = Graph::new();
    let (x, one) = (graph.input(InputId(0)), graph.literal(1.0));
    let square = graph.apply(Op::Mul, &[x, x]);
    let sum = graph.apply(Op::Add, &[square, one]);
    let root = graph.apply(Op::Sqrt, &[sum]);
    let buffer = |name, written| Buffer { name, dtype: DType::Real, written };
    let kernel = Kernel {
        buffers: vec![buffer("x", false), buffer("y", true)],
        loads: vec![Load::read(0, Index::column(0))],
        outputs: vec![Output::store(root, 1, Index::column(0))],
        ..Kernel::new("hypotenuses", graph.check(1)?)
    };
    let kernel = kernel.check()?;

    let context = Context::create(None, None).await?;
    let kind = |access| match access {
        Access::Read => BindingKind::StorageRead,
        Access::ReadWrite => BindingKind::StorageReadWrite,
        Access::Uniform => BindingKind::Uniform,
    };
    let layout: Vec<BindingKind> =
        wgsl::kernel_resources(&kernel).iter().map(|resource| kind(resource.access)).collect();
    let request = PipelineRequest {
        wgsl: wgsl::write(&kernel, wgsl::PairForm::Split)?,
        entry: kernel.name.clone(),
        layout: layout.clone(),
    };
    let pipelines = context.pipelines(&[request], &mut |_, _| Ok(())).await?;

    let (count, bytes) = (numbers.len() as u32, 4 * numbers.len() as u64);
    let words = Dispatch::new(count, count, 0).words();
    let size = 4 * words.len() as u64;
    let requests = [
        BufferRequest::storage("x", bytes),
        BufferRequest::storage("y", bytes),
        BufferRequest::uniform("dispatch", size),
    ];
    let buffers = context.allocate(&requests).await?;
    let mut list = CommandList::new();
    let (x, y, dispatch) = (list.buffer("x", bytes), list.buffer("y", bytes), list.buffer("dispatch", size));
    let pipeline = list.pipeline(&kernel.name, &layout);
    list.upload(dispatch, 0, bytemuck::cast_slice(&words).to_vec());
    list.upload_argument(list.whole(x));
    let workgroups = context.limits().split_workgroups(u64::from(count.div_ceil(WORKGROUP_SIZE)))?;
    list.dispatch(pipeline, &[list.whole(x), list.whole(y), list.whole(dispatch)], workgroups);
    let output = list.download(list.whole(y));
    let prepared = context.prepare(&list, &buffers, &pipelines).await?;
    let results = prepared.run(&[bytemuck::cast_slice(numbers)]).await?.reals(output).to_vec();
    context.dispose();
    Ok(results)
}
