//! What is found of a run and its solution beside why the run ended, as data. [`Finding::told`] alone makes sentences of it.

use super::untouched::Untouched;
use crate::eval::{Arithmetic, Place};
use residua_base::decimal::{scientific, shortest};
use residua_base::list::{Listed, PushAll};

/// Parameters and problems that a sentence names.
const NAMED: usize = 3;

/// A stage of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Leg {
    /// Where it ran.
    pub place: Place,
    /// What it computed in.
    pub arithmetic: Arithmetic,
    /// The name of the termination with which it handed over; none where its conjugate gradients stagnated.
    pub end: Option<&'static str>,
    /// Its iterations.
    pub iterations: u32,
}

/// One thing that was found.
#[allow(missing_docs, reason = "the comment on a variant is about its fields")]
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// The first stage could not run.
    Refused { arithmetic: Arithmetic, why: String },
    /// The run went through stages. `last`: the place, the arithmetic and the iterations of the one that gave the result, and whether it began at the start;
    /// `lost`: what was found of the digits of the one before.
    Stages { passed: Vec<Leg>, last: (Place, Arithmetic, u32), restarts: bool, lost: Vec<Finding> },
    /// Blocks of an array started off their manifold.
    Normalised { array: String, manifold: &'static str, blocks: u32 },
    /// So many numbers of the start were beyond their bounds.
    Projected(u32),
    /// So many linear systems had no solution without damping.
    Unsolved { systems: u32, damping: f64 },
    /// Free blocks are an input of no residual.
    Untouched(Untouched),
    /// The Jacobian has less than full rank.
    Rank { rank: usize, columns: usize, names: Vec<String> },
    /// What rounding explains of the cost, and the parameter that it moves by too much. `suffices`: whether the arithmetic tells that this is a solution;
    /// `is_earlier`: whether an earlier solve was examined.
    Rounding {
        arithmetic: Arithmetic,
        loss: f64,
        shift: Option<(String, f64)>,
        instances: usize,
        suffices: bool,
        is_earlier: bool,
    },
    /// Squares of residuals are below the range of the arithmetic.
    Underflow,
    /// The solver could not move this parameter.
    Immovable(String),
    /// This parameter has no effect on the cost.
    WithoutEffect(String),
    /// The derivatives in f64 promise a fall of the cost by so many σ².
    Promise(f64),
    /// A parameter that had an effect at the start has none at the end, on a device whose parameters were not read back.
    Vanished,
    /// So many trial points had no finite cost.
    LostTrials(usize),
    /// Residuals have errors of this size, and this share of their standard deviation.
    Noise(f64, f64),
    /// All parameters are constant.
    AllConstant,
    /// No residual takes part: all blocks are out, or all instances of those that are not.
    NoResiduals { all_blocks: bool },
    /// The host took over since kernels on the device do not hold.
    DeviceFault(String),
    /// Of many problems, how many have converged.
    Converged { problems: usize, of: usize },
    /// Of many problems, what rounding does to those that were checked.
    RoundingOfMany { arithmetic: Arithmetic, loss: f64, shift: Option<f64>, problems: u32, lost: u32 },
    /// Problems were solved again, from their starts, their ends or (all of them) their solutions in an arithmetic; all of them if `problems` is none.
    Again { place: Place, arithmetic: Arithmetic, problems: Option<usize>, from: Origin },
    /// Problems that met a tolerance are no minima by the derivatives in f64.
    RefusedMinima { arithmetic: Arithmetic, problems: usize },
    /// Problems ended with 'precision-limit', and may not go on.
    Limited { arithmetic: Arithmetic, problems: usize },
    /// Problems have converged where residuals leave a direction free, of so many that were checked or of all.
    Undetermined { problems: Vec<u32>, checked: Option<u32> },
}

/// Where problems that are solved again begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// At their starts.
    Starts,
    /// Where they had ended.
    Ends,
    /// At solutions in this arithmetic.
    Solutions(Arithmetic),
}

/// A finding for the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Its name in the public contract.
    pub kind: &'static str,
    /// The parameters or blocks that it is about.
    pub parameters: Vec<String>,
    /// Its numbers by name.
    pub figures: Vec<(&'static str, f64)>,
    /// It as a sentence with its full stop.
    pub sentence: String,
}

/// What is told: a kind, figures by name, and the sentence as for `format!`.
macro_rules! told {
    ($kind:literal $(, $name:ident = $figure:expr)*; $($sentence:tt)+) => {
        Told { kind: $kind, parameters: Vec::new(), figures: vec![$((stringify!($name), f64::from($figure))),*], sentence: format!($($sentence)+) }
    };
}

impl Finding {
    /// Whether it is about the way to the solution, and said before why the run ended.
    pub fn is_of_way(&self) -> bool {
        matches!(
            self,
            Finding::Refused { .. } | Finding::Stages { .. } | Finding::Normalised { .. } | Finding::Projected(_)
        )
    }

