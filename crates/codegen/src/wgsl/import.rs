//! The library of shader functions, `shaders/common`, and what a module imports of it.
//!
//! A template names what it needs by `#import`, generated code by the functions that it calls; the module has each file once, after its
//! own text. Files that make a NaN call `not_a_number`, which reads `dispatch.nan`, a member of the module's uniform `dispatch`, or the guard's
//! zero: see [`Imports::make_nan_by_guard`]. Files that guard a rounding or make
//! an infinity call `guard_zero() -> u32`, which returns a zero that no compiler can derive. The module defines it: see
//! [`Imports::read_guard_from`]. Files of pairs (numbers as an f32 and what its rounding lost) call `product_with_error`, of which there are
//! two forms: see [`Imports::set_pair_form`].

use std::rc::Rc;

use super::order::Hidden;
use super::template::{Template, Value};
use residua_ir::graph::{Graph, NodeId, Op};

/// A file of `shaders/common`.
struct Library {
    template: Template<'static>,
    /// What it defines: a native test compares with the text.
    functions: &'static [&'static str],
}

/// Declares the library from one line per file.
macro_rules! library {
    ($($name:literal [$($function:literal),*];)+) => {
        const LIBRARY: &[Library] = &[$(Library {
            template: Template {
                name: $name,
                source: include_str!(concat!(env!("OUT_DIR"), "/shaders/", $name, ".wgsl")),
            },
            functions: &[$($function),*],
        }),+];
    };
}

library! {
    "nonfinite" ["is_nan", "is_finite"];
    "normal" ["is_normal"];
    "not_a_number" ["not_a_number"];
    "not_a_number_by_guard" ["not_a_number"];
    "infinity" ["infinity"];
    "guard" ["rounded"];
    "double_single" ["exact_sum", "exact_sum_of_any", "exact_product", "sum_of_pairs"];
    "compensated" ["with_addend", "compensated_sum"];
    "pair_arithmetic" ["product_of_pairs", "quotient_of_pairs"];
    "workgroup_sums" ["put_addend", "add_over_workgroup", "add_columns", "total_of"];
    "workgroup_largest" ["largest_over_workgroup"];
    "power_of_two" ["times_power_of_two"];
    "reduced_angle" ["ReducedAngle", "reduced_angle"];
    "sine_cosine" ["sine_cosine", "sine", "cosine"];
    "tangent" ["tangent"];
    "arc_sine" ["arc_sine_series", "arc_sine", "arc_cosine"];
    "arc_tangent" ["arc_tangent_series", "arc_tangent", "arc_tangent_of"];
    "exponential" ["exponential_series", "exponential_scaled", "exponential"];
    "logarithm" ["logarithm_series", "logarithm_exponent", "logarithm_mantissa", "logarithm"];
    "power" ["logarithm_in_two", "power_of_positive", "power"];
    "hyperbolic_sine" ["hyperbolic_sine"];
    "hyperbolic_cosine" ["hyperbolic_cosine"];
    "hyperbolic_tangent" ["hyperbolic_tangent"];
    "sigmoid" ["sigmoid"];
    "softplus" ["softplus"];
    "remainder" ["remainder"];
    "rounding" ["nearest_integer"];
    "sign" ["sign_of"];
    "extremum" ["minimum", "maximum"];
    "root" ["square_root", "vector_norm", "inverse_norm"];
    "guarded_product" ["guarded_product"];
    "pair_product_fused" ["product_with_error"];
    "pair_product_split" ["product_with_error"];
    "pair_sum" ["ordered_sum", "pair_sum", "pair_difference", "unnormalised_sum", "unnormalised_difference"];
    "pair_product" [
        "pair_product", "pair_square", "pair_scaled", "normalised_product", "unnormalised_product", "unnormalised_square",
        "unnormalised_scaled"
    ];
    "pair_quotient" ["pair_quotient"];
    "pair_root" ["pair_square_root", "pair_norm", "pair_inverse_norm"];
    "pair_series" ["pair_step"];
    "pair_exponential" [
        "pair_exponential_series", "pair_times_power_of_two", "pair_exponential_scaled", "pair_exponential"
    ];
    "pair_logarithm" ["pair_logarithm_series", "pair_logarithm_of_positive", "pair_logarithm"];
    "pair_sine_cosine" ["pair_sine_cosine", "pair_sine", "pair_cosine"];
    "pair_tangent" ["pair_tangent"];
    "pair_arc_tangent" ["pair_corrected_angle", "pair_angle", "pair_arc_tangent_of", "pair_arc_tangent"];
    "pair_arc_sine" ["pair_leg", "pair_arc_sine", "pair_arc_cosine"];
    "pair_hyperbolic" [
        "pair_hyperbolic_sine_series", "pair_hyperbolic_sine", "pair_hyperbolic_cosine", "pair_hyperbolic_tangent"
    ];
    "pair_sigmoid" ["pair_sigmoid"];
    "pair_softplus" ["pair_softplus"];
    "pair_power" ["is_odd", "pair_whole_power", "pair_power"];
    "pair_remainder" ["pair_remainder"];
    "pair_rounding" ["pair_floor", "pair_ceiling", "pair_nearest_integer"];
    "pair_sign" ["pair_sign", "pair_size"];
    "pair_order" ["pair_error", "pair_is_equal", "pair_is_less", "pair_is_at_most"];
    "pair_extremum" ["pair_minimum", "pair_maximum"];
    "pair_guarded_product" ["pair_guarded_product"];
}

