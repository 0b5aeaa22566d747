//! What the buffers of a plan's kernel are, and what generated text calls them.

use residua_codegen::ElementType;

/// What a buffer of the kernel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// All parameters.
    Parameters,
    /// The batch's index table.
    Indices,
    /// For each entry of an owner's lists where the instance's other blocks stand, and which instance it is, see
    /// [`super::lists`]. GPU alone.
    Others,
    /// The batch's data table.
    Data,
    /// The batch's uniform table.
    BatchConstants,
    /// A number for each residual of the model, read; where sums of a model are made, of the batch, a column for each output.
    Seeds,
    /// All residuals of the model; where sums of a model are made, those of the batch, a column for each output.
    Residuals,
    /// The values of addends: a column for each output. GPU alone.
    AddendValues,
    /// Local gradients: a column for each local parameter, in the order of [`Class::gradient_column`]. GPU alone.
    LocalGradient,
    /// The gradient of all parameters. On the GPU of sums over lists alone.
    Gradient,
    /// Local partials: a column for each of [`AccessPlan::partials`], or with a [`Scatter`] the entries of a sparse matrix.
    Partials,
    /// Where a [`Scatter`] writes, or the instance's blocks of J̃ᵀJ̃ or of second derivatives begin. CPU alone.
    Places,
    /// The diagonal blocks of J̃ᵀJ̃, of which the lower halves count, [`super::normal_equations::SharedSums`], or a matrix of second derivatives. CPU alone.
    JtjBlocks,
    /// The local table, [`super::least_squares::LocalTable`].
    Local,
    /// A number for each parameter: what a product is taken of, or a direction.
    Vector,
    /// All tables of the model, see [`residua_ir::graph::Op::Lookup`].
    Tables,
    /// The steps along the direction, from [`super::line::FIRST_STEP`] on, after the gate.
    Steps,
}

impl Role {
    /// Its name in generated text, and what it holds.
    pub(crate) fn declaration(self) -> (&'static str, ElementType) {
        match self {
            Role::Parameters => ("x", ElementType::Real),
            Role::Indices => ("indices", ElementType::U32),
            Role::Others => ("others", ElementType::U32),
            Role::Data => ("data", ElementType::Real),
            Role::BatchConstants => ("batch_constants", ElementType::Real),
            Role::Seeds => ("seeds", ElementType::Real),
            Role::Residuals => ("residuals", ElementType::Real),
            Role::AddendValues => ("addends", ElementType::Real),
            Role::LocalGradient => ("local_gradient", ElementType::Real),
            Role::Gradient => ("gradient", ElementType::Real),
            Role::Partials => ("partials_of_residuals", ElementType::Real),
            Role::Places => ("places", ElementType::U32),
            Role::JtjBlocks => ("jtj_blocks", ElementType::Real),
            Role::Local => ("local", ElementType::Real),
            Role::Vector => ("p", ElementType::Real),
            Role::Tables => ("tables", ElementType::Real),
            Role::Steps => ("steps", ElementType::Real),
        }
    }
}
