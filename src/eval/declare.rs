//! Recordings that are built into a solver's own command lists: what a recorder declares there, and the sums that it leaves.

use std::fmt::Debug;

use residua_gpu::{BindingKind, BufferId, CommandList, PipelineId, Slice};
use vecmap::VecMap;

use super::layout::{Layout, Memory};
use super::record::Program;
use super::shaders::Shader;
use crate::model::access_plan::Role;

/// A list that is being written, and its writer's names for what it declares.
pub trait Declare {
    /// The list.
    fn list(&mut self) -> &mut CommandList;
    /// A buffer, declared at first use.
    fn memory(&mut self, memory: Memory, bytes: u64) -> Slice;
    /// A pipeline, declared at first use.
    fn program(&mut self, program: Program, name: &str, layout: &[BindingKind]) -> PipelineId;
    /// The pipeline of a hand-written shader.
    fn shader(&mut self, shader: Shader) -> PipelineId {
        self.program(Program::Shader(shader), shader.entry(), &shader.layout())
    }
    /// Where a table or a vector of the functions' stands, which may be a part of a buffer.
    fn table(&mut self, layout: &Layout, memory: Memory) -> Slice {
        let (home, offset) = layout.home(memory);
        self.memory(home, layout.bytes(home)).part(offset, layout.bytes(memory))
    }
    /// Where a chunk's kernel finds what the model holds; none of other roles.
    fn of_model(&mut self, layout: &Layout, role: Role, number: usize) -> Option<Slice> {
        let memory = match role {
            Role::Indices => Memory::Indices(number),
            Role::Data => Memory::Data(number),
            Role::Tables => Memory::Tables,
            Role::BatchConstants => {
                let (start, length) = layout.batch_constants[layout.chunks[number].batch];
                return Some(self.table(layout, Memory::BatchConstants).part(start, 4 * length));
            }
            _ => return None,
        };
        Some(self.table(layout, memory))
    }
}

/// Numbers whose total is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sums {
    /// Where they stand.
    pub slice: Slice,
    /// How many.
    pub count: u32,
    /// 1: numbers; 2: pairs of a number and its error.
    pub width: u32,
}

/// A buffer or a pipeline of a solver's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owned<F, S> {
    /// One of the compiled functions'.
    Functions(F),
    /// One of the solver's own.
    Solver(S),
}

/// A command list of a solver with the buffers and pipelines that it declares, in their order. `B` and `P` are the solver's names for its own.
#[derive(Debug)]
pub struct Segment<B, P> {
    /// The commands.
    pub list: CommandList,
    /// The buffers.
    pub buffers: VecMap<Owned<Memory, B>, BufferId>,
    /// The pipelines.
    pub programs: VecMap<Owned<Program, P>, PipelineId>,
}

impl<B, P> Default for Segment<B, P> {
    fn default() -> Segment<B, P> {
        Segment { list: CommandList::default(), buffers: VecMap::default(), programs: VecMap::default() }
    }
}

impl<B: Copy + Debug + Eq, P: Copy + Eq> Segment<B, P> {
    /// A buffer of the solver's own, declared at first use.
    pub fn buffer(&mut self, buffer: B, bytes: u64) -> Slice {
        self.declare(Owned::Solver(buffer), bytes)
    }

    /// A pipeline of the solver's own, declared at first use.
    pub fn pipeline(&mut self, program: P, name: &str, layout: &[BindingKind]) -> PipelineId {
        self.declare_program(Owned::Solver(program), name, layout)
    }

    /// The buffers of the functions.
    pub fn of_functions(&self) -> impl Iterator<Item = Memory> {
        self.buffers.keys().filter_map(|buffer| match buffer {
            Owned::Functions(memory) => Some(*memory),
            Owned::Solver(_) => None,
        })
    }

    /// The solver's own pipelines.
    pub fn own_programs(&self) -> impl Iterator<Item = P> {
        self.programs.keys().filter_map(|program| match program {
            Owned::Functions(_) => None,
            Owned::Solver(program) => Some(*program),
        })
    }

    fn declare(&mut self, buffer: Owned<Memory, B>, bytes: u64) -> Slice {
        let id = self.buffers.get(&buffer).copied().unwrap_or_else(|| {
            let id = self.list.buffer(format!("{buffer:?}"), bytes);
            self.buffers.insert(buffer, id);
            id
        });
        self.list.whole(id)
    }

    fn declare_program(&mut self, program: Owned<Program, P>, name: &str, layout: &[BindingKind]) -> PipelineId {
        self.programs.get(&program).copied().unwrap_or_else(|| {
            let id = self.list.pipeline(name, layout);
            self.programs.insert(program, id);
            id
        })
    }
}

impl<B: Copy + Debug + Eq, P: Copy + Eq> Declare for Segment<B, P> {
    fn list(&mut self) -> &mut CommandList {
        &mut self.list
    }

    fn memory(&mut self, memory: Memory, bytes: u64) -> Slice {
        self.declare(Owned::Functions(memory), bytes)
    }

    fn program(&mut self, program: Program, name: &str, layout: &[BindingKind]) -> PipelineId {
        self.declare_program(Owned::Functions(program), name, layout)
    }
}
