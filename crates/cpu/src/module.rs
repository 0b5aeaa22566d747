//! A generated module in a page: instantiated on our memory, called with the address of a frame in it.

use std::cell::{OnceCell, RefCell};
use std::ops::Range;

use js_sys::{Function, Object, Reflect, Uint8Array, WebAssembly};
use residua_base::list::Listed;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::threads::{self, Code, KernelPool};
use residua_codegen::memory::{InstanceRange, View};
use residua_codegen::wasm::{MathFunction, frame, math_function, part_name};
use residua_ir::graph::Op;

/// Fewer bytes are compiled at once, which takes less time than waiting for another thread to do it: at most a millisecond.
pub(super) const AT_ONCE: usize = 1 << 16;

#[wasm_bindgen]
extern "C" {
    /// A function of a generated module. Numbers pass without values of JavaScript around them.
    type Kernel;
    #[wasm_bindgen(method, catch)]
    fn call(this: &Kernel, receiver: &JsValue, frame: u32) -> Result<f64, JsValue>;
}

/// The functions of an instantiated module, one for each kernel.
pub(super) struct Module {
    kernels: Vec<Function>,
    /// Functions that are parts of kernels and have not been called, the next one last.
    uncalled: RefCell<Vec<Function>>,
    /// The code, where several threads run it.
    code: Option<Code>,
}

impl Module {
    /// Compiles and instantiates the bytes of a module of so many kernels. The error is the engine's, in words.
    pub async fn instantiate(bytes: &[u8], kernels: usize) -> Result<Module, String> {
        let imports = IMPORTS.with(|known| match known.get() {
            Some(imports) => Ok(imports.clone()),
            None => imports().map(|imports| known.get_or_init(|| imports).clone()),
        });
        let imports = imports.map_err(words)?;
        let at_once = || -> Result<JsValue, JsValue> {
            let module = WebAssembly::Module::new(&Uint8Array::from(bytes))?;
            Ok(WebAssembly::Instance::new(&module, &imports)?.exports().into())
        };
        // A browser may refuse that on the page's thread, for 4096 bytes and more.
        let exports = match (bytes.len() < AT_ONCE).then(at_once) {
            Some(Ok(exports)) => exports,
            Some(Err(_)) | None => {
                // The array is a copy: memory that is shared is refused.
                let module = JsFuture::from(WebAssembly::compile(&Uint8Array::from(bytes))).await.map_err(words)?;
                let instance = JsFuture::from(WebAssembly::instantiate_module(&module.into(), &imports)).await;
                Reflect::get(&instance.map_err(words)?, &"exports".into()).map_err(words)?
            }
        };
        let function = |name: String| Reflect::get(&exports, &name.into())?.dyn_into::<Function>();
        let kernels = (0..kernels).map(|position| function(position.to_string())).list_or_error().map_err(words)?;
        let mut uncalled = (0..).map_while(|position| function(part_name(position)).ok()).list();
        uncalled.reverse();
        Ok(Module { kernels, uncalled: uncalled.into(), code: Code::of(bytes) })
    }

    /// Whether no part of a kernel is left to be called.
    pub fn has_called_parts(&self) -> bool {
        self.uncalled.borrow().is_empty()
    }

    /// Calls a part of a kernel of at most so many buffers for no instance, so that the engine compiles it. Whether one was left.
    pub fn call_part(&self, buffers: usize) -> bool {
        let Some(part) = self.uncalled.borrow_mut().pop() else { return false };
        let nothing = InstanceRange { instances: 0..0, stride: 0, first: 0, origin: 0 };
        let frame = frame(&nothing, std::iter::repeat_n((0, 0), buffers));
        // Without instances it does nothing, whatever it gives.
        _ = part.unchecked_ref::<Kernel>().call(&JsValue::UNDEFINED, frame.as_ptr().expose_provenance() as u32);
        true
    }

    /// Runs a kernel over views that [`InstanceRange::check`] has seen. The error is the engine's, in words: a trap.
    pub fn run(&self, kernel: usize, views: &mut [View], dispatch: &InstanceRange) -> Result<f64, String> {
        let words_of_frame = frame(dispatch, views.iter_mut().map(place));
        let address = words_of_frame.as_ptr().expose_provenance() as u32;
        self.kernels[kernel].unchecked_ref::<Kernel>().call(&JsValue::UNDEFINED, address).map_err(words)
    }
}

