//! The kernel of a template: `shaders/solve_many.wgsl`, and around it what is generated. Everything is unrolled over the free
//! coordinates, since what is addressed at run time does not stay in registers.

use crate::model::manifolds::CoordinateSize;
use crate::shader_source::template;
use crate::solve::rules::Rules;
use crate::solve::summary::Termination;
use residua_base::error::{Error, ErrorCode, Result};
use residua_base::list::Listed;
use residua_codegen::wgsl::{Binding, ProgramText, Resource, comment};
use residua_codegen::{Width, template_parameters, uniform};
use residua_ir::graph::NodeId;

use super::layout::{Column, GroupLayout, Layout};
use super::moves::{MoveSource, moves};
use super::pattern::{Numbers, each, fill, filled};
use super::template::{Group, Template};
use super::terms::{CLOSE_SINGLE, Source, normal_terms, reduction_term};

/// Free coordinates that a thread can keep the normal equations of.
pub const MOST_FREE: usize = 16;

/// Parameters that a thread can keep, constant ones included.
const MOST_PARAMETERS: usize = 64;

/// Operations of all groups' terms: as many as a kernel of residuals may have.
const MOST_OPERATIONS: usize = 8_000;

uniform! {
    /// Uniforms of the kernel.
    pub struct SolveManyUniforms, "Uniforms" {
        /// problems
        count,
        /// distance between the columns of a table
        stride,
        /// iterations of a problem in this dispatch, at most
        turn,
        /// iterations of a problem in all dispatches, at most
        max_iterations,
        /// bits of a NaN
        nan,
        /// distance from 1 to the next number; 0: precision is no reason to end
        epsilon: f32,
        /// see `Tolerances`
        cost_tolerance: f32,
        /// see `Tolerances`
        gradient_tolerance: f32,
        /// see `Tolerances`
        parameter_tolerance: f32,
    }
}

/// A generated program and what it does.
#[derive(Clone, Debug)]
pub struct Program {
    /// The shader; its entry point is `solve_many`.
    pub wgsl: String,
    /// Operations of one linearisation and one trial, roughly: what an iteration costs.
    pub operations: u64,
}

/// The kernel of a template whose tables are laid out so.
///
/// # Errors
/// `limit-exceeded` with both figures for problems that are not small.
pub fn program(template: &Template, layout: &Layout) -> Result<Program> {
    let limit = |what: &str, got: usize, most: usize| {
        let message = format!("solveMany: a problem has {got} {what}; the GPU takes at most {most}");
        if got > most { Err(Error::new(ErrorCode::LimitExceeded, message)) } else { Ok(()) }
    };
    limit("free coordinates", template.free.len(), MOST_FREE)?;
    limit("parameters", template.values.len(), MOST_PARAMETERS)?;
    let mut writer = Writer::new(template, layout);
    writer.declare();
    for function in Rules::new().functions().into_iter().take(5) {
        writer.program.push_function(function);
    }
    writer.structures();
    writer.parameters();
    writer.linearise()?;
    writer.reduction()?;
    writer.moved_by()?;
    writer.bounds();
    writer.norms();
    writer.damped_step();
    writer.program.push(&writer.text);
    limit("operations", writer.written, MOST_OPERATIONS)?;
    let operations = writer.operations;
    Ok(Program { wgsl: writer.program.finish(), operations })
}

template_parameters! {
    /// Parameters of `solve_many.wgsl`.
    struct SolveManyTemplate {
        /// Code of a termination.
        non_finite: u32,
        /// Code of a termination.
        max_iterations: u32,
        /// Residuals of a problem.
        residuals: u32,
    }
}

/// What the kernel binds, by binding number.
pub fn resources() -> Vec<Resource> {
    vec![
        // A column for each, problem after problem.
        Resource::read_write("parameters", "f32"),
        // Columns of the numbers that differ from problem to problem.
        Resource::read("problem_numbers", "f32"),
        // The numbers that do not, and a zero.
        Resource::read("template_numbers", "f32"),
        // End, iterations, cost, λ, ν, floor.
        Resource::read_write("state", "u32"),
        Resource::uniform("dispatch", &SolveManyUniforms::STRUCTURE),
    ]
}