/// The function of the guard's zero. Its text depends on the module, so it is imported by name and has no file.
const GUARD_ZERO: &str = "guard_zero";

/// The function of a product and its error. Which file defines it depends on the module, see [`PairForm`].
const PRODUCT_WITH_ERROR: &str = "product_with_error";

/// The file of the NaN, of which there are two forms.
const NOT_A_NUMBER: &str = "not_a_number";

/// How kernels compute what the rounding of a product loses, of which the arithmetic of pairs is made. A device's property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PairForm {
    /// By `fma`, on devices where it rounds once.
    Fused,
    /// By products of halves (Dekker 1971), on every device whose sums and products are rounded to nearest.
    #[default]
    Split,
}

fn library(name: &str) -> Option<Template<'static>> {
    LIBRARY.iter().map(|file| file.template).find(|template| template.name == name)
}

/// The names that imported files may define, which generated values must not hide.
pub(super) fn function_names() -> impl Iterator<Item = &'static str> {
    LIBRARY.iter().flat_map(|file| file.functions.iter().copied()).chain([GUARD_ZERO])
}

/// What the files that a template imports are expanded with.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// Files beside those of the library.
    pub files: &'static [Template<'static>],
    /// The template's parameters.
    pub values: Vec<(&'static str, Value)>,
}

impl Scope {
    /// A file that is included or imported by its name.
    pub fn file(&self, name: &str) -> Option<Template<'static>> {
        self.files.iter().copied().find(|file| file.name == name).or_else(|| library(name))
    }
}

/// The files that a module imports, collected while its text is written.
#[derive(Debug, Default)]
pub(super) struct Imports {
    /// Names, and what their files are expanded with.
    files: Vec<(String, Rc<Scope>)>,
    /// What `guard_zero` returns.
    guard: Option<String>,
    /// How `product_with_error` is written.
    pair_form: PairForm,
    /// Whether a NaN is made by the guard's zero, and not from the uniform.
    nan_by_guard: bool,
    /// How operands of an operation are hidden, where generated code keeps the order of its operations.
    order: Option<Order>,
}

/// How the operands of an operation of a graph are hidden: see [`super::order`].
pub type Order = fn(&Graph, Op, &[NodeId]) -> [Hidden; 2];

impl Imports {
    /// Sets what `guard_zero` returns: an expression of a `u32` that is zero in every run and unknown to compilers. It reads a storage
    /// buffer, since lavapipe compiles the contents of uniform buffers into its shaders.
    pub fn read_guard_from(&mut self, expression: &str) {
        self.guard = Some(expression.to_owned());
    }

    /// Sets how errors of products are computed.
    pub fn set_pair_form(&mut self, form: PairForm) {
        self.pair_form = form;
    }

    /// Makes a NaN by the guard's zero, in modules whose uniform has none.
    pub fn make_nan_by_guard(&mut self) {
        self.nan_by_guard = true;
    }

    /// Keeps the order of operations in generated code.
    pub fn keep_order(&mut self, order: Order) {
        self.order = Some(order);
    }

    /// How operands are hidden, where the order of operations is kept.
    pub fn order(&self) -> Option<Order> {
        self.order
    }

