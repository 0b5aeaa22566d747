//! How buffers are declared, and their elements read and written.
//!
//! Elements narrower than a word are packed into words. A thread that has all elements of a word writes it whole; an element by itself is
//! written by two atomic operations, one that clears its bits and one that sets them, so that threads may write elements of one word.

use super::layout::{Layout, name_of_buffer, type_name};
use super::module::{COMPONENTS, HALF, Module};
use super::operation::Text;
use crate::dtype::DType;
use crate::kernel::TensorBuffer;
use crate::scalar::{Access, Id, Type};
use residua_base::list::Listed;

/// Elements a word.
fn packing(dtype: DType) -> u32 {
    4 / dtype.bytes()
}

/// The bits of a word's elements that select one, and how many bits one takes, as powers of two.
fn shift_of(dtype: DType, index: &str) -> String {
    match dtype {
        DType::F16 => format!("(({index} & 1u) << 4u)"),
        _ => format!("(({index} & 3u) << 3u)"),
    }
}

/// An access of a buffer.
#[derive(Clone, Copy)]
pub struct Place {
    buffer: u32,
    dtype: DType,
    layout: Layout,
    /// Whether it is bound in several windows.
    in_windows: bool,
}

impl Module<'_> {
    /// A buffer to read or write.
    pub fn place(&self, buffer: u32) -> Place {
        let position = buffer as usize;
        let in_windows = self.windows.of(position) > 1;
        Place { buffer, dtype: self.kernel.buffers[position].dtype, layout: self.layouts[position], in_windows }
    }

    /// Declares a buffer that is read alone as vectors if an address gives neighbours along an axis.
    pub fn read_vectors(&mut self, buffer: u32, index: Id, axis: u32) {
        let TensorBuffer { dtype, written } = self.kernel.buffers[buffer as usize];
        let access = self.access(index, axis);
        if dtype.bytes() == 4 && !written && access == Access::Vector {
            self.layouts[buffer as usize] = Layout::Vectors;
        }
    }
}

impl Place {
    /// The element at an index.
    pub fn load(self, index: &str) -> String {
        match self.layout {
            Layout::Scalars => self.read(index),
            Layout::Vectors => format!("{}[{index} & 3u]", self.read(&format!("{index} >> 2u"))),
            Layout::Pairs => format!("{}[{index} & 1u]", self.read(&format!("{index} >> 1u"))),
            Layout::Packed | Layout::PackedVectors | Layout::Atomic => {
                let shifted = self.load_bits(index);
                match self.dtype {
                    DType::F16 => format!("unpack2x16float({shifted}).x"),
                    DType::Bool => format!("(({shifted}) & 255u) != 0u"),
                    _ => format!("({shifted}) & 255u"),
                }
            }
        }
    }

    /// A word whose low bits are those of the element at an index, which is narrower than a word.
    pub fn load_bits(self, index: &str) -> String {
        let log = packing(self.dtype).trailing_zeros();
        let word = self.word(&format!("{index} >> {log}u"));
        format!("{word} >> {}", shift_of(self.dtype, index))
    }

    /// The elements at four indices: neighbours from `index`, a name, or at the components of that vector.
    pub fn load_vector(self, index: &str, access: Access) -> String {
        match (self.layout, access) {
            (Layout::Vectors, Access::Vector) => self.read(&format!("{index} >> 2u")),
            (Layout::Packed | Layout::PackedVectors | Layout::Atomic, Access::Vector) => match self.dtype {
                DType::F16 => {
                    let words =
                        [format!("{index} >> 1u"), format!("({index} >> 1u) + 1u")].map(|word| self.word(&word));
                    format!("vec4<f32>(unpack2x16float({}), unpack2x16float({}))", words[0], words[1])
                }
                _ => {
                    let word = self.word(&format!("{index} >> 2u"));
                    let bytes = format!("(vec4<u32>({word}) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(255u)");
                    if self.dtype == DType::Bool { format!("({bytes}) != vec4<u32>(0u)") } else { bytes }
                }
            },
            (_, Access::Same) => format!("vec4<{}>({})", type_name(Type::of(self.dtype)), self.load(index)),
            _ => {
                let elements = [0, 1, 2, 3].map(|lane| self.load(&index_of_lane(index, access, lane)));
                format!("vec4<{}>({})", type_name(Type::of(self.dtype)), elements.join(", "))
            }
        }
    }

