//! Scalar functions for the rules of the solvers: each is one graph, which is evaluated here in f64 and written to WGSL for the device.
//!
//! True is 1 and false is 0. A comparison with a NaN is false.

use std::rc::Rc;

use residua_codegen::{Case, Function};
use residua_ir::graph::{Graph, InputId, NodeId, Op};

/// A number within a [`Formula`].
pub type Scalar = NodeId;

/// A graph under construction, with the operations of rules.
pub struct Formula(Graph);

/// A function of one case. Its results are those that `build` returns for its parameters.
pub fn function<const N: usize, const M: usize>(
    name: &'static str,
    parameters: &'static [&'static str; N],
    build: impl FnOnce(&mut Formula, [Scalar; N]) -> [Scalar; M],
) -> Rc<Function> {
    let mut formula = Formula(Graph::new());
    let inputs = inputs(&mut formula.0);
    let results = build(&mut formula, inputs);
    Rc::new(of_graph(name, parameters, formula.0, &results))
}

/// The inputs of a function of N parameters, in order.
pub(super) fn inputs<const N: usize>(graph: &mut Graph) -> [NodeId; N] {
    let mut inputs = [graph.input(InputId(0)); N];
    for (number, input) in (0..).zip(&mut inputs) {
        *input = graph.input(InputId(number));
    }
    inputs
}

/// A function of one case. It is not generic, so that it is compiled once.
pub(super) fn of_graph(
    name: &'static str,
    parameters: &'static [&'static str],
    graph: Graph,
    results: &[NodeId],
) -> Function {
    let count = results.len();
    let (graph, results) = graph.extract(results);
    let graph = graph.check(parameters.len() as u32).expect("a formula reads its parameters alone");
    Function { name, parameters, results: count, cases: vec![Case { name, graph, results }] }
}

/// The results of a function of one case, in f64.
pub fn evaluate<const M: usize>(function: &Function, arguments: &[f64]) -> [f64; M] {
    let mut results = [0.0; M];
    function.evaluate_into(arguments, &mut results);
    results
}

impl Formula {
    /// A number.
    pub fn number(&mut self, value: f64) -> Scalar {
        self.0.literal(value)
    }
    /// a + b
    pub fn plus(&mut self, a: Scalar, b: Scalar) -> Scalar {
        self.0.add(a, b)
    }
    /// a − b
    pub fn minus(&mut self, a: Scalar, b: Scalar) -> Scalar {
        self.0.sub(a, b)
    }
    /// a · b
    pub fn times(&mut self, a: Scalar, b: Scalar) -> Scalar {
        self.0.mul(a, b)
    }
    /// a / b
    pub fn over(&mut self, a: Scalar, b: Scalar) -> Scalar {
        self.0.div(a, b)
    }
    /// |a|
    pub fn magnitude(&mut self, a: Scalar) -> Scalar {
        self.0.abs(a)
    }
    /// a < b
    pub fn less(&mut self, a: Scalar, b: Scalar) -> Scalar {
        self.0.lt(a, b)
    }
    /// a ≤ b
    pub fn at_most(&mut self, a: Scalar, b: Scalar) -> Scalar {
        self.0.le(a, b)
    }
    /// Whether a is that value.
    pub fn is(&mut self, a: Scalar, value: f64) -> Scalar {
        let value = self.number(value);
        self.0.eq(a, value)
    }
    /// Whether both are true.
    pub fn and(&mut self, a: Scalar, b: Scalar) -> Scalar {
        self.times(a, b)
    }
    /// Whether at least one is true.
    pub fn or(&mut self, a: Scalar, b: Scalar) -> Scalar {
        self.0.apply(Op::Max, &[a, b])
    }
    /// Whether a is false.
    pub fn not(&mut self, a: Scalar) -> Scalar {
        let one = self.number(1.0);
        self.minus(one, a)
    }
    /// `a` if the condition is true, else `b`.
    pub fn choose(&mut self, condition: Scalar, a: Scalar, b: Scalar) -> Scalar {
        self.0.select(condition, a, b)
    }

    /// The larger of two, or `a` where one is NaN.
    pub fn larger(&mut self, a: Scalar, b: Scalar) -> Scalar {
        let below = self.less(a, b);
        self.choose(below, b, a)
    }
}
