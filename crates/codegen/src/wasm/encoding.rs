//! The part of WebAssembly's binary format that generated modules use: instructions, function bodies, sections.
//!
//! Numbers of opcodes and sections are those of the core specification, chapter "Binary Format".

use residua_base::list::PushAll;
use residua_base::threads::are_several;

use self::instructions::{END, SHUFFLE, V128_CONST};

pub mod instructions;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ValType {
    /// A 32-bit integer.
    I32 = 0x7f,
    /// A double.
    F64 = 0x7c,
    /// A vector of 128 bits.
    V128 = 0x7b,
}

/// A place in memory, relative to the address on the stack.
#[derive(Clone, Copy, Debug)]
pub struct MemArg {
    /// Added to the address.
    pub offset: u32,
    /// The exponent of a power of two.
    pub align: u32,
}

/// An instruction by its name in the specification; blocks neither take nor give values. Most are constants, see [`instructions`].
#[allow(missing_docs, reason = "the specification describes them")]
#[derive(Clone, Debug)]
pub enum Instruction {
    Block,
    Loop,
    If,
    Br(u32),
    BrIf(u32),
    BrTable(Vec<u32>, u32),
    Call(u32),
    LocalGet(u32),
    LocalSet(u32),
    LocalTee(u32),
    GlobalGet(u32),
    GlobalSet(u32),
    I32Const(i32),
    F64Const(f64),
    V128Const(u128),
    /// An instruction without immediates, by its opcode below its prefix.
    Plain(u32),
    /// An instruction with a place in memory.
    Memory(u32, MemArg),
    /// An instruction with a place in memory and a lane.
    MemoryLane(u32, MemArg, u8),
    /// An instruction with a lane.
    Lane(u32, u8),
    /// Any bytes of two vectors.
    Shuffle([u8; 16]),
}

/// The type of a block that neither takes nor gives values.
const EMPTY: u32 = 0x40;

impl Instruction {
    /// Appends the instruction to code.
    pub fn encode(&self, code: &mut Vec<u8>) {
        use Instruction as I;
        let with_number = |code: &mut Vec<u8>, byte: u8, number: u32| {
            code.push(byte);
            unsigned(code, number);
        };
        match self {
            I::Block => with_number(code, 0x02, EMPTY),
            I::Loop => with_number(code, 0x03, EMPTY),
            I::If => with_number(code, 0x04, EMPTY),
            I::Br(label) => with_number(code, 0x0c, *label),
            I::BrIf(label) => with_number(code, 0x0d, *label),
            I::BrTable(labels, otherwise) => {
                with_number(code, 0x0e, labels.len() as u32);
                labels.iter().chain([otherwise]).for_each(|label| unsigned(code, *label));
            }
            I::Call(function) => with_number(code, 0x10, *function),
            I::LocalGet(local) => with_number(code, 0x20, *local),
            I::LocalSet(local) => with_number(code, 0x21, *local),
            I::LocalTee(local) => with_number(code, 0x22, *local),
            I::GlobalGet(global) => with_number(code, 0x23, *global),
            I::GlobalSet(global) => with_number(code, 0x24, *global),
            I::I32Const(number) => {
                code.push(0x41);
                signed(code, *number);
            }
            I::F64Const(number) => {
                code.push(0x44);
                code.extend_from_slice(&number.to_le_bytes());
            }
            I::V128Const(bits) => {
                opcode(code, V128_CONST);
                code.extend_from_slice(&bits.to_le_bytes());
            }
            I::Plain(number) => opcode(code, *number),
            I::Memory(number, place) => {
                opcode(code, *number);
                place.encode(code);
            }
            I::MemoryLane(number, place, lane) => {
                opcode(code, *number);
                place.encode(code);
                code.push(*lane);
            }
            I::Lane(number, lane) => {
                opcode(code, *number);
                code.push(*lane);
            }
            I::Shuffle(bytes) => {
                opcode(code, SHUFFLE);
                code.extend_from_slice(bytes);
            }
        }
    }
}

/// An opcode, with its prefix where it has one.
fn opcode(code: &mut Vec<u8>, number: u32) {
    if number >= 0x100 {
        code.push((number >> 8) as u8);
        unsigned(code, number & 0xff);
    } else {
        code.push(number as u8);
    }
}

impl From<u32> for MemArg {
    /// An offset of any alignment.
    fn from(offset: u32) -> MemArg {
        MemArg { offset, align: 0 }
    }
}

impl MemArg {
    fn encode(self, code: &mut Vec<u8>) {
        unsigned(code, self.align);
        unsigned(code, self.offset);
    }
}

