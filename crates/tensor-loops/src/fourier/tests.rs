use super::{FourierTransform, Results, RowNumbers, TransformKind, TransformMemory};

/// cos and −sin of a part of a turn, by the standard library.
fn root(part: u64, whole: u64) -> [f64; 2] {
    let (sin, cos) = (std::f64::consts::TAU * part as f64 / whole as f64).sin_cos();
    [cos, -sin]
}

/// Numbers between −1 and 1 of a sequence of its own.
fn noise(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as f32 / (1u64 << 31) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// The transform by its definition, in f64, each frequency by itself.
fn reference(x: &[[f64; 2]], inverse: bool) -> Vec<[f64; 2]> {
    let n = x.len() as u64;
    let roots: Vec<[f64; 2]> = (0..n).map(|k| root(k, n)).collect();
    let frequency = |k: u64| {
        x.iter().zip(0..).fold([0.0; 2], |[a, b], ([re, im], j): (_, u64)| {
            let [cos, sin] = roots[(j * k % n) as usize];
            let sin = if inverse { -sin } else { sin };
            [a + re * cos - im * sin, b + re * sin + im * cos]
        })
    };
    (0..n).map(frequency).collect()
}

/// The Euclidean norm of the difference beside that of what is expected.
fn error(found: &[[f32; 2]], expected: &[[f64; 2]]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let mut sums = [0.0; 2];
    for (found, expected) in found.iter().zip(expected) {
        for part in 0..2 {
            sums[0] += (f64::from(found[part]) - expected[part]).powi(2);
            sums[1] += expected[part].powi(2);
        }
    }
    if sums[1] == 0.0 { sums[0] } else { (sums[0] / sums[1]).sqrt() }
}

/// The largest error that is promised for any length, of a transform in f32 with rounded roots.
const MOST_ERROR: f64 = 4e-7;

/// How the rows of a test lie: from number to number, and from row to row, in complex numbers.
fn layouts(n: usize, rows: usize) -> [[usize; 2]; 3] {
    [[1, n + 1], [rows, 1], [2 * rows + 1, 2]]
}

/// Transforms rows of each kind, in each layout.
fn check(n: usize, rows: usize) {
    for [stride, distance] in layouts(n, rows) {
        let size = 2 * ((n - 1) * stride + (rows - 1) * distance + 1);
        let values = noise(size, n as u32);
        let starts: Vec<usize> = (0..rows).map(|row| 2 * row * distance).collect();
        let ends: Vec<usize> = starts.iter().map(|start| start + 1).collect();
        let part = |starts| RowNumbers { values: &values, starts, stride: 2 * stride };
        let at = |row: usize, place: usize| 2 * (row * distance + place * stride);
        let complex = |row: usize, j: usize| [f64::from(values[at(row, j)]), f64::from(values[at(row, j) + 1])];
        let real = |row: usize, j: usize| [f64::from(values[at(row, j)]), 0.0];
        let half = n / 2 + 1;
        // The spectrum that half of it stands for.
        let whole = |row: usize, k: usize| {
            let [re, im] = complex(row, k.min(n - k));
            [
                re,
                if (2 * k).is_multiple_of(n) {
                    0.0
                } else if k < half {
                    im
                } else {
                    -im
                },
            ]
        };
        let kinds = [
            (TransformKind::Complex { inverse: false }, n),
            (TransformKind::Complex { inverse: true }, n),
            (TransformKind::Whole { inverse: false }, n),
            (TransformKind::Whole { inverse: true }, n),
            (TransformKind::Half, half),
            (TransformKind::Real, n),
        ];
        for (kind, count) in kinds {
            let fourier = FourierTransform::new(n, kind, 0.5).unwrap();
            let has_parts = matches!(kind, TransformKind::Complex { .. } | TransformKind::Real);
            let mut values = vec![7.0; size];
            let mut to = Results { values: &mut values, starts: &starts, stride: 2 * stride };
            fourier.run(part(&starts), has_parts.then_some(part(&ends)), &mut to, &mut TransformMemory::default());
            for row in 0..rows {
                let (x, inverse): (Vec<_>, bool) = match kind {
                    TransformKind::Complex { inverse } => ((0..n).map(|j| complex(row, j)).collect(), inverse),
                    TransformKind::Whole { inverse } => ((0..n).map(|j| real(row, j)).collect(), inverse),
                    TransformKind::Half => ((0..n).map(|j| real(row, j)).collect(), false),
                    TransformKind::Real => ((0..n).map(|k| whole(row, k)).collect(), true),
                };
                let mut expected = reference(&x, inverse);
                expected.truncate(count);
                expected.iter_mut().flatten().for_each(|part| *part *= 0.5);
                let found: Vec<[f32; 2]> = (0..count)
                    .map(|k| {
                        [values[at(row, k)], if kind == TransformKind::Real { 0.0 } else { values[at(row, k) + 1] }]
                    })
                    .collect();
                let error = error(&found, &expected);
                assert!(error <= MOST_ERROR, "{kind:?} of {n}, row {row} of {rows}, stride {stride}: {error}");
            }
        }
    }
}

#[test]
fn transforms_are_those_of_the_definition() {
    for n in 1..=64 {
        if super::radices(n).is_some() {
            [1, 2, 4, 7].into_iter().for_each(|rows| check(n, rows));
        }
    }
    for n in [65, 77, 91, 96, 121, 128, 143, 169, 240, 243, 256, 343, 512, 625] {
        check(n, 5);
    }
    for n in [1000, 1001, 1024, 1331] {
        check(n, 1);
    }
}

#[test]
fn lengths_with_larger_prime_factors_have_none() {
    for n in [0, 17, 34, 1_000_003] {
        assert!(FourierTransform::new(n, TransformKind::Half, 1.0).is_none(), "{n}");
    }
}

#[test]
fn long_transforms_are_those_of_waves() {
    // A sum of a few waves with known amplitudes, and noise that is transformed back.
    for n in [1usize << 15, 3usize.pow(9), 2 * 3 * 5 * 7 * 11 * 13, 1 << 17] {
        let waves = [(0, 1.0), (1, -0.5), (n / 3, 0.25), (n - 1, 2.0)];
        let mut x = vec![0f32; 2 * n];
        for j in 0..n {
            for (k, amplitude) in waves {
                let [cos, sin] = root((j as u64 * k as u64) % n as u64, n as u64);
                x[2 * j] += (amplitude * cos) as f32;
                x[2 * j + 1] -= (amplitude * sin) as f32;
            }
        }
        let run = |x: &[f32], inverse: bool, scale: f32| {
            let mut found = vec![0f32; 2 * n];
            let part = |start: &'static [usize]| RowNumbers { values: x, starts: start, stride: 2 };
            let mut to = Results { values: &mut found, starts: &[0], stride: 2 };
            let fourier = FourierTransform::new(n, TransformKind::Complex { inverse }, scale).unwrap();
            fourier.run(part(&[0]), Some(part(&[1])), &mut to, &mut TransformMemory::default());
            found
        };
        let pairs = |x: &[f32]| x.as_chunks::<2>().0.to_vec();
        let mut expected = vec![[0.0; 2]; n];
        waves.iter().for_each(|(k, amplitude)| expected[*k][0] += amplitude);
        let error_of_waves = error(&pairs(&run(&x, false, 1.0 / n as f32)), &expected);
        assert!(error_of_waves <= MOST_ERROR, "{n}: {error_of_waves}");
        let x = noise(2 * n, n as u32);
        let back = run(&run(&x, false, 1.0), true, 1.0 / n as f32);
        let expected: Vec<[f64; 2]> = pairs(&x).iter().map(|pair| pair.map(f64::from)).collect();
        // Two transforms.
        let error = error(&pairs(&back), &expected);
        assert!(error <= 2.0 * MOST_ERROR, "{n} and back: {error}");
    }
}

#[test]
fn long_transforms_of_real_numbers_lead_there_and_back() {
    let (n, rows) = (1 << 16, 2);
    let half = n / 2 + 1;
    // A few waves of real numbers: their half spectrum has half the amplitude, times n, but at the ends.
    let waves = [(0, 1.0), (1, -0.5), (n / 3, 0.25), (n / 2, 2.0)];
    let wave = |j: usize, row: usize| -> f64 {
        let cos = |k: usize| root((j as u64 * k as u64) % n as u64, n as u64)[0];
        waves.iter().map(|(k, amplitude)| amplitude * cos(*k)).sum::<f64>() * (row + 1) as f64
    };
    for [stride, distance] in layouts(n, rows) {
        let size = 2 * ((n - 1) * stride + (rows - 1) * distance + 1);
        let at = |row: usize, place: usize| 2 * (row * distance + place * stride);
        let starts: Vec<usize> = (0..rows).map(|row| at(row, 0)).collect();
        let ends: Vec<usize> = starts.iter().map(|start| start + 1).collect();
        let run = |kind: TransformKind, values: &[f32], scale: f32| {
            let part = |starts| RowNumbers { values, starts, stride: 2 * stride };
            let mut found = vec![7.0; size];
            let mut to = Results { values: &mut found, starts: &starts, stride: 2 * stride };
            let imaginary = (kind == TransformKind::Real).then(|| part(&ends[..]));
            let fourier = FourierTransform::new(n, kind, scale).unwrap();
            fourier.run(part(&starts[..]), imaginary, &mut to, &mut TransformMemory::default());
            found
        };
        let mut values = noise(size, 5);
        (0..rows).for_each(|row| (0..n).for_each(|j| values[at(row, j)] = wave(j, row) as f32));
        let spectrum = run(TransformKind::Half, &values, 1.0 / n as f32);
        for row in 0..rows {
            let mut expected = vec![[0.0; 2]; half];
            for (k, amplitude) in waves {
                let weight = if k == 0 || 2 * k == n { 1.0 } else { 0.5 };
                expected[k][0] += weight * amplitude * (row + 1) as f64;
            }
            let found: Vec<[f32; 2]> = (0..half).map(|k| [0, 1].map(|part| spectrum[at(row, k) + part])).collect();
            let error = error(&found, &expected);
            assert!(error <= MOST_ERROR, "row {row}, stride {stride}: {error}");
        }
        let numbers = noise(size, 9);
        let back = run(TransformKind::Real, &run(TransformKind::Half, &numbers, 1.0), 1.0 / n as f32);
        for row in 0..rows {
            let of = |values: &[f32]| -> Vec<f32> { (0..n).map(|j| values[at(row, j)]).collect() };
            let expected: Vec<[f64; 2]> = of(&numbers).into_iter().map(|x| [f64::from(x), 0.0]).collect();
            let found: Vec<[f32; 2]> = of(&back).into_iter().map(|x| [x, 0.0]).collect();
            // Two transforms.
            let error = error(&found, &expected);
            assert!(error <= 2.0 * MOST_ERROR, "row {row} and back, stride {stride}: {error}");
        }
    }
}
