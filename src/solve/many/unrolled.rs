//! The linear algebra of a small problem in f32, unrolled over the free coordinates.

use residua_base::list::Listed;

use super::pattern::{Numbers, each, fill, float};
use super::program::ProgramWriter;

impl ProgramWriter<'_> {
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
            // The largest |g|/√C in units of the columns, and the length of all of them.\n\
            fn scaled_gradient(normal: Normal, frozen: u32) -> vec2<f32> {\n    var largest = 0.0;\n    var squares = 0.0;\n";
        for coordinate in &self.free {
            let size = "select(0.0, abs(normal.g$0.x) * inverseSqrt(normal.h$0_$0), normal.h$0_$0 > 0.0)";
            let size = self.unless_frozen(coordinate[0], size, "0.0");
            fill(&mut self.text, &["    let slope$0 = ", &size, ";\n"].concat(), coordinate);
            fill(
                &mut self.text,
                "    largest = max(largest, slope$0);\n    squares += slope$0 * slope$0;\n",
                coordinate,
            );
        }
        self.text += "    return vec2<f32>(largest, sqrt(squares));\n}\n\nfn step_length(normal: Normal, step: Step) -> f32 {\n    return sqrt(";
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

    /// (H + λD²)δ = −g by Cholesky's factorisation LDLᵀ, without roots. A pivot that rounding does not tell from 0 is no step.
    fn damped_step(&mut self) {
        let count = self.free.len();
        self.text += "\nfn damped_step(normal: Normal, scale: Step, damping: f32, frozen: u32) -> Solved {\n    \
                        var sound = true;\n";
        // Of what has never had an effect no unit is known.
        let damped = "select(1.0, normal.h$0_$0 + damping * scale.d$0, scale.d$0 > 0.0)";
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
        let of_others =
            |text: &mut String, pattern: &str, others: std::ops::Range<usize>, row: usize, column: usize| {
                let others: Vec<Numbers> = others.map(|k| [k, row, column]).list();
                each(text, pattern, &others, "");
            };
        let (least, share) = (float(f64::from(f32::MIN_POSITIVE)), float(LEAST_PIVOT * count as f64));
        let pivot = [
            ";\n    sound = sound & (pivot$0 > max(",
            &least,
            ", ",
            &share,
            " * a$0_$0)) & is_finite(pivot$0);\n    let inverse$0 = 1.0 / pivot$0;\n",
        ];
        let pivot = pivot.concat();
        // Row i of L times the pivots is m; l = m / pivot.
        for pair in &self.entries {
            let [row, column, _] = *pair;
            let entry = if row < column { "    let m$0_$1 = a$0_$1" } else { "    let pivot$0 = a$0_$0" };
            fill(&mut self.text, entry, pair);
            of_others(&mut self.text, " - m$0_$2 * l$0_$1", 0..row, row, column);
            let end = if row < column { ";\n    let l$0_$1 = m$0_$1 * inverse$0;\n" } else { &pivot };
            fill(&mut self.text, end, pair);
        }
        self.text += "    var promise = 0.0;\n    var square = 0.0;\n    var bend = 0.0;\n    var trace = 0.0;\n";
        for row in 0..count {
            fill(&mut self.text, "    let y$0 = ", &[row]);
            let slope = self.unless_frozen(row, "-normal.g$0.x", "0.0");
            fill(&mut self.text, &slope, &[row]);
            of_others(&mut self.text, " - l$0_$1 * y$0", 0..row, row, row);
            fill(&mut self.text, ";\n    promise += 0.5 * y$0 * y$0 * inverse$0;\n", &[row]);
        }
        for row in (0..count).rev() {
            fill(&mut self.text, "    let d$0 = y$0 * inverse$0", &[row]);
            of_others(&mut self.text, " - l$1_$0 * d$0", row + 1..count, row, row);
            fill(&mut self.text, ";\n    square += scale.d$0 * d$0 * d$0;\n", &[row]);
        }
        for row in 0..count {
            fill(&mut self.text, "    let z$0 = scale.d$0 * d$0", &[row]);
            of_others(&mut self.text, " - l$0_$1 * z$0", 0..row, row, row);
            fill(&mut self.text, ";\n    bend += z$0 * z$0 * inverse$0;\n", &[row]);
        }
        for row in 0..count {
            fill(&mut self.text, "    let root$0 = sqrt(inverse$0);\n    let s$0 = (sqrt(a$0_$0)", &[row]);
            of_others(&mut self.text, " + abs(m$0_$1) * root$0 * s$0", 0..row, row, row);
            fill(&mut self.text, ") * root$0;\n    trace += s$0 * s$0;\n", &[row]);
        }
        self.text += "    return Solved(Step(";
        each(&mut self.text, "d$0", &self.free, ", ");
        self.text += "), sound, promise, square, bend, trace);\n}\n";
    }
}

/// A pivot below this share of the diagonal, for each coordinate, is rounding.
const LEAST_PIVOT: f64 = 2.0 * f32::EPSILON as f64;
