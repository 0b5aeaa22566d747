//! The current parameters: set by the application, moved by solves, and after a solve perhaps on the device alone. What is set then goes to
//! the device beside what the solve has left there, so that a page that moves a few blocks between solves reads nothing back.

use std::ops::Range;

use super::Functions;
use residua_base::error::{Error, Result};

/// Up to so many places are written on their own and looked at each by itself; beyond, all parameters are, where they are here.
const FEW_PLACES: usize = 256;

impl Functions {
    /// The current parameters, unless a solve has left them on the device: then those before it, until [`Functions::bring_values`].
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Sets the current parameters.
    pub fn set_values(&mut self, values: Vec<f64>) -> Result<()> {
        self.expect_parameters(values.len())?;
        self.values = values;
        self.ahead = false;
        self.engine.publish(&self.values)
    }

    /// Sets some of the current parameters: each of `lengths` takes its share of `numbers` to where its start says. What else a solve
    /// has left on the device stays there and need not come here.
    pub fn set_values_at(&mut self, starts: &[u32], lengths: &[u32], numbers: &[f64]) -> Result<()> {
        let mut places: Vec<Range<usize>> = Vec::new();
        let mut rest = numbers;
        for (&start, &length) in starts.iter().zip(lengths) {
            let (start, end) = (start as usize, start as usize + length as usize);
            let (Some((part, after)), Some(target)) =
                (rest.split_at_checked(length as usize), self.values.get_mut(start..end))
            else {
                let all = self.values.len();
                let message = format!("{length} numbers from {start} on were set, of {all} parameters");
                return Err(Error::invalid_argument(message));
            };
            target.copy_from_slice(part);
            rest = after;
            match places.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => places.push(start..end),
            }
        }
        let all = self.values.len();
        if !self.ahead && places.len() > FEW_PLACES || places.first().is_some_and(|place| place.len() == all) {
            self.ahead = false;
            return self.engine.publish(&self.values);
        }
        for place in &places {
            self.engine.publish_at(place.start, &self.values[place.clone()])?;
        }
        if self.ahead {
            self.remember(places);
        }
        Ok(())
    }

    /// The same places again and again, as a page sets them for each frame, are remembered once.
    fn remember(&mut self, places: Vec<Range<usize>>) {
        let Some(known) = &mut self.set_since else { return };
        for place in places {
            if known.contains(&place) {
                continue;
            }
            if known.len() == FEW_PLACES {
                self.set_since = None;
                return;
            }
            known.push(place);
        }
    }

    /// A solver has moved the parameters that the device publishes: they are the current ones from now on.
    pub fn leave_on_device(&mut self) {
        self.ahead = true;
        self.set_since = Some(Vec::new());
    }

    /// What has been set since a solve left the rest of the parameters on the device; `None` when none has, or in too many places.
    pub fn set_since_solve(&self) -> Option<&[Range<usize>]> {
        if self.ahead { self.set_since.as_deref() } else { None }
    }

    /// Shows the application the current parameters again, after a solve that failed. Those that only the device has are there.
    pub fn publish_again(&self) {
        if !self.ahead {
            // A device that can't be written to shows nothing any more.
            let _ = self.engine.publish(&self.values);
        }
    }

    /// Brings the current parameters here, if a solve has left them on the device. Numbers that have not moved keep all their digits.
    pub async fn bring_values(&mut self) -> Result<()> {
        if !self.ahead {
            return Ok(());
        }
        let published = self.engine.published_values().await?;
        let arithmetic = self.engine.device_arithmetic();
        for (value, published) in self.values.iter_mut().zip(published) {
            if arithmetic.quantise(*value) != published {
                *value = published;
            }
        }
        self.ahead = false;
        Ok(())
    }
}
