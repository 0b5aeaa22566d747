//! The binary format of WebAssembly, as far as modules are rewritten after wasm-opt: numbers in LEB128, contents after their length.

use crate::command::{Failure, Outcome};

/// The section of custom contents, that of imports and that of the functions' bodies.
pub const CUSTOM: u8 = 0;
pub const IMPORTS: u8 = 2;
pub const CODE: u8 = 10;

/// The kind of import that is a function.
pub const FUNCTION: u8 = 0;

/// Appends the LEB128 of a number.
pub fn number(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends contents after their length.
pub fn sized(bytes: &mut Vec<u8>, content: &[u8]) {
    number(bytes, content.len() as u32);
    bytes.extend_from_slice(content);
}

/// Reads the binary format.
pub struct Reader<'a> {
    pub bytes: &'a [u8],
    pub position: usize,
}

impl<'a> Reader<'a> {
    pub fn take(&mut self, count: usize) -> Outcome<&'a [u8]> {
        let taken = self.bytes.get(self.position..self.position + count);
        self.position += count;
        taken.ok_or_else(|| Failure("the module ends too early".to_owned()))
    }

    pub fn number(&mut self) -> Outcome<u32> {
        let mut number = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Failure("the module has a number of more than 32 bits".to_owned()))
    }

    pub fn sized(&mut self) -> Outcome<&'a [u8]> {
        let length = self.number()?;
        self.take(length as usize)
    }

    pub fn text(&mut self) -> Outcome<&'a str> {
        std::str::from_utf8(self.sized()?).map_err(|_| Failure("a name of the module is no text".to_owned()))
    }
}