    /// Lines that write an element.
    pub fn store(self, index: &str, value: &str, module: &mut Module) -> Vec<String> {
        match self.layout {
            Layout::Scalars => vec![self.write(index, value)],
            Layout::Vectors => vec![self.write_lane(index, value)],
            Layout::Pairs => vec![format!("{}[{index} >> 1u][{index} & 1u] = {value};", name_of_buffer(self.buffer))],
            Layout::Packed | Layout::PackedVectors | Layout::Atomic => {
                let (shift, log) = (shift_of(self.dtype, index), packing(self.dtype).trailing_zeros());
                let mask = if self.dtype == DType::F16 { 0xffff } else { 0xff };
                let bits = self.bits(value, module);
                let word = format!("{index} >> {log}u");
                vec![
                    self.change("And", &word, &format!("~({mask}u << {shift})")),
                    self.change("Or", &word, &format!("({bits}) << {shift}")),
                ]
            }
        }
    }

    /// Lines that write the elements at four indices, as [`Place::load_vector`] reads them.
    pub fn store_vector(self, index: &str, access: Access, value: &Text, module: &mut Module) -> Vec<String> {
        match (self.layout, access) {
            (Layout::Vectors, Access::Vector) => vec![self.write(&format!("{index} >> 2u"), &value.vector())],
            (Layout::Packed | Layout::PackedVectors | Layout::Atomic, Access::Vector) => match self.dtype {
                DType::F16 => {
                    let word = |lane, module: &mut Module| {
                        let [low, high] = [lane, lane + 1].map(|lane| value.component(lane));
                        format!("{} | ({} << 16u)", self.bits(&low, module), self.bits(&high, module))
                    };
                    let words = [word(0, module), word(2, module)];
                    let places = [format!("{index} >> 1u"), format!("({index} >> 1u) + 1u")];
                    places.iter().zip(&words).map(|(place, word)| self.write(place, word)).list()
                }
                dtype => {
                    let bytes = match dtype {
                        DType::Bool => format!("vec4<u32>({})", value.vector()),
                        _ => format!("{} & vec4<u32>(255u)", value.vector()),
                    };
                    let word = format!("dot({bytes}, vec4<u32>(1u, 256u, 65536u, 16777216u))");
                    vec![self.write(&format!("{index} >> 2u"), &word)]
                }
            },
            _ => (0..4)
                .flat_map(|lane| self.store(&index_of_lane(index, access, lane), &value.component(lane), module))
                .list(),
        }
    }

    /// The bits of an element that is narrower than a word.
    fn bits(self, value: &str, module: &mut Module) -> String {
        match self.dtype {
            DType::F16 => {
                module.push_shader(HALF);
                format!("half_bits({value})")
            }
            DType::Bool => format!("select(0u, 1u, {value})"),
            _ => format!("{value} & 255u"),
        }
    }

    fn word(self, index: &str) -> String {
        match self.layout {
            Layout::PackedVectors => format!("{}[({index}) & 3u]", self.read(&format!("({index}) >> 2u"))),
            Layout::Scalars | Layout::Vectors | Layout::Pairs | Layout::Packed | Layout::Atomic => self.read(index),
        }
    }

    /// What the array has at an index.
    fn read(self, index: &str) -> String {
        let name = name_of_buffer(self.buffer);
        match self.layout {
            _ if self.in_windows => format!("load_{name}({index})"),
            Layout::Atomic => format!("atomicLoad(&{name}[{index}])"),
            _ => format!("{name}[{index}]"),
        }
    }

    /// A line that writes what the array has at an index.
    fn write(self, index: &str, value: &str) -> String {
        let name = name_of_buffer(self.buffer);
        match self.layout {
            _ if self.in_windows => format!("store_{name}({index}, {value});"),
            Layout::Atomic => format!("atomicStore(&{name}[{index}], {value});"),
            _ => format!("{name}[{index}] = {value};"),
        }
    }

    /// A line that writes an element of an array of vectors.
    fn write_lane(self, index: &str, value: &str) -> String {
        let name = name_of_buffer(self.buffer);
        if self.in_windows {
            format!("store_lane_{name}({index} >> 2u, {index} & 3u, {value});")
        } else {
            format!("{name}[{index} >> 2u][{index} & 3u] = {value};")
        }
    }

    /// A line that changes a word atomically.
    fn change(self, operation: &str, index: &str, value: &str) -> String {
        let name = name_of_buffer(self.buffer);
        if self.in_windows {
            format!("change{operation}_{name}({index}, {value});")
        } else {
            format!("atomic{operation}(&{name}[{index}], {value});")
        }
    }
}

/// The index of one of four points: `index` is that of the first, or a vector.
pub fn index_of_lane(index: &str, access: Access, lane: usize) -> String {
    match (access, lane) {
        (Access::Same, _) | (Access::Vector | Access::Consecutive, 0) => index.to_owned(),
        (Access::Vector | Access::Consecutive, _) => format!("({index} + {lane}u)"),
        (Access::Other, _) => format!("{index}.{}", COMPONENTS[lane]),
    }
}
