//! Fourier transforms in f64, radix by radix.

use residua_base::error::Result;
use residua_base::list::Listed;
use residua_tensor_loops::fourier::root;

use super::Machine;
use crate::expr::{Fourier as Of, FourierKind};
use crate::kernel::Fourier;
use crate::scalar::Id;

type Complex = [f64; 2];

impl Machine<'_> {
    pub(super) fn fourier(&mut self, fourier: &Fourier) -> Result<()> {
        let Fourier { of, re, im, .. } = fourier;
        let parts = [Some(*re), *im].map(|part| part.map(|id| (id, self.needed([id]))));
        let elements = self.needed_by_stores(&fourier.elements);
        let outer = self.extents(&fourier.outer);
        self.each_point(&outer, |machine| {
            let mut x = Vec::with_capacity(of.length as usize);
            for place in 0..of.taken() {
                machine.coordinates.extend([place, 0]);
                let mut number = [0.0; 2];
                for (number, part) in number.iter_mut().zip(&parts) {
                    *number = machine.part(part)?;
                }
                machine.coordinates.truncate(outer.len());
                x.push(number);
            }
            if of.kind == FourierKind::Real {
                for place in 0..of.length {
                    match x.get_mut(place as usize) {
                        Some(number) if of.is_alone(place) => number[1] = 0.0,
                        Some(_) => {}
                        None => {
                            let [re, im] = x[(of.length - place) as usize];
                            x.push([re, -im]);
                        }
                    }
                }
            }
            let sign = if matches!(of.kind, FourierKind::Forward | FourierKind::Half) { -1.0 } else { 1.0 };
            for (place, number) in (0..of.given()).zip(transform(&x, sign)) {
                machine.folded = vec![number.map(|part| ((part * of.scale) as f32).to_bits()).to_vec()];
                machine.coordinates.extend([0, place]);
                machine.write(&elements, &fourier.elements)?;
                machine.coordinates.truncate(outer.len());
            }
            Ok(())
        })
    }

    /// A part of a number at the present point, 0 where there is none.
    fn part(&mut self, part: &Option<(Id, Vec<Id>)>) -> Result<f64> {
        let Some((id, needed)) = part else { return Ok(0.0) };
        self.evaluate(needed)?;
        Ok(f64::from(f32::from_bits(self.values[id.index()])))
    }
}

/// Σⱼ xⱼ e^(sign·2πi jk/n): with n = radix · rest, of the transforms of every `radix`-th number.
fn transform(x: &[Complex], sign: f64) -> Vec<Complex> {
    let length = x.len();
    let radix = Of::radices(length as u32).and_then(|radices| radices.first().copied()).unwrap_or(1) as usize;
    if length <= 1 {
        return x.to_vec();
    }
    let every = |first: usize| transform(&x.iter().skip(first).step_by(radix).copied().list(), sign);
    let parts: Vec<Vec<Complex>> = (0..radix).map(every).list();
    let frequency = |k: usize| {
        parts.iter().enumerate().fold([0.0; 2], |[a, b], (j, part)| {
            let [re, im] = part[k % (length / radix)];
            let [cos, minus_sin] = root((j * k % length) as u64, length as u64);
            let sin = -sign * minus_sin;
            [a + re * cos - im * sin, b + re * sin + im * cos]
        })
    };
    (0..length).map(frequency).list()
}
