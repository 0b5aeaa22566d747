//! The normal equations on the device against the Gauss-Newton model on the CPU, in a browser on a real WebGPU device.

use crate::mixture::{PARAMETERS, model, point};
use crate::shared_context::shared_context;
use residua::eval::cpu::CpuEngine;
use residua::eval::declare::{Declare, Sums};
use residua::eval::gpu::GpuEngine;
use residua::eval::layout::Memory;
use residua::eval::record::Program;
use residua::eval::{Engine, Functions};
use residua::gauss_newton::device::blocks::block_numbers;
use residua::gauss_newton::device::shaders::ModelShader;
use residua::gauss_newton::device::{DeclareModel, DeviceModel, ModelBuffer};
use residua::gauss_newton::host::HostModel;
use residua_codegen::Width;
use residua_gpu::{BindingKind, BufferRequest, CommandList, DownloadId, PipelineId, PipelineRequest, Slice};
use wasm_bindgen_test::{console_log, wasm_bindgen_test};

/// Relative to the largest number: f32 residuals and partials, some tens of roundings deep.
const SINGLE: f64 = 2e-6;

/// A list with the buffers and pipelines that it declares.
#[derive(Default)]
struct Lists {
    list: CommandList,
    buffers: Vec<(Place, u64, Slice)>,
    kernels: Vec<(Kernel, PipelineId)>,
}

/// Whose buffer it is.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Own,
    Functions(Memory),
    Model(ModelBuffer),
}

/// Whose kernel it is.
#[derive(Clone, Copy, PartialEq)]
enum Kernel {
    Functions(Program),
    Model(ModelShader),
}

impl Lists {
    fn own(&mut self, name: &str, numbers: usize) -> Slice {
        let bytes = 4 * numbers as u64;
        let buffer = self.list.buffer(name, bytes);
        let slice = self.list.whole(buffer);
        self.buffers.push((Place::Own, bytes, slice));
        slice
    }

    fn buffer(&mut self, place: Place, name: String, bytes: u64) -> Slice {
        if let Some((.., slice)) = self.buffers.iter().find(|(known, ..)| *known == place) {
            return *slice;
        }
        let buffer = self.list.buffer(name, bytes);
        let slice = self.list.whole(buffer);
        self.buffers.push((place, bytes, slice));
        slice
    }

    fn kernel(&mut self, kernel: Kernel, name: &str, layout: &[BindingKind]) -> PipelineId {
        if let Some((_, pipeline)) = self.kernels.iter().find(|(known, _)| *known == kernel) {
            return *pipeline;
        }
        let pipeline = self.list.pipeline(name, layout);
        self.kernels.push((kernel, pipeline));
        pipeline
    }
}

impl Declare for Lists {
    fn list(&mut self) -> &mut CommandList {
        &mut self.list
    }

    fn memory(&mut self, memory: Memory, bytes: u64) -> Slice {
        self.buffer(Place::Functions(memory), memory.name(), bytes)
    }

    fn program(&mut self, program: Program, name: &str, layout: &[BindingKind]) -> PipelineId {
        self.kernel(Kernel::Functions(program), name, layout)
    }
}

impl DeclareModel for Lists {
    fn model_buffer(&mut self, buffer: ModelBuffer, bytes: u64) -> Slice {
        self.buffer(Place::Model(buffer), buffer.name(), bytes)
    }

    fn model_shader(&mut self, shader: ModelShader) -> PipelineId {
        self.kernel(Kernel::Model(shader), shader.entry(), &shader.layout())
    }
}

fn close(what: &str, got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len());
    let scale = expected.iter().fold(0.0f64, |scale, e| scale.max(e.abs()));
    let worst = got.iter().zip(expected).fold(0.0f64, |worst, (got, expected)| worst.max((got - expected).abs()));
    console_log!("{what}: {:.1e}", worst / scale.max(f64::MIN_POSITIVE));
    assert!(worst <= SINGLE * scale, "{what}: {worst} of {scale}");
}

#[wasm_bindgen_test]
async fn the_device_has_the_model_that_the_cpu_has() {
    for losses in [[("squared", 1.0); 3], [("cauchy", 0.8), ("tolerant", 0.5), ("huber", 0.3)]] {
        for batch_size in [None, Some(37)] {
            for disabled in [None, Some(1)] {
                compare(losses, batch_size, disabled).await;
            }
        }
    }
}

