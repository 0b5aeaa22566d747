//! The part of WebAssembly's binary format that generated modules use: instructions, function bodies, sections.
//!
//! Numbers of opcodes and sections are those of the core specification, chapter "Binary Format". The instructions on four lanes of 32 bits, which
//! the tensor module alone writes, are constants in [`lanes`].

use residua_base::list::PushAll;
pub mod lanes;

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

/// The instructions that are written, by their names in the specification; blocks neither take nor give values.
#[allow(missing_docs, reason = "the specification describes them")]
#[derive(Clone, Debug)]
pub enum Instruction {
    Unreachable,
    Block,
    Loop,
    If,
    Else,
    End,
    Br(u32),
    BrIf(u32),
    BrTable(Vec<u32>, u32),
    Return,
    Call(u32),
    Drop,
    Select,
    LocalGet(u32),
    LocalSet(u32),
    LocalTee(u32),
    GlobalGet(u32),
    GlobalSet(u32),
    I32Load(MemArg),
    I32Store(MemArg),
    F64Load(MemArg),
    F64Store(MemArg),
    I32Const(i32),
    F64Const(f64),
    I32Eqz,
    I32LtU,
    I32GeU,
    F64Eq,
    F64Ne,
    F64Lt,
    F64Gt,
    F64Le,
    F64Ge,
    I32Add,
    I32Sub,
    I32Mul,
    I32And,
    I32Or,
    I32Shl,
    F64Abs,
    F64Neg,
    F64Ceil,
    F64Floor,
    F64Sqrt,
    F64Add,
    F64Sub,
    F64Mul,
    F64Div,
    F64Min,
    F64Max,
    F64Copysign,
    F64ConvertI32U,
    I32TruncSatF64U,
    V128Load(MemArg),
    V128Load64Splat(MemArg),
    V128Load64Zero(MemArg),
    V128Load64Lane {
        memarg: MemArg,
        lane: u8,
    },
    V128Store(MemArg),
    V128Const(u128),
    /// Two of the four numbers in two vectors, as the lanes of one.
    Shuffle([u8; 2]),
    V128And,
    V128Xor,
    V128AnyTrue,
    I64x2Shl,
    I64x2ShrU,
    I64x2Neg,
    I64x2Add,
    I32x4ExtractLane(u8),
    V128Bitselect,
    F64x2Splat,
    F64x2ExtractLane(u8),
    F64x2ReplaceLane(u8),
    F64x2Eq,
    F64x2Ne,
    F64x2Lt,
    F64x2Gt,
    F64x2Le,
    F64x2Ge,
    F64x2Abs,
    F64x2Neg,
    F64x2Sqrt,
    F64x2Add,
    F64x2Sub,
    F64x2Mul,
    F64x2Div,
    F64x2Min,
    F64x2Max,
    F64x2PseudoMin,
    F64x2PseudoMax,
    F64x2Ceil,
    F64x2Floor,
    /// An instruction without immediates, by its opcode: see [`lanes`].
    Plain(u32),
    /// An instruction with a place in memory.
    Memory(u32, MemArg),
    /// An instruction with a place in memory and a lane.
    MemoryLane(u32, MemArg, u8),
    /// An instruction with a lane.
    Lane(u32, u8),
    /// Any bytes of two vectors.
    ShuffleBytes([u8; 16]),
}

/// The prefix of vector instructions, and of saturating conversions.
const VECTOR: u32 = 0xfd00;
const SATURATING: u32 = 0xfc00;

/// The type of a block that neither takes nor gives values.
const EMPTY: u8 = 0x40;

