//! Code that is unrolled, written by patterns: the same line again and again with other numbers in it. (A `format!` for each would
//! be the larger part of the module's code.)

/// The numbers of a line.
pub type Numbers = [usize; 3];

/// Appends a pattern with numbers in place of `$0`, `$1`, `$2`.
pub fn fill(text: &mut String, pattern: &str, numbers: &[usize]) {
    let mut place = false;
    for character in pattern.chars() {
        match character.to_digit(10) {
            Some(digit) if place => text.push_str(&numbers[digit as usize].to_string()),
            _ if character != '$' => text.push(character),
            _ => {}
        }
        place = character == '$';
    }
}

/// A pattern with numbers in place of `$0`, `$1`, `$2`.
pub fn filled(pattern: &str, numbers: &[usize]) -> String {
    let mut text = String::new();
    fill(&mut text, pattern, numbers);
    text
}

/// Appends a pattern once for each line's numbers, with something in between.
pub fn each(text: &mut String, pattern: &str, lines: &[Numbers], between: &str) {
    for (position, numbers) in lines.iter().enumerate() {
        if position > 0 {
            text.push_str(between);
        }
        fill(text, pattern, numbers);
    }
}

/// A number as WGSL has it.
pub fn float(number: f64) -> String {
    residua_base::decimal::shortest_single(number as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_in_their_places_and_lines_have_something_in_between() {
        assert_eq!(filled("h$1_$0 = 0.5 * $2.0;", &[3, 14, 15]), "h14_3 = 0.5 * 15.0;");
        let mut text = "sum: ".to_owned();
        each(&mut text, "a$0 * b$1", &[[0, 1, 0], [2, 3, 0]], " + ");
        assert_eq!(text, "sum: a0 * b1 + a2 * b3");
        each(&mut text, "a$0", &[], ", ");
        assert_eq!(text, "sum: a0 * b1 + a2 * b3");
    }
}
