//! The functions and numbers of a module that the code of its kernels refers to.

use std::cell::RefCell;
use std::rc::Rc;

use residua_ir::graph::{LoopBody, Op};
use vecmap::VecMap;

use super::locals::Width;
use crate::Function;

/// The functions that generated code calls, by their positions in the module.
#[derive(Debug, Default)]
pub(super) struct Functions {
    pub math: VecMap<Op, u32>,
    pub calls: VecMap<(*const Function, Width), u32>,
    pub loops: VecMap<(*const LoopBody, Width), LoopFunction>,
    /// The variables of the module.
    pub variables: RefCell<Vec<Variable>>,
    /// Where the exponential's table stands.
    pub powers: u32,
}

/// A variable of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variable {
    /// A number that loops have, by its bits: a constant would be moved into the loop by some engines.
    Number(u64),
    /// What one function of a kernel leaves to the next.
    Value(Width),
    /// The address of all tables, for the functions of loops.
    Tables,
}

/// The function of a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoopFunction {
    /// Its position in the module.
    pub position: u32,
    /// The first of the variables in which it takes its operands and leaves the final state, if they are too many for parameters.
    pub variables: Option<u32>,
}

impl Functions {
    /// The import that computes an op.
    pub fn math(&self, op: Op) -> u32 {
        *self.math.get(&op).expect("every op that kernels need is imported first")
    }

    /// The variable with a number, by its bits.
    pub fn number(&self, bits: u64) -> u32 {
        self.only(Variable::Number(bits))
    }

    /// A variable that the module has once.
    fn only(&self, variable: Variable) -> u32 {
        let mut variables = self.variables.borrow_mut();
        let known = variables.iter().position(|known| *known == variable);
        let position = known.unwrap_or_else(|| {
            variables.push(variable);
            variables.len() - 1
        });
        position as u32
    }

    /// The variable with the address of all tables.
    pub fn tables(&self) -> u32 {
        self.only(Variable::Tables)
    }

    /// A variable with no number of its own.
    pub fn add_variable(&self, width: Width) -> u32 {
        let mut variables = self.variables.borrow_mut();
        variables.push(Variable::Value(width));
        variables.len() as u32 - 1
    }

    /// The function of a loop, of one width.
    pub fn of_loop(&self, body: &Rc<LoopBody>, width: Width) -> LoopFunction {
        *self.loops.get(&(Rc::as_ptr(body), width)).expect("loops are written before what runs them")
    }

    /// A function with cases, of one width.
    pub fn call(&self, function: &Rc<Function>, width: Width) -> u32 {
        *self
            .calls
            .get(&(Rc::as_ptr(function), width))
            .expect("functions are written before the kernels that call them")
    }
}
