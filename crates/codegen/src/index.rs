//! Index expressions: where in a buffer a kernel reads or writes.
//!
//! An [`Index`] is a sum of terms and a literal. A term is the product of a literal factor, at most one constant of the dispatch and at
//! most one variable. Sums are kept in one normal form, so equal places are equal values: back ends share reads by comparing indices.
//!
//! Strided views of any rank are sums of this form, too: a variable for each axis of the iteration space, times a constant of the
//! dispatch, the stride.

/// An index into a buffer, in elements.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Index {
    /// In ascending order, of different products, without zeros.
    terms: Vec<Term>,
    offset: u32,
}

/// A term of an [`Index`]: `factor · constant · variable`, where either of the last two may be absent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term {
    /// The variable.
    pub variable: Option<Variable>,
    /// The constant.
    pub constant: Option<Constant>,
    /// The literal factor, not 0.
    pub factor: u32,
}

/// A number that is the same for a whole dispatch, set by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Constant {
    /// Distance between the columns of a table: the padded number of instances.
    Stride,
    /// Index of the first number of an interleaved buffer.
    First,
    /// Distance between the columns of tables of other instances. Of [`Space::Entries`](crate::Space::Entries) alone.
    Width,
    /// Distance from a number of a vector to its low part. The caller numbers its vectors from 0 to [`Constant::MOST_VECTORS`]. Of a device alone.
    Low(u32),
}

/// A number that differs between the instances of a dispatch, or may do so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Variable {
    /// The element of a buffer of indices at an index.
    Loaded {
        /// Position in [`Kernel::buffers`](crate::Kernel::buffers).
        buffer: u32,
        /// Where in it.
        index: Box<Index>,
    },
    /// The instance, numbered as tables are.
    Instance,
    /// The first instance of a call on the host. A column of indices that agree in all instances is read there, once.
    FirstInstance,
    /// The instance, numbered as interleaved buffers are. On the host these may begin with another instance than tables.
    Position,
    /// The layer. The host has the layer 0 alone.
    Layer,
    /// The owner of the lists that are summed. Of [`Space::Entries`](crate::Space::Entries) alone.
    Owner,
}

impl Constant {
    /// So many vectors at most have distances of their own.
    pub const MOST_VECTORS: u32 = 2;
}

impl From<Variable> for Term {
    fn from(variable: Variable) -> Term {
        Term { variable: Some(variable), constant: None, factor: 1 }
    }
}

impl From<Constant> for Term {
    fn from(constant: Constant) -> Term {
        Term { variable: None, constant: Some(constant), factor: 1 }
    }
}

impl Term {
    /// The term times a literal.
    pub fn times(self, factor: u32) -> Term {
        Term { factor: self.factor * factor, ..self }
    }
}

impl Index {
    /// The sum of some terms and a literal.
    pub fn sum(terms: impl IntoIterator<Item = Term>, offset: u32) -> Index {
        let mut sum: Vec<Term> = Vec::new();
        for term in terms.into_iter().filter(|term| term.factor != 0) {
            let same = |known: &&mut Term| (&known.variable, known.constant) == (&term.variable, term.constant);
            match sum.iter_mut().find(same) {
                Some(known) => known.factor += term.factor,
                None => sum.insert(sum.partition_point(|known| known < &term), term),
            }
        }
        Index { terms: sum, offset }
    }

    /// The same for every instance.
    pub fn literal(offset: u32) -> Index {
        Index::sum([], offset)
    }

    /// `column · stride + instance`: a structure of arrays, in which neighbouring instances are next to each other.
    pub fn column(column: u32) -> Index {
        Index::sum([Term::from(Constant::Stride).times(column), Variable::Instance.into()], 0)
    }

    /// `first + position · width + component`: one instance after another.
    pub fn interleaved(width: u32, component: u32) -> Index {
        Index::sum([Constant::First.into(), Term::from(Variable::Position).times(width)], component)
    }

    /// `first + owner · width + component`: one owner after another.
    pub fn owned(width: u32, component: u32) -> Index {
        Index::sum([Constant::First.into(), Term::from(Variable::Owner).times(width)], component)
    }

    /// `layer + first`.
    pub fn layer(first: u32) -> Index {
        Index::sum([Variable::Layer.into()], first)
    }

    /// `indices[column · stride + instance] + component`.
    pub fn indexed(indices: u32, column: u32, component: u32) -> Index {
        Index::loaded(indices, Index::column(column)).plus(component)
    }

    /// The element of a buffer of indices.
    pub fn loaded(buffer: u32, index: Index) -> Index {
        Index::sum([Variable::Loaded { buffer, index: Box::new(index) }.into()], 0)
    }

    /// `column · width + indices[…]`: a column of a table of other instances, at the instance that a column of indices names.
    pub fn column_of_other(column: u32, indices: u32, names: u32) -> Index {
        let instance = Variable::Loaded { buffer: indices, index: Box::new(Index::column(names)) };
        Index::sum([Term::from(Constant::Width).times(column), instance.into()], 0)
    }

    /// This index and a literal.
    pub fn plus(mut self, offset: u32) -> Index {
        self.offset += offset;
        self
    }

    /// The index of the low part of a number of a vector, see [`Constant::Low`].
    pub fn low(&self, vector: u32) -> Index {
        Index::sum(self.terms.iter().cloned().chain([Constant::Low(vector).into()]), self.offset)
    }

    /// The same terms with another literal.
    pub fn with_offset(&self, offset: u32) -> Index {
        Index { terms: self.terms.clone(), offset }
    }

    /// The terms, in their order: first those of constants alone.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The literal.
    pub fn offset(&self) -> u32 {
        self.offset
    }

