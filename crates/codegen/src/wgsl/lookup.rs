//! Numbers of tables in straight-line code.

use residua_ir::graph::NodeId;

use super::body::Body;
use super::import::Tables;
use super::inputs::Inputs;
use super::value::Value;
use crate::{TableBuffer, Width};

impl Body<'_> {
    /// A number of a table. What reads a place of several tables of one length computes it once.
    pub(super) fn look_up(&mut self, operands: &[NodeId], width: Width) -> Value {
        let [first, length] =
            [operands[1], operands[2]].map(|operand| self.literal_of(operand).unwrap_or_default() as u32);
        let tables = self.tables();
        let place = self.place_in_table(operands[0], length);
        let number = |after: u32| format!("{}[{place} + {}u]", tables.array, tables.first + first + after);
        let expression = match width {
            Width::Single => number(0),
            Width::Pair => format!("vec2<f32>({}, {})", number(0), number(tables.low)),
        };
        Value::of_width(width, self.named(&expression))
    }

    /// Where the tables are.
    pub(super) fn tables(&mut self) -> Tables {
        if let Inputs::Loads(kernel) = self.inputs
            && let Some(TableBuffer { buffer, numbers }) = kernel.tables
        {
            return Tables { array: kernel.buffers[buffer as usize].name, first: 0, low: numbers };
        }
        self.imports().tables()
    }

    /// The name of a place in a table of so many numbers.
    fn place_in_table(&mut self, place: NodeId, length: u32) -> String {
        if let Some(name) = self.places.get(&(place, length)) {
            return name.clone();
        }
        let text = self.single(place);
        let call = self.import("place_in_table", &[&text, &format!("{}u", length - 1)]);
        let name = self.named(&call);
        self.places.insert((place, length), name.clone());
        name
    }
}
