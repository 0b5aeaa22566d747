//! The kernel of a template: `shaders/solve_many.wgsl`, and around it what is generated. Everything is unrolled over the free
//! coordinates, since what is addressed at run time does not stay in registers.

use crate::codegen::wgsl::source::shader;
use crate::codegen::wgsl::{Binding, ProgramText, comment};
use crate::error::{Error, ErrorCode, Result};
use crate::graph::NodeId;
use crate::list::Listed;
use crate::solve::rules::{MAX_DIAGONAL, MIN_DIAGONAL, Rules};
use crate::solve::summary::Termination;

use super::layout::{Column, GroupLayout, Layout};
use super::moves::{MoveSource, moves};
use super::template::{Group, Template};
use super::terms::{CLOSE_SINGLE, Source, normal_terms, reduction_term};

/// Free coordinates that a thread can keep the normal equations of.
pub const MOST_FREE: usize = 16;

/// Parameters that a thread can keep, constant ones included.
const MOST_PARAMETERS: usize = 64;

/// Operations of all groups' terms: as many as a kernel of residuals may have.
const MOST_OPERATIONS: usize = 8_000;

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
    let mut writer = Writer { template, layout, program: ProgramText::new(), operations: 0, written: 0 };
    writer.program.push_shader(shader!("../../../shaders/solve_many.wgsl"));
    writer.constants();
    for function in Rules::new().functions().into_iter().take(4) {
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
    limit("operations", writer.written, MOST_OPERATIONS)?;
    let operations = writer.operations;
    Ok(Program { wgsl: writer.program.finish(), operations })
}

struct Writer<'a> {
    template: &'a Template,
    layout: &'a Layout,
    program: ProgramText,
    /// Operations of an iteration.
    operations: u64,
    /// Operations in the text.
    written: usize,
}

