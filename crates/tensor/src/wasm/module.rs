//! What the functions of a module share: constants, and the functions of four numbers that kernels call.

use residua_codegen::wasm::encoding::{Function, Sections, ValType};
use vecmap::VecMap;

use super::routine::Routine;

/// The module under construction.
pub(super) struct Shared {
    sections: Sections,
    constants: Vec<u128>,
    routines: VecMap<Routine, u32>,
    /// The most locals that a function has.
    pub most_locals: usize,
}

impl Shared {
    /// A module without functions, in a memory from outside.
    pub fn new() -> Shared {
        let mut sections = Sections::default();
        sections.import_memory("env", "memory");
        Shared { sections, constants: Vec::new(), routines: VecMap::default(), most_locals: 0 }
    }

    /// The variable that holds a vector.
    pub fn constant(&mut self, bits: u128) -> u32 {
        let known = self.constants.iter().position(|known| *known == bits);
        let position = known.unwrap_or_else(|| {
            self.constants.push(bits);
            self.constants.len() - 1
        });
        position as u32
    }

    /// The number of a function of vectors, which is written at its first use.
    pub fn routine(&mut self, routine: Routine, write: fn(Routine, &mut Shared) -> Function) -> u32 {
        if let Some(number) = self.routines.get(&routine) {
            return *number;
        }
        let function = write(routine, self);
        let number = self.sections.add(vec![ValType::V128; routine.arity()], vec![ValType::V128], &function);
        self.routines.insert(routine, number);
        number
    }

    /// Adds a kernel under a name.
    pub fn kernel(&mut self, name: &str, function: &Function) {
        let number = self.sections.add(vec![ValType::I32; 2], vec![ValType::I32], function);
        self.sections.export(name, number);
    }

    /// The bytes of the module.
    pub fn finish(mut self) -> Vec<u8> {
        self.constants.iter().for_each(|bits| self.sections.add_vector(*bits));
        self.sections.finish()
    }
}
