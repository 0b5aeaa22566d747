//! How many samples a model has: the m of statistics, as in σ² = 2·cost/(m − n).
//!
//! A residual is no sample where its block is disabled or has the weight 0, nor where a number of its instance takes it out: where its instance has the
//! weight 0, its row of a square root of information is 0, or it is a product with a datum that is 0, as of a mask. It is 0 then whatever the
//! parameters. A residual that a datum of 0 leaves without parameters, as a·x − y at x = 0, is a sample: y is a measurement.

use residua_base::list::Listed;
use residua_ir::graph::{Graph, InputId, Node, NodeId, Op, evaluate};

use super::batch::{Batch, BlockInfo, Model};
use super::class::Class;

/// Counts the samples of instances of a class.
pub struct SampleCounter<'a> {
    class: &'a Class,
    /// Whether each node depends on parameters.
    moves: Vec<bool>,
    /// The nodes that decide, ascending.
    steps: Vec<NodeId>,
    /// Of the last instance: the numbers of nodes that do not move, and whether others are taken out.
    numbers: Vec<f64>,
    is_out: Vec<bool>,
}

impl<'a> SampleCounter<'a> {
    /// None if each residual of each instance is a sample.
    pub fn of(class: &'a Class) -> Option<SampleCounter<'a>> {
        let graph = class.graph.graph();
        let locals = class.locals.len() as u32;
        let (mut moves, mut may_be_out) = (Vec::with_capacity(graph.len()), Vec::with_capacity(graph.len()));
        for (id, node) in graph.ids().zip(graph.nodes()) {
            let moving = match node {
                Node::Literal(_) => false,
                Node::Input(input) => input.0 < locals,
                // Tables stand outside of an instance: what they hold takes no residual out.
                Node::Apply(Op::Lookup, _) => true,
                Node::Result(of, _) if graph.loop_of(*of).body().graph().graph().reads_tables() => true,
                Node::Apply(..) | Node::Result(..) => graph.operands(id).iter().any(|operand| moves[operand.index()]),
            };
            moves.push(moving);
            let may = |operand: &NodeId| may_be_out[operand.index()];
            let is_factor = |operand: &NodeId| may(operand) || !moves[operand.index()];
            may_be_out.push(match node {
                Node::Literal(_) => is_zero(node),
                Node::Input(_) | Node::Result(..) => false,
                Node::Apply(_, _) if !moving => false,
                Node::Apply(op, [a, b, c]) => match op {
                    Op::Add | Op::Sub => may(a) && may(b),
                    Op::Mul | Op::GuardedMul => is_factor(a) || is_factor(b),
                    Op::Neg | Op::Abs | Op::Div => may(a),
                    Op::Select if moves[a.index()] => may(b) && may(c),
                    Op::Select => may(b) || may(c),
                    _ => false,
                },
            });
        }
        if class.weight.is_none() && !class.outputs.iter().any(|output| may_be_out[output.index()]) {
            return None;
        }
        let mut decides = vec![false; graph.len()];
        class.outputs.iter().for_each(|output| decides[output.index()] = true);
        for id in graph.ids().rev() {
            decides[id.index()] &= may_be_out[id.index()] || !moves[id.index()];
            if decides[id.index()] {
                graph.operands(id).iter().for_each(|operand| decides[operand.index()] = true);
            }
        }
        let steps = graph.ids().filter(|step| decides[step.index()]).list();
        let (numbers, is_out) = (vec![0.0; graph.len()], vec![false; graph.len()]);
        Some(SampleCounter { class, moves, steps, numbers, is_out })
    }

    /// The samples of an instance with these data, by column, and these batch constants.
    pub fn count(&mut self, datum: &dyn Fn(u32) -> f64, batch_constants: &[f64]) -> usize {
        let SampleCounter { class, moves, steps, numbers, is_out } = self;
        if class.weight.is_some_and(|column| datum(column) == 0.0) {
            return 0;
        }
        let (locals, data) = (class.locals.len() as u32, class.data);
        for &step in steps.iter() {
            let node = class.graph.graph().node(step);
            let out = |operand: NodeId| is_out[operand.index()];
            let is_null = |operand: NodeId| !moves[operand.index()] && numbers[operand.index()] == 0.0;
            let takes_out = |operand: NodeId| out(operand) || is_null(operand);
            let (mut number, mut taken_out) = (f64::NAN, false);
            match node {
                Node::Literal(bits) => (number, taken_out) = (f64::from_bits(bits), is_zero(&node)),
                Node::Input(input) if input.0 >= locals + data => {
                    number = batch_constants[(input.0 - locals - data) as usize];
                }
                Node::Input(input) if input.0 >= locals => number = datum(input.0 - locals),
                Node::Input(_) => {}
                // A loop over data alone is run again for each of its results, which are few.
                Node::Result(of, result) if !moves[step.index()] => {
                    number = class.graph.graph().loop_of(of).run(|node| numbers[node.index()], &[])[result as usize];
                }
                Node::Result(..) => {}
                Node::Apply(op, operands) if !moves[step.index()] => {
                    number = evaluate(op, &operands.map(|operand| numbers[operand.index()])[..op.arity()]);
                }
                Node::Apply(op, [a, b, c]) => {
                    taken_out = match op {
                        Op::Add | Op::Sub => out(a) && out(b),
                        Op::Mul | Op::GuardedMul => takes_out(a) || takes_out(b),
                        Op::Neg | Op::Abs | Op::Div => out(a),
                        Op::Select if moves[a.index()] => out(b) && out(c),
                        Op::Select => out(if numbers[a.index()] == 0.0 { c } else { b }),
                        _ => false,
                    };
                }
            }
            (numbers[step.index()], is_out[step.index()]) = (number, taken_out);
        }
        class.outputs.iter().filter(|output| !is_out[output.index()]).count()
    }
}

fn is_zero(node: &Node) -> bool {
    matches!(node, Node::Literal(bits) if f64::from_bits(*bits) == 0.0)
}

impl BlockInfo {
    /// Whether it counts at all.
    pub fn takes_part(&self) -> bool {
        self.enabled && self.weight > 0.0 && self.loss.factor > 0.0
    }
}

impl Batch {
    /// The weight of an instance; 1 where it has none.
    pub fn instance_weight(&self, instance: usize) -> f64 {
        self.class.weight.map_or(1.0, |column| self.datum(column, instance))
    }