/// The address and the number of elements of a buffer.
fn place(view: &mut View) -> (u32, u32) {
    let address = match view {
        View::Read(numbers) => numbers.as_ptr().expose_provenance(),
        View::Write(numbers) => numbers.as_mut_ptr().expose_provenance(),
        View::Index(indices) => indices.as_ptr().expose_provenance(),
    };
    (address as u32, view.len() as u32)
}

impl Module {
    /// Whether several threads run it.
    pub fn is_shared(&self) -> bool {
        self.code.is_some()
    }

    /// Runs a kernel as [`Module::run`] does, in pieces of so many instances on all threads; gives the total of each piece.
    pub fn run_on_threads(
        &self,
        kernel: usize,
        views: &mut [View],
        dispatch: &InstanceRange,
        size: u32,
    ) -> Result<Vec<f64>, String> {
        let Some(code) = &self.code else { return Err("its code is on one thread".to_owned()) };
        let places = views.iter_mut().map(place).list();
        let mut frames = Vec::new();
        let Range { start, end } = dispatch.instances;
        let pieces = (end - start).div_ceil(size) as usize;
        for start in (start..end).step_by(size as usize) {
            let piece = InstanceRange { instances: start..end.min(start.saturating_add(size)), ..dispatch.clone() };
            frames.extend(frame(&piece, places.iter().copied()));
        }
        let mut totals = vec![0.0; pieces];
        code.run(&self.kernels[kernel], kernel, &frames, &mut totals).map_err(words)?;
        Ok(totals)
    }
}

thread_local! {
    static IMPORTS: OnceCell<Object> = const { OnceCell::new() };
}

/// Our memory, and the functions that no instruction computes. They are taken from the function table, which gives the
/// functions of WebAssembly themselves, so that the generated module calls the solver module without JavaScript in between.
fn imports() -> Result<Object, JsValue> {
    let table: WebAssembly::Table = wasm_bindgen::function_table().dyn_into()?;
    let math = Object::new();
    for op in Op::ALL {
        match import(*op)? {
            Some(Import::OfPage(function)) => Reflect::set(&math, &op.name().into(), &function)?,
            Some(Import::Own(address)) => Reflect::set(&math, &op.name().into(), &table.get(address)?.into())?,
            None => continue,
        };
    }
    let env = Object::new();
    Reflect::set(&env, &"memory".into(), &wasm_bindgen::memory())?;
    let imports = Object::new();
    Reflect::set(&imports, &"env".into(), &env)?;
    Reflect::set(&imports, &"math".into(), &math)?;
    Ok(imports)
}

/// Where the function of an op is.
enum Import {
    /// The page's: where ours would call that, the engine calls it at once, and knows it.
    OfPage(JsValue),
    /// Ours, by its place in the function table.
    Own(u32),
}

fn import(op: Op) -> Result<Option<Import>, JsValue> {
    let Some(function) = math_function(op) else { return Ok(None) };
    let of_page = Reflect::get(&Reflect::get(&js_sys::global(), &"Math".into())?, &op.name().into())?;
    if of_page.is_function() {
        return Ok(Some(Import::OfPage(of_page)));
    }
    Ok(Some(Import::Own(match function {
        MathFunction::Unary(function) => function as usize as u32,
        MathFunction::Binary(function) => function as usize as u32,
    })))
}

/// Has kernels that are compiled from now on be shared by a pool; gives the functions of ours that they import, by their places in the function table.
pub fn set_pool(pool: KernelPool) -> Result<Object, JsValue> {
    threads::keep(pool);
    let places = Object::new();
    for op in Op::ALL {
        if let Some(Import::Own(place)) = import(*op)? {
            Reflect::set(&places, &op.name().into(), &place.into())?;
        }
    }
    Ok(places)
}

/// What JavaScript says went wrong.
fn words(error: JsValue) -> String {
    match error.dyn_ref::<js_sys::Error>() {
        Some(error) => format!("{}: {}", error.name(), error.message()),
        None => format!("{error:?}"),
    }
}
