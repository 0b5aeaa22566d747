//! What the buffers of a plan's kernel are, and what generated text calls them.

use crate::codegen::Element;

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
    Uniforms,
    /// A number for each residual of the model, read; where sums of a model are made, of the batch, a column for each output.
    Seeds,
    /// All residuals of the model; where sums of a model are made, those of the batch, a column for each output.
    Residuals,
    /// The values of addends: a column for each output. GPU alone.
    AddendValues,
    /// Local gradients: a column for each local parameter, in the order of [`gradient_column`]. GPU alone.
    LocalGradient,
    /// The gradient of all parameters. On the GPU of sums over lists alone.
    Gradient,
    /// Local partials: a column for each of [`Plan::partials`], or with a [`Scatter`] the entries of a sparse matrix.
    Partials,
    /// Where a [`Scatter`] writes, or the instance's blocks of curvature begin. CPU alone.
    Places,
    /// The diagonal blocks of J̃ᵀJ̃, of which the lower halves count, or [`super::normal_equations::SharedSums`]. CPU alone.
    Curvature,
    /// The local table, [`super::least_squares::LocalTable`].
    Local,
    /// A number for each parameter: what a product is taken of.
    Vector,
    /// A gate, and after it the steps along the direction.
    Steps,
}

impl Role {
    /// Its name in generated text, and what it holds.
    pub(crate) fn declaration(self) -> (&'static str, Element) {
        match self {
            Role::Parameters => ("x", Element::Real),
            Role::Indices => ("indices", Element::Index),
            Role::Others => ("others", Element::Index),
            Role::Data => ("data", Element::Real),
            Role::Uniforms => ("uniforms", Element::Real),
            Role::Seeds => ("seeds", Element::Real),
            Role::Residuals => ("residuals", Element::Real),
            Role::AddendValues => ("addends", Element::Real),
            Role::LocalGradient => ("local_gradient", Element::Real),
            Role::Gradient => ("gradient", Element::Real),
            Role::Partials => ("partials_of_residuals", Element::Real),
            Role::Places => ("places", Element::Index),
            Role::Curvature => ("curvature", Element::Real),
            Role::Local => ("local", Element::Real),
            Role::Vector => ("p", Element::Real),
            Role::Steps => ("steps", Element::Real),
        }
    }
}
