//! Products of manifolds: blocks whose parts lie on manifolds of their own, as a pose has a rotation and a translation.

use super::Manifold;
use std::cell::RefCell;

/// A product of at least two manifolds. Equal products are one object, which is kept as long as the module.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Product {
    /// Its name in the public contract.
    pub name: &'static str,
    /// In the order of a block's numbers.
    pub parts: &'static [Part],
}

/// A part of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// Not a product.
    pub manifold: Manifold,
    /// How many numbers of a block it has.
    pub dim: u32,
}

thread_local! {
    static PRODUCTS: RefCell<Vec<&'static Product>> = const { RefCell::new(Vec::new()) };
}

impl Product {
    /// The product of a name: the parts' names and dimensions, joined by " × ", as in "unit-quaternion 4 × euclidean 3". `None` unless it has
    /// two parts at least, each of a dimension that its manifold takes.
    pub fn of(name: &str) -> Option<&'static Product> {
        let known = PRODUCTS.with_borrow(|products| products.iter().copied().find(|product| product.name == name));
        if known.is_some() {
            return known;
        }
        let parts: Option<Vec<Part>> = name.split(" × ").map(part).collect();
        let parts = parts.filter(|parts| parts.len() >= 2)?;
        // Programs use few different products, so what they take is kept: manifolds are plain values, which are copied.
        let product: &'static Product =
            Box::leak(Box::new(Product { name: name.to_owned().leak(), parts: parts.leak() }));
        PRODUCTS.with_borrow_mut(|products| products.push(product));
        Some(product)
    }

    /// Numbers of a block.
    pub fn dim(&self) -> u32 {
        self.parts.iter().map(|part| part.dim).sum()
    }

    /// The parts of a list with an entry for each number of a block, and those of one with an entry for each tangent coordinate.
    pub(super) fn split<'a, A, B>(
        &'a self,
        numbers: &'a [A],
        tangents: &'a [B],
    ) -> impl Iterator<Item = (Manifold, &'a [A], &'a [B])> {
        let (mut numbers, mut tangents) = (numbers, tangents);
        self.parts.iter().map(move |&Part { manifold, dim }| {
            let (own, others) = numbers.split_at(dim as usize);
            let (along, left) = tangents.split_at(manifold.tangent_dim(dim) as usize);
            (numbers, tangents) = (others, left);
            (manifold, own, along)
        })
    }
}

fn part(name: &str) -> Option<Part> {
    let (manifold, dim) = name.rsplit_once(' ')?;
    let dim: u32 = dim.parse().ok().filter(|dim| (1..=1 << 16).contains(dim))?;
    let manifold = Manifold::SIMPLE.into_iter().find(|simple| simple.name() == manifold)?;
    manifold.takes(dim).then_some(Part { manifold, dim })
}