    /// Whether what met a tolerance is no solution by it.
    pub fn refutes(&self) -> bool {
        matches!(self, Finding::Rounding { suffices: false, .. } | Finding::Promise(_))
    }

    /// The finding with its sentence.
    pub fn told(&self) -> Told {
        match self {
            Finding::Refused { arithmetic, why } => told!("refused"; "Not in {}: {why}.", arithmetic.name()),
            Finding::Stages { passed, last: (place, arithmetic, iterations), restarts, lost } => {
                let mut ended = String::new();
                for (number, Leg { place, arithmetic, end, iterations }) in passed.iter().enumerate() {
                    let end = end.map_or("conjugate gradients that stagnated".to_owned(), |end| format!("'{end}'"));
                    let [arithmetic, processor] = [arithmetic.name(), processor(*place)];
                    ended += &match number {
                        0 => format!("The {processor} ended with {end} after {iterations} iterations in {arithmetic}, "),
                        _ => format!("then with {end} after {iterations} in {arithmetic}, "),
                    };
                }
                let all = passed.iter().map(|leg| leg.iterations).sum::<u32>() + iterations;
                let begins = if *restarts { "began again at the start" } else { "continued" };
                let (processor, arithmetic) = (processor(*place), arithmetic.name());
                let lost = if lost.is_empty() { String::new() } else { format!(" {}", sentences(lost.iter())) };
                told!("stages", iterations = all; "{ended}and the {processor} {begins} for {iterations} in {arithmetic}: {all} iterations in all.{lost}")
            }
            Finding::Normalised { array, manifold, blocks } => {
                let (what, whose, were) = match blocks {
                    1 => ("block", "its", "was"),
                    _ => ("blocks", "their", "were"),
                };
                told!("normalised-start", blocks = *blocks; "{blocks} {what} of '{array}' started off {whose} manifold '{manifold}' and {were} normalised.")
                    .about(std::slice::from_ref(array))
            }
            Finding::Projected(values) => {
                let [what, was] = if *values == 1 { ["value was", "was"] } else { ["values were", "were"] };
                told!("moved-start", values = *values; "{values} starting {what} out of bounds and {was} moved to the nearest bound.")
            }
            Finding::Unsolved { systems, damping } => told!(
                "unsolved-systems", systems = *systems, damping = *damping;
                "Linear systems without a solution: {systems}. They were damped by {} of their diagonals; rank() finds directions that the residuals do not determine.",
                scientific(*damping, Some(1))
            ),
            Finding::Untouched(Untouched { names, count }) => {
                let (listed, are) = (names.join(", "), if *count == 1 { "is" } else { "are" });
                let more = count - names.len();
                let more = if more == 0 { String::new() } else { format!(" and {more} more") };
                told!("untouched", blocks = *count as f64; "{listed}{more} {are} touched by no residual.").about(names)
            }
            Finding::Rank { rank, columns, names } => told!(
                "rank", rank = *rank as f64, columns = *columns as f64;
                "The Jacobian has rank {rank} of {columns}: the residuals do not determine {}{} separately; rank() returns the free directions.",
                names[..names.len().min(NAMED)].join(", "), if names.len() > NAMED { ", …" } else { "" }
            )
            .about(names),
            Finding::Rounding { arithmetic, loss, shift, instances, is_earlier, .. } => {
                let moved = shift.as_ref().map_or_else(String::new, |(name, shift)| {
                    format!(", and moves {name} by {} of its scale", scientific(*shift, Some(0)))
                });
                let mut told = told!(
                    "rounding", loss = *loss, instances = *instances as f64;
                    "{}Rounding in {} explains {} of the cost{moved}, by {instances} {} in double precision.",
                    if *is_earlier { "At an earlier solution: " } else { "" }, arithmetic.name(), scientific(*loss, Some(0)),
                    if *instances == 1 { "instance" } else { "instances" }
                );
                told.figures.push_all(shift.iter().map(|(_, shift)| ("shift", *shift)));
                told.about(&shift.iter().map(|(name, _)| name.clone()).list())
            }
            Finding::Underflow => told!("underflow";
                "The cost underflows: squares of its residuals are below the smallest number of the arithmetic, and smaller residuals are not told apart. \
                 Residuals in a smaller unit are larger numbers."
            ),
            Finding::Immovable(name) => told!("immovable";
                "{name} could not be moved: the squares of all derivatives by it are below the smallest number of the arithmetic, since its unit is too small or \
                 its effect has all but vanished. Another unit, another start or backend 'cpu' may help."
            )
            .about(std::slice::from_ref(name)),
            Finding::WithoutEffect(name) => told!("without-effect";
                "{name} has no effect on the cost there, as with a weight of 0, or where an exponential has vanished: then another start may lead to a lower cost."
            )
            .about(std::slice::from_ref(name)),
            Finding::Promise(promise) => told!(
                "promise", promise = *promise;
                "By the derivatives in double precision another choice of the parameters lowers the cost by {} of the residuals' variance.",
                scientific(*promise, Some(0))
            ),
            Finding::Vanished => told!("vanished";
                "A parameter has lost its effect on the way, as within a limit, or where an exponential has vanished."
            ),
            Finding::LostTrials(points) => {
                let were = if *points == 1 { "point was" } else { "points were" };
                told!("lost-trials", points = *points as f64; "{points} trial {were} not finite.")
            }
            Finding::Noise(size, share) => told!("noise", size = *size, share = *share;
                "Functions round results or are noisy: residuals are uncertain by about {}, {} of their standard deviation.",
                scientific(*size, Some(0)), scientific(*share, Some(0))
            ),
            Finding::AllConstant => told!("all-constant"; "All parameters are constant, so that nothing was solved for."),
            Finding::NoResiduals { all_blocks: true } => {
                told!("no-residuals"; "No residual takes part: all blocks are disabled or have the weight 0.")
            }
            Finding::NoResiduals { all_blocks: false } => {
                told!("no-residuals"; "No residual takes part: all instances have the weight 0.")
            }
            Finding::DeviceFault(why) => told!("device-fault"; "On the CPU, since {why}."),
            Finding::Converged { problems, of } => {
                told!("converged", problems = *problems as f64, of = *of as f64; "{problems} of {of} problems converged.")
            }
            Finding::RoundingOfMany { arithmetic, loss, shift, problems, lost } => {
                let moved = shift.map_or_else(String::new, |shift| {
                    format!(" and moves a parameter by {} of its scale", scientific(shift, Some(0)))
                });
                let mut told = told!(
                    "rounding", loss = *loss, problems = *problems, lost = *lost;
                    "Rounding in {} explains up to {} of a problem's cost{moved}, by {problems} problems in double precision, of which {lost} have lost digits.",
                    arithmetic.name(), scientific(*loss, Some(0))
                );
                told.figures.push_all(shift.map(|shift| ("shift", shift)));
                told
            }
            Finding::Again { place, arithmetic, problems, from } => {
                let which = match problems {
                    None => "the problems".to_owned(),
                    Some(1) => "1 problem that had come to no minimum for certain".to_owned(),
                    Some(some) => format!("{some} problems that had come to no minimum for certain"),
                };
                let from = match from {
                    Origin::Starts => "their starts".to_owned(),
                    Origin::Ends => "where they had ended".to_owned(),
                    Origin::Solutions(arithmetic) => format!("the solutions in {}", arithmetic.name()),
                };
                told!("solved-again"; "The {} solved {which} again in {}, from {from}.", processor(*place), arithmetic.name())
            }
            Finding::RefusedMinima { arithmetic, problems } => told!(
                "no-minima", problems = *problems as f64;
                "Where {problems} of the problems met a tolerance in {}, other parameters lower the cost by the derivatives in double precision.", arithmetic.name()
            ),
            Finding::Limited { arithmetic, problems } => told!(
                "precision-limit", problems = *problems as f64;
                "{problems} ended with 'precision-limit': {} tells no minimum there. Backend 'auto' goes on in pairs and on the CPU.", arithmetic.name()
            ),
            Finding::Undetermined { problems, checked } => {
                let count = problems.len();
                let names = problems.iter().take(NAMED).map(u32::to_string).list().join(", ");
                let more = if count > NAMED { format!(" and {} more", count - NAMED) } else { String::new() };
                let of = checked.map_or_else(String::new, |checked| format!(" of the {checked} that were checked"));
                told!(
                    "undetermined", problems = count as f64;
                    "{count}{of} converged where the residuals do not determine all parameters, by position {names}{more}: as with a weight of 0, or where an \
                     exponential has vanished; then another start may lead to a lower cost."
                )
            }
        }
    }
}

impl Told {
    fn about(self, names: &[String]) -> Told {
        Told { parameters: names.to_vec(), ..self }
    }
}

/// The sentences of findings, one after the other.
pub fn sentences<'a>(findings: impl Iterator<Item = &'a Finding>) -> String {
    findings.map(|finding| finding.told().sentence).list().join(" ")
}

/// Findings for the facade: of each its kind, sentence, number of parameters, parameters, and figures as "name=number", between separators that no text has.
pub fn packed(findings: &[Finding]) -> String {
    let one = |finding: &Finding| {
        let Told { kind, parameters, figures, sentence } = finding.told();
        let mut fields = vec![kind.to_owned(), sentence, parameters.len().to_string()];
        fields.push_all(parameters);
        fields.push_all(figures.iter().map(|(name, figure)| format!("{name}={}", shortest(*figure))));
        fields.join("\u{1f}")
    };
    findings.iter().map(one).list().join("\u{1e}")
}

/// A place as a sentence names it.
pub fn processor(place: Place) -> &'static str {
    match place {
        Place::Host => "CPU",
        Place::Device => "GPU",
    }
}