    /// The column of a structure of arrays, if it is an [`Index::column`].
    pub fn as_column(&self) -> Option<u32> {
        let column = self.terms.iter().find(|term| term.variable.is_none()).map_or(0, |term| term.factor);
        (*self == Index::column(column)).then_some(column)
    }

    /// Width and component, if it is an [`Index::interleaved`] of a component below the width.
    pub fn as_interleaved(&self) -> Option<(u32, u32)> {
        let width = self.terms.last()?.factor;
        (self.offset < width && *self == Index::interleaved(width, self.offset)).then_some((width, self.offset))
    }

    /// Width and component, if it is an [`Index::owned`] of a component below the width.
    pub fn as_owned(&self) -> Option<(u32, u32)> {
        let width = self.terms.last()?.factor;
        (self.offset < width && *self == Index::owned(width, self.offset)).then_some((width, self.offset))
    }

    /// Buffer and index of the load, if it is a loaded index and a literal.
    pub fn as_loaded(&self) -> Option<(u32, &Index)> {
        match self.terms.as_slice() {
            [Term { variable: Some(Variable::Loaded { buffer, index }), constant: None, factor: 1 }] => {
                Some((*buffer, index))
            }
            _ => None,
        }
    }

    /// The loads of indices that it takes: buffers, and indices into them.
    pub fn loads(&self) -> impl Iterator<Item = (u32, &Index)> {
        self.terms.iter().filter_map(|term| match &term.variable {
            Some(Variable::Loaded { buffer, index }) => Some((*buffer, index.as_ref())),
            _ => None,
        })
    }

    /// Whether it is the same for all instances of a call on the host.
    pub fn is_same(&self) -> bool {
        self.terms.iter().all(|term| match &term.variable {
            None | Some(Variable::FirstInstance | Variable::Layer | Variable::Owner) => true,
            Some(Variable::Loaded { index, .. }) => index.is_same(),
            Some(Variable::Instance | Variable::Position) => false,
        })
    }

    /// The index with the first instance in place of the instance in loads of some columns: see [`Variable::FirstInstance`].
    pub fn sharing(&self, is_shared: &dyn Fn(u32, u32) -> bool) -> Index {
        let shared = |term: &Term| match &term.variable {
            Some(Variable::Loaded { buffer, index }) if index.as_column().is_some_and(|c| is_shared(*buffer, c)) => {
                let index = Box::new(index.of_first_instance());
                Term { variable: Some(Variable::Loaded { buffer: *buffer, index }), ..*term }
            }
            _ => term.clone(),
        };
        Index::sum(self.terms.iter().map(shared), self.offset)
    }

    fn of_first_instance(&self) -> Index {
        let first = |term: &Term| match term.variable {
            Some(Variable::Instance) => Term { variable: Some(Variable::FirstInstance), ..*term },
            _ => term.clone(),
        };
        Index::sum(self.terms.iter().map(first), self.offset)
    }

    /// Its value, from those of constants and variables.
    pub fn evaluate<E>(
        &self,
        constant: &dyn Fn(Constant) -> u64,
        variable: &dyn Fn(&Variable) -> Result<u64, E>,
    ) -> Result<u64, E> {
        self.terms.iter().try_fold(u64::from(self.offset), |sum, term| {
            let of_constant = term.constant.map_or(1, constant);
            let of_variable = term.variable.as_ref().map_or(Ok(1), variable)?;
            Ok(sum + u64::from(term.factor) * of_constant * of_variable)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_places_are_equal_whatever_the_order_in_which_they_are_put_together() {
        let term = |variable: Variable| Term::from(variable);
        let one = Index::sum([term(Variable::Instance), Term::from(Constant::Stride).times(2)], 0);
        assert_eq!(one, Index::column(2));
        let twice = Index::sum([term(Variable::Position), Constant::First.into(), term(Variable::Position)], 1);
        assert_eq!(twice, Index::interleaved(2, 1));
        assert_eq!(Index::column(0).terms(), [term(Variable::Instance)]);
    }

    #[test]
    fn forms_are_recognised_and_told_apart() {
        assert_eq!(Index::column(0).as_column(), Some(0));
        assert_eq!(Index::column(7).as_column(), Some(7));
        assert_eq!(Index::column(7).plus(1).as_column(), None);
        assert_eq!(Index::interleaved(3, 2).as_column(), None);
        assert_eq!(Index::interleaved(3, 2).as_interleaved(), Some((3, 2)));
        assert_eq!(Index::interleaved(3, 3).as_interleaved(), None);
        assert_eq!(Index::owned(3, 2).as_interleaved(), None);
        assert_eq!(Index::owned(3, 2).as_owned(), Some((3, 2)));
        assert_eq!(Index::indexed(1, 2, 5).as_loaded(), Some((1, &Index::column(2))));
        assert_eq!(Index::column_of_other(1, 2, 0).as_loaded(), None);
        assert_eq!(Index::literal(4).as_interleaved(), None);
    }

    #[test]
    fn loads_of_shared_columns_are_the_same_for_all_instances() {
        let index = Index::indexed(1, 2, 5);
        assert!(!index.is_same());
        let shared = index.sharing(&|buffer, column| (buffer, column) == (1, 2));
        assert!(shared.is_same());
        assert_eq!(shared.offset(), 5);
        assert_eq!(index.sharing(&|_, column| column == 3), index);
        for (same, index) in [
            (true, Index::literal(3)),
            (true, Index::layer(1)),
            (false, Index::column(0)),
            (false, Index::interleaved(1, 0)),
        ] {
            assert_eq!(index.is_same(), same, "{index:?}");
        }
    }
}
