//! States of reductions in WGSL: one number, a vector, or a structure.

use residua_base::list::Listed;
use residua_codegen::Width;
use residua_codegen::wgsl::BoundInput;

use super::code::Code;
use super::layout::type_name;
use super::module::{EXTREME, HIDDEN, KEY, Key, MOMENTS, Module, PLACE, PRODUCT, SUM};
use super::operation::{Text, number, type_of};
use crate::expr::Rule;
use crate::kernel::{Combine, Fold};
use crate::scalar::Type;

/// How the states of a reduction are written.
#[derive(Clone, Debug)]
pub struct States {
    kind: Kind,
    /// Of what is accumulated.
    ty: Type,
    /// The bits of the first number of the state of nothing.
    identity: u32,
    /// The type of a state.
    pub name: String,
    /// Words of a state.
    pub words: u32,
    /// Of the reduction in the kernel.
    position: usize,
    merges_states: bool,
    keeps_state: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sum,
    PlainSum,
    /// Of reals.
    Product,
    Prod,
    Min,
    Max,
    /// Of reals, which may be NaN.
    Extreme {
        largest: bool,
    },
    First {
        flip: &'static str,
    },
    Variance,
    By,
}

impl States {
    /// The states of a reduction by its position in the kernel, with the functions that they need.
    pub fn new(position: usize, fold: &Fold, module: &mut Module) -> States {
        let ty = fold.operands.first().map_or(Type::F32, |operand| module.kernel.graph.ty(*operand));
        let (kind, name, words) = match &fold.combine {
            Combine::Sum => {
                module.push_shader(SUM);
                (Kind::Sum, "vec2<f32>".to_owned(), 2)
            }
            Combine::PlainSum => (Kind::PlainSum, type_name(ty).to_owned(), 1),
            Combine::Prod if ty == Type::F32 => {
                module.push_shader(PRODUCT);
                (Kind::Product, "vec2<f32>".to_owned(), 2)
            }
            Combine::Prod => (Kind::Prod, type_name(ty).to_owned(), 1),
            Combine::Min | Combine::Max if ty == Type::F32 => {
                module.push_shader(EXTREME);
                (Kind::Extreme { largest: matches!(fold.combine, Combine::Max) }, "Extreme".to_owned(), 2)
            }
            Combine::Min => (Kind::Min, type_name(ty).to_owned(), 1),
            Combine::Max => (Kind::Max, type_name(ty).to_owned(), 1),
            Combine::ArgMin | Combine::ArgMax => {
                let flip = if matches!(fold.combine, Combine::ArgMax) { "0u" } else { "0xffffffffu" };
                let parameters = Key { ty: type_name(ty).to_owned(), real: ty == Type::F32, signed: ty == Type::I32 };
                module.push_shader(PLACE);
                module.push_shader_of(KEY, &format!("key_of_{}", type_name(ty)), &parameters);
                (Kind::First { flip }, "Place".to_owned(), 2)
            }
            Combine::Variance => {
                module.push_shader(MOMENTS);
                // A vector of three takes the room of four.
                (Kind::Variance, "vec3<f32>".to_owned(), 4)
            }
            Combine::By(rule) => {
                let name = format!("State{position}");
                write_rule(&name, position, rule, module);
                (Kind::By, name, rule.identity.len() as u32)
            }
        };
        let identity = fold.combine.identity(ty).first().copied().unwrap_or_default();
        States {
            kind,
            ty,
            identity,
            name,
            words,
            position,
            merges_states: fold.merges_states,
            keeps_state: fold.keeps_state,
        }
    }

    /// Whether points must be merged in order.
    pub fn is_ordered(&self) -> bool {
        self.kind == Kind::By
    }

    /// The state of nothing.
    pub fn identity(&self, module: &mut Module) -> String {
        let mut nothing = || match self.ty {
            Type::F32 => module.program.number(f64::from(f32::from_bits(self.identity))),
            ty => number(ty, self.identity),
        };
        match self.kind {
            Kind::Sum | Kind::Variance => format!("{}()", self.name),
            Kind::PlainSum | Kind::Prod | Kind::Min | Kind::Max => nothing(),
            Kind::Product => "vec2<f32>(1.0, 0.0)".to_owned(),
            Kind::Extreme { .. } => format!("Extreme({}, 0u)", nothing()),
            Kind::First { .. } => "Place(0u, 0xffffffffu)".to_owned(),
            Kind::By => format!("identity_{}()", self.position),
        }
    }

    /// A state with what a point contributes.
    pub fn with_point(&self, state: &str, operands: &[String], module: &mut Module) -> String {
        if self.merges_states {
            let point = self.of_numbers(operands);
            return self.merged(state, &point);
        }
        match self.kind {
            Kind::Sum => format!("with_number({state}, {})", operands[0]),
            // Compilers would take the point from the mean before they take the first one from it.
            Kind::Variance => {
                module.push_shader(HIDDEN);
                format!("with_sample({state}, times_one({}))", operands[0])
            }
            Kind::Extreme { .. }
            | Kind::First { .. }
            | Kind::By
            | Kind::PlainSum
            | Kind::Product
            | Kind::Prod
            | Kind::Min
            | Kind::Max => {
                let point = self.of_numbers(operands);
                self.merged(state, &point)
            }
        }
    }

