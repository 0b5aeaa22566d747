//! Rules of a solver as scalar functions: written once as graphs, evaluated here in f64, and written to WGSL for the device.
//!
//! Truth is 1 and falsehood 0; comparisons with a NaN are false.

use std::rc::Rc;

use crate::codegen::{Case, Function};
use crate::graph::{Graph, InputId, NodeId, Op};

/// A number within a [`Formula`].
pub type Scalar = NodeId;

/// A graph of scalars, with the words of rules.
pub struct Formula(Graph);

/// A function of one case. Its results are what `build` gives of its parameters.
pub fn function<const N: usize, const M: usize>(
    name: &'static str,
    parameters: &'static [&'static str; N],
    build: impl FnOnce(&mut Formula, [Scalar; N]) -> [Scalar; M],
) -> Rc<Function> {
    let mut formula = Formula(Graph::new());
    let inputs = std::array::from_fn(|number| formula.0.input(InputId(number as u32)));
    let results = build(&mut formula, inputs);
    let (graph, results) = formula.0.extract(&results);
    let graph = graph.check(N as u32).expect("a formula reads its parameters alone");
    Rc::new(Function { name, parameters, results: M, cases: vec![Case { name, graph, results }] })
}

/// The results of a function of one case, in f64.
pub fn evaluate<const M: usize>(function: &Function, arguments: &[f64]) -> [f64; M] {
    let case = &function.cases[0];
    let values = case.graph.evaluate(arguments);
    std::array::from_fn(|position| values[case.results[position].index()])
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
    /// Both.
    pub fn and(&mut self, a: Scalar, b: Scalar) -> Scalar {
        self.times(a, b)
    }
    /// Either or both.
    pub fn or(&mut self, a: Scalar, b: Scalar) -> Scalar {
        self.0.apply(Op::Max, &[a, b])
    }
    /// The contrary.
    pub fn not(&mut self, a: Scalar) -> Scalar {
        let one = self.number(1.0);
        self.minus(one, a)
    }
    /// `a` where the condition holds, else `b`.
    pub fn choose(&mut self, condition: Scalar, a: Scalar, b: Scalar) -> Scalar {
        self.0.select(condition, a, b)
    }
}
