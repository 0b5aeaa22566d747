//! Recordings that are built into a solver's own command lists: what a recorder declares there, and the sums that it leaves.

use residua_gpu::{BindingKind, CommandList, PipelineId, Slice};

use super::layout::{Layout, Memory};
use super::record::Program;
use super::shaders::Shader;

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