struct Writer<'a> {
    template: &'a Template,
    layout: &'a Layout,
    program: ProgramText,
    /// What follows there.
    text: String,
    /// Operations of an iteration.
    operations: u64,
    /// Operations in the text.
    written: usize,
    /// Every parameter's number.
    parameters: Vec<Numbers>,
    /// Those of the blocks that have something free.
    moving: Vec<Numbers>,
    /// Of each free coordinate: its position, the parameter that it is, its bit.
    free: Vec<Numbers>,
    /// The upper triangle, column after column: row, column.
    pairs: Vec<Numbers>,
}

impl<'a> Writer<'a> {
    fn new(template: &'a Template, layout: &'a Layout) -> Writer<'a> {
        let (mut parameters, mut moving, mut free, mut pairs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for number in 0..template.values.len() {
            parameters.push([number, 0, 0]);
        }
        for block in &template.blocks {
            let first = block.first as usize;
            moving.extend_from_slice(&parameters[first..first + block.dim as usize]);
        }
        for (column, coordinate) in template.free.iter().enumerate() {
            free.push([column, coordinate.parameter as usize, 1 << column]);
            for row in 0..=column {
                pairs.push([row, column, 0]);
            }
        }
        let (program, text) = (ProgramText::new(), String::new());
        Writer { template, layout, program, text, operations: 0, written: 0, parameters, moving, free, pairs }
    }

    fn declare(&mut self) {
        self.program.declare(&[&SolveManyUniforms::STRUCTURE], &resources());
        // The last number of the shared table.
        self.program.read_guard_from(&numbered("bitcast<u32>(template_numbers[$0u])", self.layout.shared));
        let parameters = SolveManyTemplate {
            non_finite: Termination::NonFinite.code() as u32,
            max_iterations: Termination::MaxIterations.code() as u32,
            residuals: self.template.residuals() as u32,
        };
        self.program.push_template(template!("solve_many"), &[], &parameters);
    }

    fn structures(&mut self) {
        self.text += "\nstruct Parameters {\n";
        each(&mut self.text, "    p$0: f32,\n", &self.parameters, "");
        self.text += "}\n\nstruct Step {\n";
        each(&mut self.text, "    d$0: f32,\n", &self.free, "");
        self.text += "}\n\nstruct Normal {\n    cost: vec2<f32>,\n";
        each(&mut self.text, "    g$0: vec2<f32>,\n", &self.free, "");
        each(&mut self.text, "    h$0_$1: f32,\n", &self.pairs, "");
        self.text += "}\n\nstruct Moved {\n    trial: Parameters,\n    projected: Step,\n}\n\n\
                 struct Solved {\n    step: Step,\n    sound: bool,\n}\n";
    }

    /// Loads and stores of the parameters; only those that move are stored.
    fn parameters(&mut self) {
        self.text += "\nfn load_parameters(problem: u32) -> Parameters {\n    return Parameters(\n        ";
        let load = "parameters[$0u * dispatch.stride + problem]";
        each(&mut self.text, load, &self.parameters, ",\n        ");
        self.text += ",\n    );\n}\n\nfn store_parameters(problem: u32, x: Parameters) {\n";
        each(&mut self.text, &["    ", load, " = x.p$0;\n"].join(""), &self.moving, "");
        self.text += "}\n";
    }

    /// What the inputs of a group's terms are, inside its loop over `i`.
    fn bindings(&self, layout: &GroupLayout, inputs: &[Source]) -> Vec<Binding> {
        let instance = |(first, width): (u32, u32), number: u32| {
            filled("i * $0u + $1u", &[width as usize, (first + number) as usize])
        };
        let shared = |place: u32| numbered("template_numbers[$0u]", place);
        let binding = |source: &Source| {
            let (name, number, expression) = match *source {
                Source::Parameter(number) => ("p$0", number, numbered("x.p$0", number)),
                Source::Trial(number) => ("trial_p$0", number, numbered("trial.p$0", number)),
                Source::Data(column) => {
                    let parts = match layout.columns[column as usize] {
                        Column::Varying(k) => {
                            ["problem_numbers[(", &instance(layout.varying, k), ") * dispatch.stride + problem]"]
                        }
                        Column::Shared(k) => ["template_numbers[", &instance(layout.shared, k), "]"],
                    };
                    ("data$0", column, parts.join(""))
                }
                Source::Constant(number) => ("constant$0", number, shared(layout.batch_constants + number)),
                Source::Weight => ("weight", 0, shared(layout.settings)),
                Source::Scale(number) => ("scale$0", number, shared(layout.settings + 1 + number)),
            };
            Binding { name: numbered(name, number), expression, width: Width::Single }
        };
        inputs.iter().map(binding).list()
    }

