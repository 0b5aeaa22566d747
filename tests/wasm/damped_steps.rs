//! Damped steps in f64 on the CPU: what those of a device are compared with, step by step.

use residua::eval::{Arithmetic, Functions};
use residua::gauss_newton::host::HostModel;
use residua::solve::levenberg_marquardt::host::retraction::Retraction;
use residua::solve::rules::damped;
use residua::solve::{IterationSummary, Start};
use residua_linalg::loops::add_squares;
use residua_linalg::{CoordinateBlocks, Pcg, PcgOptions, SparseMatrix, System};

/// The cost at the start and after each step of a history that accepted all: δ of (J̃ᵀJ̃ + λD) δ = −J̃ᵀr̃ by conjugate gradients, with the history's λ, and
/// for D the largest diagonal of J̃ᵀJ̃ so far.
pub async fn costs(functions: &mut Functions, history: &[IterationSummary], options: PcgOptions) -> Vec<f64> {
    let Start { point: mut x, feasible, .. } = Start::of(functions, Arithmetic::F64).unwrap();
    let n = x.len();
    let bounds = functions.bounds().map(|(lower, upper)| (lower.to_vec(), upper.to_vec()));
    let (lower, upper) = bounds.unwrap_or((vec![f64::NEG_INFINITY; n], vec![f64::INFINITY; n]));
    let arrays = functions.model().arrays.clone();
    let retraction = Retraction::new(&arrays, lower, upper).await.unwrap();
    let of_array = arrays.iter().flat_map(|array| {
        let tangents = array.manifold.tangent_dim(array.dim) as usize;
        (0..array.count).map(move |block| ((array.offset + block * array.dim) as usize, tangents))
    });
    let blocks = CoordinateBlocks::of(of_array.collect());
    let mut host = HostModel::default();
    let pattern = host.pattern(functions).unwrap().clone();
    let (mut scale, mut frozen, mut costs) = (vec![0.0_f64; n], vec![false; n], Vec::new());
    for step in history {
        if step.iteration > 0 {
            let model = host.linearise(functions, &x).await.unwrap();
            let jacobian = SparseMatrix {
                cols: n,
                row_offsets: &pattern.row_offsets,
                col_indices: &pattern.col_indices,
                values: &model.entries,
            };
            let (mut gradient, mut diagonal) = (vec![0.0; n], vec![0.0; n]);
            jacobian.add_transposed_times(&model.residuals, &mut gradient);
            add_squares(&pattern.col_indices, &model.entries, &mut diagonal);
            feasible.freeze(&x, &gradient, &mut frozen);
            scale.iter_mut().zip(&diagonal).for_each(|(scale, diagonal)| *scale = scale.max(*diagonal));
            let damping: Vec<f64> = scale.iter().map(|&scale| damped(step.damping.unwrap(), scale)).collect();
            let system = System { jacobian, residuals: &model.residuals, damping: &damping, frozen: &frozen };
            let (mut delta, mut to, mut made) = (vec![0.0; n], x.clone(), vec![0.0; n]);
            Pcg::new().solve(&system, &blocks, options, &mut delta).unwrap();
            retraction.make(&x, &delta, &mut to, &mut made).unwrap();
            x = to;
        }
        costs.push(host.linearise(functions, &x).await.unwrap().cost);
    }
    costs
}
