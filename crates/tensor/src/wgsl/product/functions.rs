//! The generated functions of a product: its factors at four points, and what is written for four elements.

use super::super::batch;
use residua_base::list::Listed;

use super::super::code::{Code, Key};
use super::super::layout::type_name;
use super::super::module::Module;
use super::super::operation::Text;
use super::roles::Roles;
use crate::kernel::{Extent, Product};
use crate::scalar::{Access, Id, Type};

/// One of the factors.
pub struct Side {
    /// What it is.
    pub value: Id,
    /// Its name, that of its rows or columns, and that of one of them.
    pub names: [&'static str; 3],
    /// Axis of its rows or columns.
    pub outer: u32,
    /// How many rows or columns it has.
    pub extent: Extent,
    /// Axis of the depth.
    pub depth: u32,
    /// Whether its vectors are along the depth.
    pub along_depth: bool,
    /// Whether rows or columns beyond the last are asked for.
    pub is_outer_guarded: bool,
    /// Whether places beyond the depth are asked for.
    pub is_depth_guarded: bool,
    /// What the name of its function ends with, where a text has several products.
    pub suffix: String,
}

impl Side {
    /// The left factor, in rows and places along the depth that go beyond the last if they are no multiples of these numbers.
    pub fn left(module: &Module, roles: Roles, along_depth: bool, [rows, depth]: [u32; 2]) -> Side {
        Side {
            value: roles.left,
            names: ["left", "rows", "row"],
            outer: roles.axes[0],
            extent: roles.extents[0],
            depth: roles.axes[2],
            along_depth,
            is_outer_guarded: !module.kernel.is_multiple(roles.extents[0], rows),
            is_depth_guarded: !module.kernel.is_multiple(roles.extents[2], depth),
            suffix: String::new(),
        }
    }

    /// The right factor, likewise.
    pub fn right(module: &Module, roles: Roles, along_depth: bool, multiples: [u32; 2]) -> Side {
        Side { names: ["right", "columns", "column"], ..Side::left(module, roles.transposed(), along_depth, multiples) }
    }

    /// The axis of its vectors.
    pub fn lanes(&self) -> u32 {
        if self.along_depth { self.depth } else { self.outer }
    }

    /// Whether it is read as vectors alone.
    pub fn has_vectors(&self, module: &Module) -> bool {
        module
            .kernel
            .graph
            .loads([self.value])
            .iter()
            .all(|(_, index)| matches!(module.access(*index, self.lanes()), Access::Same | Access::Vector))
    }

    /// What is divided to find the rows or columns in memory, for [`Side::function`]: it is found once, before the loop along the depth.
    pub fn divided(&self, module: &mut Module) -> Vec<Key> {
        Code::new(module, Some(self.lanes())).divided_without(self.value, self.depth)
    }

    /// The functions of the factor, where these numbers are found before the loop.
    pub fn functions(&self, module: &mut Module, product: &Product, divided: &[Key]) -> String {
        let function = self.function(module, product, divided);
        if divided.is_empty() { function } else { function + &self.outer_function(module, product, divided) }
    }

    /// The function that finds these numbers for a row or column, `name_of_row(row)`, and the type of what it gives.
    fn outer_function(&self, module: &mut Module, product: &Product, divided: &[Key]) -> String {
        let [name, _, outer] = self.names;
        let mut code = Code::new(module, Some(self.lanes()));
        set_coordinates(&mut code, product);
        self.set_outer(&mut code);
        let texts = code.texts(divided);
        let values: Vec<&str> = texts.iter().map(|text| text.text.as_str()).list();
        let ty = self.outer_type();
        code.line(&format!("return {ty}({});", values.join(", ")));
        let member = |(at, text): (usize, &Text)| {
            let scalar = type_name(text.ty);
            let ty = if text.is_vector { format!("vec4<{scalar}>") } else { scalar.to_owned() };
            format!("    v{at}: {ty},\n")
        };
        let members: String = texts.iter().enumerate().map(member).collect();
        let (parameters, body) = (batch::parameters(&product.batch), code.finish());
        format!(
            "\nstruct {ty} {{\n{members}}}\n\nfn {name}_of_{outer}({parameters}{outer}: u32) -> {ty} {{\n{body}}}\n"
        )
    }

