//! Least-squares problems with different shapes of parameters, for the solvers.
// Not every test file needs every problem.
#![allow(dead_code, clippy::unwrap_used)]

use residua::model::Model;
use residua_ir::graph::Op;

use crate::recorder::{Recorder, compiled, model, problem};

/// A small multiplicative congruential generator (Lehmer; Park and Miller 1988): the same numbers every run.
pub struct Random(pub u64);

impl Random {
    /// The next number between two.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0 * 48_271 % 0x7fff_ffff;
        f64::from((low + (high - low) * (self.0 as f64 / 0x7fff_ffff as f64)) as f32)
    }
}

/// 10(x₁ − x₀²), 1 − x₀.
pub fn rosenbrock() -> Model {
    let mut r = Recorder::default();
    let (x, y) = (r.parameter(0), r.parameter(1));
    let square = r.apply(Op::Mul, &[x, x]);
    let valley = r.apply(Op::Sub, &[y, square]);
    let ten = r.constant(10.0);
    let first = r.apply(Op::Mul, &[ten, valley]);
    let one = r.constant(1.0);
    let second = r.apply(Op::Sub, &[one, x]);
    let tape = r.tape(vec![first, second], 2, 0);
    model(2, 1, "euclidean", vec![0], vec![0], Vec::new(), tape)
}

/// √x₀, x₁ − 2.
pub fn root_and_line() -> Model {
    let mut r = Recorder::default();
    let (x, y) = (r.parameter(0), r.parameter(1));
    let first = r.apply(Op::Sqrt, &[x]);
    let two = r.constant(2.0);
    let second = r.apply(Op::Sub, &[y, two]);
    let tape = r.tape(vec![first, second], 2, 0);
    model(2, 1, "euclidean", vec![0], vec![0], Vec::new(), tape)
}

/// Springs of rest length 1 on a grid.
pub fn springs(side: u32) -> Model {
    grid(side, Edge::Spring)
}

/// A residual function of two points a and b.
#[derive(Clone, Copy, Debug)]
pub enum Edge {
    /// |a − b| − 1: one residual, whose derivatives by b are the negatives of those by a.
    Spring,
    /// Σ (aₖ − bₖ²/10) − 1: one residual, whose derivatives by b are others than those by a.
    Uneven,
    /// aₖ − bₖ − aₖbₖ/10: three residuals.
    Differences,
}

impl Edge {
    fn record(self, r: &mut Recorder) -> Vec<u32> {
        if let Edge::Spring = self {
            let squared = r.squared_distance();
            let (length, rest) = (r.apply(Op::Sqrt, &[squared]), r.constant(1.0));
            return vec![r.apply(Op::Sub, &[length, rest])];
        }
        let ends: Vec<u32> = (0..6).map(|number| r.parameter(number)).collect();
        let tenth = r.constant(0.1);
        let mut terms = Vec::new();
        for k in 0..3 {
            let (a, b) = (ends[k], ends[k + 3]);
            let (first, factor) = match self {
                Edge::Differences => (r.apply(Op::Sub, &[a, b]), a),
                Edge::Spring | Edge::Uneven => (a, b),
            };
            let product = r.apply(Op::Mul, &[factor, b]);
            let small = r.apply(Op::Mul, &[tenth, product]);
            terms.push(r.apply(Op::Sub, &[first, small]));
        }
        if let Edge::Differences = self {
            return terms;
        }
        let sum = r.apply(Op::Add, &[terms[0], terms[1]]);
        let (sum, one) = (r.apply(Op::Add, &[sum, terms[2]]), r.constant(1.0));
        vec![r.apply(Op::Sub, &[sum, one])]
    }
}

/// Residuals of the edges of a grid: each vertex with its right, lower and lower-right neighbour.
pub fn grid(side: u32, edge: Edge) -> Model {
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for i in 0..side {
        for j in 0..side {
            for (di, dj) in [(0, 1), (1, 0), (1, 1)] {
                if i + di < side && j + dj < side {
                    from.push(i * side + j);
                    to.push((i + di) * side + j + dj);
                }
            }
        }
    }
    let mut r = Recorder::default();
    let outputs = edge.record(&mut r);
    let tape = r.tape(outputs, 6, 0);
    let indices = from.into_iter().chain(to).collect();
    model(3, side * side, "euclidean", vec![0, 0], indices, Vec::new(), tape)
}

