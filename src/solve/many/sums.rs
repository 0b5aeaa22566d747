//! The functions of the kernel that sum over instances: the normal equations, and the reduction of the cost at a trial point.

use residua_base::error::{Error, Result};
use residua_base::list::{Listed, PushAll};
use residua_codegen::wgsl::{ProgramText, comment};
use residua_codegen::{OPERATIONS_OF_PAIR, Width};

use super::layout::GroupLayout;
use super::pattern::{each, fill, filled};
use super::program::ProgramWriter;
use super::template::Group;
use super::terms::{CLOSE_PAIR, CLOSE_SINGLE, normal_terms, pair_terms, reduction_term};

/// Names that the code of an instance's terms must not hide.
const TAKEN: [&str; 4] = ["x", "problem", "normal", "i"];

impl ProgramWriter<'_> {
    /// Begins the loop over a group's instances with the code of one.
    fn begin_group(&mut self, group: &Group, code: &str) {
        let batch = &self.template.model.batches[group.batch];
        let comment = comment(&self.template.model.blocks[batch.block as usize].name);
        let header = filled("    for (var i = 0u; i < $0u; i++) {\n", &[group.instances.len()]);
        for part in ["    ", &comment, "\n", &header, code] {
            self.text += part;
        }
    }

    /// The function that sums the normal equations.
    pub(super) fn linearise(&mut self) -> Result<()> {
        self.text += "\nfn linearise(problem: u32, x: Parameters) -> Normal {\n    var normal = Normal();\n";
        let template = self.template;
        for (group, layout) in template.groups.iter().zip(&self.layout.groups) {
            if self.pairs_form.is_some() {
                self.add_pair_terms(group, layout)?;
            } else {
                self.add_terms(group, layout)?;
            }
        }
        if self.pairs_form.is_none() {
            let whole = "    normal.g$0 = vec2<f32>(normal.g$0.x + normal.g$0.y, 0.0);\n";
            each(&mut self.text, whole, &self.free, "");
            self.text += "    normal.cost = vec2<f32>(normal.cost.x + normal.cost.y, 0.0);\n";
        }
        self.text += "    return normal;\n}\n";
        Ok(())
    }

    /// The loop over a group's instances that adds to the normal equations in f32.
    fn add_terms(&mut self, group: &Group, layout: &GroupLayout) -> Result<()> {
        let terms = normal_terms(self.template, group, self.is_robust)?;
        self.count(group, terms.graph.graph().len() + terms.gradient.len() * 8);
        // What is added to: a pattern with its numbers.
        let mut sums = vec![("        normal.cost = add_to(normal.cost, ", ");\n", [0, 0])];
        let mut nodes = vec![(terms.cost, Width::Single)];
        if let Some(influence) = terms.influence {
            sums.push(("        normal.influence += ", ";\n", [0, 0]));
            nodes.push((influence, Width::Single));
        }
        for &(position, node) in &terms.gradient {
            sums.push(("        normal.g$0 = add_to(normal.g$0, ", ");\n", [position, 0]));
            nodes.push((node, Width::Single));
        }
        for &(row, column, node) in &terms.jtj {
            sums.push(("        normal.h$0_$1 += ", ";\n", [row, column]));
            nodes.push((node, Width::Single));
        }
        let bindings = self.bindings(layout, &terms.inputs);
        let (code, texts) = self.program.straight_line(terms.graph.graph(), &bindings, &nodes, &TAKEN, 2);
        self.begin_group(group, &code);
        for ((before, after, numbers), addend) in sums.iter().zip(&texts) {
            fill(&mut self.text, before, numbers);
            self.text += addend;
            self.text += after;
        }
        self.text += "    }\n";
        Ok(())
    }

    /// The same in pairs.
    fn add_pair_terms(&mut self, group: &Group, layout: &GroupLayout) -> Result<()> {
        let terms = pair_terms(self.template, group, self.is_robust)?;
        let mut nodes = vec![(terms.cost, Width::Pair)];
        nodes.push_all(terms.influence.map(|node| (node, Width::Single)));
        nodes.push_all(terms.gradient.iter().map(|(_, node)| (*node, Width::Pair)));
        nodes.push_all(terms.rows.iter().flatten().map(|(_, node)| (*node, Width::Single)));
        let bindings = self.bindings(layout, &terms.inputs);
        let (code, texts) = self.program.straight_line(terms.graph.graph(), &bindings, &nodes, &TAKEN, 2);
        self.begin_group(group, &code);
        let mut texts = texts.into_iter();
        let mut next = || texts.next().ok_or_else(|| Error::internal("a text of a node is missing"));
        self.text += &format!("        normal.cost = sum_of_pairs(normal.cost, {});\n", next()?);
        if terms.influence.is_some() {
            self.text += &format!("        normal.influence += {};\n", next()?);
        }
        for (position, _) in &terms.gradient {
            let addend = next()?;
            self.text += &format!("        normal.g[{position}] = sum_of_pairs(normal.g[{position}], {addend});\n");
        }
        let mut products = 0;
        for row in &terms.rows {
            let entries = row.iter().map(|(position, _)| Ok((*position, next()?))).list_or_error()?;
            for (count, (column, b)) in (1..).zip(&entries) {
                for (row, a) in &entries[..count] {
                    let place = column * (column + 1) / 2 + row;
                    self.text += &format!(
                        "        normal.h[{place}] = sum_of_pairs(normal.h[{place}], product_with_error({a}, {b}));\n"
                    );
                    products += 1;
                }
            }
        }
        let operations = ProgramText::operations_of(terms.graph.graph(), &nodes);
        self.count(group, operations + OPERATIONS_OF_PAIR * (nodes.len() + products));
        self.text += "    }\n";
        Ok(())
    }

    /// The function that sums by how much the cost falls.
    pub(super) fn reduction(&mut self) -> Result<()> {
        self.text +=
            "\nfn reduction(problem: u32, x: Parameters, trial: Parameters) -> f32 {\n    var sum = vec2<f32>();\n";
        let template = self.template;
        for (group, layout) in template.groups.iter().zip(&self.layout.groups) {
            let close = if self.pairs_form.is_some() { CLOSE_PAIR } else { CLOSE_SINGLE };
            let term = reduction_term(template, group, close)?;
            let bindings = self.bindings(layout, &term.inputs);
            let taken = ["x", "trial", "problem", "sum", "i"];
            let nodes = [(term.reduction, self.width())];
            self.count(group, ProgramText::operations_of(term.graph.graph(), &nodes));
            let (code, texts) = self.program.straight_line(term.graph.graph(), &bindings, &nodes, &taken, 2);
            self.begin_group(group, &code);
            let add = self.pattern("        sum = add_to(sum, ", "        sum = sum_of_pairs(sum, ");
            self.text += &format!("{add}{});\n    }}\n", texts[0]);
        }
        self.text += self.pattern("    return sum.x + sum.y;\n}\n", "    return sum.x;\n}\n");
        Ok(())
    }

    fn count(&mut self, group: &Group, operations: usize) {
        self.written += operations;
        self.operations += operations as u64 * group.instances.len() as u64;
    }
}