    /// Begins the loop over a group's instances with the code of one.
    fn begin_group(&mut self, group: &Group, code: &str) {
        let batch = &self.template.model.batches[group.batch];
        let comment = comment(&self.template.model.blocks[batch.block as usize].name);
        let header = filled("    for (var i = 0u; i < $0u; i++) {\n", &[group.instances.len()]);
        for part in ["    ", &comment, "\n", &header, code] {
            self.text += part;
        }
    }

    fn linearise(&mut self) -> Result<()> {
        self.text += "\nfn linearise(problem: u32, x: Parameters) -> Normal {\n    var normal = Normal();\n";
        let template = self.template;
        for (group, layout) in template.groups.iter().zip(&self.layout.groups) {
            let terms = normal_terms(template, group)?;
            self.count(group, terms.graph.graph().len() + terms.gradient.len() * 8);
            // What is added to: a pattern with its numbers.
            let mut sums = vec![("        normal.cost = add_to(normal.cost, ", ");\n", [0, 0])];
            let mut nodes = vec![terms.cost];
            for &(position, node) in &terms.gradient {
                sums.push(("        normal.g$0 = add_to(normal.g$0, ", ");\n", [position, 0]));
                nodes.push(node);
            }
            for &(row, column, node) in &terms.jtj {
                sums.push(("        normal.h$0_$1 += ", ";\n", [row, column]));
                nodes.push(node);
            }
            let bindings = self.bindings(layout, &terms.inputs);
            let taken = ["x", "problem", "normal", "i"];
            let (code, texts) = self.program.straight_line(terms.graph.graph(), &bindings, &singles(&nodes), &taken, 2);
            self.begin_group(group, &code);
            for ((before, after, numbers), addend) in sums.iter().zip(&texts) {
                fill(&mut self.text, before, numbers);
                self.text += addend;
                self.text += after;
            }
            self.text += "    }\n";
        }
        let whole = "    normal.g$0 = vec2<f32>(normal.g$0.x + normal.g$0.y, 0.0);\n";
        each(&mut self.text, whole, &self.free, "");
        self.text += "    normal.cost = vec2<f32>(normal.cost.x + normal.cost.y, 0.0);\n    return normal;\n}\n";
        Ok(())
    }

    fn reduction(&mut self) -> Result<()> {
        self.text +=
            "\nfn reduction(problem: u32, x: Parameters, trial: Parameters) -> f32 {\n    var sum = vec2<f32>();\n";
        let template = self.template;
        for (group, layout) in template.groups.iter().zip(&self.layout.groups) {
            let term = reduction_term(template, group, CLOSE_SINGLE)?;
            self.count(group, term.graph.graph().len());
            let bindings = self.bindings(layout, &term.inputs);
            let taken = ["x", "trial", "problem", "sum", "i"];
            let nodes = [(term.reduction, Width::Single)];
            let (code, texts) = self.program.straight_line(term.graph.graph(), &bindings, &nodes, &taken, 2);
            self.begin_group(group, &code);
            self.text += &format!("        sum = add_to(sum, {});\n    }}\n", texts[0]);
        }
        self.text += "    return sum.x + sum.y;\n}\n";
        Ok(())
    }

    fn count(&mut self, group: &Group, operations: usize) {
        self.written += operations;
        self.operations += operations as u64 * group.instances.len() as u64;
    }

    fn moved_by(&mut self) -> Result<()> {
        let moves = moves(self.template)?;
        self.written += moves.graph.graph().len();
        let binding = |source: &MoveSource| {
            let (name, number, expression) = match *source {
                MoveSource::Parameter(number) => ("p$0", number as usize, numbered("x.p$0", number)),
                MoveSource::Step(position) => ("d$0", position, filled("step.d$0", &[position])),
                MoveSource::Lower(position) => ("lower$0", position, self.bound(position, false)),
                MoveSource::Upper(position) => ("upper$0", position, self.bound(position, true)),
            };
            Binding { name: filled(name, &[number]), expression, width: Width::Single }
        };
        let bindings: Vec<Binding> = moves.inputs.iter().map(binding).list();
        let mut nodes: Vec<NodeId> = moves.trial.iter().map(|&(_, node)| node).list();
        nodes.extend_from_slice(&moves.projected_step);
        let taken = ["x", "step", "trial", "projected_step"];
        let (code, texts) = self.program.straight_line(moves.graph.graph(), &bindings, &singles(&nodes), &taken, 1);
        let (trial, projected_step) = texts.split_at(moves.trial.len());
        self.text += "\nfn moved_by(x: Parameters, step: Step) -> Moved {\n";
        self.text += &code;
        self.text += "    var trial = x;\n";
        for ((number, _), value) in moves.trial.iter().zip(trial) {
            fill(&mut self.text, "    trial.p$0 = ", &[*number as usize]);
            self.text += value;
            self.text += ";\n";
        }
        self.text += "    return Moved(trial, Step(";
        self.text += &projected_step.join(", ");
        self.text += "));\n}\n";
        Ok(())
    }

