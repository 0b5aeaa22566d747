//! The kernels of a line search: an objective at several steps along a direction, and its slope there.
//!
//! | entry | reads | gives |
//! |---|---|---|
//! | `sumLine`, `costLine` | a point, a direction, [`STEPS`] steps | at each step the objective and its slope along the direction |
//!
//! Each step is a layer of the kernel. A local parameter that does not move adds nothing to the slope, whatever its derivative.

use residua_base::list::Listed;
use residua_codegen::{Index, Load};
use residua_ir::autodiff;
use residua_ir::graph::{InputId, NodeId, Op};

use super::planner::Planner;
use super::role::Role;

/// Steps that are evaluated in one go: the next one of a bisection, and the two that may follow it.
pub const STEPS: u32 = 3;

/// Position of the first step in its buffer: after the gate and the word after that, which is 0 in every run.
pub const FIRST_STEP: u32 = 2;

impl Planner<'_> {
    /// Puts the residuals where the layer's step along the direction leads; gives the direction of each local parameter.
    pub(super) fn go_along(&mut self) -> Vec<NodeId> {
        let class = self.class;
        if class.locals.is_empty() {
            return Vec::new();
        }
        let (steps, vector, indices) =
            (self.buffer(Role::Steps), self.buffer(Role::Vector), self.buffer(Role::Indices));
        let step = self.load(Load::read(steps, Index::layer(FIRST_STEP)));
        let mut inputs: Vec<NodeId> =
            (0..class.graph.input_count()).map(|input| self.graph.input(InputId(input))).list();
        let mut direction = Vec::new();
        for (input, local) in inputs.iter_mut().zip(&class.locals) {
            let index = Index::indexed(indices, local.column, local.component);
            let along = self.load(Load::read(vector, index));
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
    use crate::model::Batch;
    use crate::model::access_plan::{AccessPlan, Entry, Target};
    use crate::model::tests::{Recorder, pair_model, params_model};
    use residua_codegen::{Epilogue, InstanceRange, View, interpret, wgsl};

    /// One instance of a² b and of a − b.
    fn batch() -> Batch {
        let mut r = Recorder::default();
        let (a, b) = (r.parameter(0), r.parameter(1));
        let square = r.square(a);
        let outputs = vec![r.apply(Op::Mul, &[square, b]), r.apply(Op::Sub, &[a, b])];
        pair_model(r.tape(outputs, 2)).batches.remove(0)
    }

    /// The objective or the slope (0 or 1) of a plan for x and p of two numbers, and weight 3.
    fn total(plan: &AccessPlan, number: usize, batch: &Batch, [x, p]: [[f64; 2]; 2], step: f64) -> f64 {
        let (steps, batch_constants) = ([1.0, 0.0, step], [3.0, 0.0, 0.0, 0.0, 1.0]);
        let mut views: Vec<View> = plan
            .roles
            .iter()
            .map(|role| match role {
                Role::Parameters => View::Read(&x),
                Role::Vector => View::Read(&p),
                Role::Steps => View::Read(&steps),
                Role::Indices => View::Index(&batch.indices),
                Role::BatchConstants => View::Read(&batch_constants),
                other => panic!("{other:?}"),
            })
            .list();
        let mut kernel = plan.kernel.clone().into_kernel();
        let node = kernel.reduced().nth(number);
        kernel.outputs.retain(|output| matches!(output.epilogue, Epilogue::Reduce(_)) && Some(output.node) == node);
        interpret::run(
            &kernel.check().unwrap(),
            &mut views,
            &InstanceRange { instances: 0..1, stride: 1, first: 0, origin: 0 },
        )
        .unwrap()
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
            let plan = AccessPlan::new(&batch.class, batch.rows, entry, Target::Gpu, "").unwrap();
            let found = [0, 1].map(|number| total(&plan, number, &batch, [x, p], step));
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
        let batches = params_model(r.tape(vec![root], 1), 1).batches;
        let plan = AccessPlan::new(&batches[0].class, batches[0].rows, Entry::SumLine, Target::Gpu, "").unwrap();
        let slope = total(&plan, 1, &batches[0], [[0.0; 2]; 2], 1.0);
        assert_eq!(slope, 0.0, "and not 0 times the root's infinite slope");
    }

    #[test]
    fn a_layer_is_a_workgroup_beside_those_of_the_same_instances() {
        let batch = batch();
        let plan = AccessPlan::new(&batch.class, batch.rows, Entry::CostLine, Target::Gpu, "").unwrap();
        let text = wgsl::write(&plan.kernel, wgsl::PairForm::Split).unwrap();
        residua_portable::validated(&text);
        for line in ["let start = group / 3u * 64u + lane;", "let layer = group % 3u;", "steps[layer + 2u]"] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
    }
}
