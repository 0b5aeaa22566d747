//! The CPU engine: kernels in f64, as WebAssembly generated at run time that works on our own memory.
//!
//! A [`CompiledKernels`] takes kernels and runs them over views of buffers. In a page it compiles them into a module of their own;
//! where that is refused (a Content-Security-Policy without 'wasm-unsafe-eval', an engine without SIMD) and outside of
//! WebAssembly, the reference evaluation serves, with the same results, and the program says why.

#[cfg(target_arch = "wasm32")]
use std::cell::RefCell;
use std::ops::Range;
#[cfg(target_arch = "wasm32")]
use std::pin::Pin;
use std::rc::Rc;

use residua_base::deadline::Deadline;
use residua_base::error::{Error, Result};
use residua_codegen::memory::{InstanceRange, View};
use residua_codegen::{CheckedKernel, interpret};
#[cfg(target_arch = "wasm32")]
use residua_ir::graph::exponential;

#[cfg(target_arch = "wasm32")]
mod known;
#[cfg(target_arch = "wasm32")]
mod module;
#[cfg(target_arch = "wasm32")]
mod threads;

#[cfg(target_arch = "wasm32")]
pub use module::set_pool;
#[cfg(target_arch = "wasm32")]
pub use threads::KernelPool;

/// Instances of a piece: an even number, so that pairs of instances stay pairs.
const PIECE: u32 = 1024;

/// Kernels, ready to run.
pub struct CompiledKernels {
    kernels: Rc<[CheckedKernel]>,
    engine: Engine,
}

/// What [`InstanceRange::check`] checks in addition to a kernel.
#[cfg(target_arch = "wasm32")]
fn shape<'a>(views: &'a [View], dispatch: &InstanceRange) -> impl Iterator<Item = u32> + 'a {
    let InstanceRange { instances, stride, first, origin } = dispatch;
    let kind = |view: &View| match view {
        View::Read(_) => 0,
        View::Write(_) => 1,
        View::Index(_) => 2,
    };
    let numbers = [instances.start, instances.end, *stride, *first, *origin];
    numbers.into_iter().chain(views.iter().flat_map(move |view| [kind(view), view.len() as u32]))
}

/// What runs the kernels.
enum Engine {
    /// Generated code.
    #[cfg(target_arch = "wasm32")]
    Compiled {
        module: Rc<module::Module>,
        /// For each kernel the shape of the last call that was checked: most calls have the same.
        checked: Vec<RefCell<Vec<u32>>>,
    },
    /// The reference evaluation, for the reason given.
    Interpreted(String),
}

/// Kernels with their code, which is not instantiated yet.
pub struct Written {
    kernels: Vec<CheckedKernel>,
    #[cfg(target_arch = "wasm32")]
    code: Code,
}

/// Kernels whose code is being written.
pub struct Writing {
    kernels: Vec<CheckedKernel>,
    #[cfg(target_arch = "wasm32")]
    module: Option<residua_codegen::wasm::Unfinished>,
}

impl Writing {
    /// Nothing is written yet.
    pub fn new(kernels: Vec<CheckedKernel>) -> Writing {
        Writing {
            kernels,
            #[cfg(target_arch = "wasm32")]
            module: None,
        }
    }

    /// Writes the code of a long kernel for a width, or of several short ones; gives all when it is written. Not to be called after that. An error says that a
    /// kernel's plan is unsound.
    pub fn advance(&mut self) -> Result<Option<Written>> {
        #[cfg(target_arch = "wasm32")]
        let code = {
            let mut module = match self.module.take() {
                Some(module) => module,
                None => match known::find(&self.kernels) {
                    Some(module) => {
                        let kernels = std::mem::take(&mut self.kernels);
                        return Ok(Some(Written { kernels, code: Code::Known(module) }));
                    }
                    None => residua_codegen::wasm::Unfinished::new(&self.kernels, exponential::address() as u32)?,
                },
            };
            while module.advance(&self.kernels) {
                if self.kernels.iter().any(|kernel| kernel.is_parted()) {
                    self.module = Some(module);
                    return Ok(None);
                }
            }
            Code::Bytes(module.finish())
        };
        Ok(Some(Written {
            kernels: std::mem::take(&mut self.kernels),
            #[cfg(target_arch = "wasm32")]
            code,
        }))
    }
}

