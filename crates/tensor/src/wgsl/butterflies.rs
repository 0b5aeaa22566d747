//! Transforms of a few numbers as lines of WGSL, on names of `vec2<f32>`.

use residua_base::decimal;
use residua_base::list::Listed;
use residua_tensor_loops::fourier::root;

use super::code::Code;

/// Writes the transform Σⱼ xⱼ e^(−2πi jk/r) of so many numbers, and gives the names of the frequencies.
pub fn butterfly(x: &[String], code: &mut Code) -> Vec<String> {
    match x {
        [x] => vec![x.clone()],
        [a, b] => ["+", "-"].map(|sign| code.bind(&format!("{a} {sign} {b}"))).to_vec(),
        [a, b, c, d] => {
            let [s, t] = ["+", "-"].map(|sign| code.bind(&format!("{a} {sign} {c}")));
            let [u, w] = ["+", "-"].map(|sign| code.bind(&format!("{b} {sign} {d}")));
            let [first, third] = ["+", "-"].map(|sign| code.bind(&format!("{s} {sign} {u}")));
            let [second, fourth] = ["+", "-"].map(|sign| code.bind(&format!("{t} {sign} vec2<f32>({w}.y, -{w}.x)")));
            vec![first, second, third, fourth]
        }
        _ if x.len().is_multiple_of(4) => of_columns(x, 4, code),
        _ => odd(x, code),
    }
}

/// By transforms of columns, turns, and transforms of rows.
fn of_columns(x: &[String], rows: usize, code: &mut Code) -> Vec<String> {
    let columns = x.len() / rows;
    let mut parts: Vec<Vec<String>> = vec![Vec::new(); rows];
    for column in 0..columns {
        let own: Vec<String> = (0..rows).map(|row| x[row * columns + column].clone()).list();
        for (k, found) in butterfly(&own, code).into_iter().enumerate() {
            parts[k].push(turned(&found, k * column, x.len(), code));
        }
    }
    let found: Vec<Vec<String>> = parts.iter().map(|part| butterfly(part, code)).list();
    (0..x.len()).map(|k| found[k % rows][k / rows].clone()).list()
}

/// A number times e^(−2πi part/whole), a turn by less than a half.
fn turned(x: &str, part: usize, whole: usize, code: &mut Code) -> String {
    match 8 * part / whole {
        _ if part == 0 => x.to_owned(),
        2 if 4 * part == whole => code.bind(&format!("vec2<f32>({x}.y, -{x}.x)")),
        _ => {
            let [re, im] = root(part as u64, whole as u64).map(number);
            code.bind(&format!("turned({x}, vec2<f32>({re}, {im}))"))
        }
    }
}

/// Sums and differences of numbers at opposite places have real factors.
fn odd(x: &[String], code: &mut Code) -> Vec<String> {
    let (length, half) = (x.len(), x.len() / 2);
    let mut pairs = Vec::with_capacity(half);
    for j in 1..=half {
        pairs.push(["+", "-"].map(|sign| code.bind(&format!("{} {sign} {}", x[j], x[length - j]))));
    }
    let sums = pairs.iter().map(|[sum, _]| sum.as_str()).list();
    let mut found = vec![String::new(); length];
    found[0] = code.bind(&format!("{} + ({})", x[0], sums.join(" + ")));
    for k in 1..=half {
        let terms = |part: usize| {
            let factor = |j: usize| {
                let [cos, minus_sin] = root((j * k % length) as u64, length as u64);
                number(if part == 0 { cos } else { -minus_sin })
            };
            let term = |(pair, j): (&[String; 2], usize)| format!("{} * {}", pair[part], factor(j));
            pairs.iter().zip(1..).map(term).list().join(" + ")
        };
        let even = code.bind(&format!("{} + ({})", x[0], terms(0)));
        let odd = code.bind(&terms(1));
        found[k] = code.bind(&format!("{even} + vec2<f32>({odd}.y, -{odd}.x)"));
        found[length - k] = code.bind(&format!("{even} - vec2<f32>({odd}.y, -{odd}.x)"));
    }
    found
}

/// A literal of the nearest f32.
pub fn number(number: f64) -> String {
    format!("{}f", decimal::shortest_single(number as f32))
}
