//! The kernel of a template: `shaders/solve_many.wgsl`, and around it what is generated. In f32 everything is unrolled over the free
//! coordinates, since what is addressed at run time does not stay in registers ([`super::unrolled`]). In pairs the normal equations are arrays, and their
//! factorisation is `shaders/solve_many_pairs.wgsl`.

use crate::eval::Arithmetic;
use crate::shader_source::template;
use crate::solve::levenberg_marquardt::point::GROWTH_AFTER_SHORT_STEP;
use crate::solve::rules::{GROWTH, GROWTH_AFTER_REJECTION, Rules};
use crate::solve::summary::Termination;
use crate::solve::words::constants;
use residua_base::error::{Error, ErrorCode, Result};
use residua_base::list::Listed;
use residua_codegen::wgsl::{BoundInput, NoParameters, PairForm, ProgramText, Resource};
use residua_codegen::{OPERATIONS_OF_PAIR, Width, template_parameters, uniform};
use residua_ir::graph::NodeId;

use super::kernels::NormalLayout;
use super::layout::{Column, GroupLayout, Layout};
use super::moves::{MoveSource, moves};
use super::pattern::{Numbers, each, fill, filled, float};
use super::template::SharedProblem;
use super::terms::Source;

/// Free coordinates that a thread can keep the normal equations of.
pub const MOST_FREE: usize = 16;

/// The relative error that a promise may have.
const MOST_ERROR: f64 = 0.1;

/// The damping that is tried where H has no factor.
const LEAST_DAMPING: f64 = 1e-5;
const LEAST_DAMPING_IN_PAIRS: f64 = 1e-11;

/// Parameters that a thread can keep, constant ones included.
const MOST_PARAMETERS: usize = 64;

/// Operations of all groups' terms: as many as a kernel of residuals may have.
const MOST_OPERATIONS: usize = 8_000;

/// The same in pairs, whose operations are counted high. Software adapters compile so many in some seconds.
const MOST_OPERATIONS_IN_PAIRS: usize = 16_000;

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
        /// damping that makes the first step as long as the first radius; 0: the radius is the length of the point
        initial_damping: f32,
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

/// The kernel of a template whose tables are laid out so: in f32, or in pairs with products of this form.
///
/// # Errors
/// `limit-exceeded` with both figures for problems that are not small.
pub fn program(template: &SharedProblem, layout: &Layout, pairs: Option<PairForm>) -> Result<Program> {
    let limit = |what: &str, got: usize, most: usize| {
        let message = format!("solveMany: a problem has {got} {what}; the GPU takes at most {most}");
        if got > most { Err(Error::new(ErrorCode::LimitExceeded, message)) } else { Ok(()) }
    };
    limit("free coordinates", template.free.len(), MOST_FREE)?;
    limit("parameters", template.values.len(), MOST_PARAMETERS)?;
    let mut writer = ProgramWriter::new(template, layout, pairs);
    writer.declare();
    for function in Rules::new().of_kernel() {
        writer.program.push_function(function);
    }
    writer.constants();
    writer.structures();
    writer.parameters();
    writer.samples();
    writer.linearise()?;
    writer.reduction()?;
    writer.moved_by()?;
    writer.bounds();
    match pairs {
        None => writer.linear_algebra(),
        Some(_) => writer.linear_algebra_in_pairs(),
    }
    writer.program.push(&writer.text);
    match pairs {
        None => limit("operations", writer.written, MOST_OPERATIONS)?,
        Some(_) => {
            let operations = format!("operations, where one in f32x2 counts as {OPERATIONS_OF_PAIR}");
            limit(&operations, writer.written, MOST_OPERATIONS_IN_PAIRS)?;
        }
    }
    let operations = writer.operations;
    Ok(Program { wgsl: writer.program.finish(), operations })
}

template_parameters! {
    /// Parameters of `solve_many.wgsl`.
    struct SolveManyTemplate {
        /// Free coordinates.
        coordinates: u32,
        /// Code of a termination.
        non_finite: u32,
        /// Code of a termination.
        max_iterations: u32,
        /// Code of a termination.
        cost_tolerance: u32,
        /// Code of a termination.
        precision_limit: u32,
        /// Whether a robust loss is among the losses.
        robust: bool,
        /// Whether it computes in pairs.
        pairs: bool,
    }
}

