//! The kernels of a line search: an objective at several steps along a direction, and its slope there.
//!
//! | entry | reads | gives |
//! |---|---|---|
//! | `sumLine`, `costLine` | a point, a direction, [`STEPS`] steps | at each step the objective and its slope along the direction |
//!
//! Each step is a layer of the kernel. A local parameter that does not move adds nothing to the slope, whatever its derivative.

use crate::autodiff;
use crate::codegen::{Address, Load};
use crate::graph::{InputId, NodeId, Op};
use crate::list::Listed;

use super::plan::{Planner, Role};

/// Steps that are evaluated in one go: the next one of a bisection, and the two that may follow it.
pub const STEPS: u32 = 3;

impl Planner<'_> {
    /// Puts the residuals where the layer's step along the direction leads; gives the direction of each local parameter.
    pub(super) fn go_along(&mut self) -> Vec<NodeId> {
        let class = self.class;
        if class.locals.is_empty() {
            return Vec::new();
        }
        let (steps, vector, indices) =
            (self.buffer(Role::Steps), self.buffer(Role::Vector), self.buffer(Role::Indices));
        let step = self.load(Load::Read { buffer: steps, address: Address::Layer(1) });
        let mut inputs: Vec<NodeId> =
            (0..class.graph.input_count()).map(|input| self.graph.input(InputId(input))).list();
        let mut direction = Vec::new();
        for (input, local) in inputs.iter_mut().zip(&class.locals) {
            let address = Address::Indexed { indices, column: local.column, component: local.component };
            let along = self.load(Load::Read { buffer: vector, address });
            let way = self.graph.apply(Op::Mul, &[step, along]);
            *input = self.graph.apply(Op::Add, &[*input, way]);
            direction.push(along);
        }
        self.outputs = self.graph.substitute(class.graph.graph(), &inputs, &class.outputs);
        direction
    }

    /// The slope along a direction of what has these derivatives by the residuals.
    pub(super) fn slope(&mut self, seeds: &[(NodeId, NodeId)], direction: &[NodeId]) -> NodeId {
        let locals = self.local_inputs();
        // Where the point is a step along, its derivatives by where it began are those by where it is.
        let partials = autodiff::gradient(&mut self.graph, seeds, &locals);
        let terms = direction
            .iter()
            .zip(partials)
            .filter_map(|(&along, partial)| Some(self.graph.apply(Op::GuardedMul, &[along, partial?])))
            .list();
        self.sum(terms)
    }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;
    use crate::batch::plan::{Entry, Plan, Target, plan};
    use crate::batch::tests::Recorder;
    use crate::batch::{Batch, Losses, group_tape};
    use crate::codegen::interpret;
    use crate::codegen::{Dispatch, View, wgsl};

    /// One instance of a² b and of a − b.
    fn batch() -> Batch {
        let mut r = Recorder::default();
        let (a, b) = (r.parameter(0), r.parameter(1));
        let square = r.square(a);
        let outputs = vec![r.apply(Op::Mul, &[square, b]), r.apply(Op::Sub, &[a, b])];
        let tape = r.tape(outputs, 2);
        let recipe = crate::batch::Recipe {
            block: 0,
            instances: vec![0],
            rows: vec![0],
            slots: vec![0, 0],
            indices: vec![0, 1],
            data_columns: 0,
            data: Vec::new(),
            tape,
        };
        let array = crate::batch::ArrayInfo {
            name: "x".into(),
            dim: 1,
            count: 2,
            offset: 0,
            manifold: crate::batch::Manifold::Euclidean,
        };
        recipe.into_batch(&[array]).unwrap()
    }

    /// What a plan gives for x and p of two numbers, and weight 3.
    fn total(plan: &Plan, node: NodeId, batch: &Batch, [x, p]: [[f64; 2]; 2], step: f64) -> f64 {
        let (steps, uniforms) = ([1.0, step], [3.0, 0.0, 0.0, 0.0, 1.0]);
        let mut views: Vec<View> = plan
            .roles
            .iter()
            .map(|role| match role {
                Role::Parameters => View::Read(&x),
                Role::Vector => View::Read(&p),
                Role::Steps => View::Read(&steps),
                Role::Indices => View::Index(&batch.indices),
                Role::Uniforms => View::Read(&uniforms),
                other => panic!("{other:?}"),
            })
            .list();
        let mut kernel = plan.kernel.clone();
        kernel.total = Some(node);
        interpret::run(&kernel, &mut views, &Dispatch { instances: 0..1, stride: 1, first: 0, origin: 0 }).unwrap()
    }

    #[test]
    fn objective_and_slope_are_those_of_the_point_a_step_along() {
        let batch = batch();
        let (x, p, step) = ([1.25, -0.5], [0.5, 2.0], 0.75);
        let [a, b] = [x[0] + step * p[0], x[1] + step * p[1]];
        let [f, g] = [a * a * b, a - b];
        let [df, dg] = [2.0 * a * b * p[0] + a * a * p[1], p[0] - p[1]];
        for (entry, objective, slope) in [
            (Entry::SumLine, 3.0 * (f + g), 3.0 * (df + dg)),
            (Entry::CostLine, 1.5 * (f * f + g * g), 3.0 * (f * df + g * dg)),
        ] {
            let plan = plan(&batch.class, batch.rows, entry, Target::Gpu, "").unwrap();
            let found = [plan.kernel.total.unwrap(), plan.kernel.layers.unwrap().second]
                .map(|node| total(&plan, node, &batch, [x, p], step));
            for (found, expected) in found.into_iter().zip([objective, slope]) {
                // A dozen roundings.
                assert!((found - expected).abs() < 1e-14 * expected.abs(), "{entry:?}: {found}, not {expected}");
            }
        }
    }

    #[test]
    fn what_does_not_move_adds_nothing_to_the_slope() {
        let mut r = Recorder::default();
        let x = r.parameter(0);
        let root = r.apply(Op::Sqrt, &[x]);
        let batches = group_tape(r.tape(vec![root], 1), 1, 0, 0, Losses::Any).unwrap();
        let plan = plan(&batches[0].class, batches[0].rows, Entry::SumLine, Target::Gpu, "").unwrap();
        let slope = total(&plan, plan.kernel.layers.unwrap().second, &batches[0], [[0.0; 2]; 2], 1.0);
        assert_eq!(slope, 0.0, "and not 0 times the root's infinite slope");
    }

    #[test]
    fn a_layer_is_a_workgroup_beside_those_of_the_same_instances() {
        let batch = batch();
        let plan = plan(&batch.class, batch.rows, Entry::CostLine, Target::Gpu, "").unwrap();
        let text = wgsl::write(&plan.kernel).unwrap();
        crate::portable::validated(&text);
        for line in ["let start = group / 3u * 64u + lane;", "let layer = group % 3u;", "steps[layer + 1u]"] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
    }
}