async fn compare(losses: [(&str, f64); 3], batch_size: Option<u32>, disabled: Option<usize>) {
    let mut model = model(losses);
    if let Some(block) = disabled {
        model.blocks[block].enabled = false;
    }
    let x = point();
    let mut cpu = Functions::new(model.clone(), Engine::Cpu(CpuEngine::new()), x.clone()).unwrap();
    let mut host = HostModel::default();
    let expected = host.linearise(&mut cpu, &x).await.unwrap();
    let pattern = host.pattern(&mut cpu).unwrap().clone();
    let p: Vec<f64> = (0..PARAMETERS).map(|i| f64::from((0.3 * i as f64).cos() as f32)).collect();
    let row = |row: usize| {
        let entries = pattern.row_offsets[row] as usize..pattern.row_offsets[row + 1] as usize;
        entries.map(|entry| (pattern.col_indices[entry] as usize, expected.entries[entry]))
    };
    let (mut g, mut q, mut square) = (vec![0.0; PARAMETERS], vec![0.0; PARAMETERS], 0.0);
    let mut normal = vec![vec![0.0; PARAMETERS]; PARAMETERS];
    for (number, residual) in expected.residuals.iter().enumerate() {
        let jvp: f64 = row(number).map(|(column, entry)| entry * p[column]).sum();
        square += jvp * jvp;
        for (column, entry) in row(number) {
            g[column] += entry * residual;
            q[column] += entry * jvp;
            for (other, second) in row(number) {
                normal[column][other] += entry * second;
            }
        }
    }

    let context = shared_context().await;
    let mut engine = GpuEngine::new(context.clone(), &model, Width::Single, batch_size).await.unwrap();
    let mut gauss_newton = DeviceModel::new(&engine, &model);
    gauss_newton.refresh(&mut engine, &model).await.unwrap();
    let mut lists = Lists::default();
    let [at, to, vector, gradient, product, heavy] =
        ["x", "x'", "p", "g", "q", "q of the curve"].map(|name| lists.own(name, PARAMETERS));
    let gate = lists.own("gate", 4);
    let recorded = gauss_newton.recorder(&engine, &model);
    let of_model = |lists: &Lists, buffer| {
        let (.., slice) = lists.buffers.iter().find(|(known, ..)| *known == Place::Model(buffer)).unwrap();
        *slice
    };
    let mut downloads: Vec<DownloadId> = Vec::new();
    let mut sums = |lists: &mut Lists, sums: Sums| {
        downloads.push(lists.list.download(sums.slice));
    };
    // Twice, so that nothing may depend on what stood there before.
    for _ in 0..2 {
        let cost = recorded.linearise(&mut lists, at, gradient, gate).unwrap();
        sums(&mut lists, cost);
        let norm = recorded.product(&mut lists, vector, product, gate).unwrap();
        sums(&mut lists, norm);
        // Of blocks with many entries the parts are still there.
        recorded.gather_heavy(&mut lists, heavy, Width::Single, gate, &|_| true).unwrap();
        let jvp = recorded.jvp(&mut lists, vector, gate).unwrap();
        sums(&mut lists, jvp);
        let reduction = recorded.trial(&mut lists, to, gate).unwrap();
        sums(&mut lists, reduction);
    }
    let scale = engine_scale(&lists);
    let high = of_model(&lists, ModelBuffer::BlockDiagonal);
    let low = of_model(&lists, ModelBuffer::BlockDiagonalLow);
    let vectors = [gradient, product, high, low, heavy].map(|slice| lists.list.download(slice));
    let mut buffers = Vec::new();
    for &(place, bytes, _) in &lists.buffers {
        buffers.push(match place {
            Place::Functions(memory) => engine.buffer(&model, memory).await.unwrap(),
            Place::Model(buffer) => {
                for (missing, request) in gauss_newton.missing(&[buffer]) {
                    let allocated = context.allocate(&[request]).await.unwrap().remove(0);
                    gauss_newton.take(&engine, missing, allocated).await.unwrap();
                }
                gauss_newton.buffer(buffer).unwrap()
            }
            Place::Own => context.allocate(&[BufferRequest::storage("own", bytes)]).await.unwrap().remove(0),
        });
    }
    let mut pipelines = Vec::new();
    for (kernel, _) in &lists.kernels {
        pipelines.push(match kernel {
            Kernel::Functions(program) => engine.pipelines(&[*program]).await.unwrap().remove(0),
            Kernel::Model(shader) => {
                let (wgsl, entry, layout) = (shader.wgsl(), shader.entry().to_owned(), shader.layout());
                let request = PipelineRequest { wgsl, entry, layout };
                context.pipelines(&[request], &mut |_, _| Ok(())).await.unwrap().remove(0)
            }
        });
    }
    let single = |numbers: &[f64]| numbers.iter().map(|&number| number as f32).collect::<Vec<f32>>();
    let other: Vec<f64> = x.iter().map(|x| f64::from((0.98 * x + 0.01) as f32)).collect();
    for (buffer, numbers) in buffers.iter().zip([&x, &other, &p]) {
        context.write(buffer, 0, bytemuck::cast_slice(&single(numbers))).unwrap();
    }
    context.write(&buffers[6], 0, bytemuck::cast_slice(&[1u32, 0, 0, 0])).unwrap();
    let prepared = context.prepare(&lists.list, &buffers, &pipelines).await.unwrap();
    let results = prepared.run(&[]).await.unwrap();
    let reals = |download| results.reals(download).iter().map(|&number| f64::from(number)).collect::<Vec<f64>>();

    let total = |download| reals(download).iter().sum::<f64>();
    let reduction = host.reduction(&mut cpu, &other).await.unwrap();
    for round in downloads.chunks_exact(4) {
        let expected = [expected.cost, square, square, reduction];
        for ((what, download), expected) in ["cost", "product", "jvp", "reduction"].iter().zip(round).zip(expected) {
            close(what, &[total(*download)], &[expected]);
        }
    }
    close("gradient", &reals(vectors[0]), &g);
    close("product", &reals(vectors[1]), &q);
    let curve = PARAMETERS - 2..PARAMETERS;
    close("product of the curve", &reals(vectors[4])[curve.clone()], &q[curve]);
    let (high, low) = (reals(vectors[2]), reals(vectors[3]));
    for array in &model.arrays {
        let numbers = block_numbers(array) as usize;
        let (mut got, mut expected) = (Vec::new(), Vec::new());
        for block in 0..array.count as usize {
            let first = array.offset as usize + block * numbers;
            let mut place = scale * first;
            for row in 0..numbers {
                for column in 0..=row {
                    got.push(high[place] + low[place]);
                    expected.push(normal[first + row][first + column]);
                    place += 1;
                }
            }
        }
        close(&format!("block diagonal of {}", array.name), &got, &expected);
    }
}

/// Numbers of the block diagonal for each parameter.
fn engine_scale(lists: &Lists) -> usize {
    let place = Place::Model(ModelBuffer::BlockDiagonal);
    let (_, bytes, _) = lists.buffers.iter().find(|(known, ..)| *known == place).unwrap();
    *bytes as usize / 4 / PARAMETERS
}