/// The code of kernels.
#[cfg(target_arch = "wasm32")]
enum Code {
    /// A module that is kept.
    Known(Rc<module::Module>),
    /// The bytes of one.
    Bytes(Vec<u8>),
}

impl Written {
    /// The program, which interprets the kernels where generated code is refused.
    #[cfg(target_arch = "wasm32")]
    pub async fn instantiate(self) -> Result<CompiledKernels> {
        // In a box, so that our module holds the states of this work once.
        let instantiated: Pin<Box<dyn Future<Output = Result<CompiledKernels>>>> = Box::pin(async {
            let Written { kernels, code } = self;
            let compiled = |kernels: Rc<[CheckedKernel]>, module| {
                let checked = vec![RefCell::default(); kernels.len()];
                Ok(CompiledKernels { kernels, engine: Engine::Compiled { module, checked } })
            };
            let bytes = match code {
                Code::Known(module) => return compiled(kernels.into(), module),
                Code::Bytes(bytes) => bytes,
            };
            match module::Module::instantiate(&bytes, kernels.len()).await {
                Ok(module) => {
                    let (kernels, module): (Rc<[CheckedKernel]>, _) = (kernels.into(), Rc::new(module));
                    // Long modules are few, and what they take of memory is much.
                    if bytes.len() < module::AT_ONCE {
                        known::keep(kernels.clone(), module.clone());
                    }
                    compiled(kernels, module)
                }
                Err(reason) => CompiledKernels::interpreted(kernels, &reason),
            }
        });
        instantiated.await
    }

    /// The program, which interprets the kernels, as there is nothing to run generated code outside of WebAssembly.
    #[cfg(not(target_arch = "wasm32"))]
    pub async fn instantiate(self) -> Result<CompiledKernels> {
        CompiledKernels::interpreted(self.kernels, "this build is not WebAssembly")
    }
}

impl CompiledKernels {
    /// Compiles kernels, or arranges for their interpretation where generated code is refused. An error says that a kernel's
    /// plan is unsound.
    pub async fn compile(kernels: Vec<CheckedKernel>) -> Result<CompiledKernels> {
        CompiledKernels::write(kernels)?.instantiate().await
    }

    /// Writes the code of kernels. An error says that a kernel's plan is unsound.
    pub fn write(kernels: Vec<CheckedKernel>) -> Result<Written> {
        let mut writing = Writing::new(kernels);
        loop {
            if let Some(written) = writing.advance()? {
                return Ok(written);
            }
        }
    }

    /// A program that runs by the reference evaluation, for a reason to be remembered.
    pub fn interpreted(kernels: Vec<CheckedKernel>, reason: &str) -> Result<CompiledKernels> {
        Ok(CompiledKernels { kernels: kernels.into(), engine: Engine::Interpreted(reason.into()) })
    }

    /// Why the kernels are interpreted; `None` when they run as compiled code.
    pub fn interpreted_because(&self) -> Option<&str> {
        match &self.engine {
            #[cfg(target_arch = "wasm32")]
            Engine::Compiled { .. } => None,
            Engine::Interpreted(reason) => Some(reason),
        }
    }

    /// Whether the engine has been made to compile all functions of long kernels.
    pub fn has_compiled_parts(&self) -> bool {
        match &self.engine {
            #[cfg(target_arch = "wasm32")]
            Engine::Compiled { module, .. } => module.has_called_parts(),
            Engine::Interpreted(_) => true,
        }
    }