impl Instruction {
    /// The opcode, below its prefix where it has one.
    fn opcode(&self) -> u32 {
        use Instruction as I;
        match self {
            I::Unreachable => 0x00,
            I::Block => 0x02,
            I::Loop => 0x03,
            I::If => 0x04,
            I::Else => 0x05,
            I::End => 0x0b,
            I::Br(_) => 0x0c,
            I::BrIf(_) => 0x0d,
            I::BrTable(..) => 0x0e,
            I::Return => 0x0f,
            I::Call(_) => 0x10,
            I::Drop => 0x1a,
            I::Select => 0x1b,
            I::LocalGet(_) => 0x20,
            I::LocalSet(_) => 0x21,
            I::LocalTee(_) => 0x22,
            I::GlobalGet(_) => 0x23,
            I::GlobalSet(_) => 0x24,
            I::I32Load(_) => 0x28,
            I::I32Store(_) => 0x36,
            I::F64Load(_) => 0x2b,
            I::F64Store(_) => 0x39,
            I::I32Const(_) => 0x41,
            I::F64Const(_) => 0x44,
            I::I32Eqz => 0x45,
            I::I32LtU => 0x49,
            I::I32GeU => 0x4f,
            I::F64Eq => 0x61,
            I::F64Ne => 0x62,
            I::F64Lt => 0x63,
            I::F64Gt => 0x64,
            I::F64Le => 0x65,
            I::F64Ge => 0x66,
            I::I32Add => 0x6a,
            I::I32Sub => 0x6b,
            I::I32Mul => 0x6c,
            I::I32And => 0x71,
            I::I32Or => 0x72,
            I::I32Shl => 0x74,
            I::F64Abs => 0x99,
            I::F64Neg => 0x9a,
            I::F64Ceil => 0x9b,
            I::F64Floor => 0x9c,
            I::F64Sqrt => 0x9f,
            I::F64Add => 0xa0,
            I::F64Sub => 0xa1,
            I::F64Mul => 0xa2,
            I::F64Div => 0xa3,
            I::F64Min => 0xa4,
            I::F64Max => 0xa5,
            I::F64Copysign => 0xa6,
            I::F64ConvertI32U => 0xb8,
            I::I32TruncSatF64U => SATURATING | 3,
            I::V128Load(_) => VECTOR,
            I::V128Load64Splat(_) => VECTOR | 10,
            I::V128Store(_) => VECTOR | 11,
            I::V128Const(_) => VECTOR | 12,
            I::Shuffle(_) => VECTOR | 13,
            I::F64x2Splat => VECTOR | 20,
            I::F64x2ExtractLane(_) => VECTOR | 33,
            I::F64x2ReplaceLane(_) => VECTOR | 34,
            I::F64x2Eq => VECTOR | 71,
            I::F64x2Ne => VECTOR | 72,
            I::F64x2Lt => VECTOR | 73,
            I::F64x2Gt => VECTOR | 74,
            I::F64x2Le => VECTOR | 75,
            I::F64x2Ge => VECTOR | 76,
            I::V128And => VECTOR | 78,
            I::V128Xor => VECTOR | 81,
            I::V128AnyTrue => VECTOR | 83,
            I::I64x2Shl => VECTOR | 203,
            I::I64x2ShrU => VECTOR | 205,
            I::I64x2Neg => VECTOR | 193,
            I::I64x2Add => VECTOR | 206,
            I::I32x4ExtractLane(_) => VECTOR | 27,
            I::V128Bitselect => VECTOR | 82,
            I::V128Load64Lane { .. } => VECTOR | 87,
            I::V128Load64Zero(_) => VECTOR | 93,
            I::F64x2Ceil => VECTOR | 116,
            I::F64x2Floor => VECTOR | 117,
            I::F64x2Abs => VECTOR | 236,
            I::F64x2Neg => VECTOR | 237,
            I::F64x2Sqrt => VECTOR | 239,
            I::F64x2Add => VECTOR | 240,
            I::F64x2Sub => VECTOR | 241,
            I::F64x2Mul => VECTOR | 242,
            I::F64x2Div => VECTOR | 243,
            I::F64x2Min => VECTOR | 244,
            I::F64x2Max => VECTOR | 245,
            I::F64x2PseudoMin => VECTOR | 246,
            I::F64x2PseudoMax => VECTOR | 247,
            // These say their opcode themselves; a constant here leaves this match a table.
            I::Plain(_) | I::Memory(..) | I::MemoryLane(..) | I::Lane(..) => 0,
            I::ShuffleBytes(_) => VECTOR | 13,
        }
    }

    /// Appends the instruction to code.
    pub fn encode(&self, code: &mut Vec<u8>) {
        use Instruction as I;
        let opcode = match self {
            I::Plain(opcode) | I::Memory(opcode, _) | I::MemoryLane(opcode, ..) | I::Lane(opcode, _) => *opcode,
            _ => self.opcode(),
        };
        if opcode < 0x100 {
            code.push(opcode as u8);
        } else {
            code.push((opcode >> 8) as u8);
            unsigned(code, opcode & 0xff);
        }
        match self {
            I::Block | I::Loop | I::If => code.push(EMPTY),
            I::Br(number) | I::BrIf(number) | I::Call(number) => unsigned(code, *number),
            I::LocalGet(number)
            | I::LocalSet(number)
            | I::LocalTee(number)
            | I::GlobalGet(number)
            | I::GlobalSet(number) => {
                unsigned(code, *number);
            }
            I::BrTable(labels, otherwise) => {
                unsigned(code, labels.len() as u32);
                for label in labels.iter().chain([otherwise]) {
                    unsigned(code, *label);
                }
            }
            I::I32Load(place) | I::I32Store(place) | I::F64Load(place) | I::F64Store(place) => place.encode(code),
            I::V128Load(place) | I::V128Store(place) => place.encode(code),
            I::V128Load64Splat(place) | I::V128Load64Zero(place) => place.encode(code),
            I::V128Load64Lane { memarg, lane } => {
                memarg.encode(code);
                code.push(*lane);
            }
            I::I32Const(number) => signed(code, *number),
            I::F64Const(number) => code.extend_from_slice(&number.to_le_bytes()),
            I::V128Const(bits) => code.extend_from_slice(&bits.to_le_bytes()),
            I::Shuffle(numbers) => numbers.iter().for_each(|number| code.push_all(8 * number..8 * number + 8)),
            I::I32x4ExtractLane(lane) | I::F64x2ExtractLane(lane) | I::F64x2ReplaceLane(lane) => code.push(*lane),
            I::Memory(_, place) => place.encode(code),
            I::MemoryLane(_, place, lane) => {
                place.encode(code);
                code.push(*lane);
            }
            I::Lane(_, lane) => code.push(*lane),
            I::ShuffleBytes(bytes) => code.extend_from_slice(bytes),
            // All others are their opcodes alone.
            _ => {}
        }
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

    /// Imports a memory, of any size.
    pub fn import_memory(&mut self, module: &str, name: &str) {
        self.import(module, name, &[2, 0, 0]);
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
        bytes.push_all([ValType::F64 as u8, 1]);
        Instruction::F64Const(0.0).encode(bytes);
        Instruction::End.encode(bytes);
    }

    /// Adds a variable with a vector.
    pub fn add_vector(&mut self, bits: u128) {
        let bytes = self.globals.entry();
        bytes.push_all([ValType::V128 as u8, 1]);
        Instruction::V128Const(bits).encode(bytes);
        Instruction::End.encode(bytes);
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