    /// A number of an instance. Those that a plain function computes are NaN.
    pub fn datum(&self, column: u32, instance: usize) -> f64 {
        self.data.get(column as usize * self.count as usize + instance).copied().unwrap_or(f64::NAN)
    }

    /// The samples of each instance, as those of a block that takes part; none if each residual is one.
    pub fn sample_counts(&self) -> Option<Vec<usize>> {
        let mut counter = SampleCounter::of(&self.class)?;
        let count = |instance| counter.count(&|column| self.datum(column, instance), &self.batch_constants);
        Some((0..self.count as usize).map(count).list())
    }
}

impl Model {
    /// The number of samples m, with the data that the model has. Everything that counts residuals for a variance asks this.
    pub fn sample_count(&self) -> usize {
        let parts = self.blocks.iter().filter(|block| block.takes_part());
        let mut count: usize = parts.map(|block| block.rows as usize).sum();
        let takes_part = |batch: &&Batch| self.blocks[batch.block as usize].takes_part() && !batch.has_addends();
        for batch in self.batches.iter().filter(takes_part) {
            if let Some(samples) = batch.sample_counts() {
                count -= samples.into_iter().map(|samples| batch.class.outputs.len() - samples).sum::<usize>();
            }
        }
        count
    }
}

/// Residuals that are 0 where the instance's weight, a data input of the graph, is 0: whatever they would be, they do not matter there.
pub(super) fn masked(graph: &mut Graph, outputs: &[NodeId], weight: InputId) -> Vec<NodeId> {
    let (weight, zero) = (graph.input(weight), graph.literal(0.0));
    let counts = graph.apply(Op::Ne, &[weight, zero]);
    outputs.iter().map(|&output| graph.select(counts, output, zero)).list()
}
