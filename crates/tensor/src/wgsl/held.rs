//! What a thread holds of its points in registers: a row is read once for several reductions, and several loads are under way at a time.

use rustc_hash::FxHashMap;

use super::code::Code;
use super::operation::Text;
use crate::scalar::Id;

/// What a thread holds of one point, or of four.
#[derive(Default)]
pub struct Held {
    /// Values that are written.
    values: FxHashMap<(Id, bool), Text>,
    /// The coordinates.
    coordinates: Vec<String>,
    /// The name of a bool: whether there is such a point. None: there is.
    exists: Option<String>,
}

impl Held {
    /// The present points, with the code of some values of them.
    pub fn here(code: &mut Code, roots: &[Id], exists: Option<String>) -> Held {
        code.push_values(FxHashMap::default());
        code.require(roots);
        Held::leave(code, exists)
    }

    /// Goes to these points: their values are known until the code's values are popped, or [`Held::leave`] does it. Gives whether they exist.
    pub fn enter(self, code: &mut Code) -> Option<String> {
        code.set_coordinates(&self.coordinates);
        code.push_values(self.values);
        self.exists
    }

    /// The present points with all values that were written since they were entered.
    pub fn leave(code: &mut Code, exists: Option<String>) -> Held {
        Held { values: code.pop_values(), coordinates: code.coordinates().to_vec(), exists }
    }
}
