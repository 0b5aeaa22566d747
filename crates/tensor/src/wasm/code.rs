//! A function under construction: its locals, and the code of the blocks that are open.
//!
//! Code is appended to any open block. A block that closes becomes part of the one around it, so that what an inner block needs and an
//! outer one can compute is put before it: hoisting is a choice of the block.

use residua_codegen::wasm::encoding::instructions as wasm;
use residua_codegen::wasm::encoding::{Function, Instruction, ValType};
use rustc_hash::FxHashMap;

use super::module::Shared;

/// A local variable of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Local(pub u32);

impl Local {
    /// Its value, on the stack.
    pub fn get(self) -> Instruction {
        Instruction::LocalGet(self.0)
    }

    /// Takes the value from the stack.
    pub fn set(self) -> Instruction {
        Instruction::LocalSet(self.0)
    }

    /// Takes the value and leaves it on the stack.
    pub fn tee(self) -> Instruction {
        Instruction::LocalTee(self.0)
    }
}

/// A function under construction.
pub(super) struct Code<'m> {
    /// What the functions of the module share.
    pub shared: &'m mut Shared,
    parameters: u32,
    locals: Vec<ValType>,
    blocks: Vec<Vec<u8>>,
    /// Constants that the function has fetched.
    constants: FxHashMap<u128, Local>,
}

impl<'m> Code<'m> {
    /// A function with this many parameters, whose one open block is its body.
    pub fn new(shared: &'m mut Shared, parameters: u32) -> Code<'m> {
        Code { shared, parameters, locals: Vec::new(), blocks: vec![Vec::new()], constants: FxHashMap::default() }
    }

    /// Another local.
    pub fn local(&mut self, ty: ValType) -> Local {
        self.locals.push(ty);
        Local(self.parameters + self.locals.len() as u32 - 1)
    }

    /// The innermost open block.
    pub fn innermost(&self) -> usize {
        self.blocks.len() - 1
    }

    /// Appends code to an open block.
    pub fn put(&mut self, block: usize, code: &[Instruction]) {
        let bytes = &mut self.blocks[block];
        code.iter().for_each(|instruction| instruction.encode(bytes));
    }

    /// Appends code that leaves a value, and keeps the value in a new local.
    pub fn keep(&mut self, block: usize, ty: ValType, code: &[Instruction]) -> Local {
        let local = self.local(ty);
        self.put(block, code);
        self.put(block, &[local.set()]);
        local
    }

    /// Opens a block within the innermost.
    pub fn open(&mut self) {
        self.blocks.push(Vec::new());
    }

    /// Closes the innermost block; its code follows that of the block around it, between two pieces of code.
    pub fn close(&mut self, before: &[Instruction], after: &[Instruction]) {
        let inner = self.blocks.pop().unwrap_or_default();
        let outer = self.innermost();
        self.put(outer, before);
        self.blocks[outer].extend_from_slice(&inner);
        self.put(outer, after);
    }

    /// A vector that never changes. It is a variable of the module, fetched once: engines would move a constant into the loops.
    pub fn constant(&mut self, bits: u128) -> Local {
        if let Some(local) = self.constants.get(&bits) {
            return *local;
        }
        let global = self.shared.constant(bits);
        let local = self.keep(0, ValType::V128, &[Instruction::GlobalGet(global)]);
        self.constants.insert(bits, local);
        local
    }

    /// A vector of four equal words.
    pub fn word(&mut self, bits: u32) -> Local {
        let pair = u128::from(bits) << 32 | u128::from(bits);
        self.constant(pair << 64 | pair)
    }

    /// Whether a local is the constant 0.
    pub fn is_zero(&self, local: Local) -> bool {
        self.constants.get(&0) == Some(&local)
    }

    /// A vector of two equal doubles.
    pub fn double(&mut self, value: f64) -> Local {
        let bits = u128::from(value.to_bits());
        self.constant(bits << 64 | bits)
    }

    /// The function.
    pub fn finish(mut self) -> Function {
        self.put(0, &[wasm::END]);
        self.shared.most_locals = self.shared.most_locals.max(self.locals.len());
        let mut function = Function::new(&self.locals);
        function.raw(&self.blocks[0]);
        function
    }
}
