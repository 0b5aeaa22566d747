//! The wasm-bindgen boundary: converts arguments and results, decides nothing.

use std::cell::{Cell, RefCell};
use std::pin::Pin;

use js_sys::{Reflect, Uint8Array};
use residua_base::adapter::{SOFTWARE_REASON, is_software};
use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use residua_codegen::wgsl::AccessMode;
use wasm_bindgen::prelude::*;

use crate::fuse::Target;
use crate::grad;
use crate::kernel::{Body, TensorKernel, Tile};
use crate::plan::{Place, Plan, Step, bytes_of_roots};
use crate::size::Size;
use crate::tape::Recipe;
use crate::turns;
use crate::wgsl::{self, DeviceLimits, KernelText, Windows};
use crate::{host_product, interpret, verify, wasm};

mod memory;

/// Words of the uniform buffer that each kernel's part begins at a multiple of: 256 bytes, which every device takes as an offset.
const UNIFORM_ALIGNMENT: usize = 64;

/// A compiled tape: kernels and the order in which they run.
#[wasm_bindgen]
pub struct CompiledPlan {
    plan: Plan,
    /// For each kernel, on the GPU.
    texts: Vec<KernelText>,
    /// For each kernel how its buffers are bound, on the GPU.
    windows: Vec<Windows>,
    limits: DeviceLimits,
    /// The kernels as a WebAssembly module, on the CPU.
    module: Vec<u8>,
}

/// A compile under way, which is done in parts.
#[wasm_bindgen]
pub struct Compiling {
    work: Pin<Box<dyn Future<Output = Result<CompiledPlan>>>>,
}

#[wasm_bindgen]
impl Compiling {
    /// Begins to read, differentiate, fuse and compile a tape.
    pub fn begin(tape: Vec<f64>, options: &JsValue) -> std::result::Result<Compiling, JsValue> {
        let options = Options::read(options).map_err(residua_module::to_js)?;
        Ok(Compiling { work: Box::pin(compile(tape, options)) })
    }

    /// Compiles for about so many milliseconds. Gives the plan when it is done; what was begun is then used up.
    pub fn advance(&mut self, milliseconds: f64) -> std::result::Result<Option<CompiledPlan>, JsValue> {
        turns::advance(self.work.as_mut(), milliseconds).transpose().map_err(residua_module::to_js)
    }
}

#[wasm_bindgen]
impl CompiledPlan {
    /// How many kernels it has.
    #[wasm_bindgen(js_name = kernelCount)]
    pub fn kernel_count(&self) -> u32 {
        self.plan.kernels.len() as u32
    }

    /// The name of a kernel.
    #[wasm_bindgen(js_name = kernelName)]
    pub fn kernel_name(&self, kernel: u32) -> String {
        self.plan.kernels.get(kernel as usize).map(|kernel| kernel.name.clone()).unwrap_or_default()
    }

    /// The WGSL of a kernel; nothing on the CPU.
    #[wasm_bindgen(js_name = kernelText)]
    pub fn kernel_text(&self, kernel: u32) -> String {
        self.texts.get(kernel as usize).map(|text| text.text.clone()).unwrap_or_default()
    }

    /// The bindings of a kernel in order: 0 read-only storage, 1 storage, 2 uniform.
    #[wasm_bindgen(js_name = kernelBindings)]
    pub fn kernel_bindings(&self, kernel: u32) -> Vec<u8> {
        let kind = |access: &AccessMode| match access {
            AccessMode::Read => 0,
            AccessMode::ReadWrite => 1,
            AccessMode::Uniform => 2,
        };
        self.texts.get(kernel as usize).map(|text| text.bindings.iter().map(kind).list()).unwrap_or_default()
    }

    /// How the buffers of a kernel are bound: bytes of a window, and for each buffer how many windows it has; nothing if each has one.
    #[wasm_bindgen(js_name = kernelWindows)]
    pub fn kernel_windows(&self, kernel: u32) -> Vec<f64> {
        match self.windows.get(kernel as usize) {
            Some(Windows { bytes, counts }) if !counts.is_empty() => {
                std::iter::once(*bytes as f64).chain(counts.iter().map(|count| f64::from(*count))).list()
            }
            _ => Vec::new(),
        }
    }

