//! Kernels as a WebAssembly module in f64.
//!
//! [`module`] takes kernels and gives the bytes of a module that imports the solver module's memory (`env.memory`) and the functions
//! of [`math_function`] (`math.sin` …), and exports one function for each kernel, named by its position (`0`, `1`, …). It
//! takes the address of a [`frame()`] and gives the kernel's total. The caller has put the frame and the buffers into that
//! memory and let [`super::InstanceRange::check`] see them; an index that leads out of its buffer traps.
//!
//! Within, a kernel is a loop over pairs of instances in the lanes of `v128`, several pairs at a time where the code is short, and the same
//! code once more for the instance that may be left; of a kernel for one instance that alone. A very long one is several functions, which are
//! exported as [`part_name`] says, and which the exported one calls in turn. Engines compile a function at its first call, and the time grows with the square
//! of its locals. The order of all that rounding depends on is the one that [`super::interpret`] describes.

use residua_base::list::Listed;
use std::rc::Rc;

use self::encoding::instructions as wasm;
use self::encoding::{Instruction, Sections, ValType};
use self::functions::{Functions, LoopFunction, Variable};
use self::locals::Width;
use crate::{CheckedKernel, Instances};
use residua_base::error::Result;
use residua_ir::graph::{CheckedGraph, Node, Op};

mod accesses;
mod addresses;
pub mod encoding;
mod exponential;
mod expression;
mod formula;
mod frame;
mod function;
mod functions;
mod kernel;
mod locals;
mod lookup;
mod loops;
mod math;
mod round;
mod rounds;
mod sign;
mod sine;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;

pub use frame::frame;
pub use math::math_function;
pub use residua_ir::graph::MathFunction;

/// The bytes of a module with a function for each kernel, in a memory that has [the exponential's table](residua_ir::graph::exponential::powers) at an address.
/// An error says that the host cannot run a kernel.
pub fn module(kernels: &[CheckedKernel], powers: u32) -> Result<Vec<u8>> {
    let mut module = Unfinished::new(kernels, powers)?;
    while module.advance(kernels) {}
    Ok(module.finish())
}

/// A module in the making, which takes as long as its kernels.
pub struct Unfinished {
    sections: Sections,
    functions: Functions,
    /// Functions that are parts of kernels, so far.
    parts: usize,
    /// Kernels that are finished.
    kernels: usize,
    /// The function of the next kernel for pairs, if there is one.
    pairs: Option<u32>,
}

impl Unfinished {
    /// What the functions of these kernels call.
    pub fn new(kernels: &[CheckedKernel], powers: u32) -> Result<Unfinished> {
        kernels.iter().try_for_each(CheckedKernel::check_for_host)?;
        let mut sections = Sections::default();
        sections.import_memory("env", "memory");

        // Imports come before all functions of the module's own.
        let mut functions = Functions { powers, ..Functions::default() };
        for op in imported(kernels) {
            let operands = vec![ValType::F64; op.arity()];
            let function = sections.import_function("math", op.name(), operands, vec![ValType::F64]);
            functions.math.insert(op, function);
        }
        for call in kernels.iter().flat_map(|kernel| &kernel.calls) {
            for width in [Width::Pair, Width::Single] {
                let key = (Rc::as_ptr(&call.function), width);
                if !functions.calls.contains_key(&key) {
                    let mut parameters = vec![width.value(); call.function.parameters.len()];
                    parameters.push(ValType::I32);
                    let results = vec![width.value(); call.function.results];
                    let body = function::function(&call.function, width, &functions);
                    let position = sections.add(parameters, results, &body);
                    functions.calls.insert(key, position);
                }
            }
        }
        for kernel in kernels {
            let widths: &[Width] = match kernel.instances {
                Instances::One => &[Width::Single],
                Instances::Few | Instances::Many => &[Width::Pair, Width::Single],
            };
            for (body, width) in
                kernel.loop_bodies().iter().flat_map(|body| widths.iter().map(move |width| (body, *width)))
            {
                let key = (Rc::as_ptr(body), width);
                if !functions.loops.contains_key(&key) {
                    let variables = loops::variables(body, width, &functions);
                    let [parameters, results] = loops::signature(body, width, variables);
                    let written = loops::function(body, width, variables, &functions);
                    let position = sections.add(parameters, results, &written);
                    functions.loops.insert(key, LoopFunction { position, variables });
                }
            }
        }
        Ok(Unfinished { sections, functions, parts: 0, kernels: 0, pairs: None })
    }