    fn bound(&self, position: usize, upper: bool) -> String {
        filled("template_numbers[$0u]", &[self.layout.bounds as usize + 2 * position + usize::from(upper)])
    }

    /// Which coordinates are at a bound with −g pointing outward, as bits.
    fn bounds(&mut self) {
        self.text += "\nfn frozen_coordinates(x: Parameters, normal: Normal) -> u32 {\n    var frozen = 0u;\n";
        for coordinate in &self.free {
            let position = coordinate[0];
            if self.template.free[position].bounds.is_some() {
                fill(&mut self.text, "    if (x.p$1 <= ", coordinate);
                let bound = self.bound(position, false);
                self.text += &bound;
                fill(&mut self.text, " && normal.g$0.x > 0.0) || (x.p$1 >= ", coordinate);
                let bound = self.bound(position, true);
                self.text += &bound;
                fill(&mut self.text, " && normal.g$0.x < 0.0) {\n        frozen |= $2u;\n    }\n", coordinate);
            }
        }
        self.text += "    return frozen;\n}\n";
    }

    /// The pattern of a number where a coordinate may move, and of another where it is frozen.
    fn unless_frozen(&self, position: usize, free: &str, frozen: &str) -> String {
        match self.template.free[position].bounds {
            None => free.to_owned(),
            Some(_) => {
                let mask = filled(", (frozen & $0u) != 0u)", &[1 << position]);
                ["select(", free, ", ", frozen, &mask].join("")
            }
        }
    }

    /// The pattern of the square of a point's size in a coordinate, in units of the column, and the numbers in it.
    fn squared_size(&self, position: usize) -> (&'static str, [usize; 2]) {
        match self.template.free[position].size {
            CoordinateSize::Number(place) => ("normal.h$0_$0 * x.p$1 * x.p$1", [position, place as usize]),
            CoordinateSize::InverseSquare(square) => ("normal.h$0_$0 / $1.0", [position, square as usize]),
        }
    }

    fn norms(&mut self) {
        self.text += "\nfn is_sound(normal: Normal) -> bool {\n    return is_finite(normal.cost.x)";
        each(&mut self.text, "\n        & is_finite(normal.g$0.x + normal.g$0.y)", &self.free, "");
        each(&mut self.text, "\n        & is_finite(normal.h$0_$1)", &self.pairs, "");
        self.text += ";\n}\n\n\
            // The largest |g|/√D, in units of the columns.\n\
            fn scaled_gradient(normal: Normal, frozen: u32) -> f32 {\n    var largest = 0.0;\n";
        for coordinate in &self.free {
            let size = "select(0.0, abs(normal.g$0.x) * inverseSqrt(normal.h$0_$0), normal.h$0_$0 > 0.0)";
            let size = self.unless_frozen(coordinate[0], size, "0.0");
            self.text += "    largest = max(largest, ";
            fill(&mut self.text, &size, coordinate);
            self.text += ");\n";
        }
        self.text += "    return largest;\n}\n\nfn step_length(normal: Normal, step: Step) -> f32 {\n    return sqrt(";
        each(&mut self.text, "normal.h$0_$0 * step.d$0 * step.d$0", &self.free, " + ");
        self.text += ");\n}\n\nfn free_size(normal: Normal, x: Parameters, frozen: u32) -> f32 {\n    return sqrt(0.0";
        for coordinate in &self.free {
            let (square, numbers) = self.squared_size(coordinate[0]);
            let square = self.unless_frozen(coordinate[0], square, "0.0");
            self.text += " + ";
            fill(&mut self.text, &square, &numbers);
        }
        self.text += ");\n}\n\nfn scaled_size(normal: Normal, x: Parameters) -> f32 {\n    return 0.0";
        for position in 0..self.free.len() {
            let (square, numbers) = self.squared_size(position);
            self.text += " + ";
            fill(&mut self.text, square, &numbers);
        }
        self.text += ";\n}\n\n\
            // −δᵀg\n\
            fn descent_along(normal: Normal, step: Step) -> f32 {\n    return -(";
        each(&mut self.text, "step.d$0 * normal.g$0.x", &self.free, " + ");
        self.text += ");\n}\n\n\
            // δᵀHδ\n\
            fn curvature_along(normal: Normal, step: Step) -> f32 {\n    var sum = 0.0;\n";
        for row in 0..self.free.len() {
            fill(&mut self.text, "    sum += step.d$0 * (", &[row]);
            let slope = (0..self.free.len()).map(|other| [row.min(other), row.max(other), other]).list();
            each(&mut self.text, "normal.h$0_$1 * step.d$2", &slope, " + ");
            self.text += ");\n";
        }
        self.text += "    return sum;\n}\n";
    }

