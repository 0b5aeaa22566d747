//! Numbers as decimal text. In a page the JavaScript engine writes them, which has the same need and has the code; elsewhere,
//! and so in native tests, Rust's standard library does. Both write as `core::fmt` does, but for numbers of very many digits,
//! which `core::fmt` writes without an exponent.

/// As few digits as tell the number from its neighbours.
pub fn shortest(value: f64) -> String {
    text::shortest(value)
}

/// As few digits as tell the number from its neighbours among the f32, with a point or an exponent.
pub fn shortest_single(value: f32) -> String {
    text::shortest_single(value)
}

/// With an exponent, and so many digits after the point; as few as [`shortest`] if that is `None`.
pub fn scientific(value: f64, digits: Option<usize>) -> String {
    text::scientific(value, digits)
}

/// Without an exponent, with so many digits after the point.
pub fn fixed(value: f64, digits: usize) -> String {
    text::fixed(value, digits)
}

#[cfg(not(target_arch = "wasm32"))]
mod text {
    pub fn shortest(value: f64) -> String {
        value.to_string()
    }

    pub fn shortest_single(value: f32) -> String {
        format!("{value:?}")
    }

    pub fn scientific(value: f64, digits: Option<usize>) -> String {
        match digits {
            Some(digits) => format!("{value:.digits$e}"),
            None => format!("{value:e}"),
        }
    }

    pub fn fixed(value: f64, digits: usize) -> String {
        format!("{value:.digits$}")
    }
}

#[cfg(target_arch = "wasm32")]
mod text {
    use wasm_bindgen::prelude::*;

    #[wasm_bindgen]
    extern "C" {
        type Number;
        #[wasm_bindgen(method, js_name = toString)]
        fn to_text(this: &Number) -> String;
        #[wasm_bindgen(method, js_name = toExponential)]
        fn to_exponential(this: &Number, digits: Option<u32>) -> String;
        #[wasm_bindgen(method, js_name = toFixed)]
        fn to_fixed(this: &Number, digits: u32) -> String;
        #[wasm_bindgen(method, js_name = toPrecision)]
        fn to_precision(this: &Number, digits: u32) -> String;
        #[wasm_bindgen(js_name = parseFloat)]
        fn parse(text: &str) -> f64;
    }

    fn number(value: f64) -> Number {
        JsValue::from_f64(value).unchecked_into()
    }

    /// JavaScript marks positive exponents.
    fn without_plus(text: String) -> String {
        text.chars().filter(|&c| c != '+').collect()
    }

    pub fn shortest(value: f64) -> String {
        without_plus(number(value).to_text())
    }

    pub fn shortest_single(value: f32) -> String {
        let wide = number(f64::from(value));
        // Nine digits tell all f32 apart.
        let rounded = (1..9).map(|digits| parse(&wide.to_precision(digits)));
        let short = rounded.into_iter().find(|&short| short as f32 == value);
        let mut text = shortest(short.unwrap_or_else(|| parse(&wide.to_precision(9))));
        if !text.contains(['.', 'e']) {
            text.push_str(".0");
        }
        text
    }

    pub fn scientific(value: f64, digits: Option<usize>) -> String {
        without_plus(number(value).to_exponential(digits.map(|digits| digits as u32)))
    }

    pub fn fixed(value: f64, digits: usize) -> String {
        number(value).to_fixed(digits as u32)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn numbers_are_written_as_the_standard_library_does() {
        for (value, expected) in [(0.0, "0"), (-1.5, "-1.5"), (0.1, "0.1"), (1e6, "1000000")] {
            assert_eq!(shortest(value), expected);
        }
        for (value, expected) in [(0.5, "0.5"), (-3.0, "-3.0"), (0.1, "0.1"), (1.0 / 3.0, "0.33333334"), (1e-7, "1e-7")]
        {
            assert_eq!(shortest_single(value), expected);
        }
        for (value, digits, expected) in [
            (1500.0, Some(2), "1.50e3"),
            (0.0, Some(6), "0.000000e0"),
            (-2e-9, Some(1), "-2.0e-9"),
            (1e-6, None, "1e-6"),
        ] {
            assert_eq!(scientific(value, digits), expected);
        }
        assert_eq!(fixed(2.0 / 3.0, 3), "0.667");
    }
}