    /// Adds what the next kernel does with pairs, or with one instance; whether there was any left. The kernels are always the same.
    pub fn advance(&mut self, kernels: &[CheckedKernel]) -> bool {
        let Some(kernel) = kernels.get(self.kernels) else { return false };
        let exported = match (kernel.instances, self.pairs.take()) {
            (Instances::One, _) => self.add(kernel, Width::Single),
            (Instances::Few | Instances::Many, None) => {
                self.pairs = Some(self.add(kernel, Width::Pair));
                return true;
            }
            (Instances::Few | Instances::Many, Some(pairs)) => {
                let single = self.add(kernel, Width::Single);
                self.sections.add(vec![ValType::I32], vec![ValType::F64], &whole(pairs, single))
            }
        };
        self.sections.export(&self.kernels.to_string(), exported);
        self.kernels += 1;
        true
    }

    /// Adds the functions of a kernel for a width; gives the one that does it all.
    fn add(&mut self, kernel: &CheckedKernel, width: Width) -> u32 {
        let bodies = kernel::functions(kernel, width, &self.functions);
        let add = |body| self.sections.add(vec![ValType::I32], vec![width.value()], body);
        let numbers = bodies.iter().map(add).list();
        if let [only] = numbers[..] {
            return only;
        }
        for number in &numbers {
            self.sections.export(&part_name(self.parts), *number);
            self.parts += 1;
        }
        self.sections.add(vec![ValType::I32], vec![width.value()], &in_turn(&numbers, width))
    }

    /// The bytes.
    pub fn finish(mut self) -> Vec<u8> {
        for variable in self.functions.variables.take() {
            match variable {
                Variable::Number(bits) => self.sections.add_global(f64::from_bits(bits)),
                Variable::Value(width) => self.sections.add_variable(width.value()),
                Variable::Tables => self.sections.add_variable(ValType::I32),
            }
        }
        self.sections.finish()
    }
}

/// The name of a function that is a part of a kernel, by its position among those of all kernels.
pub fn part_name(position: usize) -> String {
    format!("p{position}")
}

