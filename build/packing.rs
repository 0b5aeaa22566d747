//! Texts in few bytes: what a text has had before is told by its place and length, as J. Ziv and A. Lempel do ("A Universal Algorithm for
//! Sequential Data Compression", 1977). A byte below 128 is itself; another says, in its lower bits, how much longer than
//! [`SHORTEST`] a repetition is, and two more bytes how far back it begins, the lower byte first. `src/codegen/wgsl/source.rs` reads it.

use std::collections::HashMap;

/// So many bytes has the shortest repetition: one more than it takes.
pub const SHORTEST: usize = 4;
const LONGEST: usize = SHORTEST + 127;

/// The text without comments, indentation and empty lines. There are no strings in WGSL that could hold what looks like a comment, and
/// no comments of the other kind in our files.
pub fn without_comments(source: &str) -> String {
    let code = source.lines().map(|line| line.split("//").next().unwrap_or_default().trim());
    code.filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
}

/// Packs ASCII text.
pub fn pack(text: &str) -> Vec<u8> {
    assert!(text.is_ascii(), "a byte from 128 on begins a repetition");
    let text = text.as_bytes();
    let mut packed = Vec::new();
    // Where each sequence of the shortest length has stood.
    let mut places: HashMap<&[u8], Vec<usize>> = HashMap::new();
    let mut position = 0;
    while position < text.len() {
        let common = |place: usize| {
            let pairs = text[place..].iter().zip(&text[position..]).take(LONGEST);
            pairs.take_while(|(before, now)| before == now).count()
        };
        let before = text.get(position..position + SHORTEST).and_then(|sequence| places.get(sequence));
        let near = before.into_iter().flatten().copied().filter(|place| position - place <= usize::from(u16::MAX));
        let length = match near.max_by_key(|&place| common(place)) {
            Some(place) => {
                packed.push(128 + (common(place) - SHORTEST) as u8);
                packed.extend(((position - place) as u16).to_le_bytes());
                common(place)
            }
            None => {
                packed.push(text[position]);
                1
            }
        };
        for place in position..position + length {
            if let Some(sequence) = text.get(place..place + SHORTEST) {
                places.entry(sequence).or_default().push(place);
            }
        }
        position += length;
    }
    packed
}
