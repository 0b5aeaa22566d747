//! Operations on pairs in straight-line code: which of the library's functions an operation takes, by what is known of its operands.

use residua_base::list::Listed;
use residua_ir::graph::{NodeId, Op};

use super::body::Body;
use super::value::Value;
use super::{operation, pairs};

impl Body<'_> {
    /// An operation on pairs, as an expression: a pair, or of a comparison a single number.
    pub(super) fn operation_in_pairs(&mut self, op: Op, operands: &[NodeId]) -> Value {
        if operation::is_comparison(op) {
            let [a, b] = [operands[0], operands[1]].map(|operand| self.pair(operand));
            return Value::Single(format!("select(0.0, 1.0, {})", pairs::comparison(op, &a, &b, self.imports())));
        }
        let mut texts: Vec<String> = Vec::with_capacity(operands.len());
        let mut rest = operands;
        if op == Op::Select {
            texts.push(self.condition(operands[0]));
            rest = &operands[1..];
        }
        for &operand in rest {
            let text = self.pair(operand);
            texts.push(text);
        }
        let literals = operands.iter().map(|operand| self.literal_of(*operand)).list();
        match (op, literals.as_slice()) {
            (Op::Mul, &[a, b]) if a.is_none() || b.is_none() => {
                let same = operands[0] == operands[1];
                return Value::Pair(pairs::product([&texts[0], &texts[1]], [a, b], same, self.imports()));
            }
            (Op::Select, _) => {}
            // An operation on nothing but literals is no constant expression, see `literal::opaque`.
            (_, literals) if literals.iter().all(Option::is_some) => {
                if let Some(number) = literals[0] {
                    texts[0] = pairs::opaque(number, self.imports());
                }
            }
            _ => {}
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).list();
        Value::Pair(pairs::expression(op, &texts, self.imports()))
    }
}