    /// Triples: kind (0 slot, 1 temporary, 2 result, 3 roots of unity), slot, their length or 0, bytes.
    pub fn places(&self) -> Vec<f64> {
        let place = |place: &Place| match *place {
            Place::Slot(slot) => [0.0, f64::from(slot), 0.0],
            Place::Temporary { bytes } => [1.0, 0.0, bytes as f64],
            Place::Result { bytes } => [2.0, 0.0, bytes as f64],
            Place::Roots(length) => [3.0, f64::from(length), bytes_of_roots(length).len() as f64],
        };
        self.plan.places.iter().flat_map(place).list()
    }

    /// The bytes of the table of the roots of unity of a length that a place has.
    #[wasm_bindgen(js_name = rootsOfUnity)]
    pub fn roots_of_unity(&self, length: u32) -> Vec<u8> {
        bytes_of_roots(length)
    }

    /// The place of each result.
    pub fn results(&self) -> Vec<u32> {
        self.plan.results.clone()
    }

    /// For each step: 0, kernel, count of places, places; or 1, from, to.
    pub fn steps(&self) -> Vec<u32> {
        let mut words = Vec::new();
        for step in &self.plan.steps {
            match step {
                Step::Dispatch { kernel, places } => {
                    words.extend([0, *kernel, places.len() as u32]);
                    words.extend(places);
                }
                Step::Copy { from, to, .. } => words.extend([1, *from, *to]),
            }
        }
        words
    }

    /// The numbers of a run: for each step workgroups x, y, z, offset and count of the words of its uniform, or the bytes of a copy and four
    /// zeros; after them the uniform buffer, with one part a kernel. A kernel that does not run with these dims has no workgroups.
    pub fn words(&self, dims: &[u32]) -> std::result::Result<Vec<u32>, JsValue> {
        self.numbers(dims).map_err(residua_module::to_js)
    }

    /// The words of the uniform buffer that depend on dims: how many, and where each is described in this list. A description is the word's
    /// position, its count of terms, and for each term the coefficient, a count of dims and these.
    #[wasm_bindgen(js_name = varyingWords)]
    pub fn varying_words(&self) -> Vec<u32> {
        let mut descriptions = Vec::new();
        for (kernel, first) in self.plan.kernels.iter().zip(self.uniform_starts()) {
            let varying = kernel.sizes.iter().enumerate().filter(|(_, size)| size.known().is_none());
            descriptions.extend(varying.map(|(word, size)| describe(first + word, size)));
        }
        let mut start = descriptions.len() as u32 + 1;
        let mut words = vec![descriptions.len() as u32];
        for description in &descriptions {
            words.push(start);
            start += description.len() as u32;
        }
        words.extend(descriptions.into_iter().flatten());
        words
    }

    /// The products on the GPU whose tile may change, with the words of `words_of_product` each.
    pub fn products(&self, dims: &[u32]) -> Vec<u32> {
        let kernels = self.plan.kernels.iter().zip(&self.windows).enumerate();
        let words = kernels
            .filter_map(|(number, (kernel, windows))| wgsl::words_of_product(number as u32, kernel, windows, dims));
        words.flatten().list()
    }

    /// Writes a kernel of `products` with another tile, which changes its workgroups too. No result depends on it.
    #[wasm_bindgen(js_name = setTile)]
    pub fn set_tile(&mut self, kernel: u32, tile: u32) -> std::result::Result<(), JsValue> {
        let at = kernel as usize;
        if let (Some(TensorKernel { body: Body::Product(product), .. }), Some(tile)) =
            (self.plan.kernels.get_mut(at), Tile::EXCHANGEABLE.get(tile as usize))
        {
            product.tile = *tile;
            let text = wgsl::write_in_windows(&self.plan.kernels[at], &self.limits, &self.windows[at]);
            self.texts[at] = text.map_err(residua_module::to_js)?;
        }
        Ok(())
    }