    /// The state of two neighbouring ranges.
    pub fn merged(&self, a: &str, b: &str) -> String {
        match self.kind {
            Kind::Sum => format!("merged_sums({a}, {b})"),
            Kind::PlainSum => format!("{a} + {b}"),
            Kind::Product => format!("merged_products({a}, {b})"),
            Kind::Prod => format!("{a} * {b}"),
            Kind::Min if self.ty == Type::Bool => format!("{a} & {b}"),
            Kind::Max if self.ty == Type::Bool => format!("{a} | {b}"),
            Kind::Extreme { largest: false } => format!("smaller_of({a}, {b})"),
            Kind::Extreme { largest: true } => format!("larger_of({a}, {b})"),
            Kind::Min => format!("min({a}, {b})"),
            Kind::Max => format!("max({a}, {b})"),
            Kind::First { .. } => format!("first_of({a}, {b})"),
            Kind::Variance => format!("merged_moments({a}, {b})"),
            Kind::By => format!("merged_{}({a}, {b})", self.position),
        }
    }

    /// The state of its numbers.
    pub fn of_numbers(&self, numbers: &[String]) -> String {
        match (self.kind, numbers) {
            (Kind::Extreme { .. }, [number]) => format!("extreme_of({number})"),
            (Kind::Product, [number]) => format!("vec2<f32>({number}, 0.0)"),
            (Kind::First { flip }, [value, position]) => {
                format!("place_of_{}({value}, {position}, {flip})", type_name(self.ty))
            }
            (kind, [number]) if kind != Kind::By => number.clone(),
            _ => format!("{}({})", self.name, numbers.join(", ")),
        }
    }

    /// Names the results of states, which are names: of one state, or of four points or rows.
    pub fn name_results(&self, states: &[String], code: &mut Code) {
        let all: Vec<Vec<(String, Type)>> = states.iter().map(|state| self.results(state, code.module)).list();
        let is_vector = all.len() > 1;
        for (result, (text, ty)) in all[0].iter().enumerate() {
            let text = if is_vector {
                let lanes: Vec<&str> = all.iter().map(|of_state| of_state[result].0.as_str()).list();
                format!("{}({})", type_of(*ty, true), lanes.join(", "))
            } else {
                text.clone()
            };
            let text = code.bind(&text);
            code.set_folded(self.position as u32, result as u32, Text { text, ty: *ty, is_vector, literal: None });
        }
    }

    /// The results of a state, the value of a name, with their types.
    fn results(&self, state: &str, module: &mut Module) -> Vec<(String, Type)> {
        let numbers = |members: &[&str]| members.iter().map(|member| (format!("{state}.{member}"), Type::F32)).list();
        match self.kind {
            Kind::Sum | Kind::Product if self.keeps_state => numbers(&["x", "y"]),
            Kind::Product => numbers(&["x"]),
            Kind::Sum => vec![(format!("total_of_sum({state})"), Type::F32)],
            Kind::Extreme { .. } => vec![(format!("value_of_extreme({state})"), Type::F32)],
            Kind::PlainSum | Kind::Prod | Kind::Min | Kind::Max => vec![(state.to_owned(), self.ty)],
            Kind::First { flip } if self.keeps_state => {
                let value = format!("{}_of_key({state}.key, {flip})", type_name(self.ty));
                vec![(value, self.ty), (format!("{state}.position"), Type::U32)]
            }
            // A row without points has place 0.
            Kind::First { .. } => {
                let place = format!("select({state}.position, 0u, {state}.position == 0xffffffffu)");
                vec![(format!("i32({place})"), Type::I32)]
            }
            Kind::Variance if self.keeps_state => numbers(&["x", "y", "z"]),
            Kind::Variance => {
                let nan = module.program.call("not_a_number", &[]);
                vec![(format!("select({state}.z / {state}.x, {nan}, {state}.x == 0.0)"), Type::F32)]
            }
            Kind::By => (0..self.words).map(|member| (format!("{state}.x{member}"), Type::F32)).list(),
        }
    }
}

/// Writes the structure of a rule's states, the state of nothing and the function that merges two.
fn write_rule(name: &str, position: usize, rule: &Rule, module: &mut Module) {
    let count = rule.identity.len();
    let members: Vec<String> = (0..count).map(|member| format!("    x{member}: f32,\n")).list();
    let bindings: Vec<BoundInput> = [("a", "first"), ("b", "second")]
        .iter()
        .flat_map(|(prefix, state)| {
            (0..count).map(move |member| BoundInput {
                name: format!("{prefix}{member}"),
                expression: format!("{state}.x{member}"),
                width: Width::Single,
            })
        })
        .list();
    let nodes: Vec<_> = rule.results.iter().map(|result| (*result, Width::Single)).list();
    let (code, results) = module.program.straight_line(rule.merge.graph(), &bindings, &nodes, &["first", "second"], 1);
    let identity: Vec<String> = rule.identity.iter().map(|number| module.program.number(*number)).list();
    module
        .program
        .push(&format!("\nfn identity_{position}() -> {name} {{\n    return {name}({});\n}}\n", identity.join(", ")));
    module.program.push(&format!(
        "\nstruct {name} {{\n{}}}\n\nfn merged_{position}(first: {name}, second: {name}) -> {name} {{\n{code}    return {name}({});\n}}\n",
        members.concat(),
        results.join(", ")
    ));
}