    /// (H + λD)δ = −g by Cholesky's factorisation LDLᵀ, without roots. A pivot that is not positive is no step.
    fn damped_step(&mut self) {
        let count = self.free.len();
        self.text += "\nfn damped_step(normal: Normal, damping: f32, frozen: u32) -> Solved {\n    \
                        var sound = true;\n";
        // Of a column of zeros no unit is known.
        let damped = "normal.h$0_$0 + damping * select(1.0, normal.h$0_$0, normal.h$0_$0 > 0.0)";
        for pair in &self.pairs {
            let [row, column, _] = *pair;
            let entry = if row < column {
                self.unless_frozen(row, &self.unless_frozen(column, "normal.h$0_$1", "0.0"), "0.0")
            } else {
                self.unless_frozen(row, damped, "1.0")
            };
            fill(&mut self.text, "    let a$0_$1 = ", pair);
            fill(&mut self.text, &entry, pair);
            self.text += ";\n";
        }
        // Of an entry of one column, with those before it.
        let minus = |text: &mut String, pattern: &str, others: std::ops::Range<usize>, row: usize, column: usize| {
            let others: Vec<Numbers> = others.map(|k| [k, row, column]).list();
            each(text, pattern, &others, "");
        };
        let least = float(f64::from(f32::MIN_POSITIVE));
        let pivot = [
            ";\n    sound = sound & (pivot$0 > ",
            least.as_str(),
            ") & is_finite(pivot$0);\n    let inverse$0 = 1.0 / pivot$0;\n",
        ];
        let pivot = pivot.join("");
        // Row i of L times the pivots is m; l = m / pivot.
        for pair in &self.pairs {
            let [row, column, _] = *pair;
            let entry = if row < column { "    let m$0_$1 = a$0_$1" } else { "    let pivot$0 = a$0_$0" };
            fill(&mut self.text, entry, pair);
            minus(&mut self.text, " - m$0_$2 * l$0_$1", 0..row, row, column);
            let end = if row < column { ";\n    let l$0_$1 = m$0_$1 * inverse$0;\n" } else { &pivot };
            fill(&mut self.text, end, pair);
        }
        for row in 0..count {
            fill(&mut self.text, "    let y$0 = ", &[row]);
            let slope = self.unless_frozen(row, "-normal.g$0.x", "0.0");
            fill(&mut self.text, &slope, &[row]);
            minus(&mut self.text, " - l$0_$1 * y$0", 0..row, row, row);
            self.text += ";\n";
        }
        for row in (0..count).rev() {
            fill(&mut self.text, "    let d$0 = y$0 * inverse$0", &[row]);
            minus(&mut self.text, " - l$1_$0 * d$0", row + 1..count, row, row);
            self.text += ";\n";
        }
        self.text += "    return Solved(Step(";
        each(&mut self.text, "d$0", &self.free, ", ");
        self.text += "), sound);\n}\n";
    }
}

/// Nodes that are wanted in single numbers.
fn singles(nodes: &[NodeId]) -> Vec<(NodeId, Width)> {
    nodes.iter().map(|&node| (node, Width::Single)).list()
}

/// A pattern with one number.
fn numbered(pattern: &str, number: u32) -> String {
    filled(pattern, &[number as usize])
}

/// A number as WGSL has it.
fn float(number: f64) -> String {
    residua_base::decimal::shortest_single(number as f32)
}
