//! Fourier transforms by their definition.

use std::f64::consts::PI;

use residua_base::list::Listed;

use super::{Array, Node};
use crate::expr::{Fourier, FourierKind};
use crate::roots;

impl Node<'_> {
    pub(super) fn fourier(&self, shape: Vec<usize>, of: &Fourier) -> Array {
        let (axis, to, n) = (of.axis as usize, of.to as usize, u64::from(of.length));
        let sign = if matches!(of.kind, FourierKind::Forward | FourierKind::Half) { -1.0 } else { 1.0 };
        let re = self.operand(0);
        let im = (self.tensor.operands.len() > 1).then(|| self.operand(1));
        let angle = |k: u64| sign * 2.0 * PI * (k as f64 / n as f64);
        let roots: Vec<(f64, f64)> = (0..n).map(|k| angle(k).sin_cos()).list();
        Array::of(shape, |at| {
            let mut from = at[..re.shape.len()].to_vec();
            let k = from.remove(to) as u64;
            from.insert(axis, 0);
            let mut sums = [0.0; 2];
            for j in 0..u64::from(of.taken()) {
                from[axis] = j as usize;
                // Of real numbers each frequency but those at the ends stands for two.
                let is_alone = of.is_complex() || of.is_alone(j as u32);
                let (a, b) =
                    (re.at(&from), im.map_or(0.0, |im| if is_alone && !of.is_complex() { 0.0 } else { im.at(&from) }));
                let (sin, cos) = roots[(j * k % n) as usize];
                let weight = if is_alone { of.scale } else { 2.0 * of.scale };
                sums[0] += weight * (a * cos - b * sin);
                sums[1] += weight * (a * sin + b * cos);
            }
            sums[if of.is_complex() { at[at.len() - 1] } else { 0 }]
        })
    }

    pub(super) fn roots(&self, shape: Vec<usize>, length: u32) -> Array {
        Array { data: roots::table(length).into_iter().map(f64::from).list(), shape }
    }
}