    /// The kernels as a WebAssembly module, those of matrix products, transforms and sorts left out. The plan has it once.
    #[wasm_bindgen(js_name = hostModule)]
    pub fn host_module(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.module)
    }

    /// A kernel that the module leaves out. It does not need this plan any more.
    pub fn product(&self, kernel: u32) -> Option<HostProduct> {
        self.plan.kernels.get(kernel as usize).cloned().map(HostProduct::of)
    }

    /// For each buffer of a kernel the code of its element type and, for values of the dims, the number of its elements; 0 where it is
    /// written with what the rounding of sums left.
    pub fn elements(&self, kernel: u32, dims: &[u32]) -> Vec<f64> {
        let Some(described) = self.plan.kernels.get(kernel as usize) else { return Vec::new() };
        let counts = self.plan.elements(kernel as usize, dims);
        described
            .buffers
            .iter()
            .zip(counts)
            .flat_map(|(buffer, count)| [f64::from(buffer.dtype as u8), count as f64])
            .list()
    }

    /// For each kernel of a plan for the GPU how many functions of `verifyModule` compute it; 0 for one of `verifyKernel`.
    #[wasm_bindgen(js_name = verifyFunctions)]
    pub fn verify_functions(&self) -> Vec<u32> {
        verify::functions(&self.plan.kernels)
    }

    /// A kernel that has no function in `verifyModule`. It does not need this plan any more.
    #[wasm_bindgen(js_name = verifyKernel)]
    pub fn verify_kernel(&self, kernel: u32) -> Option<InterpretedKernel> {
        self.plan.kernels.get(kernel as usize).cloned().map(|kernel| InterpretedKernel { kernel })
    }

    /// The kernels of a plan for the GPU as functions of a WebAssembly module, in order and in the form of `hostModule`.
    #[wasm_bindgen(js_name = verifyModule)]
    pub fn verify_module(&self) -> std::result::Result<Vec<u8>, JsValue> {
        verify::module(&self.plan.kernels).map_err(residua_module::to_js)
    }

    /// What a run does, a line a step.
    #[wasm_bindgen(js_name = toString)]
    pub fn text(&self) -> String {
        self.plan.to_string()
    }
}

/// A kernel of the CPU that `hostModule` leaves out: a matrix product, a transform, a sort or linear algebra.
#[wasm_bindgen]
pub struct HostProduct {
    kernel: TensorKernel,
    own: RefCell<host_product::Own>,
}

thread_local! {
    /// Half a megabyte that all products share, and places of windows.
    static WORKSPACE: RefCell<host_product::Workspace> = RefCell::default();
    static PRODUCTS: Cell<u32> = const { Cell::new(0) };
}

impl HostProduct {
    fn of(kernel: TensorKernel) -> HostProduct {
        let number = PRODUCTS.get();
        PRODUCTS.set(number.wrapping_add(1));
        HostProduct { kernel, own: RefCell::new(host_product::Own { number, ..Default::default() }) }
    }
}

#[wasm_bindgen]
impl HostProduct {
    /// Runs a part of it with the frame at an address of this module's memory. Gives where the next part begins, or 0 after the last.
    pub fn run(&self, frame: u32, part: u32) -> std::result::Result<u32, JsValue> {
        // Threads are called meanwhile, so that nothing stays borrowed.
        let (mut workspace, mut own) = (WORKSPACE.take(), self.own.take());
        // SAFETY: the facade has written a frame of this kernel there, whose addresses are those of its tensors.
        let next = unsafe {
            let (buffers, words) = host_product::read_frame(&self.kernel, frame as usize as *const u32);
            host_product::run(&self.kernel, words, &buffers, part as usize, &mut workspace, &mut own)
        };
        WORKSPACE.set(workspace);
        self.own.replace(own);
        next.map(|part| part as u32).map_err(residua_module::to_js)
    }
}

/// Why `backend: 'auto'` leaves a GPU alone, from its `GPUAdapterInfo`; nothing where it takes it.
#[wasm_bindgen(js_name = softwareReason)]
pub fn software_reason(info: &JsValue) -> Option<String> {
    let get = |name: &str| Reflect::get(info, &name.into()).unwrap_or(JsValue::UNDEFINED);
    let text = |name: &str| get(name).as_string().unwrap_or_default();
    is_software(get("isFallbackAdapter").is_truthy(), text).then(|| SOFTWARE_REASON.to_owned())
}

/// A word of a uniform as a polynomial in the dims, modulo 2³².
fn describe(word: usize, size: &Size) -> Vec<u32> {
    let terms = size.terms();
    let mut words = vec![word as u32, terms.len() as u32];
    for (coefficient, dims) in terms {
        words.extend([coefficient as u32, dims.len() as u32]);
        words.extend(dims);
    }
    words
}

/// A kernel that is interpreted.
#[wasm_bindgen]
pub struct InterpretedKernel {
    kernel: TensorKernel,
}

