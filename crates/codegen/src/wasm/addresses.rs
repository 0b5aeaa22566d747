//! Addresses in memory: what is the same for all instances is computed before the loop, what several accesses share once an
//! instance.

use residua_base::list::{Listed, PushAll};
use rustc_hash::FxHashMap;

use super::encoding::instructions as wasm;
use super::encoding::{Instruction, MemArg, ValType};
use super::expression::Expression;
use super::frame;
use super::locals::Locals;
use crate::{Constant, Element, ElementType, Index, Instances, Kernel, Output, Term, Variable};
use residua_ir::graph::{Node, NodeId};

/// An integer that has a local of its own: a byte address, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum AddressValue {
    /// A word of the frame.
    Word(u32),
    /// The address in a buffer of the sum of some terms of constants, less `position` times the origin of positions.
    Base { buffer: u32, terms: Vec<Term>, position: u32 },
    /// The instance times 2^shift.
    Scaled(u32),
    /// The address in a buffer of the base and a multiple of the instance.
    Strided { buffer: u32, terms: Vec<Term> },
    /// A loaded index, if it leads out of no buffer.
    Loaded { buffer: u32, index: Index, lane: u8 },
    /// The address in a buffer of the element that a loaded index names.
    Named { buffer: u32, by: u32, index: Index, lane: u8 },
    /// The least loaded index that leads out of a buffer.
    Limit { buffer: u32, index: Index },
    /// The address of a place in a table of some length, as if the table were the first.
    Place { node: NodeId, length: u32, lane: u8 },
}

impl AddressValue {
    /// Whether it depends on what is loaded for one instance. The others that vary are relative to the local of the instance.
    fn is_of_one_instance(&self) -> bool {
        matches!(self, AddressValue::Loaded { .. } | AddressValue::Named { .. } | AddressValue::Place { .. })
    }
}

/// The part of an index that differs between instances.
pub(super) enum Varying<'a> {
    /// None.
    Nothing,
    /// The instance.
    Instance,
    /// A multiple of the instance, or of its position.
    Multiple { factor: u32, is_position: bool },
    /// A loaded index.
    Loaded(u32, &'a Index),
}

impl Varying<'_> {
    /// Of an index such as the check for the host lets pass: at most one term varies.
    pub(super) fn of(index: &Index) -> Varying<'_> {
        let varying =
            index.terms().iter().find_map(|term| term.variable.as_ref().map(|variable| (term.factor, variable)));
        match varying {
            None | Some((_, Variable::Layer | Variable::Owner)) => Varying::Nothing,
            // The first instance is the local's while shared columns are read.
            Some((1, Variable::Instance | Variable::FirstInstance)) => Varying::Instance,
            Some((factor, Variable::Instance | Variable::FirstInstance)) => {
                Varying::Multiple { factor, is_position: false }
            }
            Some((factor, Variable::Position)) => Varying::Multiple { factor, is_position: true },
            Some((_, Variable::Loaded { buffer, index })) => Varying::Loaded(*buffer, index),
        }
    }
}

/// The addresses of a kernel's function.
pub(super) struct Addresses<'k> {
    /// Code that runs once, before the loop.
    pub prologue: Vec<u8>,
    /// The local that holds the instance (the first of a pair).
    pub instance: u32,
    /// How many instances after it the round's first is.
    ahead: u32,
    /// The node of each input.
    pub inputs: Vec<Option<NodeId>>,
    pub(super) computed: FxHashMap<AddressValue, u32>,
    /// Those of the instance.
    varying: Vec<AddressValue>,
    pub(super) kernel: &'k Kernel,
    /// For each loaded index the buffers of the elements behind it, and how far behind it the last one stands.
    behind: FxHashMap<(u32, &'k Index), Vec<(u32, u32)>>,
    /// Whether numbers are added to memory as soon as they are computed: a local for each sum would be one for each number of a long kernel of one instance,
    /// and functions that do a kernel together share no locals.
    adds_at_once: bool,
    /// Locals for addresses that are not kept, see [`is_run_once`].
    pub(super) passing: Option<Passing>,
}