/// So many numbers between 0 and 10.
pub fn scattered(numbers: u32) -> Vec<f64> {
    let mut random = Random(17);
    (0..numbers).map(|_| random.uniform(0.0, 10.0)).collect()
}

/// BoxBOD of NIST: a rise b₁(1 − exp(−b₂t)) through six points.
pub fn rise() -> Model {
    rises([1, 2], 1)
}

/// The same by each of the first of so many blocks of so many numbers, of which it reads two. Heights grow by a hundredth from fit to fit: those of
/// equal fits round alike.
pub fn rises([blocks, dim]: [u32; 2], fits: u32) -> Model {
    let mut r = Recorder::default();
    let b: Vec<u32> = (0..2).map(|number| r.parameter(number)).collect();
    let (t, y) = (r.data(0), r.data(1));
    let product = r.apply(Op::Mul, &[b[1], t]);
    let exponent = r.apply(Op::Neg, &[product]);
    let power = r.apply(Op::Exp, &[exponent]);
    let one = r.constant(1.0);
    let share = r.apply(Op::Sub, &[one, power]);
    let value = r.apply(Op::Mul, &[b[0], share]);
    let residual = r.apply(Op::Sub, &[value, y]);
    let tape = r.tape(vec![residual], dim, 2);
    let (times, heights) = ([1.0, 2.0, 3.0, 5.0, 7.0, 10.0], [109.0, 149.0, 149.0, 191.0, 213.0, 224.0]);
    let measured = (0..fits).flat_map(|fit| heights.map(|height| (1.0 + 0.01 * f64::from(fit)) * height));
    let data = times.repeat(fits as usize).into_iter().chain(measured).collect();
    let indices = (0..fits).flat_map(|fit| [fit; 6]).collect();
    model(dim, blocks, "euclidean", vec![0], indices, data, tape)
}

/// c₀ exp(−c₁ t) + c₂ − y for samples of such a curve.
pub fn curve(samples: u32) -> Model {
    curve_among([1, 3], samples)
}

/// The same by the first of so many blocks of so many numbers, of which it reads three.
pub fn curve_among([blocks, dim]: [u32; 2], samples: u32) -> Model {
    let mut r = Recorder::default();
    let c: Vec<u32> = (0..3).map(|number| r.parameter(number)).collect();
    let (t, y) = (r.data(0), r.data(1));
    let product = r.apply(Op::Mul, &[c[1], t]);
    let exponent = r.apply(Op::Neg, &[product]);
    let power = r.apply(Op::Exp, &[exponent]);
    let scaled = r.apply(Op::Mul, &[c[0], power]);
    let value = r.apply(Op::Add, &[scaled, c[2]]);
    let residual = r.apply(Op::Sub, &[value, y]);
    let tape = r.tape(vec![residual], dim, 2);
    let times: Vec<f64> = (0..samples).map(|i| 0.05 * f64::from(i)).collect();
    let values = times.iter().map(|t| 2.0 * (-1.3 * t).exp() + 0.5 + 0.01 * (7.0 * t).sin());
    let data = times.iter().copied().chain(values).map(|number| f64::from(number as f32)).collect();
    model(dim, blocks, "euclidean", vec![0], vec![0; samples as usize], data, tape)
}

/// Quaternions whose numbers are to be those of another, times what is given.
pub fn quaternions(count: u32) -> (Model, Vec<f64>) {
    let mut r = Recorder::default();
    let q: Vec<u32> = (0..4).map(|number| r.parameter(number)).collect();
    let wanted: Vec<u32> = (0..4).map(|number| r.data(number)).collect();
    let outputs = (0..4).map(|k| r.apply(Op::Sub, &[q[k], wanted[k]])).collect();
    let tape = r.tape(outputs, 4, 4);
    let mut random = Random(5);
    let mut columns = vec![Vec::new(); 4];
    for _ in 0..count {
        let numbers: Vec<f64> = (0..4).map(|_| random.uniform(0.2, 1.0)).collect();
        let norm = numbers.iter().map(|q| q * q).sum::<f64>().sqrt();
        for (column, number) in columns.iter_mut().zip(numbers) {
            column.push(f64::from((number / norm) as f32));
        }
    }
    let x = (0..count).flat_map(|_| [1.0, 0.0, 0.0, 0.0]).collect();
    let indices = (0..count).collect();
    (model(4, count, "unit-quaternion", vec![0], indices, columns.concat(), tape), x)
}

