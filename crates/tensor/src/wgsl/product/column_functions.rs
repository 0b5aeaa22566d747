//! Functions that give what belongs to a column of a product at a place along its depth.

use super::functions::set_coordinates;
use super::roles::Roles;
use crate::dtype::DType;
use crate::kernel::Product;
use crate::scalar::{Id, TypedNode};
use crate::wgsl::batch;
use crate::wgsl::code::Code;
use crate::wgsl::module::{COMPONENTS, Module};
use crate::wgsl::operation::Text;

/// Writes functions of the coordinates of the batch, `column` and `depth`, for tiles of so many columns.
pub struct ColumnFunctions<'w, 'a> {
    pub module: &'w mut Module<'a>,
    pub product: &'w Product,
    pub roles: Roles,
    pub columns: u32,
    pub name: &'static str,
    pub suffix: &'w str,
}

impl ColumnFunctions<'_, '_> {
    /// A function that returns what `result` writes at a column, the last one for those beyond it.
    pub fn text(&mut self, name: &str, ty: &str, parameter: &str, result: impl FnOnce(&mut Code) -> String) -> String {
        let extent = self.roles.extents[1];
        let is_guarded = !self.module.kernel.is_multiple(extent, self.columns);
        let last = is_guarded.then(|| self.module.extent(extent));
        let [_, column, depth] = self.roles.axes;
        let mut code = Code::new(self.module, None);
        set_coordinates(&mut code, self.product);
        code.set_coordinate(depth, "depth".to_owned());
        let place = match last {
            Some(last) => code.bind(&format!("min(column, {last} - 1u)")),
            None => "column".to_owned(),
        };
        code.set_coordinate(column, place);
        let value = result(&mut code);
        code.line(&format!("return {value};"));
        let (parameters, suffix, body) = (batch::parameters(&self.product.batch), self.suffix, code.finish());
        let prefix = self.name;
        format!("\nfn {prefix}_{name}{suffix}({parameters}column: u32, depth: u32{parameter}) -> {ty} {{\n{body}}}\n")
    }

    /// A function that returns a value. Loads that are known are the bits of `side`.
    pub fn function(&mut self, name: &str, ty: &str, parameter: &str, value: Id, known: Option<&[Id]>) -> String {
        self.text(name, ty, parameter, |code| {
            let loads = known.unwrap_or_default();
            let of = |(place, load): (usize, &Id)| {
                let bits = if loads.len() == 1 { "side".to_owned() } else { format!("side.{}", COMPONENTS[place]) };
                let ty = code.module.kernel.graph.ty(*load);
                let text = match code.module.dtype_of_load(*load) {
                    Some(DType::F16) => format!("unpack2x16float({bits}).x"),
                    Some(DType::F32) => format!("bitcast<f32>({bits})"),
                    _ => bits,
                };
                ((*load, false), Text { text, ty, is_vector: false, literal: None })
            };
            let values = loads.iter().enumerate().map(of).collect();
            code.push_values(values);
            code.value(value).text
        })
    }

    /// A function that returns the bits of loads.
    pub fn bits(&mut self, name: &str, ty: &str, loads: &[Id]) -> String {
        self.text(name, ty, "", |code| {
            let mut bits = Vec::with_capacity(loads.len());
            for load in loads {
                let TypedNode::Load { buffer, index } = code.module.kernel.graph.node(*load) else { continue };
                let index = code.value(index).text;
                let place = code.module.place(buffer);
                bits.push(match code.module.kernel.buffers[buffer as usize].dtype {
                    DType::F16 => place.load_bits(&index),
                    DType::F32 => format!("bitcast<u32>({})", place.load(&index)),
                    _ => place.load(&index),
                });
            }
            if bits.len() == 1 { bits.remove(0) } else { format!("{ty}({})", bits.join(", ")) }
        })
    }
}