/// Locals for one address at a time.
#[derive(Clone, Copy)]
pub(super) struct Passing {
    base: u32,
    limit: u32,
    pub(super) loaded: u32,
    pub(super) named: u32,
}

/// Operations of a kernel from which on it is long.
const LONG: usize = 2_000;

/// Bytes of code of one of several functions that a kernel is, about.
const PART: usize = 1 << 16;

/// Whether all that a kernel does is done a few times, or several functions do it, and is much: to keep what instances share saves nothing then, and to look
/// for neighbours in memory takes longer than it saves. Engines refuse more than 50,000 locals, and their quick compilers take a time that grows with the
/// square of their number.
pub(super) fn is_run_once(kernel: &Kernel) -> bool {
    kernel.is_parted() || (kernel.instances != Instances::Many && kernel.graph.graph().len() > LONG)
}

impl<'k> Addresses<'k> {
    /// No address yet.
    pub fn new(kernel: &'k Kernel, instance: u32, locals: &mut Locals) -> Addresses<'k> {
        let graph = kernel.graph.graph();
        let mut inputs = vec![None; kernel.loads.len()];
        for id in graph.ids() {
            if let Node::Input(input) = graph.node(id) {
                inputs[input.0 as usize] = Some(id);
            }
        }
        let mut behind: FxHashMap<_, Vec<(u32, u32)>> = FxHashMap::default();
        for element in kernel.elements() {
            if let Some(loaded) = element.index.as_loaded() {
                let offset = element.index.offset();
                let buffers = behind.entry(loaded).or_default();
                match buffers.iter_mut().find(|known| known.0 == element.buffer) {
                    Some(known) => known.1 = offset.max(known.1),
                    None => buffers.push((element.buffer, offset)),
                }
            }
        }
        let is_one = kernel.instances == Instances::One && is_run_once(kernel);
        Addresses {
            adds_at_once: kernel.is_parted() || (is_one && !kernel.reads_what_it_writes()),
            prologue: Vec::new(),
            instance,
            ahead: 0,
            inputs,
            computed: FxHashMap::default(),
            varying: Vec::new(),
            behind,
            passing: is_run_once(kernel).then(|| {
                let [base, limit, loaded, named] = [(); 4].map(|()| locals.add(ValType::I32));
                Passing { base, limit, loaded, named }
            }),
            kernel,
        }
    }

    /// Begins another function of such a kernel, where nothing is on the stack and no block is open, if the present one is long.
    pub fn cut(&mut self, to: &mut Expression) {
        let begin = to.cuts.last().copied().unwrap_or_default();
        if to.free_variables.is_some() && to.code.len() - begin >= PART {
            self.start_over();
            to.cuts.push(to.code.len());
        }
    }

    /// Whether an output is added up in a local, and goes to memory after all instances.
    pub fn is_summed(&self, output: &Output) -> bool {
        !self.adds_at_once && output.accumulates() && output.element().is_some_and(|element| element.index.is_same())
    }

    /// Reads the columns of indices that all instances share, before the loop, while the local of the instance holds the first one. Where
    /// nothing is kept only those that the code after the loop takes, which has no instance.
    pub fn read_shared(&mut self, to: &mut Expression) {
        let passing = self.passing.take();
        let sums =
            self.kernel.outputs.iter().filter(|output| self.is_summed(output)).filter_map(Output::element).list();
        let all = self.kernel.elements().filter(|_| passing.is_none());
        for element in sums.into_iter().chain(all) {
            if let Varying::Loaded(by, index) = Varying::of(&element.index)
                && index.is_same()
            {
                self.named(to, element.buffer, by, index, 0);
            }
        }
        // The instances of the loop have others.
        self.computed.remove(&AddressValue::Scaled(ElementType::U32.host_shift()));
        self.varying.clear();
        self.passing = passing;
    }

    /// Goes to a round of the loop: its first instance is so many after the local's.
    pub fn go_to(&mut self, ahead: u32) {
        self.ahead = ahead;
        self.forget(AddressValue::is_of_one_instance);
    }

    /// Forgets what code that is not run before has computed.
    pub fn start_over(&mut self) {
        self.forget(|_| true);
    }

    fn forget(&mut self, which: impl Fn(&AddressValue) -> bool) {
        for value in std::mem::take(&mut self.varying) {
            match which(&value) {
                true => _ = self.computed.remove(&value),
                false => self.varying.push(value),
            }
        }
    }

    pub(super) fn dtype(&self, buffer: u32) -> ElementType {
        self.kernel.buffers[buffer as usize].dtype
    }

    /// Pushes what the address of a lane's element is relative to, and gives the rest.
    pub(super) fn push(&mut self, to: &mut Expression, element: &Element, lane: u8) -> MemArg {
        let Element { buffer, index, .. } = element;
        let shift = self.dtype(*buffer).host_shift();
        let lane_number = self.ahead + u32::from(lane);
        let elements = match Varying::of(index) {
            Varying::Nothing => {
                let base = self.base(to, *buffer, index, 0);
                to.write(Instruction::LocalGet(base));
                0
            }
            Varying::Instance => {
                let base = self.base(to, *buffer, index, 0);
                let scaled = self.scaled(to, shift);
                to.write(Instruction::LocalGet(base));
                to.write(Instruction::LocalGet(scaled));
                to.write(wasm::I32_ADD);
                lane_number
            }
            Varying::Multiple { factor, is_position } => {
                let base = self.base(to, *buffer, index, if is_position { factor } else { 0 });
                let local = self.strided(to, *buffer, index, factor, base);
                to.write(Instruction::LocalGet(local));
                lane_number * factor
            }
            Varying::Loaded(by, index) => {
                let local = self.named(to, *buffer, by, index, lane);
                to.write(Instruction::LocalGet(local));
                0
            }
        };
        at((elements + index.offset()) << shift, shift)
    }

    /// The local of a word of the frame.
    pub fn word(&mut self, to: &mut Expression, word: u32) -> u32 {
        let value = AddressValue::Word(word);
        if let Some(local) = self.computed.get(&value) {
            return *local;
        }
        let code = [Instruction::LocalGet(frame::PARAMETER), wasm::i32_load(at(word << 2, 2))];
        self.fixed(to, value, &code)
    }

    /// The local of an address that is the same for all instances: that of the terms without a variable. It is for use at once.
    fn base(&mut self, to: &mut Expression, buffer: u32, index: &Index, position: u32) -> u32 {
        let terms: Vec<Term> = index.terms().iter().filter(|term| term.variable.is_none()).cloned().list();
        if terms.is_empty() && position == 0 {
            return self.word(to, frame::pointer(buffer));
        }
        let value = AddressValue::Base { buffer, terms, position };
        if let Some(local) = self.computed.get(&value) {
            return *local;
        }
        let AddressValue::Base { terms, .. } = &value else { unreachable!("it has just been made") };
        let shift = self.dtype(buffer).host_shift();
        // What this one is computed from comes first.
        let words: Vec<u32> = terms.iter().map(|term| self.word(to, word_of(term.constant))).list();
        let origin = (position != 0).then(|| self.word(to, frame::ORIGIN));
        let pointer = self.word(to, frame::pointer(buffer));
        let mut code = Vec::new();
        if let ([term], None) = (terms.as_slice(), origin) {
            code.push_all([
                Instruction::LocalGet(words[0]),
                Instruction::I32Const((term.factor << shift) as i32),
                wasm::I32_MUL,
            ]);
        } else {
            for (number, (term, word)) in terms.iter().zip(words).enumerate() {
                code.push(Instruction::LocalGet(word));
                if term.factor != 1 {
                    code.push_all([Instruction::I32Const(term.factor as i32), wasm::I32_MUL]);
                }
                if number > 0 {
                    code.push(wasm::I32_ADD);
                }
            }
            if terms.is_empty() {
                code.push(Instruction::I32Const(0));
            }
            if let Some(origin) = origin {
                code.push_all([
                    Instruction::LocalGet(origin),
                    Instruction::I32Const(position as i32),
                    wasm::I32_MUL,
                    wasm::I32_SUB,
                ]);
            }
            code.push_all([Instruction::I32Const(shift as i32), wasm::I32_SHL]);
        }
        code.push_all([Instruction::LocalGet(pointer), wasm::I32_ADD]);
        if let Some(Passing { base: local, .. }) = self.passing {
            code.into_iter().for_each(|instruction| to.write(instruction));
            to.write(Instruction::LocalSet(local));
            return local;
        }
        self.fixed(to, value, &code)
    }

    /// The local of the least loaded index that leads out of a buffer. A length is above every literal, which the check of the dispatch
    /// has seen to. The least difference counts.
    fn limit(&mut self, to: &mut Expression, buffer: u32, index: &Index) -> u32 {
        let value = AddressValue::Limit { buffer, index: index.clone() };
        if let Some(local) = self.computed.get(&value) {
            return *local;
        }
        let behind = self.behind.get(&(buffer, index)).cloned().unwrap_or_default();
        let from: Vec<(u32, u32)> =
            behind.into_iter().map(|(of, offset)| (self.word(to, frame::length(of)), offset)).list();
        let local = self.passing.map_or_else(|| to.locals.add(ValType::I32), |passing| passing.limit);
        let mut code = Vec::new();
        for (number, &(length, offset)) in from.iter().enumerate() {
            let difference = [Instruction::LocalGet(length), Instruction::I32Const(offset as i32), wasm::I32_SUB];
            if number == 0 {
                code.push_all(difference);
                continue;
            }
            code.push(Instruction::LocalTee(local));
            code.push_all(difference.clone());
            code.push(Instruction::LocalGet(local));
            code.push_all(difference);
            code.push_all([wasm::I32_LT_U, wasm::SELECT]);
        }
        if self.passing.is_some() {
            code.into_iter().for_each(|instruction| to.write(instruction));
            to.write(Instruction::LocalSet(local));
        } else {
            self.set_fixed(local, value, &code);
        }
        local
    }

    /// A local that is computed before the loop.
    fn fixed(&mut self, to: &mut Expression, value: AddressValue, code: &[Instruction]) -> u32 {
        let local = to.locals.add(ValType::I32);
        self.set_fixed(local, value, code);
        local
    }

    fn set_fixed(&mut self, local: u32, value: AddressValue, code: &[Instruction]) {
        code.iter().for_each(|instruction| instruction.encode(&mut self.prologue));
        Instruction::LocalSet(local).encode(&mut self.prologue);
        self.computed.insert(value, local);
    }

    fn scaled(&mut self, to: &mut Expression, shift: u32) -> u32 {
        let instance = self.instance;
        self.varying(to, AddressValue::Scaled(shift), |to, _| {
            to.write(Instruction::LocalGet(instance));
            to.write(Instruction::I32Const(shift as i32));
            to.write(wasm::I32_SHL);
        })
    }

    fn strided(&mut self, to: &mut Expression, buffer: u32, index: &Index, factor: u32, base: u32) -> u32 {
        let (instance, shift) = (self.instance, self.dtype(buffer).host_shift());
        self.varying(to, AddressValue::Strided { buffer, terms: index.terms().to_vec() }, |to, _| {
            to.write(Instruction::LocalGet(instance));
            to.write(Instruction::I32Const((factor << shift) as i32));
            to.write(wasm::I32_MUL);
            to.write(Instruction::LocalGet(base));
            to.write(wasm::I32_ADD);
        })
    }

    /// The local of the address of the element that an index names, without a literal.
    fn named(&mut self, to: &mut Expression, buffer: u32, by: u32, index: &Index, lane: u8) -> u32 {
        let lane = if index.is_same() { 0 } else { lane };
        let value = AddressValue::Named { buffer, by, index: index.clone(), lane };
        if let Some(local) = self.computed.get(&value) {
            return *local;
        }
        let (loaded, pointer) = (self.loaded(to, by, index, lane), self.word(to, frame::pointer(buffer)));
        let local = self.passing.map_or_else(|| to.locals.add(ValType::I32), |passing| passing.named);
        to.write(Instruction::LocalGet(loaded));
        to.write(Instruction::I32Const(self.dtype(buffer).host_shift() as i32));
        to.write(wasm::I32_SHL);
        to.write(Instruction::LocalGet(pointer));
        to.write(wasm::I32_ADD);
        self.set_varying(to, local, value)
    }

    /// The local of a loaded index; the code traps if that leads out of one of the buffers that it is for.
    fn loaded(&mut self, to: &mut Expression, buffer: u32, index: &Index, lane: u8) -> u32 {
        let value = AddressValue::Loaded { buffer, index: index.clone(), lane };
        if let Some(local) = self.computed.get(&value) {
            return *local;
        }
        let limit = self.limit(to, buffer, index);
        let local = self.passing.map_or_else(|| to.locals.add(ValType::I32), |passing| passing.loaded);
        let at = self.push(to, &Element::single(buffer, index.clone()), lane);
        to.write(wasm::i32_load(at));
        to.write(Instruction::LocalTee(local));
        to.write(Instruction::LocalGet(limit));
        to.write(wasm::I32_GE_U);
        if self.passing.is_some() {
            // Without a branch, at which compilers look at every local: a load behind all memory traps, one from 0 has no effect.
            to.write(Instruction::LocalSet(limit));
            to.write(Instruction::I32Const(0));
            to.write(Instruction::LocalGet(limit));
            to.write(wasm::I32_SUB);
            to.write(wasm::i32_load(MemArg { offset: 0, align: 0 }));
            to.write(Instruction::LocalSet(limit));
        } else {
            to.write(Instruction::If);
            to.write(wasm::UNREACHABLE);
            to.write(wasm::END);
        }
        to.write(Instruction::LocalGet(local));
        self.set_varying(to, local, value)
    }

    /// The local of a value of the instance, computed where it is first needed; while that happens it is free for use.
    fn varying(&mut self, to: &mut Expression, value: AddressValue, compute: impl FnOnce(&mut Expression, u32)) -> u32 {
        if let Some(local) = self.computed.get(&value) {
            return *local;
        }
        let local = to.locals.add(ValType::I32);
        compute(to, local);
        self.set_varying(to, local, value)
    }

    pub(super) fn set_varying(&mut self, to: &mut Expression, local: u32, value: AddressValue) -> u32 {
        to.write(Instruction::LocalSet(local));
        // What a local held that is set anew.
        let is_of_local = |known: &AddressValue| self.computed.get(known) == Some(&local);
        if self.passing.is_some()
            && let Some(place) = self.varying.iter().position(is_of_local)
        {
            self.computed.remove(&self.varying.swap_remove(place));
        }
        self.varying.push(value.clone());
        self.computed.insert(value, local);
        local
    }
}

/// The word of the frame that holds a constant of the dispatch.
fn word_of(constant: Option<Constant>) -> u32 {
    match constant {
        Some(Constant::Stride) => frame::STRIDE,
        Some(Constant::First) => frame::FIRST,
        Some(Constant::Width | Constant::Low(_)) | None => {
            unreachable!("a checked kernel has widths in lists alone, and no term of nothing")
        }
    }
}

fn at(offset: u32, align: u32) -> MemArg {
    MemArg { offset, align }
}
