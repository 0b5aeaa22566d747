//! What the kernel of a template does with each free coordinate besides the linear algebra: bounds, the scale D, and sizes of a point.

use crate::model::manifolds::CoordinateSize;
use crate::solve::levenberg_marquardt::point::FALL_OF_SCALE;

use super::pattern::{each, fill, filled};
use super::program::ProgramWriter;

impl ProgramWriter<'_> {
    pub(super) fn bound(&self, position: usize, upper: bool) -> String {
        let place = self.layout.bounds as usize + 2 * position + usize::from(upper);
        self.number("template_numbers", &format!("{place}u"), self.layout.shared)
    }

    /// Which coordinates are at a bound with −g pointing outward, as bits.
    pub(super) fn bounds(&mut self) {
        self.text += "\nfn frozen_coordinates(x: Parameters, normal: Normal) -> u32 {\n    var frozen = 0u;\n";
        for coordinate in &self.free {
            let position = coordinate[0];
            if self.template.free[position].bounds.is_some() {
                let [lower, upper] = [false, true].map(|upper| self.bound(position, upper));
                let at = filled("x.p$1", coordinate);
                let [at_lower, at_upper] = match self.pairs_form {
                    None => [format!("{at} <= {lower}"), format!("{at} >= {upper}")],
                    Some(_) => [format!("pair_is_at_most({at}, {lower})"), format!("pair_is_at_most({upper}, {at})")],
                };
                let slope = filled(self.pattern("normal.g$0.x", "normal.g[$0].x"), coordinate);
                let bit = coordinate[2];
                self.text += &format!(
                    "    if ({at_lower} && {slope} > 0.0) || ({at_upper} && {slope} < 0.0) {{\n        frozen |= {bit}u;\n    }}\n"
                );
            }
        }
        self.text += "    return frozen;\n}\n";
        self.scale();
    }

    /// How many coordinates may move and have an effect; the place of D² in the state, and how it follows the diagonal of H.
    fn scale(&mut self) {
        let diagonal = self.pattern("normal.h$0_$0", "diagonal_of(normal, $0u)");
        let scale = self.pattern("scale.d$0", "scale.d[$0]");
        let place = "state[(STATE_COLUMNS + $0u) * dispatch.stride + problem]";
        self.text += "\nfn coordinates_of(normal: Normal, frozen: u32) -> f32 {\n    return 0.0";
        for coordinate in &self.free {
            let has_effect = ["select(0.0, 1.0, ", diagonal, " > 0.0)"].concat();
            let column = ["\n        + ", &self.unless_frozen(coordinate[0], &has_effect, "0.0")].concat();
            fill(&mut self.text, &column, coordinate);
        }
        self.text += ";\n}\n\nfn load_scale(problem: u32) -> Step {\n    var scale = Step();\n";
        each(&mut self.text, &["    ", scale, " = bitcast<f32>(", place, ");\n"].concat(), &self.free, "");
        self.text += "    return scale;\n}\n\nfn store_scale(problem: u32, scale: Step) {\n";
        each(&mut self.text, &["    ", place, " = bitcast<u32>(", scale, ");\n"].concat(), &self.free, "");
        self.text += "}\n\n\
            // D² at a new point, from the ratio of the costs.\n\
            fn follow(before: Step, normal: Normal, ratio: f32) -> Step {\n    var scale = before;\n    var of_all = ratio;\n";
        let of_common = ["    of_all = max(of_all, select(0.0, ", diagonal, " / ", scale, ", ", scale, " > 0.0));\n"];
        each(&mut self.text, &of_common.concat(), &self.free, "");
        self.text += "    of_all = min(of_all, 1.0);\n";
        let share = FALL_OF_SCALE;
        let followed = ["    ", scale, " = max(", &format!("{share} * of_all * "), scale, ", ", diagonal, ");\n"];
        each(&mut self.text, &followed.concat(), &self.free, "");
        self.text += "    return scale;\n}\n";
    }

    /// The size of a point, in the coordinates that may move and in all.
    pub(super) fn sizes(&mut self) {
        self.text += "\nfn free_size(normal: Normal, x: Parameters, frozen: u32) -> f32 {\n    return sqrt(0.0";
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
        self.text += ";\n}\n";
    }

    /// The pattern of a number where a coordinate may move, and of another where it is frozen.
    pub(super) fn unless_frozen(&self, position: usize, free: &str, frozen: &str) -> String {
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
            CoordinateSize::Number(place) => {
                let pattern =
                    self.pattern("normal.h$0_$0 * x.p$1 * x.p$1", "diagonal_of(normal, $0u) * x.p$1.x * x.p$1.x");
                (pattern, [position, place as usize])
            }
            CoordinateSize::InverseSquare(square) => {
                (self.pattern("normal.h$0_$0 / $1.0", "diagonal_of(normal, $0u) / $1.0"), [position, square as usize])
            }
        }
    }
}