    /// Makes the engine compile the functions of long kernels, one after another, which it would do at the first run. Whether that is done at
    /// the deadline; at least one is compiled.
    pub async fn compile_parts(&self, deadline: Deadline) -> bool {
        #[cfg(target_arch = "wasm32")]
        if let Engine::Compiled { module, .. } = &self.engine {
            let buffers = self.kernels.iter().map(|kernel| kernel.buffers.len()).max().unwrap_or_default();
            while module.call_part(buffers) {
                if deadline.has_passed_after_turn().await {
                    return false;
                }
            }
        }
        #[cfg(not(target_arch = "wasm32"))]
        let _ = deadline;
        true
    }

    /// The same as [`CompiledKernels::run`], in pieces that threads may share; the total is the sum of those of the pieces, in order. No two instances write to one
    /// place.
    pub fn run_in_pieces(&self, kernel: usize, views: &mut [View], dispatch: &InstanceRange) -> Result<f64> {
        // Pieces of one thread have the order of a sum alone.
        let is_in_pieces = self.is_shared() || self.plan(kernel)?.has_total();
        if dispatch.instances.len() <= PIECE as usize || !is_in_pieces {
            return self.run(kernel, views, dispatch);
        }
        #[cfg(target_arch = "wasm32")]
        if let Engine::Compiled { module, .. } = &self.engine
            && module.is_shared()
        {
            let plan = self.check(kernel, views, dispatch)?;
            let totals = module.run_on_threads(kernel, views, dispatch, PIECE);
            return totals.map(|totals| totals.iter().sum()).map_err(|trap| stopped(plan, &trap, views, dispatch));
        }
        let Range { start, end } = dispatch.instances;
        let mut total = 0.0;
        for start in (start..end).step_by(PIECE as usize) {
            let piece = InstanceRange { instances: start..end.min(start.saturating_add(PIECE)), ..dispatch.clone() };
            total += self.run(kernel, views, &piece)?;
        }
        Ok(total)
    }

    /// Runs a kernel, by its position, over the instances of a dispatch; gives the sum of its [`Kernel::total`] over them, 0 if
    /// it has none. Views that do not fit the kernel's plan, and indices that lead out of a buffer, are errors.
    pub fn run(&self, kernel: usize, views: &mut [View], dispatch: &InstanceRange) -> Result<f64> {
        match &self.engine {
            #[cfg(target_arch = "wasm32")]
            Engine::Compiled { module, .. } => {
                let plan = self.check(kernel, views, dispatch)?;
                module.run(kernel, views, dispatch).map_err(|trap| stopped(plan, &trap, views, dispatch))
            }
            Engine::Interpreted(_) => interpret::run(self.plan(kernel)?, views, dispatch),
        }
    }

    /// Whether several threads run its kernels.
    fn is_shared(&self) -> bool {
        #[cfg(target_arch = "wasm32")]
        if let Engine::Compiled { module, .. } = &self.engine {
            return module.is_shared();
        }
        false
    }

    fn plan(&self, kernel: usize) -> Result<&CheckedKernel> {
        let missing = || Error::internal(format!("kernel {kernel} of a program of {}", self.kernels.len()));
        self.kernels.get(kernel).ok_or_else(missing)
    }

    /// Checks a call, unless the last was of the same shape; gives the kernel.
    #[cfg(target_arch = "wasm32")]
    fn check(&self, kernel: usize, views: &[View], dispatch: &InstanceRange) -> Result<&CheckedKernel> {
        let plan = self.plan(kernel)?;
        if let Engine::Compiled { checked, .. } = &self.engine {
            let mut checked = checked[kernel].borrow_mut();
            if !shape(views, dispatch).eq(checked.iter().copied()) {
                dispatch.check(plan, views)?;
                checked.clear();
                checked.extend(shape(views, dispatch));
            }
        }
        Ok(plan)
    }
}

/// Why a kernel has stopped: an index that leads out of its buffer, or what the engine says.
#[cfg(target_arch = "wasm32")]
fn stopped(plan: &CheckedKernel, trap: &str, views: &[View], dispatch: &InstanceRange) -> Error {
    let unexpected = || Error::internal(format!("kernel '{}' stopped: {trap}", plan.name));
    dispatch.check_indices(plan, views).err().unwrap_or_else(unexpected)
}
