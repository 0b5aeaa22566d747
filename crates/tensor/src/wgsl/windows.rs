//! Buffers that are longer than a binding. A kernel binds such a buffer in windows, one after the other, and reads and writes its elements by
//! functions that choose the window. So kernels of any kind take long buffers, and the order of what they do is the same.

use residua_base::list::Listed;
use residua_codegen::wgsl::Resource;

use super::layout::{Layout, name_of_buffer};
use crate::kernel::TensorBuffer;

/// Which buffers of a kernel are bound in windows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// Bytes of a window: a multiple of 256, which every device takes as an offset.
    pub bytes: u64,
    /// For each buffer how many windows it has; empty if each has one.
    pub counts: Vec<u32>,
}

impl Windows {
    /// How many windows a buffer has.
    pub fn of(&self, position: usize) -> u32 {
        self.counts.get(position).copied().unwrap_or(1)
    }

    /// What is bound for a buffer: its windows in order.
    pub fn resources(&self, position: usize, buffer: TensorBuffer, layout: Layout) -> Vec<Resource> {
        let element = layout.element(buffer.dtype);
        let array = |window| Resource::array(&name_of_window(position, window), &element, buffer.written);
        (0..self.of(position)).map(array).list()
    }

    /// The functions that read and write a buffer with several windows.
    pub fn functions(&self, position: usize, buffer: TensorBuffer, layout: Layout) -> String {
        if self.of(position) == 1 {
            return String::new();
        }
        let (name, scalar) = (name_of_buffer(position as u32), layout.scalar(buffer.dtype));
        let value = if layout.is_vector() { format!("vec4<{scalar}>") } else { scalar.to_owned() };
        let function = |head: String, line: &dyn Fn(&str) -> String| {
            format!("\nfn {head} {{\n{}}}\n", self.chosen(position, layout, line))
        };
        let is_atomic = layout == Layout::Atomic;
        let mut text = function(format!("load_{name}(index: u32) -> {value}"), &|place| {
            if is_atomic { format!("return atomicLoad(&{place});") } else { format!("return {place};") }
        });
        if buffer.written {
            text += &function(format!("store_{name}(index: u32, value: {value})"), &|place| {
                if is_atomic { format!("atomicStore(&{place}, value);") } else { format!("{place} = value;") }
            });
        }
        if buffer.written && layout == Layout::Vectors {
            text += &function(format!("store_lane_{name}(index: u32, lane: u32, value: {scalar})"), &|place| {
                format!("{place}[lane] = value;")
            });
        }
        if is_atomic {
            for change in ["And", "Or"] {
                text += &function(format!("change{change}_{name}(index: u32, value: u32)"), &|place| {
                    format!("atomic{change}(&{place}, value);")
                });
            }
        }
        text
    }

    /// Lines that do something with the array's part at `index` in whichever window it is.
    fn chosen(&self, position: usize, layout: Layout, line: &dyn Fn(&str) -> String) -> String {
        let length = self.bytes / if layout.is_vector() { 16 } else { 4 };
        let last = self.of(position) - 1;
        let part = |window: u32| {
            let start = length * u64::from(window);
            let index = if window == 0 { "index".to_owned() } else { format!("index - {start}u") };
            line(&format!("{}[{index}]", name_of_window(position, window)))
        };
        let mut text: String = (0..last)
            .map(|window| {
                let end = length * (u64::from(window) + 1);
                format!(
                    "    {}if index < {end}u {{\n        {}\n    }}",
                    if window == 0 { "" } else { " else " },
                    part(window)
                )
            })
            .collect();
        text += &format!(" else {{\n        {}\n    }}\n", part(last));
        text
    }
}

/// The variable of a window.
fn name_of_window(position: usize, window: u32) -> String {
    let name = name_of_buffer(position as u32);
    if window == 0 { name } else { format!("{name}_{window}") }
}
