//! Elements of buffers in straight-line code: each is read once, on first use.

use residua_base::list::PushAll;

use super::body::Body;
use super::names::label;
use super::value::Value;
use crate::{Constant, Element, ElementType, Index, Kernel, Term, Variable, Width};

impl Body<'_> {
    /// An element of a buffer, or its high part, as an expression.
    pub fn expression(&mut self, kernel: &Kernel, element: &Element) -> String {
        self.place(kernel, element.buffer, &element.index)
    }

    /// A number of a buffer, as an expression.
    pub fn place(&mut self, kernel: &Kernel, buffer: u32, index: &Index) -> String {
        let name = kernel.buffers[buffer as usize].name;
        let mut sum: Vec<String> = Vec::new();
        if self.part.is_some() && index.as_column().is_some() {
            sum.push(format!("part.first_{name}"));
        }
        sum.push_all(index.terms().iter().map(|term| self.term(kernel, term)));
        let offset = index.offset();
        if offset != 0 || sum.is_empty() {
            sum.push(format!("{offset}u"));
        }
        let index = sum.join(" + ");
        if self.part == Some(name) { format!("{name}_at({index})") } else { format!("{name}[{index}]") }
    }

    /// A term of an index: a literal stands before constants and after variables.
    fn term(&mut self, kernel: &Kernel, term: &Term) -> String {
        let Term { variable, constant, factor } = term;
        let mut product = Vec::new();
        if let Some(variable) = variable {
            product.push(match variable {
                Variable::Loaded { buffer, index } => {
                    self.read(kernel, &Element::single(*buffer, index.as_ref().clone()))
                }
                // Positions count from the first instance on a device.
                Variable::Instance | Variable::Position => "instance".to_owned(),
                Variable::Layer => "layer".to_owned(),
                Variable::Owner => "owner".to_owned(),
                Variable::FirstInstance => unreachable!("the check for devices refuses the first instance"),
            });
        }
        if *factor != 1 || (variable.is_none() && constant.is_none()) {
            product.push(format!("{factor}u"));
        }
        if let Some(constant) = constant {
            let structure = if self.part.is_some() { "part" } else { "dispatch" };
            let member = match constant {
                Constant::Stride => "stride",
                Constant::First => "first",
                Constant::Width => "width",
                Constant::Low(0) => "low_0",
                Constant::Low(_) => "low_1",
            };
            product.push(format!("{structure}.{member}"));
        }
        product.join(" * ")
    }

    /// An element that has been read already has this name.
    pub fn bind(&mut self, element: Element, name: String) {
        self.reads.insert(element, name);
    }

    /// The name of an element, read on first use.
    fn read(&mut self, kernel: &Kernel, element: &Element) -> String {
        if let Some(name) = self.reads.get(element) {
            return name.clone();
        }
        let mut expression = self.expression(kernel, element);
        if let Some(low) = &element.low {
            let low = self.place(kernel, element.buffer, low);
            expression = format!("vec2<f32>({expression}, {low})");
        }
        let stem = kernel.buffers[element.buffer as usize].name;
        let name = self.names.fresh(format!("{stem}_{}", label(&element.index)));
        self.line(&format!("let {name} = {expression};"));
        self.reads.insert(element.clone(), name.clone());
        name
    }

    /// An element in a width: a single number is read of a pair where nothing takes its low part.
    pub(super) fn read_number(&mut self, kernel: &Kernel, element: &Element, width: Width) -> Value {
        if width == Width::Single && element.width() == Width::Pair {
            let high = Element::single(element.buffer, element.index.clone());
            return Value::Single(self.read(kernel, &high));
        }
        let name = self.read(kernel, element);
        match kernel.buffers[element.buffer as usize].dtype {
            ElementType::Real => Value::of_width(element.width(), name),
            ElementType::U32 => Value::Single(format!("f32({name})")),
        }
    }
}