/// What the kernel binds, by binding number. In pairs the low parts of a table's numbers stand after all of them.
pub fn resources() -> Vec<Resource> {
    vec![
        // A column for each, problem after problem.
        Resource::read_write("parameters", "f32"),
        // Columns of the numbers that differ from problem to problem.
        Resource::read("problem_numbers", "f32"),
        // The numbers that do not, and a zero.
        Resource::read("template_numbers", "f32"),
        // See `device::STATE_COLUMNS`.
        Resource::read_write("state", "u32"),
        Resource::uniform("dispatch", &SolveManyUniforms::STRUCTURE),
    ]
}

pub(super) struct ProgramWriter<'a> {
    pub(super) template: &'a SharedProblem,
    pub(super) layout: &'a Layout,
    /// The form of products; none in f32.
    pub(super) pairs_form: Option<PairForm>,
    /// Whether a robust loss is among the losses.
    pub(super) is_robust: bool,
    pub(super) program: ProgramText,
    /// What follows there.
    pub(super) text: String,
    /// Operations of an iteration.
    pub(super) operations: u64,
    /// Operations in the text.
    pub(super) written: usize,
    /// Every parameter's number.
    parameters: Vec<Numbers>,
    /// Those of the blocks that have something free.
    moving: Vec<Numbers>,
    /// Of each free coordinate: its position, the parameter that it is, its bit.
    pub(super) free: Vec<Numbers>,
    /// The upper triangle, column after column: row, column, position.
    pub(super) entries: Vec<Numbers>,
}