#[wasm_bindgen]
impl InterpretedKernel {
    /// What a run with the words of its uniform leaves in its buffers, from what was there before.
    pub fn run(&self, words: &[u32], buffers: Vec<Uint8Array>) -> std::result::Result<Vec<Uint8Array>, JsValue> {
        let mut memories: Vec<Vec<u8>> = buffers.iter().map(Uint8Array::to_vec).list();
        let words = words.get(..self.kernel.sizes.len()).unwrap_or_default();
        interpret::run(&self.kernel, words, &mut memories).map_err(residua_module::to_js)?;
        Ok(memories.iter().map(|memory| Uint8Array::from(&memory[..])).list())
    }
}

impl CompiledPlan {
    /// Where the uniform of each kernel begins in the buffer of all, in words.
    fn uniform_starts(&self) -> Vec<usize> {
        let mut end = 0;
        let start = |kernel| {
            let first = end;
            end += (wgsl::uniform_bytes(kernel) as usize / 4).next_multiple_of(UNIFORM_ALIGNMENT);
            first
        };
        self.plan.kernels.iter().map(start).list()
    }

    fn numbers(&self, dims: &[u32]) -> Result<Vec<u32>> {
        let mut heads = Vec::with_capacity(self.plan.kernels.len());
        let mut uniforms: Vec<u32> = Vec::new();
        for (position, (kernel, first)) in self.plan.kernels.iter().zip(self.uniform_starts()).enumerate() {
            uniforms.resize(first, 0);
            uniforms.extend(kernel.sizes.iter().map(|size| size.word(dims)));
            let [x, y, z] = match self.texts.get(position) {
                _ if !kernel.runs(dims) => [0, 0, 0],
                Some(text) => text.workgroups.count(&uniforms[first..])?,
                None => [1, 1, 1],
            };
            let count = wgsl::uniform_bytes(kernel) as usize / 4;
            uniforms.resize(first + count, 0);
            heads.push([x, y, z, first as u32, count as u32]);
        }
        let mut words = Vec::with_capacity(5 * self.plan.steps.len() + uniforms.len());
        for step in &self.plan.steps {
            match step {
                Step::Dispatch { kernel, .. } => words.extend(heads[*kernel as usize]),
                Step::Copy { bytes, .. } => words.extend([bytes.at(dims).max(0) as u32, 0, 0, 0, 0]),
            }
        }
        words.extend(uniforms);
        Ok(words)
    }
}

/// What a plan is made for.
struct Options {
    target: Target,
    limits: DeviceLimits,
}

impl Options {
    fn read(options: &JsValue) -> Result<Options> {
        let number = |name: &str| -> Result<f64> {
            let value = Reflect::get(options, &name.into()).ok().and_then(|value| value.as_f64());
            value.ok_or_else(|| Error::internal(format!("plan options: {name} is no number")))
        };
        let flag = |name: &str| Reflect::get(options, &name.into()).is_ok_and(|value| value.is_truthy());
        let is_host = flag("host");
        let target = Target { is_host, most_buffers: number("maxStorageBuffers")? as u32 };
        let limits = DeviceLimits {
            storage_buffers: target.most_buffers,
            binding_bytes: number("maxBindingBytes")? as u64,
            workgroup_bytes: number("maxWorkgroupBytes")? as u32,
            has_packed_dot: flag("hasPackedDot"),
        };
        Ok(Options { target, limits })
    }
}

async fn compile(tape: Vec<f64>, Options { target, limits }: Options) -> Result<CompiledPlan> {
    let mut recipe = Recipe::decode(&tape)?;
    turns::checkpoint().await;
    grad::differentiate_on(&mut recipe, target.is_host)?;
    turns::checkpoint().await;
    if target.is_host {
        let plan = Plan::in_turns(&recipe, &target).await?;
        let module = wasm::module_in_turns(&plan.kernels).await?;
        return Ok(CompiledPlan {
            plan,
            texts: Vec::new(),
            windows: Vec::new(),
            limits: DeviceLimits::default(),
            module,
        });
    }
    let (plan, windows) = Plan::in_windows(&recipe, &target, &limits).await?;
    let mut texts = Vec::with_capacity(plan.kernels.len());
    for (kernel, windows) in plan.kernels.iter().zip(&windows) {
        texts.push(wgsl::write_in_windows(kernel, &limits, windows)?);
        turns::checkpoint().await;
    }
    Ok(CompiledPlan { plan, texts, windows, limits, module: Vec::new() })
}
