//! The linear algebra of a small problem in f32, unrolled over the free coordinates.

use residua_base::list::Listed;

use super::pattern::{Numbers, each, fill};
use super::program::Writer;

impl Writer<'_> {
    /// Norms, and the damped step.
    pub(super) fn linear_algebra(&mut self) {
        self.norms();
        self.damped_step();
    }

    fn norms(&mut self) {
        self.text += "\nfn is_sound(normal: Normal) -> bool {\n    return is_finite(normal.cost.x)";
        each(&mut self.text, "\n        & is_finite(normal.g$0.x + normal.g$0.y)", &self.free, "");
        each(&mut self.text, "\n        & is_finite(normal.h$0_$1)", &self.entries, "");
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
        self.text += ");\n}\n";
        self.sizes();
        self.text += "\n\
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
        for pair in &self.entries {
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
        for pair in &self.entries {
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

/// A number as WGSL has it.
fn float(number: f64) -> String {
    residua_base::decimal::shortest_single(number as f32)
}
