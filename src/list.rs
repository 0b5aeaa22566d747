//! Lists of what iterators give, in little code: the standard library's `collect` makes three functions of some 400 bytes in all for
//! every chain of iterators, where the module is optimised for size, and this makes one of a third of that.

/// Iterators whose items are wanted as a list.
pub(crate) trait Listed: Iterator + Sized {
    /// All items, in order.
    fn list(self) -> Vec<Self::Item> {
        let mut list = Vec::with_capacity(self.size_hint().0);
        for item in self {
            list.push(item);
        }
        list
    }

    /// All items, or the first error.
    fn list_or_error<T, E>(self) -> Result<Vec<T>, E>
    where
        Self: Iterator<Item = Result<T, E>>,
    {
        let mut list = Vec::with_capacity(self.size_hint().0);
        for item in self {
            list.push(item?);
        }
        Ok(list)
    }
}

impl<I: Iterator> Listed for I {}
