//! The functions and numbers of a module that the code of its kernels refers to.

use std::cell::RefCell;
use std::rc::Rc;

use residua_ir::graph::Op;
use vecmap::VecMap;

use super::locals::Width;
use crate::Function;

/// The functions that generated code calls, by their positions in the module.
#[derive(Debug, Default)]
pub(super) struct Functions {
    pub math: VecMap<Op, u32>,
    pub calls: VecMap<(*const Function, Width), u32>,
    /// The numbers that loops have, in variables of the module: a constant would be moved into the loop by some engines.
    pub numbers: RefCell<Vec<u64>>,
    /// Where the exponential's table stands.
    pub powers: u32,
}

impl Functions {
    /// The import that computes an op.
    pub fn math(&self, op: Op) -> u32 {
        *self.math.get(&op).expect("every op that kernels need is imported first")
    }

    /// The variable with a number, by its bits.
    pub fn number(&self, bits: u64) -> u32 {
        let mut numbers = self.numbers.borrow_mut();
        let known = numbers.iter().position(|known| *known == bits);
        let position = known.unwrap_or_else(|| {
            numbers.push(bits);
            numbers.len() - 1
        });
        position as u32
    }

    /// A function with cases, of one width.
    pub fn call(&self, function: &Rc<Function>, width: Width) -> u32 {
        *self
            .calls
            .get(&(Rc::as_ptr(function), width))
            .expect("functions are written before the kernels that call them")
    }
}
