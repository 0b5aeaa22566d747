//! Kernels that accumulate along an axis.
//!
//! Lanes are four rows side by side, or four consecutive points of a row: then each vector is first accumulated within, in two merges, and the
//! state of all points before it is merged to each lane.

use residua_base::error::Result;
use residua_base::list::Listed;
use residua_codegen::wasm::encoding::instructions as wasm;
use residua_codegen::wasm::encoding::{Function, Instruction, ValType};

use super::code::Local;
use super::count::Count;
use super::module::Shared;
use super::schedule::{copies_of, lanes_are_rows};
use super::states::Accumulation;
use super::values::Values;
use super::wide::{Rule, Wide};
use crate::kernel::{Scan, TensorKernel};
use crate::scalar::{Id, Type};

/// A kernel of a scan.
pub(super) fn function(kernel: &TensorKernel, scan: &Scan, shared: &mut Shared) -> Result<Function> {
    let axis = scan.outer.len() as u32;
    let operands = scan.fold.operands.iter().copied();
    let roots: Vec<Id> = operands.chain(scan.elements.iter().flat_map(|store| [store.value, store.index])).list();
    let is_across = lanes_are_rows(kernel, &scan.outer, &[scan.length], &roots);
    let lane_axis = if is_across { axis - 1 } else { axis };
    let mut values = Values::new(kernel, shared, lane_axis, true);
    values.return_if_empty(&scan.outer);
    values.return_if_empty(&[scan.length]);
    // The axis of the lanes is not cut.
    if scan.outer.len() > usize::from(is_across) {
        values.cut(&[&scan.outer[..], &[scan.length]].concat());
    }
    let outer: Vec<Count> = scan.outer.iter().map(|extent| values.count(*extent)).list();
    let ty = scan.fold.operands.first().map_or(Type::F32, |operand| kernel.graph.ty(*operand));
    let line = Line { scan, axis, accumulation: Accumulation { fold: &scan.fold, ty } };
    let mut result = Ok(());
    if is_across {
        let copies = copies_of(&values, &roots, lane_axis).min(2);
        let (across, outer) = (outer[outer.len() - 1], &outer[..outer.len() - 1]);
        values.nest(0, outer, &mut |values| {
            values.vectors(across, copies, false, &mut |values, copies| {
                result = result.clone().and(line.side_by_side(values, copies));
            });
        });
    } else {
        values.nest(0, &outer, &mut |values| result = result.clone().and(line.along(values)));
    }
    result.map(|()| values.finish())
}

/// The variables of a scan.
enum State {
    /// A sum or product of reals in f64.
    Wide(Wide),
    /// The numbers of a state.
    Numbers(Vec<Local>),
}

/// A row, or as many side by side as there are lanes in some vectors.
struct Line<'k> {
    scan: &'k Scan,
    axis: u32,
    accumulation: Accumulation<'k>,
}

impl<'k> Line<'k> {
    /// The variables with the state before the first point.
    fn initial(&self, values: &mut Values<'k, '_>) -> State {
        let block = values.code.innermost();
        let numbers: Vec<Local> = match &self.scan.initial {
            Some(numbers) => numbers.iter().map(|number| values.lanes(*number)).list(),
            None => self.accumulation.identity().into_iter().map(|bits| values.code.word(bits)).list(),
        };
        match self.rule() {
            Some(rule) => {
                let start = Wide::of_state(&mut values.code, block, rule, numbers[0], numbers[1]);
                State::Wide(start.to_variables(&mut values.code, block))
            }
            None => State::Numbers(Accumulation::variables(&mut values.code, block, &numbers)),
        }
    }

    fn rule(&self) -> Option<Rule> {
        Rule::of(self.accumulation.fold, self.accumulation.ty)
    }

    /// Points, or the states that stand for them, in f64.
    fn wide(&self, values: &mut Values<'k, '_>, rule: Rule, points: &[Local]) -> Wide {
        let block = values.code.innermost();
        match *points {
            [number, error] => Wide::of_state(&mut values.code, block, rule, number, error),
            _ => Wide::of(&mut values.code, block, rule, points[0]),
        }
    }

    /// The number of points, and the direction in which the loop is to go.
    fn begin(&self, values: &mut Values<'k, '_>) -> Result<Count> {
        let mut count = values.count(self.scan.length);
        if let Some(valid) = self.scan.valid {
            count = values.prefix(valid, self.axis, count)?;
        }
        if self.scan.reverse {
            let block = values.code.innermost();
            let last = [count.get(), Instruction::I32Const(1), wasm::I32_SUB];
            values.start = values.code.keep(block, ValType::I32, &last).get();
            values.start_block = block;
            values.is_descending = true;
        }
        Ok(count)
    }