/// LEB128 of an unsigned number.
fn unsigned(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// LEB128 of a signed number.
fn signed(bytes: &mut Vec<u8>, mut number: i32) {
    // The last byte's bit 6 is the sign.
    while !(-0x40..0x40).contains(&number) {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8 & 0x7f);
}

/// A name, or anything else that is preceded by its length in bytes.
fn sized(bytes: &mut Vec<u8>, content: &[u8]) {
    unsigned(bytes, content.len() as u32);
    bytes.extend_from_slice(content);
}

/// The body of a function.
pub struct Function(Vec<u8>);

impl Function {
    /// A body without code that has locals of these types.
    pub fn new(locals: &[ValType]) -> Function {
        let mut bytes = Vec::new();
        let runs = locals.chunk_by(|a, b| a == b);
        unsigned(&mut bytes, runs.clone().count() as u32);
        for run in runs {
            unsigned(&mut bytes, run.len() as u32);
            bytes.push(run[0] as u8);
        }
        Function(bytes)
    }

    /// Appends one instruction.
    pub fn instruction(&mut self, instruction: &Instruction) {
        instruction.encode(&mut self.0);
    }

    /// Appends instructions.
    pub fn instructions(&mut self, instructions: &[Instruction]) {
        instructions.iter().for_each(|instruction| self.instruction(instruction));
    }

    /// Appends code that is written already.
    pub fn raw(&mut self, code: &[u8]) {
        self.0.extend_from_slice(code);
    }
}

/// A section whose content is a list.
#[derive(Default)]
struct List {
    length: u32,
    bytes: Vec<u8>,
}

impl List {
    /// Counts one more entry, for whose bytes this is the place.
    fn entry(&mut self) -> &mut Vec<u8> {
        self.length += 1;
        &mut self.bytes
    }
}

/// The sections of a module that functions are added to.
#[derive(Default)]
pub struct Sections {
    signatures: Vec<(Vec<ValType>, Vec<ValType>)>,
    imports: List,
    functions: List,
    globals: List,
    exports: List,
    code: List,
    count: u32,
}

impl Sections {
    fn signature(&mut self, parameters: Vec<ValType>, results: Vec<ValType>) -> u32 {
        let signature = (parameters, results);
        let number = self.signatures.iter().position(|known| *known == signature).unwrap_or_else(|| {
            self.signatures.push(signature);
            self.signatures.len() - 1
        });
        number as u32
    }

    fn next(&mut self) -> u32 {
        self.count += 1;
        self.count - 1
    }

    fn import(&mut self, module: &str, name: &str, description: &[u8]) {
        let bytes = self.imports.entry();
        sized(bytes, module.as_bytes());
        sized(bytes, name.as_bytes());
        bytes.extend_from_slice(description);
    }

    /// Imports the memory of this module, of any size. That of several threads is shared, and then has a limit: all that can be addressed.
    pub fn import_memory(&mut self, module: &str, name: &str) {
        let mut description = vec![2, 0, 0];
        if are_several() {
            description[1] = 3;
            unsigned(&mut description, 1 << 16);
        }
        self.import(module, name, &description);
    }

    /// Imports a function, whose number this gives. Imports come before all functions of the module's own.
    pub fn import_function(
        &mut self,
        module: &str,
        name: &str,
        parameters: Vec<ValType>,
        results: Vec<ValType>,
    ) -> u32 {
        let mut description = vec![0];
        unsigned(&mut description, self.signature(parameters, results));
        self.import(module, name, &description);
        self.next()
    }

    /// Adds a function, whose number this gives.
    pub fn add(&mut self, parameters: Vec<ValType>, results: Vec<ValType>, function: &Function) -> u32 {
        let signature = self.signature(parameters, results);
        unsigned(self.functions.entry(), signature);
        sized(self.code.entry(), &function.0);
        self.next()
    }

    /// Adds a variable with a vector of two equal numbers.
    pub fn add_global(&mut self, value: f64) {
        let bits = u128::from(value.to_bits());
        self.add_vector(bits << 64 | bits);
    }

    /// Adds a variable of a number or a vector, 0 at first.
    pub fn add_variable(&mut self, kind: ValType) {
        if kind == ValType::V128 {
            return self.add_vector(0);
        }
        let bytes = self.globals.entry();
        bytes.push_all([kind as u8, 1]);
        match kind {
            ValType::I32 => Instruction::I32Const(0).encode(bytes),
            _ => Instruction::F64Const(0.0).encode(bytes),
        }
        END.encode(bytes);
    }

    /// Adds a variable with a vector.
    pub fn add_vector(&mut self, bits: u128) {
        let bytes = self.globals.entry();
        bytes.push_all([ValType::V128 as u8, 1]);
        Instruction::V128Const(bits).encode(bytes);
        END.encode(bytes);
    }

    /// Exports a function.
    pub fn export(&mut self, name: &str, function: u32) {
        let bytes = self.exports.entry();
        sized(bytes, name.as_bytes());
        bytes.push(0);
        unsigned(bytes, function);
    }

    /// The bytes of the module.
    pub fn finish(self) -> Vec<u8> {
        let mut types = List::default();
        for signature in &self.signatures {
            let bytes = types.entry();
            bytes.push(0x60);
            for values in [&signature.0, &signature.1] {
                unsigned(bytes, values.len() as u32);
                bytes.push_all(values.iter().map(|value| *value as u8));
            }
        }
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        for (number, list) in
            [(1, types), (2, self.imports), (3, self.functions), (6, self.globals), (7, self.exports), (10, self.code)]
        {
            let mut content = Vec::new();
            unsigned(&mut content, list.length);
            content.extend_from_slice(&list.bytes);
            module.push(number);
            sized(&mut module, &content);
        }
        module
    }
}