    /// The type of what is found once for a row or column.
    fn outer_type(&self) -> String {
        let [name, _, outer] = self.names;
        let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
        capital(name) + &capital(outer)
    }

    /// Names the row or column, the last one for those beyond it.
    fn set_outer(&self, code: &mut Code) {
        let outer = self.names[2];
        let last = format!("{} - 1u", code.module.extent(self.extent));
        let place = match (self.is_outer_guarded, self.along_depth) {
            (false, _) => outer.to_owned(),
            (true, true) => code.bind(&format!("min({outer}, {last})")),
            (true, false) => code.bind(&format!("min({outer}, ({last}) / 4u * 4u)")),
        };
        code.set_coordinate(self.outer, place);
    }

    /// The function that gives the factor at four points: `name_along_depth(row, depth)` or `name_along_rows(row, depth)`, with the coordinates
    /// of the batch first, and last what is found once for the row or column, if there is any. Numbers beyond the depth are 0; those beyond the last row
    /// or column are any.
    pub fn function(&self, module: &mut Module, product: &Product, divided: &[Key]) -> String {
        let [name, outers, outer] = self.names;
        let suffix = &self.suffix;
        let along = if self.along_depth { "depth" } else { outers };
        let ty = type_name(module.kernel.graph.ty(self.value));
        let depth = module.extent(product.depth);
        let is_cut = self.along_depth && !module.is_multiple_of_4(product.depth);
        let mut code = Code::new(module, Some(self.lanes()));
        set_coordinates(&mut code, product);
        code.set_coordinate(self.depth, "depth".to_owned());
        if self.is_depth_guarded {
            code.open(&format!("if depth >= {depth}"));
            code.line(&format!("return vec4<{ty}>();"));
            code.close();
        }
        self.set_outer(&mut code);
        let known = divided.iter().enumerate().map(|(at, key)| {
            let (ty, is_vector) = (code.module.kernel.graph.ty(key.0), !key.1 && code.varies(key.0));
            (*key, Text { text: format!("known.v{at}"), ty, is_vector, literal: None })
        });
        let known = known.collect();
        code.push_values(known);
        let value = code.value(self.value).vector();
        if is_cut {
            let places = "vec4<u32>(depth) + vec4<u32>(0u, 1u, 2u, 3u)";
            code.line(&format!("return select(vec4<{ty}>(), {value}, {places} < vec4<u32>({depth}));"));
        } else {
            code.line(&format!("return {value};"));
        }
        let parameters = batch::parameters(&product.batch);
        let known = if divided.is_empty() { String::new() } else { format!(", known: {}", self.outer_type()) };
        format!(
            "\nfn {name}_along_{along}{suffix}({parameters}{outer}: u32, depth: u32{known}) -> vec4<{ty}> {{\n{}}}\n",
            code.finish()
        )
    }
}

/// The function that writes what becomes of four elements of the product along a row; its name ends with `suffix`.
pub fn store(module: &mut Module, product: &Product, roles: Roles, suffix: &str) -> String {
    let [row, column, _] = roles.axes;
    let ty = module.kernel.graph.ty(product.left);
    let columns = module.extent(roles.extents[1]);
    let masked = !module.is_multiple_of_4(roles.extents[1]);
    let mut code = Code::new(module, Some(column));
    set_coordinates(&mut code, product);
    code.set_coordinate(row, "row".to_owned());
    code.set_coordinate(column, "column".to_owned());
    code.folds_vary = true;
    code.set_folded(
        product.folds.len() as u32,
        0,
        Text { text: "product".to_owned(), ty, is_vector: true, literal: None },
    );
    let mask = masked.then(|| {
        let text = code.bind(&format!("(column + vec4<u32>(0u, 1u, 2u, 3u)) < vec4<u32>({columns})"));
        Text { text, ty: Type::Bool, is_vector: true, literal: None }
    });
    code.store(&product.elements, mask.as_ref());
    let parameters = batch::parameters(&product.batch);
    let ty = type_name(ty);
    format!("\nfn store{suffix}({parameters}row: u32, column: u32, product: vec4<{ty}>) {{\n{}}}\n", code.finish())
}

/// Names the coordinates.
pub fn set_coordinates(code: &mut Code, product: &Product) {
    batch::set_coordinates(code, &product.batch, &Roles::of(product).axes);
}