    fn end(values: &mut Values<'k, '_>) {
        values.start = Instruction::I32Const(0);
        values.start_block = 0;
        values.is_descending = false;
    }

    /// Writes the elements of the points of a vector.
    fn write(&self, values: &mut Values<'k, '_>, results: &[Local]) {
        values.folds_block = values.code.innermost();
        for (number, result) in results.iter().enumerate() {
            values.folded.insert((0, number as u32, values.copy), *result);
        }
        values.store_all(&self.scan.elements);
    }

    fn side_by_side(&self, values: &mut Values<'k, '_>, copies: u32) -> Result<()> {
        let states: Vec<State> = (0..copies)
            .map(|copy| {
                values.copy = copy;
                self.initial(values)
            })
            .list();
        values.copy = 0;
        let count = self.begin(values)?;
        values.innermost(self.axis, |values| {
            values.each(self.axis, count, &mut |values| {
                for (copy, state) in states.iter().enumerate() {
                    values.copy = copy as u32;
                    let points = self.points(values);
                    self.one_of_each(values, state, &points);
                }
                values.copy = 0;
            });
        });
        Self::end(values);
        Ok(())
    }

    /// One point of each of four rows.
    fn one_of_each(&self, values: &mut Values<'k, '_>, state: &State, points: &[Local]) {
        let block = values.code.innermost();
        match state {
            State::Wide(state) => {
                let points = self.wide(values, state.rule, points);
                let next = state.merged(&mut values.code, block, &points);
                let result = if self.scan.exclusive { state } else { &next };
                let results = result.finish(&mut values.code, block, self.scan.fold.keeps_state);
                self.write(values, &results);
                state.assign(&mut values.code, block, &next);
            }
            State::Numbers(state) => {
                let next = self.accumulation.merge(&mut values.code, block, state, points);
                let result = if self.scan.exclusive { state } else { &next };
                let results = self.accumulation.finish(&mut values.code, block, result);
                self.write(values, &results);
                Accumulation::assign(&mut values.code, block, state, &next);
            }
        }
    }

    /// Four points of a row.
    fn four_of_one(&self, values: &mut Values<'k, '_>, state: &State, points: &[Local]) {
        let block = values.code.innermost();
        let accumulation = &self.accumulation;
        match state {
            State::Wide(state) => {
                let points = self.wide(values, state.rule, points);
                let code = &mut values.code;
                let (within, total) = points.within(code, block, self.scan.exclusive);
                let results = state.merged(code, block, &within).finish(code, block, self.scan.fold.keeps_state);
                let next = state.merged(code, block, &total);
                self.write(values, &results);
                state.assign(&mut values.code, block, &next);
            }
            State::Numbers(state) => {
                let code = &mut values.code;
                let nothing: Vec<Local> = accumulation.identity().into_iter().map(|bits| code.word(bits)).list();
                // Lanes of nothing come in from the left.
                let one = Accumulation::shuffled(code, block, &nothing, points, [0, 4, 5, 6]);
                let pairs = accumulation.merge(code, block, &one, points);
                let two = Accumulation::shuffled(code, block, &nothing, &pairs, [0, 1, 4, 5]);
                let all = accumulation.merge(code, block, &two, &pairs);
                let next = accumulation.merge(code, block, state, &all);
                let result = match self.scan.exclusive {
                    false => next.clone(),
                    true => {
                        let before = Accumulation::shuffled(code, block, &nothing, &all, [0, 4, 5, 6]);
                        accumulation.merge(code, block, state, &before)
                    }
                };
                let results = accumulation.finish(code, block, &result);
                self.write(values, &results);
                let last = Accumulation::shuffled(&mut values.code, block, &next, &next, [3, 3, 3, 3]);
                Accumulation::assign(&mut values.code, block, state, &last);
            }
        }
    }

    fn points(&self, values: &mut Values<'k, '_>) -> Vec<Local> {
        values.prepare(self.scan.fold.operands.iter().copied());
        let operands: Vec<Local> = self.scan.fold.operands.iter().map(|operand| values.lanes(*operand)).list();
        self.accumulation.lift(&mut values.code, &operands)
    }

    fn along(&self, values: &mut Values<'k, '_>) -> Result<()> {
        let state = self.initial(values);
        let count = self.begin(values)?;
        values.innermost(self.axis, |values| {
            values.vectors(count, 1, false, &mut |values, _| {
                let points = self.points(values);
                self.four_of_one(values, &state, &points);
            });
        });
        Self::end(values);
        Ok(())
    }
}