/// The parts of a kernel one after another, round after round; the last has the total. Each call is for the instances of one round, which the frame says
/// meanwhile.
fn in_turn(parts: &[u32], width: Width) -> encoding::Function {
    let [begin, end, round, total, unfinished] = [1, 2, 3, 4, 5];
    let lanes = i32::from(width.lanes());
    let word = |word: u32| encoding::MemArg { offset: word << 2, align: 2 };
    let set = |word_of_frame: u32, local: u32, more: i32| {
        [
            Instruction::LocalGet(frame::PARAMETER),
            Instruction::LocalGet(local),
            Instruction::I32Const(more),
            wasm::I32_ADD,
            wasm::i32_store(word(word_of_frame)),
        ]
    };
    let mut function =
        encoding::Function::new(&[ValType::I32, ValType::I32, ValType::I32, width.value(), width.value()]);
    for (word_of_frame, local) in [(frame::BEGIN, begin), (frame::END, end)] {
        let load = wasm::i32_load(word(word_of_frame));
        function.instructions(&[Instruction::LocalGet(frame::PARAMETER), load, Instruction::LocalSet(local)]);
    }
    // Of one instance at a time there is the last alone, as pairs leave it.
    let first = match width {
        Width::Pair => vec![Instruction::LocalGet(begin)],
        Width::Single => vec![
            Instruction::LocalGet(end),
            Instruction::LocalGet(end),
            Instruction::LocalGet(begin),
            wasm::I32_SUB,
            Instruction::I32Const(1),
            wasm::I32_AND,
            wasm::I32_SUB,
        ],
    };
    function.instructions(&first);
    function.instructions(&[Instruction::LocalSet(round), Instruction::Block, Instruction::Loop]);
    rounds::unless_left_in(&mut function, (round, end), lanes, 1);
    function.instructions(&set(frame::BEGIN, round, 0));
    function.instructions(&set(frame::END, round, lanes));
    let (last, others) = parts.split_last().expect("a kernel has a part");
    for part in others {
        let call =
            [Instruction::LocalGet(frame::PARAMETER), Instruction::Call(*part), Instruction::LocalSet(unfinished)];
        function.instructions(&call);
    }
    let add = match width {
        Width::Pair => wasm::F64X2_ADD,
        Width::Single => wasm::F64_ADD,
    };
    function.instructions(&[
        Instruction::LocalGet(frame::PARAMETER),
        Instruction::Call(*last),
        Instruction::LocalGet(total),
        add,
        Instruction::LocalSet(total),
        Instruction::LocalGet(round),
        Instruction::I32Const(lanes),
        wasm::I32_ADD,
        Instruction::LocalSet(round),
        Instruction::Br(0),
        wasm::END,
        wasm::END,
    ]);
    function.instructions(&set(frame::BEGIN, begin, 0));
    function.instructions(&set(frame::END, end, 0));
    function.instructions(&[Instruction::LocalGet(total), wasm::END]);
    function
}

/// The ops that some kernel, or a case of a function it calls, imports; in the order of the op table.
fn imported(kernels: &[CheckedKernel]) -> Vec<Op> {
    let mut used = Vec::new();
    let mut note = |graph: &CheckedGraph| {
        for node in graph.graph().nodes() {
            if let Node::Apply(op, _) = node
                && !used.contains(op)
            {
                used.push(*op);
            }
        }
    };
    for kernel in kernels {
        note(&kernel.graph);
        kernel.calls.iter().flat_map(|call| &call.function.cases).for_each(|case| note(&case.graph));
        kernel.loop_bodies().iter().for_each(|body| note(body.graph()));
    }
    Op::ALL.iter().copied().filter(|op| used.contains(op) && math_function(*op).is_some()).list()
}

/// All pairs, then the instance that may be left: an even one, so its total belongs to lane 0. What has no instances is not called, since
/// engines compile a function at its first call.
fn whole(pairs: u32, single: u32) -> encoding::Function {
    const TOTAL: u32 = 1;
    const LAST: u32 = 2;
    let mut function = encoding::Function::new(&[ValType::V128, ValType::F64]);
    let word = |word: u32| wasm::i32_load(encoding::MemArg { offset: word << 2, align: 2 });
    let count = [
        Instruction::LocalGet(frame::PARAMETER),
        word(frame::END),
        Instruction::LocalGet(frame::PARAMETER),
        word(frame::BEGIN),
        wasm::I32_SUB,
    ];
    let call = |function, to| {
        [Instruction::LocalGet(frame::PARAMETER), Instruction::Call(function), Instruction::LocalSet(to)]
    };
    function.instructions(&count);
    function.instructions(&[Instruction::I32Const(2), wasm::I32_GE_U, Instruction::If]);
    function.instructions(&call(pairs, TOTAL));
    function.instruction(&wasm::END);
    function.instructions(&count);
    function.instructions(&[Instruction::I32Const(1), wasm::I32_AND, Instruction::If]);
    function.instructions(&call(single, LAST));
    function.instructions(&[
        wasm::END,
        Instruction::LocalGet(TOTAL),
        wasm::f64x2_extract_lane(0),
        Instruction::LocalGet(LAST),
        wasm::F64_ADD,
        Instruction::LocalGet(TOTAL),
        wasm::f64x2_extract_lane(1),
        wasm::F64_ADD,
        wasm::END,
    ]);
    function
}
