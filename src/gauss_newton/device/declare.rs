//! What a solver that builds the model's recordings into its own command lists declares for them.

use residua_gpu::{PipelineId, Slice};

use super::buffers::ModelBuffer;
use super::layout::ModelLayout;
use super::shaders::ModelShader;
use crate::eval::declare::Declare;

/// A command list that is being written, and its writer's names for what the model declares in it.
pub trait DeclareModel: Declare {
    /// A buffer, declared when it is first asked for.
    fn model_buffer(&mut self, buffer: ModelBuffer, bytes: u64) -> Slice;
    /// The pipeline of a kernel, declared when it is first asked for.
    fn model_shader(&mut self, shader: ModelShader) -> PipelineId;
    /// Where a table or a vector of the model stands, which may be a part of a buffer.
    fn model_table(&mut self, layout: &ModelLayout, buffer: ModelBuffer) -> Slice {
        let (home, offset) = layout.home(buffer);
        self.model_buffer(home, layout.bytes(home)).part(offset, layout.bytes(buffer))
    }
}
