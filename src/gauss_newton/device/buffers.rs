//! The buffers of the Gauss-Newton model on a device, by what they hold.

/// A buffer of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelBuffer {
    /// The local table of a chunk, see [`crate::model::least_squares::LocalTable`].
    Local(usize),
    /// The local tables of all chunks, see [`super::layout::ModelLayout::home`].
    AllLocal,
    /// The uniforms of dispatches, each from a multiple of [`crate::eval::layout::ALIGNMENT`] on.
    Uniforms,
    /// Lists of entries over all local tables, see [`super::fused_lists`].
    FusedLists,
    /// The uniforms of dispatches over all chunks.
    FusedUniforms,
    /// Sums of segments over all local tables.
    FusedScratch(u32),
    /// Partial sums of the least-squares cost, or of its reduction: those of each chunk from where [`super::layout::ModelLayout`] says.
    CostSums,
    /// Partial sums of ‖J̃p‖², laid out likewise.
    ProductSums,
    /// The diagonal blocks of J̃ᵀJ̃, laid out as [`super::layout::ModelLayout::scale`] says.
    BlockDiagonal,
    /// The errors of its sums.
    BlockDiagonalLow,
    /// Sums of segments of the block diagonal.
    BlockDiagonalScratch(u32),
}

impl ModelBuffer {
    /// As messages name it.
    pub fn name(self) -> String {
        let words = match self {
            ModelBuffer::Local(chunk) => return format!("local table of chunk {chunk}"),
            ModelBuffer::AllLocal => "local tables",
            ModelBuffer::Uniforms => "uniforms of the Gauss-Newton model",
            ModelBuffer::FusedLists => "entries of blocks",
            ModelBuffer::FusedUniforms => "uniforms of all chunks",
            ModelBuffer::FusedScratch(_) => "sums of segments of all chunks",
            ModelBuffer::CostSums => "sums of the cost",
            ModelBuffer::ProductSums => "sums of a product",
            ModelBuffer::BlockDiagonal => "block diagonal",
            ModelBuffer::BlockDiagonalLow => "errors of the block diagonal",
            ModelBuffer::BlockDiagonalScratch(_) => "sums of segments of the block diagonal",
        };
        words.to_owned()
    }
}
