//! How many workgroups a dispatch has.

use residua_base::error::{Error, ErrorCode, Result};

use crate::kernel::Extent;

/// Workgroups along one dimension of a dispatch that every device takes.
const MOST_ALONG: u64 = 65_535;

/// The number of workgroups as a rule on the words of the uniform: Σ Π ⌈extent / divisor⌉ units, of which each workgroup has some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workgroups {
    /// The products of their factors add up to the number of units.
    pub parts: Vec<Vec<Factor>>,
    /// Units a workgroup.
    pub units: u32,
}

/// ⌈extent / divisor⌉
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    /// The extent.
    pub extent: Extent,
    /// What a unit covers of it; at least 1.
    pub divisor: u32,
}

impl Workgroups {
    /// Those of one product of factors.
    pub fn new(factors: Vec<Factor>, units: u32) -> Workgroups {
        Workgroups { parts: vec![factors], units }
    }

    /// Workgroups along x, y and z for the words of a uniform. A text numbers its workgroups x first; numbers beyond the last have nothing to do.
    ///
    /// An error with [`ErrorCode::LimitExceeded`] if there are more than a dispatch can have.
    pub fn count(&self, words: &[u32]) -> Result<[u32; 3]> {
        let factor = |factor: &Factor| u64::from(factor.extent.of(words).div_ceil(factor.divisor));
        let part = |factors: &Vec<Factor>| factors.iter().map(factor).fold(1u64, u64::saturating_mul);
        let units = self.parts.iter().map(part).fold(0u64, u64::saturating_add);
        let count = units.div_ceil(u64::from(self.units));
        let rows = count.div_ceil(MOST_ALONG).max(1);
        if rows > MOST_ALONG || units > u64::from(u32::MAX) {
            return Err(Error::new(
                ErrorCode::LimitExceeded,
                format!("{units} threads or rows are more than a dispatch has"),
            ));
        }
        Ok([count.div_ceil(rows) as u32, rows as u32, 1])
    }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;

    #[test]
    fn workgroups_beyond_one_dimension_go_along_the_second() {
        let factor = |extent, divisor| Factor { extent, divisor };
        let rule = Workgroups::new(vec![factor(Extent::Word(0), 1), factor(Extent::Known(10), 4)], 2);
        for (rows, expected) in [(0, [0, 1, 1]), (1, [2, 1, 1]), (43_690, [65_535, 1, 1]), (43_691, [32_769, 2, 1])] {
            assert_eq!(rule.count(&[rows]).unwrap(), expected, "{rows} rows");
        }
        let error = rule.count(&[u32::MAX]).unwrap_err();
        assert_eq!(error.code, ErrorCode::LimitExceeded);
    }
}
