//! Sizes: numbers that may depend on the dims of a program, which are told at each run.

use residua_base::list::Listed;
use residua_base::sort::ascending;
use std::ops::{Add, Mul, Sub};

/// A polynomial in the dims with integer coefficients: Σ coefficient · Π dims. Its terms are sorted by their dims and none is 0, so equal
/// polynomials are equal values. Arithmetic on coefficients and values saturates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Size {
    terms: Vec<Term>,
}

/// One term of a [`Size`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Term {
    /// Positions of the dims that it multiplies, sorted.
    dims: Vec<u32>,
    coefficient: i64,
}

impl Size {
    /// A number.
    pub fn constant(value: i64) -> Size {
        Size::of(vec![Term { dims: Vec::new(), coefficient: value }])
    }

    /// The dim at a position of the program's list of dims.
    pub fn dim(position: u32) -> Size {
        Size::of(vec![Term { dims: vec![position], coefficient: 1 }])
    }

    /// The sum of terms, each a coefficient and the positions of the dims that it multiplies.
    pub fn sum(terms: impl IntoIterator<Item = (i64, Vec<u32>)>) -> Size {
        let term = |(coefficient, mut dims): (i64, Vec<u32>)| {
            ascending(&mut dims);
            Term { dims, coefficient }
        };
        Size::of(terms.into_iter().map(term).list())
    }

    /// Its terms: coefficients, and the positions of the dims that these multiply.
    pub fn terms(&self) -> impl ExactSizeIterator<Item = (i64, &[u32])> {
        self.terms.iter().map(|term| (term.coefficient, term.dims.as_slice()))
    }

    fn of(mut terms: Vec<Term>) -> Size {
        ascending(&mut terms);
        let mut sum: Vec<Term> = Vec::new();
        for term in terms {
            match sum.last_mut() {
                Some(last) if last.dims == term.dims => {
                    last.coefficient = last.coefficient.saturating_add(term.coefficient);
                }
                Some(_) | None => sum.push(term),
            }
        }
        sum.retain(|term| term.coefficient != 0);
        Size { terms: sum }
    }

    /// The number that it is whatever the dims are.
    pub fn known(&self) -> Option<i64> {
        match self.terms.as_slice() {
            [] => Some(0),
            [Term { dims, coefficient }] if dims.is_empty() => Some(*coefficient),
            _ => None,
        }
    }

    /// Whether it is this number whatever the dims are.
    pub fn is(&self, value: i64) -> bool {
        self.known() == Some(value)
    }

    /// Its value where the dims have these values.
    pub fn at(&self, dims: &[u32]) -> i64 {
        let term = |term: &Term| {
            let times = |product: i64, dim: &u32| product.saturating_mul(i64::from(dims[*dim as usize]));
            term.dims.iter().fold(term.coefficient, times)
        };
        self.terms.iter().map(term).fold(0, i64::saturating_add)
    }

    /// Its value modulo 2³², as words of uniforms have it and kernels compute it.
    pub fn word(&self, dims: &[u32]) -> u32 {
        let term = |term: &Term| {
            term.dims.iter().fold(term.coefficient as u32, |product, dim| product.wrapping_mul(dims[*dim as usize]))
        };
        self.terms.iter().map(term).fold(0, u32::wrapping_add)
    }

    /// Whether it is short, and none of its coefficients was saturated: what numbers of a recipe are multiplied with may be any polynomial.
    pub fn is_word(&self) -> bool {
        const MOST_TERMS: usize = 32;
        const MOST_DIMS: usize = 8;
        let is_word = |term: &Term| term.dims.len() <= MOST_DIMS && term.coefficient.unsigned_abs() <= 1 << 32;
        self.terms.len() <= MOST_TERMS && self.terms.iter().all(is_word)
    }

    /// Whether every value is a multiple of a number.
    pub fn is_multiple_of(&self, number: i64) -> bool {
        self.terms.iter().all(|term| term.coefficient % number == 0)
    }

    /// The product of sizes.
    pub fn product<'a>(sizes: impl IntoIterator<Item = &'a Size>) -> Size {
        sizes.into_iter().fold(Size::constant(1), |product, size| &product * size)
    }
}

impl From<i64> for Size {
    fn from(value: i64) -> Size {
        Size::constant(value)
    }
}

impl Add for &Size {
    type Output = Size;

    fn add(self, other: &Size) -> Size {
        Size::of(self.terms.iter().chain(&other.terms).cloned().list())
    }
}

impl Sub for &Size {
    type Output = Size;

    fn sub(self, other: &Size) -> Size {
        self + &(other * &Size::constant(-1))
    }
}

impl Mul for &Size {
    type Output = Size;

    fn mul(self, other: &Size) -> Size {
        let mut terms = Vec::new();
        for a in &self.terms {
            for b in &other.terms {
                let mut dims = [a.dims.as_slice(), &b.dims].concat();
                ascending(&mut dims);
                terms.push(Term { dims, coefficient: a.coefficient.saturating_mul(b.coefficient) });
            }
        }
        Size::of(terms)
    }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;

    #[test]
    fn equal_polynomials_are_equal_values() {
        let (n, m) = (Size::dim(0), Size::dim(1));
        let sum = &n + &Size::constant(2);
        assert_eq!(&sum * &m, &(&m * &n) + &(&Size::constant(2) * &m));
        assert_eq!(&n - &n, Size::constant(0));
        assert_eq!(Size::sum((&sum * &m).terms().map(|(factor, dims)| (factor, dims.to_vec()))), &sum * &m);
        assert_eq!(Size::sum([(i64::MAX, vec![0]), (i64::MAX, vec![0])]).at(&[2]), i64::MAX);
        assert_eq!((&sum * &m).at(&[3, 5]), 25);
        assert!((&n * &Size::constant(8)).is_multiple_of(4));
        assert!(!sum.is_multiple_of(2));
        assert_eq!(Size::product([&Size::constant(3), &Size::constant(4)]).known(), Some(12));
    }

    #[test]
    fn a_word_is_the_value_modulo_2_32() {
        let n = Size::dim(0);
        let square = &n * &n;
        assert_eq!((&square - &Size::constant(5)).word(&[3]), 4);
        assert_eq!((&n - &Size::constant(5)).word(&[3]), -2i32 as u32);
        // (2³² − 1)³ is −1, where 63 bits are too few.
        assert_eq!((&square * &n).word(&[u32::MAX]), u32::MAX);
        assert!(square.is_word());
        let power = (0..4).fold(square, |power, _| &power * &power);
        assert!(!power.is_word());
        assert!(!Size::constant(i64::MAX).is_word());
    }
}