/// Σ dₖxₖ + x₀²/10 at blocks of twelve numbers, with twenty sets of factors d each, which is to be what it is at x = `wanted`.
pub fn twelve_numbers(wanted: &[f64]) -> Model {
    const NUMBERS: u32 = 12;
    const EACH: u32 = 20;
    let mut r = Recorder::default();
    let x: Vec<u32> = (0..NUMBERS).map(|number| r.parameter(number)).collect();
    let tenth = r.constant(0.1);
    let square = r.apply(Op::Mul, &[x[0], x[0]]);
    let mut sum = r.apply(Op::Mul, &[tenth, square]);
    for k in 0..NUMBERS {
        let factor = r.data(k);
        let term = r.apply(Op::Mul, &[factor, x[k as usize]]);
        sum = r.apply(Op::Add, &[sum, term]);
    }
    let value = r.data(NUMBERS);
    let residual = r.apply(Op::Sub, &[sum, value]);
    let tape = r.tape(vec![residual], NUMBERS, NUMBERS + 1);
    let count = wanted.len() as u32 / NUMBERS;
    let mut random = Random(29);
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); NUMBERS as usize + 1];
    for instance in 0..EACH * count {
        let block = &wanted[(instance / EACH * NUMBERS) as usize..][..NUMBERS as usize];
        let mut value = 0.1 * block[0] * block[0];
        for (column, x) in columns.iter_mut().zip(block) {
            let factor = random.uniform(-1.0, 1.0);
            column.push(factor);
            value += factor * x;
        }
        columns[NUMBERS as usize].push(f64::from(value as f32));
    }
    let indices = (0..EACH * count).map(|instance| instance / EACH).collect();
    model(NUMBERS, count, "euclidean", vec![0], indices, columns.concat(), tape)
}

/// Factors that many share, and pairs of numbers of which each belongs to one: a·b₀ − y₀, c + b₁ + b₁³ − y₁, b₀ − b₁ − y₂.
pub fn shared(pairs: u32) -> Model {
    const SHARED: u32 = 2;
    let mut r = Recorder::default();
    let x: Vec<u32> = (0..4).map(|number| r.parameter(number)).collect();
    let product = r.apply(Op::Mul, &[x[0], x[2]]);
    let square = r.apply(Op::Mul, &[x[3], x[3]]);
    let cube = r.apply(Op::Mul, &[square, x[3]]);
    let rising = r.apply(Op::Add, &[x[3], cube]);
    let shifted = r.apply(Op::Add, &[x[1], rising]);
    let difference = r.apply(Op::Sub, &[x[2], x[3]]);
    let outputs = [product, shifted, difference]
        .into_iter()
        .enumerate()
        .map(|(k, value)| {
            let y = r.data(k as u32);
            r.apply(Op::Sub, &[value, y])
        })
        .collect();
    let tape = r.tape(outputs, 4, 3);
    let mut random = Random(23);
    let mut input = problem(&[("factors", 2, SHARED, "euclidean"), ("pairs", 2, pairs, "euclidean")]);
    let indices = (0..pairs).map(|i| i % SHARED).chain(0..pairs).collect();
    let data = (0..3 * pairs).map(|_| random.uniform(0.5, 2.0)).collect();
    input.add_residuals("r", vec![0, 1], indices, data, tape).unwrap();
    compiled(input)
}

/// a + b·t − y at ten times, ten apart from the first. A line of slope 0.01 with deviations of hundredths.
pub fn line_over_times(first: f64) -> Model {
    let mut r = Recorder::default();
    let (a, b) = (r.parameter(0), r.parameter(1));
    let (t, y) = (r.data(0), r.data(1));
    let product = r.apply(Op::Mul, &[b, t]);
    let value = r.apply(Op::Add, &[a, product]);
    let residual = r.apply(Op::Sub, &[value, y]);
    let tape = r.tape(vec![residual], 2, 2);
    let since = (0..10).map(|i| 10.0 * f64::from(i));
    let heights = since.clone().enumerate().map(|(i, since)| 0.01 * since + 0.02 * (7.0 * i as f64).sin());
    let data = since.map(|since| first + since).chain(heights).collect();
    model(2, 1, "euclidean", vec![0], vec![0; 10], data, tape)
}