impl<'a> ProgramWriter<'a> {
    fn new(template: &'a SharedProblem, layout: &'a Layout, pairs_form: Option<PairForm>) -> ProgramWriter<'a> {
        let (mut parameters, mut moving, mut free, mut entries) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for number in 0..template.values.len() {
            // Where the low part's column is, in pairs.
            parameters.push([number, number + template.values.len(), 0]);
        }
        for block in &template.blocks {
            let first = block.first as usize;
            moving.extend_from_slice(&parameters[first..first + block.dim as usize]);
        }
        for (column, coordinate) in template.free.iter().enumerate() {
            free.push([column, coordinate.parameter as usize, 1 << column]);
            for row in 0..=column {
                entries.push([row, column, entries.len()]);
            }
        }
        let (program, text) = (ProgramText::new(), String::new());
        ProgramWriter {
            template,
            layout,
            pairs_form,
            is_robust: NormalLayout::new(template).is_robust,
            program,
            text,
            operations: 0,
            written: 0,
            parameters,
            moving,
            free,
            entries,
        }
    }

    /// In how many numbers parameters, residuals and sums are.
    pub(super) fn width(&self) -> Width {
        if self.pairs_form.is_some() { Width::Pair } else { Width::Single }
    }

    /// A pattern in f32, or another in pairs.
    pub(super) fn pattern(&self, single: &'static str, pair: &'static str) -> &'static str {
        if self.pairs_form.is_some() { pair } else { single }
    }

    fn declare(&mut self) {
        self.program.declare(&[&SolveManyUniforms::STRUCTURE], &resources());
        // The last number of the shared table.
        let numbers = self.layout.shared * if self.pairs_form.is_some() { 2 } else { 1 };
        self.program.read_guard_from(&numbered("bitcast<u32>(template_numbers[$0u])", numbers));
        self.program.set_pair_form(self.pairs_form.unwrap_or_default());
        let is_in_pairs = self.pairs_form.is_some();
        let code = |termination: Termination| termination.code() as u32;
        self.program.set_tables("template_numbers", self.layout.tables, self.layout.shared);
        let parameters = SolveManyTemplate {
            coordinates: self.free.len() as u32,
            non_finite: code(Termination::NonFinite),
            max_iterations: code(Termination::MaxIterations),
            cost_tolerance: code(Termination::CostTolerance),
            precision_limit: code(Termination::PrecisionLimit),
            robust: self.is_robust,
            pairs: is_in_pairs,
        };
        self.program.push_template(template!("solve_many"), &[], &parameters);
    }

    /// Numbers of the radius and of the factorisation.
    fn constants(&mut self) {
        let is_in_pairs = self.pairs_form.is_some();
        let rows = self.template.model.num_residuals as usize;
        let numbers = [
            ("GROWTH", GROWTH),
            ("GROWTH_AFTER_REJECTION", GROWTH_AFTER_REJECTION),
            ("GROWTH_AFTER_SHORT_STEP", GROWTH_AFTER_SHORT_STEP),
            ("MOST_TRACE", most_trace(self.free.len(), rows, is_in_pairs)),
            ("LEAST_DAMPING", if is_in_pairs { LEAST_DAMPING_IN_PAIRS } else { LEAST_DAMPING }),
        ];
        self.text += &constants(&numbers, float);
    }

    fn structures(&mut self) {
        self.text += "\nstruct Parameters {\n";
        let parameter = self.pattern("    p$0: f32,\n", "    p$0: vec2<f32>,\n");
        each(&mut self.text, parameter, &self.parameters, "");
        self.text += "}\n\nstruct Step {\n";
        match self.pairs_form {
            None => each(&mut self.text, "    d$0: f32,\n", &self.free, ""),
            Some(_) => fill(&mut self.text, "    d: array<f32, $0>,\n", &[self.free.len()]),
        }
        self.text += "}\n\nstruct Normal {\n    cost: vec2<f32>,\n    influence: f32,\n";
        match self.pairs_form {
            None => {
                each(&mut self.text, "    g$0: vec2<f32>,\n", &self.free, "");
                each(&mut self.text, "    h$0_$1: f32,\n", &self.entries, "");
            }
            Some(_) => {
                fill(&mut self.text, "    g: array<vec2<f32>, $0>,\n", &[self.free.len()]);
                fill(&mut self.text, "    h: array<vec2<f32>, $0>,\n", &[self.entries.len()]);
            }
        }
        self.text += "}\n\nstruct Moved {\n    trial: Parameters,\n    projected: Step,\n}\n\n\
                 // A step, −½δᵀg, ‖Dδ‖², (D²δ)ᵀ(H + λD²)⁻¹D²δ, and at least the trace of the inverse of H + λD² in units of the columns.\n\
                 struct Solved {\n    step: Step,\n    sound: bool,\n    promise: f32,\n    square: f32,\n    bend: f32,\n    trace: f32,\n}\n";
    }

    /// Loads and stores of the parameters; only those that move are stored.
    fn parameters(&mut self) {
        self.text += "\nfn load_parameters(problem: u32) -> Parameters {\n    return Parameters(\n        ";
        let (load, low) =
            ("parameters[$0u * dispatch.stride + problem]", "parameters[$1u * dispatch.stride + problem]");
        let store = ["    ", load, " = "].join("");
        match self.pairs_form {
            None => each(&mut self.text, load, &self.parameters, ",\n        "),
            Some(_) => {
                let pair = ["vec2<f32>(", load, ", ", low, ")"].join("");
                each(&mut self.text, &pair, &self.parameters, ",\n        ");
            }
        }
        self.text += ",\n    );\n}\n\nfn store_parameters(problem: u32, x: Parameters) {\n";
        match self.pairs_form {
            None => each(&mut self.text, &[&store, "x.p$0;\n"].join(""), &self.moving, ""),
            Some(_) => {
                let both = [&store, "x.p$0.x;\n    ", low, " = pair_error(x.p$0);\n"].join("");
                each(&mut self.text, &both, &self.moving, "");
            }
        }
        self.text += "}\n";
    }

    /// The number of samples of a problem.
    fn samples(&mut self) {
        let count = match self.layout.samples {
            Some(column) => numbered("problem_numbers[$0u * dispatch.stride + problem]", column),
            None => format!("{}.0", self.template.model.sample_count()),
        };
        self.text += &format!("\nfn samples_of(problem: u32) -> f32 {{\n    return {count};\n}}\n");
    }

    /// What the inputs of a group's terms are, inside its loop over `i`.
    pub(super) fn bindings(&self, layout: &GroupLayout, inputs: &[Source]) -> Vec<BoundInput> {
        let instance = |(first, width): (u32, u32), number: u32| {
            filled("i * $0u + $1u", &[width as usize, (first + number) as usize])
        };
        let shared = |place: u32| self.number("template_numbers", &format!("{place}u"), self.layout.shared);
        let binding = |source: &Source| {
            let (name, number, expression) = match *source {
                Source::Parameter(number) => ("p$0", number, numbered("x.p$0", number)),
                Source::Trial(number) => ("trial_p$0", number, numbered("trial.p$0", number)),
                Source::Data(column) => {
                    let number = match layout.columns[column as usize] {
                        Column::Varying(k) => self.own_number(&instance(layout.varying, k)),
                        Column::Shared(k) => {
                            self.number("template_numbers", &instance(layout.shared, k), self.layout.shared)
                        }
                    };
                    ("data$0", column, number)
                }
                Source::Constant(number) => ("constant$0", number, shared(layout.batch_constants + number)),
                Source::Weight => ("weight", 0, shared(layout.settings)),
                Source::Scale(number) => ("scale$0", number, shared(layout.settings + 1 + number)),
            };
            BoundInput { name: numbered(name, number), expression, width: self.width() }
        };
        inputs.iter().map(binding).list()
    }

    /// A number of a table whose low parts begin so many numbers later.
    pub(super) fn number(&self, table: &str, index: &str, low: u32) -> String {
        match self.pairs_form {
            None => format!("{table}[{index}]"),
            Some(_) => format!("vec2<f32>({table}[{index}], {table}[{index} + {low}u])"),
        }
    }

    /// A number that differs from problem to problem, by its column.
    fn own_number(&self, column: &str) -> String {
        let number = |column: &str| format!("problem_numbers[({column}) * dispatch.stride + problem]");
        match self.pairs_form {
            None => number(column),
            Some(_) => {
                let low = number(&format!("{column} + {}u", self.layout.varying));
                format!("vec2<f32>({}, {low})", number(column))
            }
        }
    }

    fn moved_by(&mut self) -> Result<()> {
        let moves = moves(self.template)?;
        let binding = |source: &MoveSource| {
            let (name, number, expression) = match *source {
                MoveSource::Parameter(number) => ("p$0", number as usize, numbered("x.p$0", number)),
                MoveSource::Step(position) => {
                    ("d$0", position, filled(self.pattern("step.d$0", "step.d[$0]"), &[position]))
                }
                MoveSource::Lower(position) => ("lower$0", position, self.bound(position, false)),
                MoveSource::Upper(position) => ("upper$0", position, self.bound(position, true)),
            };
            let width = if matches!(source, MoveSource::Step(_)) { Width::Single } else { self.width() };
            BoundInput { name: filled(name, &[number]), expression, width }
        };
        let bindings: Vec<BoundInput> = moves.inputs.iter().map(binding).list();
        let mut nodes: Vec<NodeId> = moves.trial.iter().map(|&(_, node)| node).list();
        nodes.extend_from_slice(&moves.projected_step);
        // In pairs the projected step is, too, where it is a difference of points, and is rounded then.
        let nodes = nodes.into_iter().map(|node| (node, self.width())).list();
        self.written += ProgramText::operations_of(moves.graph.graph(), &nodes);
        let taken = ["x", "step", "trial", "projected_step"];
        let (code, texts) = self.program.straight_line(moves.graph.graph(), &bindings, &nodes, &taken, 1);
        let (trial, projected_step) = texts.split_at(moves.trial.len());
        self.text += "\nfn moved_by(x: Parameters, step: Step) -> Moved {\n";
        self.text += &code;
        self.text += "    var trial = x;\n";
        for ((number, _), value) in moves.trial.iter().zip(trial) {
            fill(&mut self.text, "    trial.p$0 = ", &[*number as usize]);
            self.text += value;
            self.text += ";\n";
        }
        match self.pairs_form {
            None => self.text += &format!("    return Moved(trial, Step({}));\n}}\n", projected_step.join(", ")),
            Some(_) => {
                let numbers = projected_step.iter().map(|number| format!("{number}.x")).list().join(", ");
                let count = projected_step.len();
                self.text += &format!("    return Moved(trial, Step(array<f32, {count}>({numbers})));\n}}\n");
            }
        }
        Ok(())
    }

    /// The template of the linear algebra in pairs, and sizes.
    fn linear_algebra_in_pairs(&mut self) {
        self.program.push_template(template!("solve_many_pairs"), &[], &NoParameters);
        self.sizes();
    }
}

/// The trace of the inverse of H with columns of unit length up to which H tells a promise to a tenth. In f32 sums of so many rows round; in pairs it is J̃ that
/// has been rounded, once.
fn most_trace(coordinates: usize, rows: usize, is_in_pairs: bool) -> f64 {
    let (n, m) = (coordinates as f64, (rows as f64).max(1.0));
    let [single, pair] = [Arithmetic::F32, Arithmetic::F32x2].map(|arithmetic| arithmetic.epsilon() / 2.0);
    let of_sums = |epsilon: f64| MOST_ERROR / (n * m.sqrt() * epsilon);
    match is_in_pairs {
        false => of_sums(single),
        true => of_sums(pair).min((MOST_ERROR / (2.0 * n * single)).powi(2)),
    }
}

/// A pattern with one number.
fn numbered(pattern: &str, number: u32) -> String {
    filled(pattern, &[number as usize])
}
