//! The order of a module's functions. Brotli codes a copy of near bytes in fewer bits than one of far bytes, so similar functions stand side by
//! side: the compressed modules are some fortieth smaller (docs/decisions/0038).

use std::collections::HashMap;

use crate::binary::{CODE, CUSTOM, FUNCTION, IMPORTS, Reader, number, sized};
use crate::command::{Failure, Outcome};

/// How many bytes the sequences have by which functions are compared. With 5 and 6 the modules are as small to a quarter of a percent.
const SEQUENCE: usize = 4;

/// The subsection of the section of names that holds those of functions.
const OF_FUNCTIONS: u8 = 1;

/// The module with names in place of those it has, of which the alphabetical order is the order that its functions are to have.
pub fn name_by_order(module: &[u8]) -> Outcome<Vec<u8>> {
    let mut reader = Reader { bytes: module, position: 0 };
    let mut named = reader.take(8)?.to_vec();
    let (mut imports, mut bodies) = (0, Vec::new());
    while reader.position < module.len() {
        let id = reader.take(1)?[0];
        let content = reader.sized()?;
        let mut inner = Reader { bytes: content, position: 0 };
        match id {
            CUSTOM if inner.text()? == "name" => continue,
            IMPORTS => imports = functions_of(&mut inner)?,
            CODE => {
                for _ in 0..inner.number()? {
                    bodies.push(inner.sized()?);
                }
            }
            _ => (),
        }
        named.push(id);
        sized(&mut named, content);
    }
    let ranks = ranks(&bodies);
    let mut names = Vec::new();
    number(&mut names, imports + ranks.len() as u32);
    // Imports keep their order.
    let all = (0..imports as usize).map(|import| ('a', import)).chain(ranks.into_iter().map(|rank| ('b', rank)));
    for (function, (letter, rank)) in all.enumerate() {
        number(&mut names, function as u32);
        sized(&mut names, format!("{letter}{rank:06}").as_bytes());
    }
    let mut section = Vec::new();
    sized(&mut section, b"name");
    section.push(OF_FUNCTIONS);
    sized(&mut section, &names);
    named.push(CUSTOM);
    sized(&mut named, &section);
    Ok(named)
}

/// How many functions a section of imports has, which has nothing else.
fn functions_of(imports: &mut Reader) -> Outcome<u32> {
    let count = imports.number()?;
    for _ in 0..count {
        let (from, name) = (imports.text()?, imports.text()?);
        let kind = imports.take(1)?[0];
        if kind != FUNCTION {
            return Err(Failure(format!("the module imports {from} {name} of kind {kind}, which is no function")));
        }
        imports.number()?;
    }
    Ok(count)
}

/// The place of each function in the order: after each function stands that of the rest with the largest share of common sequences, the first of
/// several.
fn ranks(bodies: &[&[u8]]) -> Vec<usize> {
    let mut ids = HashMap::new();
    let (mut holders, mut sequences): (Vec<Vec<usize>>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
    for (function, body) in bodies.iter().enumerate() {
        let mut own = Vec::new();
        for sequence in body.windows(SEQUENCE) {
            let id = *ids.entry(sequence).or_insert(holders.len());
            if id == holders.len() {
                holders.push(Vec::new());
            }
            if holders[id].last() != Some(&function) {
                holders[id].push(function);
                own.push(id);
            }
        }
        sequences.push(own);
    }
    let mut ranks = vec![None; bodies.len()];
    let mut next = (!bodies.is_empty()).then_some(0);
    for rank in 0..bodies.len() {
        let Some(current) = next else { break };
        ranks[current] = Some(rank);
        let mut common = vec![0; bodies.len()];
        for sequence in &sequences[current] {
            for function in &holders[*sequence] {
                common[*function] += 1;
            }
        }
        let mut most = -1.0;
        next = None;
        for function in (0..bodies.len()).filter(|function| ranks[*function].is_none()) {
            let all = sequences[current].len() + sequences[function].len() - common[function];
            let share = f64::from(common[function] as u32) / all.max(1) as f64;
            if share > most {
                (most, next) = (share, Some(function));
            }
        }
    }
    ranks.into_iter().map(|rank| rank.expect("each step places one function")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_functions_are_neighbours() {
        let bodies: [&[u8]; 5] = [b"abcdefgh", b"12345678", b"xyz", b"abcdefgX", b"0012345678"];
        assert_eq!(ranks(&bodies), [0, 2, 4, 1, 3]);
        assert!(ranks(&[]).is_empty());
    }

    #[test]
    fn names_are_in_the_order_of_the_functions() {
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        let imports = [1, 1, b'm', 1, b'f', FUNCTION, 0];
        let code = [3, 4, b'a', b'b', b'c', b'd', 4, b'1', b'2', b'3', b'4', 5, b'a', b'b', b'c', b'd', b'e'];
        for (id, content) in [(IMPORTS, &imports[..]), (CODE, &code), (CUSTOM, b"\x04name\x01\x00")] {
            module.push(id);
            sized(&mut module, content);
        }
        let named = name_by_order(&module).expect("the module is whole");
        // The old section of names, the last 9 bytes, is replaced.
        let (kept, names) = named.split_at(module.len() - 9);
        assert_eq!(kept, &module[..module.len() - 9]);
        assert_eq!(names, b"\x00\x2c\x04name\x01\x25\x04\x00\x07a000000\x01\x07b000000\x02\x07b000002\x03\x07b000001");
        assert!(name_by_order(&module[..20]).is_err());
    }
}
