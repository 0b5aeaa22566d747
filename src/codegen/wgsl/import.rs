//! Composition of shaders from the files of `shaders/common`, one idea each.
//!
//! A shader names what it needs by lines `#import name` at its head; the composed text holds each imported file once, after
//! the importer. Files that make NaNs or infinities or guard a rounding read `dispatch.nan` and `dispatch.zero`: whoever
//! imports them declares a uniform `dispatch` with these members.

use super::source::Source;
use crate::text::join;

/// A file of `shaders/common`.
struct Library {
    name: &'static str,
    source: Source,
    /// What it defines: a native test compares with the text.
    functions: &'static [&'static str],
}

/// Declares the library from one line per file.
macro_rules! library {
    ($($name:literal [$($function:literal),*];)+) => {
        const LIBRARY: &[Library] = &[$(Library {
            name: $name,
            source: Source::of(concat!("shaders/common/", $name, ".wgsl")),
            functions: &[$($function),*],
        }),+];
    };
}

library! {
    "nonfinite" ["is_nan", "is_finite"];
    "not_a_number" ["not_a_number"];
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
}

fn library(name: &str) -> &'static Library {
    LIBRARY.iter().find(|file| file.name == name).expect("a native test composes every import of every file")
}

/// The names that imported files may define, which generated values must not hide.
pub(super) fn function_names() -> impl Iterator<Item = &'static str> {
    LIBRARY.iter().flat_map(|file| file.functions.iter().copied())
}

/// The files of `shaders/common` that a text needs, gathered while it is written.
#[derive(Debug, Default)]
pub(super) struct Imports {
    files: Vec<&'static str>,
}

impl Imports {
    /// A call of an imported function.
    pub fn call(&mut self, function: &str, arguments: &[&str]) -> String {
        let file = LIBRARY
            .iter()
            .find(|file| file.functions.contains(&function))
            .expect("a native test emits every function that the op table calls");
        self.add(file.name);
        format!("{function}({})", join(arguments, ", "))
    }

    /// A file by its name.
    pub fn import(&mut self, name: &str) {
        self.add(library(name).name);
    }

    fn add(&mut self, name: &'static str) {
        if !self.files.contains(&name) {
            self.files.push(name);
        }
    }

    /// The imported texts, with what they import in turn, each once.
    pub fn text(mut self) -> String {
        let mut text = String::new();
        let mut next = 0;
        while next < self.files.len() {
            let (imports, body) = split(library(self.files[next]).source.text());
            imports.into_iter().for_each(|name| self.import(name));
            indent(body, &mut text);
            next += 1;
        }
        if text.is_empty() { text } else { format!("\n{text}") }
    }
}

/// Writes a text with the indentation that its brackets ask for, and an empty line before each definition.
pub(super) fn indent(source: &str, text: &mut String) {
    let mut depth = 0usize;
    for line in source.lines() {
        let closing = line.bytes().take_while(|byte| matches!(byte, b'}' | b')')).count();
        if depth == 0
            && !text.is_empty()
            && (line.starts_with("fn ") || line.starts_with("struct ") || line.starts_with("const "))
        {
            text.push('\n');
        }
        for _ in 0..depth.saturating_sub(closing) {
            text.push_str("    ");
        }
        text.push_str(line);
        text.push('\n');
        for byte in line.bytes() {
            match byte {
                b'{' | b'(' => depth += 1,
                b'}' | b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }
}

/// A static shader with everything that it imports.
pub fn compose(source: &'static str) -> String {
    super::compose_with(source, &[])
}

/// The names that a source imports, and the rest of it.
pub(super) fn split(source: &'static str) -> (Vec<&'static str>, &'static str) {
    let mut names = Vec::new();
    let mut body = source;
    while let Some(rest) = body.strip_prefix("#import ") {
        let (name, rest) = rest.split_once('\n').unwrap_or((rest, ""));
        names.push(name.trim_ascii());
        body = rest;
    }
    (names, body.trim_ascii_start())
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(definitions(file.source.text()), file.functions, "{}.wgsl", file.name);
        }
    }

    #[test]
    fn an_import_stands_once_however_often_it_is_named() {
        let text = compose("#import power\n#import sigmoid\n#import power\nfn f() {}\n");
        assert!(text.starts_with("fn f() {}\n\n"));
        for function in ["power", "sigmoid", "exponential", "is_nan", "rounded"] {
            assert_eq!(text.matches(&format!("fn {function}(")).count(), 1, "{function}");
        }
        assert!(!text.contains("#import"));
    }

    #[test]
    fn every_file_composes() {
        for file in LIBRARY {
            assert!(
                compose(file.source.text())
                    .contains(&format!("fn {}(", definitions(file.source.text()).pop().unwrap()))
            );
        }
    }
}