    /// A call of the guard's zero.
    pub fn guard_zero(&mut self) -> String {
        self.import(GUARD_ZERO, &Rc::default());
        format!("{GUARD_ZERO}()")
    }

    /// A call of a function of the library.
    pub fn call(&mut self, function: &str, arguments: &[&str]) -> String {
        let file = LIBRARY
            .iter()
            .find(|file| file.functions.contains(&function))
            .expect("a native test emits every function that the op table calls");
        self.import(file.template.name, &Rc::default());
        format!("{function}({})", arguments.join(", "))
    }

    /// A file by its name.
    pub fn import(&mut self, name: &str, scope: &Rc<Scope>) {
        if !self.files.iter().any(|(known, _)| known == name) {
            self.files.push((name.to_owned(), scope.clone()));
        }
    }

    /// The imported texts, with what they import in turn, each once.
    ///
    /// # Panics
    /// If a template imports a file that does not exist, or one that its parameters do not fit. Native tests expand every template.
    pub fn text(self) -> String {
        self.text_and_guard().0
    }

    /// The same, and whether `guard_zero` is called.
    pub fn text_and_guard(mut self) -> (String, bool) {
        let mut text = String::new();
        let mut next = 0;
        while let Some((name, scope)) = self.files.get(next).cloned() {
            if name == GUARD_ZERO {
                let guard = self.guard.as_deref().expect("a native test expands every module that guards roundings");
                append(&format!("fn {GUARD_ZERO}() -> u32 {{\n    return {guard};\n}}\n"), &mut text);
            } else {
                let file = match (name.as_str(), self.pair_form) {
                    (PRODUCT_WITH_ERROR, PairForm::Fused) => "pair_product_fused",
                    (PRODUCT_WITH_ERROR, PairForm::Split) => "pair_product_split",
                    (NOT_A_NUMBER, _) if self.nan_by_guard => "not_a_number_by_guard",
                    (file, _) => file,
                };
                let template = scope.file(file).unwrap_or_else(|| panic!("no shader file is called {file}"));
                self.push(template, &scope, &mut text);
            }
            next += 1;
        }
        let is_guarded = self.files.iter().any(|(name, _)| name == GUARD_ZERO);
        (if text.is_empty() { text } else { format!("\n{text}") }, is_guarded)
    }

    /// Expands a template into `text` and notes what it imports.
    pub fn push(&mut self, template: Template<'static>, scope: &Rc<Scope>, text: &mut String) {
        let expansion = template.expand_values(&scope.values, &|name| scope.file(name));
        let expansion = expansion.unwrap_or_else(|error| panic!("{error}"));
        expansion.imports.iter().for_each(|name| self.import(name, scope));
        append(&expansion.text, text);
    }
}

/// Appends definitions after an empty line.
fn append(definitions: &str, text: &mut String) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(definitions);
}

#[cfg(test)]
mod tests {
    use super::super::ProgramText;
    use super::*;

    crate::template_parameters! {
        struct Sums {
            most_sums: u32,
        }
    }

    fn composed(template: Template<'static>) -> String {
        let mut program = ProgramText::new();
        program.read_guard_from("state[1]");
        program.push_template(template, &[], &Sums { most_sums: 3 });
        program.finish()
    }

    /// The names of the functions and structures that a text defines.
    fn definitions(text: &str) -> Vec<&str> {
        text.lines()
            .filter_map(|line| line.strip_prefix("fn ").or(line.strip_prefix("struct ")))
            .filter_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_').next())
            .collect()
    }

    #[test]
    fn the_library_lists_what_each_file_defines() {
        for file in LIBRARY {
            assert_eq!(definitions(file.template.source), file.functions, "{}.wgsl", file.template.name);
        }
    }

    #[test]
    fn an_import_stands_once_however_often_it_is_named() {
        let source = "#import power\n#import sigmoid\n#import power\nfn f() {}\n";
        let text = composed(Template { name: "sample", source });
        assert!(text.starts_with("fn f() {}\n\n"));
        for function in ["power", "sigmoid", "exponential", "is_nan", "rounded", GUARD_ZERO] {
            assert_eq!(text.matches(&format!("fn {function}(")).count(), 1, "{function}");
        }
        assert!(!text.contains("#import"));
    }

    #[test]
    fn every_file_composes() {
        for file in LIBRARY {
            let last = file.functions.last().unwrap();
            assert!(composed(file.template).contains(&format!("fn {last}(")));
        }
    }
}
