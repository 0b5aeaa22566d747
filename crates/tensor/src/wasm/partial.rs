//! A reduction under way: the variables that a loop over a row accumulates in.

use residua_base::list::Listed;
use residua_codegen::wasm::encoding::instructions as wasm;

use super::code::{Code, Local};
use super::states::Accumulation;
use super::wide::{Rule, Wide};
use crate::kernel::Combine;
use crate::scalar::Type;

/// The variables of a reduction.
pub(super) struct Partial<'k> {
    /// The reduction.
    pub accumulation: Accumulation<'k>,
    is_across: bool,
    variables: Variables,
}

enum Variables {
    /// A sum or product of reals in f64.
    Wide(Wide),
    /// The smallest or largest real that is no NaN, and a mask of the lanes that have met a NaN: WebAssembly's own minimum takes eight
    /// instructions on x86-64.
    Extremum(Local, Local),
    /// The numbers of a state.
    State(Vec<Local>),
}

impl<'k> Partial<'k> {
    /// The reduction of nothing. Lanes are rows if `is_across`, else points of one.
    pub fn new(code: &mut Code, block: usize, accumulation: Accumulation<'k>, is_across: bool) -> Partial<'k> {
        let identity: Vec<Local> = accumulation.identity().into_iter().map(|bits| code.word(bits)).list();
        let rule = Rule::of(accumulation.fold, accumulation.ty);
        let variables = match (&accumulation.fold.combine, rule) {
            (_, Some(rule)) => Variables::Wide(Wide::variables(code, block, rule)),
            (Combine::Min | Combine::Max, None) if accumulation.ty == Type::F32 => {
                let nan = code.word(0);
                let both = Accumulation::variables(code, block, &[identity[0], nan]);
                Variables::Extremum(both[0], both[1])
            }
            _ => Variables::State(Accumulation::variables(code, block, &identity)),
        };
        Partial { accumulation, is_across, variables }
    }

    /// Accumulates the operands of points; lanes beyond a mask hold none.
    pub fn add(&self, code: &mut Code, block: usize, operands: &[Local], mask: Option<Local>) {
        match &self.variables {
            Variables::Wide(state) => {
                let rule = state.rule;
                match (rule, operands) {
                    (Rule::Product, [number, error]) => {
                        let number = present(code, block, *number, mask, rule.neutral());
                        let error = present(code, block, *error, mask, 0);
                        let factors = Wide::of_state(code, block, rule, number, error);
                        let next = state.merged(code, block, &factors);
                        state.assign(code, block, &next);
                    }
                    // The numbers of the state of a sum are addends as well.
                    _ => operands.iter().for_each(|operand| {
                        let number = present(code, block, *operand, mask, rule.neutral());
                        state.add(code, block, number);
                    }),
                }
            }
            Variables::Extremum(value, nan) => {
                let is_min = matches!(self.accumulation.fold.combine, Combine::Min);
                let instruction = if is_min { wasm::F32X4_PMIN } else { wasm::F32X4_PMAX };
                let operand = match mask {
                    Some(mask) => {
                        let nothing = code.word(self.accumulation.identity()[0]);
                        code.choose(block, mask, operands[0], nothing)
                    }
                    None => operands[0],
                };
                code.put(block, &[value.get(), operand.get(), instruction, value.set()]);
                code.put(block, &[nan.get(), operand.get(), operand.get(), wasm::F32X4_NE, wasm::V128_OR, nan.set()]);
            }
            Variables::State(state) => {
                let next = self.next(code, block, state, operands, mask);
                Accumulation::assign(code, block, state, &next);
            }
        }
    }

    fn next(
        &self,
        code: &mut Code,
        block: usize,
        state: &[Local],
        operands: &[Local],
        mask: Option<Local>,
    ) -> Vec<Local> {
        let accumulation = &self.accumulation;
        let is_of_points = !accumulation.fold.merges_states;
        if matches!(accumulation.fold.combine, Combine::By(_)) && !self.is_across {
            return self.next_in_order(code, block, state, operands, mask);
        }
        let next = match accumulation.fold.combine {
            Combine::ArgMin | Combine::ArgMax if is_of_points => {
                let is_min = matches!(accumulation.fold.combine, Combine::ArgMin);
                let is_better = earlier_is_worse(code, block, accumulation.ty, is_min, state[0], operands[0]);
                state.iter().zip(operands).map(|(old, new)| code.choose(block, is_better, *new, *old)).list()
            }
            Combine::Variance if is_of_points => welford(code, block, state, operands[0]),
            _ => {
                let points = accumulation.lift(code, operands);
                accumulation.merge(code, block, state, &points)
            }
        };
        match mask {
            None => next,
            Some(mask) => state.iter().zip(next).map(|(old, new)| code.choose(block, mask, new, *old)).list(),
        }
    }

    /// The state, and then four points in their order: pairs first, since a rule may not commute.
    fn next_in_order(
        &self,
        code: &mut Code,
        block: usize,
        state: &[Local],
        operands: &[Local],
        mask: Option<Local>,
    ) -> Vec<Local> {
        let accumulation = &self.accumulation;
        let mut points = accumulation.lift(code, operands);
        if let Some(mask) = mask {
            let identity = accumulation.identity();
            points = points
                .iter()
                .zip(identity)
                .map(|(point, bits)| {
                    let nothing = code.word(bits);
                    code.choose(block, mask, *point, nothing)
                })
                .list();
        }
        let pick = |code: &mut Code, from: &[Local], lanes| Accumulation::shuffled(code, block, from, from, lanes);
        let (even, odd) = (pick(code, &points, [0, 2, 0, 2]), pick(code, &points, [1, 3, 1, 3]));
        let pairs = accumulation.merge(code, block, &even, &odd);
        let (first, second) = (pick(code, &pairs, [0, 0, 0, 0]), pick(code, &pairs, [1, 1, 1, 1]));
        let four = accumulation.merge(code, block, &first, &second);
        accumulation.merge(code, block, state, &four)
    }

    /// Merges another part of the row.
    pub fn merge(&self, code: &mut Code, block: usize, other: &Partial) {
        match (&self.variables, &other.variables) {
            (Variables::Wide(own), Variables::Wide(other)) => {
                let merged = own.merged(code, block, other);
                own.assign(code, block, &merged);
            }
            (Variables::Extremum(value, nan), Variables::Extremum(other, other_nan)) => {
                let is_min = matches!(self.accumulation.fold.combine, Combine::Min);
                let instruction = if is_min { wasm::F32X4_PMIN } else { wasm::F32X4_PMAX };
                code.put(block, &[value.get(), other.get(), instruction, value.set()]);
                code.put(block, &[nan.get(), other_nan.get(), wasm::V128_OR, nan.set()]);
            }
            (Variables::State(own), Variables::State(other)) => {
                let merged = self.accumulation.merge(code, block, own, other);
                Accumulation::assign(code, block, own, &merged);
            }
            _ => unreachable!("parts of one row accumulate in the same way"),
        }
    }

    /// The results: of each lane, or of all of them in each.
    pub fn finish(&self, code: &mut Code, block: usize) -> Vec<Local> {
        let state = match &self.variables {
            Variables::Wide(state) => {
                let state = if self.is_across { *state } else { state.across_lanes(code, block) };
                return state.finish(code, block, self.accumulation.fold.keeps_state);
            }
            // All bits are a NaN.
            Variables::Extremum(value, nan) => vec![code.two(block, wasm::V128_OR, *value, *nan)],
            Variables::State(state) => state.clone(),
        };
        let state = match self.is_across {
            true => Accumulation::variables(code, block, &state),
            false => self.across_lanes(code, block, &state),
        };
        self.accumulation.finish(code, block, &state)
    }

    fn across_lanes(&self, code: &mut Code, block: usize, state: &[Local]) -> Vec<Local> {
        let pick = |code: &mut Code, from: &[Local], lanes| Accumulation::shuffled(code, block, from, from, lanes);
        let mut merged = state.to_vec();
        if !matches!(self.accumulation.fold.combine, Combine::By(_)) {
            for lanes in [[2, 3, 2, 3], [1, 1, 1, 1]] {
                let other = pick(code, &merged, lanes);
                merged = self.accumulation.merge(code, block, &merged, &other);
            }
        }
        pick(code, &merged, [0, 0, 0, 0])
    }
}

/// Numbers of points; lanes beyond a mask have one that changes nothing, of these bits.
fn present(code: &mut Code, block: usize, numbers: Local, mask: Option<Local>, neutral: u32) -> Local {
    let Some(mask) = mask else { return numbers };
    let neutral = code.word(neutral);
    code.choose(block, mask, numbers, neutral)
}

/// Whether a later value replaces an earlier one: it is better, or the first NaN.
fn earlier_is_worse(code: &mut Code, block: usize, ty: Type, is_min: bool, old: Local, new: Local) -> Local {
    match ty {
        Type::F32 => {
            let instruction = if is_min { wasm::F32X4_LE } else { wasm::F32X4_GE };
            let stays = code.two(block, instruction, old, new);
            let is_number = code.two(block, wasm::F32X4_EQ, old, old);
            code.two(block, wasm::V128_ANDNOT, is_number, stays)
        }
        Type::I32 => {
            let (a, b) = if is_min { (new, old) } else { (old, new) };
            code.two(block, wasm::I32X4_LT_S, a, b)
        }
        Type::U32 | Type::Bool => {
            let (a, b) = if is_min { (new, old) } else { (old, new) };
            code.two(block, wasm::I32X4_LT_U, a, b)
        }
    }
}

/// A variance with one more point (Welford 1962).
fn welford(code: &mut Code, block: usize, state: &[Local], x: Local) -> Vec<Local> {
    let one = code.word(1f32.to_bits());
    let count = code.two(block, wasm::F32X4_ADD, state[0], one);
    let part = code.two(block, wasm::F32X4_DIV, one, count);
    let difference = code.two(block, wasm::F32X4_SUB, x, state[1]);
    let step = code.two(block, wasm::F32X4_MUL, difference, part);
    let mean = code.two(block, wasm::F32X4_ADD, state[1], step);
    let rest = code.two(block, wasm::F32X4_SUB, x, mean);
    let square = code.two(block, wasm::F32X4_MUL, difference, rest);
    let squares = code.two(block, wasm::F32X4_ADD, state[2], square);
    vec![count, mean, squares]
}