impl Writer<'_> {
    fn push(&mut self, text: &str) {
        self.program.push(text);
    }

    fn free(&self) -> usize {
        self.template.free.len()
    }

    fn constants(&mut self) {
        let code = |termination: Termination| format!("{}.0", termination.code() as u32);
        self.push(&format!(
            "\nconst NON_FINITE = {};\nconst MAX_ITERATIONS = {};\nconst RESIDUALS = {}.0;\n",
            code(Termination::NonFinite),
            code(Termination::MaxIterations),
            self.template.residuals()
        ));
    }

    fn structures(&mut self) {
        let (parameters, free) = (self.template.values.len(), self.free());
        let members = |names: &mut dyn Iterator<Item = String>, kind: &str| -> String {
            names.map(|name| format!("    {name}: {kind},\n")).collect()
        };
        let text = format!(
            "\nstruct Parameters {{\n{}}}\n\nstruct Step {{\n{}}}\n\nstruct Normal {{\n    cost: vec2<f32>,\n{}{}}}\n\n\
             struct Moved {{\n    trial: Parameters,\n    made: Step,\n}}\n\n\
             struct Solved {{\n    step: Step,\n    sound: bool,\n}}\n",
            members(&mut (0..parameters).map(|number| format!("p{number}")), "f32"),
            members(&mut (0..free).map(|number| format!("d{number}")), "f32"),
            members(&mut (0..free).map(|number| format!("g{number}")), "vec2<f32>"),
            members(&mut pairs(free).map(|(row, column)| format!("h{row}_{column}")), "f32"),
        );
        self.push(&text);
    }

    /// Loads and stores of the parameters; only those that move are stored.
    fn parameters(&mut self) {
        let place = |number: u32| match number {
            0 => "parameters[problem]".to_owned(),
            number => format!("parameters[{number}u * dispatch.stride + problem]"),
        };
        let count = self.template.values.len() as u32;
        let loads: Vec<String> = (0..count).map(place).list();
        let moving = self.template.blocks.iter().flat_map(|block| block.first..block.first + block.dim);
        let stores: String = moving.map(|number| format!("    {} = x.p{number};\n", place(number))).collect();
        self.push(&format!(
            "\nfn load_parameters(problem: u32) -> Parameters {{\n    return Parameters(\n        {},\n    );\n}}\n\n\
             fn store_parameters(problem: u32, x: Parameters) {{\n{stores}}}\n",
            loads.join(",\n        ")
        ));
    }

    /// What the inputs of a group's terms are, inside its loop over `i`.
    fn bindings(&self, layout: &GroupLayout, inputs: &[Source]) -> Vec<Binding> {
        let instance = |(first, width): (u32, u32), number: u32| {
            let step = if width == 1 { "i".to_owned() } else { format!("i * {width}u") };
            if first + number == 0 { step } else { format!("{step} + {}u", first + number) }
        };
        let template_number = |place: u32| format!("template_numbers[{place}u]");
        let binding = |source: &Source| {
            let (name, expression) = match *source {
                Source::Parameter(number) => (format!("p{number}"), format!("x.p{number}")),
                Source::Trial(number) => (format!("trial_p{number}"), format!("trial.p{number}")),
                Source::Data(column) => {
                    let place = match layout.columns[column as usize] {
                        Column::Varying(k) => {
                            format!("problem_numbers[({}) * dispatch.stride + problem]", instance(layout.varying, k))
                        }
                        Column::Shared(k) => format!("template_numbers[{}]", instance(layout.shared, k)),
                    };
                    (format!("data{column}"), place)
                }
                Source::Uniform(number) => (format!("uniform{number}"), template_number(layout.uniforms + number)),
                Source::Weight => ("weight".to_owned(), template_number(layout.settings)),
                Source::Scale(number) => (format!("scale{number}"), template_number(layout.settings + 1 + number)),
            };
            Binding { name, expression }
        };
        inputs.iter().map(binding).list()
    }

    /// A loop over a group's instances. `body` has the code of one, `results` what it adds to what.
    fn group_loop(&mut self, group: &Group, code: &str, additions: &[String]) -> String {
        let batch = &self.template.model.batches[group.batch];
        let title = &self.template.model.blocks[batch.block as usize].name;
        let comment = comment(title);
        let count = group.instances.len();
        let additions: String = additions.iter().map(|line| format!("        {line}\n")).collect();
        format!("    {comment}\n    for (var i = 0u; i < {count}u; i++) {{\n{code}{additions}    }}\n")
    }

    fn linearise(&mut self) -> Result<()> {
        let mut text =
            "\nfn linearise(problem: u32, x: Parameters) -> Normal {\n    var normal = Normal();\n".to_owned();
        let template = self.template;
        for (group, layout) in template.groups.iter().zip(&self.layout.groups) {
            let terms = normal_terms(template, group)?;
            self.count(group, terms.graph.graph().len() + terms.gradient.len() * 8);
            let nodes: Vec<NodeId> = std::iter::once(terms.cost)
                .chain(terms.gradient.iter().map(|&(_, node)| node))
                .chain(terms.curvature.iter().map(|&(.., node)| node))
                .list();
            let bindings = self.bindings(layout, &terms.inputs);
            let (code, texts) =
                self.program.straight_line(terms.graph.graph(), &bindings, &nodes, &["x", "problem", "normal", "i"], 2);
            let sums = std::iter::once("cost".to_owned())
                .chain(terms.gradient.iter().map(|(position, _)| format!("g{position}")));
            let mut additions: Vec<String> =
                sums.zip(&texts).map(|(sum, text)| format!("normal.{sum} = add_to(normal.{sum}, {text});")).list();
            let rest = texts[1 + terms.gradient.len()..].iter();
            additions.extend(
                terms
                    .curvature
                    .iter()
                    .zip(rest)
                    .map(|((row, column, _), text)| format!("normal.h{row}_{column} += {text};")),
            );
            text += &self.group_loop(group, &code, &additions);
        }
        for position in 0..self.free() {
            text += &format!("    normal.g{position} = vec2<f32>(normal.g{position}.x + normal.g{position}.y, 0.0);\n");
        }
        text += "    normal.cost = vec2<f32>(normal.cost.x + normal.cost.y, 0.0);\n    return normal;\n}\n";
        self.push(&text);
        Ok(())
    }

    fn reduction(&mut self) -> Result<()> {
        let mut text =
            "\nfn reduction(problem: u32, x: Parameters, trial: Parameters) -> f32 {\n    var sum = vec2<f32>();\n"
                .to_owned();
        let template = self.template;
        for (group, layout) in template.groups.iter().zip(&self.layout.groups) {
            let term = reduction_term(template, group, CLOSE_SINGLE)?;
            self.count(group, term.graph.graph().len());
            let bindings = self.bindings(layout, &term.inputs);
            let taken = ["x", "trial", "problem", "sum", "i"];
            let (code, texts) = self.program.straight_line(term.graph.graph(), &bindings, &[term.reduction], &taken, 2);
            text += &self.group_loop(group, &code, &[format!("sum = add_to(sum, {});", texts[0])]);
        }
        self.push(&(text + "    return sum.x + sum.y;\n}\n"));
        Ok(())
    }

    fn count(&mut self, group: &Group, operations: usize) {
        self.written += operations;
        self.operations += operations as u64 * group.instances.len() as u64;
    }

    fn moved_by(&mut self) -> Result<()> {
        let moves = moves(self.template)?;
        self.written += moves.graph.graph().len();
        let bindings: Vec<Binding> = moves
            .inputs
            .iter()
            .map(|source| {
                let (name, expression) = match *source {
                    MoveSource::Parameter(number) => (format!("p{number}"), format!("x.p{number}")),
                    MoveSource::Step(position) => (format!("d{position}"), format!("step.d{position}")),
                    MoveSource::Lower(position) => (format!("lower{position}"), self.bound(position, false)),
                    MoveSource::Upper(position) => (format!("upper{position}"), self.bound(position, true)),
                };
                Binding { name, expression }
            })
            .list();
        let nodes: Vec<NodeId> = moves.trial.iter().map(|&(_, node)| node).chain(moves.made.iter().copied()).list();
        let (code, texts) =
            self.program.straight_line(moves.graph.graph(), &bindings, &nodes, &["x", "step", "trial", "made"], 1);
        let (trial, made) = texts.split_at(moves.trial.len());
        let trial: String = moves
            .trial
            .iter()
            .zip(trial)
            .map(|((number, _), text)| format!("    trial.p{number} = {text};\n"))
            .collect();
        self.push(&format!(
            "\nfn moved_by(x: Parameters, step: Step) -> Moved {{\n{code}    var trial = x;\n{trial}    \
             return Moved(trial, Step({}));\n}}\n",
            made.join(", ")
        ));
        Ok(())
    }

    fn bound(&self, position: usize, upper: bool) -> String {
        format!("template_numbers[{}u]", self.layout.bounds as usize + 2 * position + usize::from(upper))
    }

    /// Which coordinates are at a bound with −g pointing outward, as bits.
    fn bounds(&mut self) {
        let mut lines = String::new();
        for (position, coordinate) in self.template.free.iter().enumerate() {
            if coordinate.bounds.is_none() {
                continue;
            }
            let number = coordinate.parameter;
            lines += &format!(
                "    if (x.p{number} <= {} && normal.g{position}.x > 0.0) || (x.p{number} >= {} && normal.g{position}.x < 0.0) \
                 {{\n        frozen |= {}u;\n    }}\n",
                self.bound(position, false),
                self.bound(position, true),
                1u32 << position
            );
        }
        self.push(&format!(
            "\nfn frozen_coordinates(x: Parameters, normal: Normal) -> u32 {{\n    var frozen = 0u;\n{lines}    return frozen;\n}}\n"
        ));
    }

    /// The clamped diagonal of JᵀJ.
    fn scale(&self, position: usize) -> String {
        let (least, most) = (float(MIN_DIAGONAL), float(MAX_DIAGONAL));
        format!("clamp(normal.h{position}_{position}, {least}, {most})")
    }

    /// A number where a coordinate may move, another where it is frozen.
    fn unless_frozen(&self, position: usize, free: &str, frozen: &str) -> String {
        match self.template.free[position].bounds {
            None => free.to_owned(),
            Some(_) => format!("select({free}, {frozen}, (frozen & {}u) != 0u)", 1u32 << position),
        }
    }

    fn norms(&mut self) {
        let free = self.free();
        let finite: Vec<String> = std::iter::once("normal.cost.x".to_owned())
            .chain((0..free).map(|position| format!("normal.g{position}.x + normal.g{position}.y")))
            .chain(pairs(free).map(|(row, column)| format!("normal.h{row}_{column}")))
            .map(|number| format!("is_finite({number})"))
            .list();
        let mut norm = String::new();
        for position in 0..free {
            let size = format!("abs(normal.g{position}.x)");
            norm += &format!("    norm = max(norm, {});\n", self.unless_frozen(position, &size, "0.0"));
        }
        let squares = |names: &mut dyn Iterator<Item = String>| -> String {
            names.map(|name| format!("{name} * {name}")).collect::<Vec<_>>().join(" + ")
        };
        let of_step = squares(&mut (0..free).map(|position| format!("made.d{position}")));
        let moving = self.template.blocks.iter().flat_map(|block| block.first..block.first + block.dim);
        let of_parameters = squares(&mut moving.map(|number| format!("x.p{number}")));
        let of_scaled: Vec<String> = (0..free)
            .map(|position| {
                let number = self.template.free[position].parameter;
                format!("{} * x.p{number} * x.p{number}", self.scale(position))
            })
            .list();
        // −δᵀg − ½δᵀHδ
        let mut model = String::new();
        for row in 0..free {
            let slope: Vec<String> = (0..free)
                .map(|other| {
                    let (a, b) = (row.min(other), row.max(other));
                    format!("normal.h{a}_{b} * made.d{other}")
                })
                .list();
            model += &format!("    sum += made.d{row} * (normal.g{row}.x + 0.5 * ({}));\n", slope.join(" + "));
        }
        self.push(&format!(
            "\nfn is_sound(normal: Normal) -> bool {{\n    return {};\n}}\n\n\
             fn gradient_max_norm(normal: Normal, frozen: u32) -> f32 {{\n    var norm = 0.0;\n{norm}    return norm;\n}}\n\n\
             fn step_norm(made: Step) -> f32 {{\n    return sqrt({of_step});\n}}\n\n\
             fn parameter_norm(x: Parameters) -> f32 {{\n    return sqrt({of_parameters});\n}}\n\n\
             fn scaled_size(normal: Normal, x: Parameters) -> f32 {{\n    return {};\n}}\n\n\
             fn predicted_reduction(normal: Normal, made: Step) -> f32 {{\n    var sum = 0.0;\n{model}    return -sum;\n}}\n",
            finite.join("\n        & "),
            of_scaled.join(" + ")
        ));
    }

    /// (H + λD)δ = −g by Cholesky's factorisation LDLᵀ, without roots. A pivot that is not positive is no step.
    fn damped_step(&mut self) {
        let free = self.free();
        let mut code = String::new();
        for column in 0..free {
            for row in 0..column {
                let entry = self.unless_frozen(column, &format!("normal.h{row}_{column}"), "0.0");
                let entry = self.unless_frozen(row, &entry, "0.0");
                code += &format!("    let a{row}_{column} = {entry};\n");
            }
            let damped = format!("normal.h{column}_{column} + damping * {}", self.scale(column));
            code += &format!("    let a{column}_{column} = {};\n", self.unless_frozen(column, &damped, "1.0"));
        }
        // Row i of L times the pivots is m; l = m / pivot.
        for column in 0..free {
            for row in 0..column {
                let mut entry = format!("a{row}_{column}");
                for k in 0..row {
                    entry += &format!(" - m{k}_{column} * l{k}_{row}");
                }
                code += &format!("    let m{row}_{column} = {entry};\n");
                code += &format!("    let l{row}_{column} = m{row}_{column} * inverse{row};\n");
            }
            let mut pivot = format!("a{column}_{column}");
            for k in 0..column {
                pivot += &format!(" - m{k}_{column} * l{k}_{column}");
            }
            code += &format!("    let pivot{column} = {pivot};\n");
            code += &format!(
                "    sound = sound & (pivot{column} > {}) & is_finite(pivot{column});\n    let inverse{column} = 1.0 / pivot{column};\n",
                float(f64::from(f32::MIN_POSITIVE))
            );
        }
        for row in 0..free {
            let slope = format!("-normal.g{row}.x");
            let mut entry = self.unless_frozen(row, &slope, "0.0");
            for k in 0..row {
                entry += &format!(" - l{k}_{row} * y{k}");
            }
            code += &format!("    let y{row} = {entry};\n");
        }
        for row in (0..free).rev() {
            let mut entry = format!("y{row} * inverse{row}");
            for k in row + 1..free {
                entry += &format!(" - l{row}_{k} * d{k}");
            }
            code += &format!("    let d{row} = {entry};\n");
        }
        let step: Vec<String> = (0..free).map(|position| format!("d{position}")).list();
        self.push(&format!(
            "\nfn damped_step(normal: Normal, damping: f32, frozen: u32) -> Solved {{\n    var sound = true;\n{code}    \
             return Solved(Step({}), sound);\n}}\n",
            step.join(", ")
        ));
    }
}

/// The upper triangle, column after column.
fn pairs(size: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..size).flat_map(|column| (0..=column).map(move |row| (row, column)))
}

/// A number as WGSL has it.
fn float(number: f64) -> String {
    crate::decimal::shortest_single(number as f32)
}
