//! The elimination tree of a symmetric pattern (J. Liu, "The Role of Elimination Trees in Sparse Factorization", 1990), and its postorder.

/// No parent.
pub const NONE: u32 = u32::MAX;

/// The parent of each column: the first of those that its elimination changes. `offsets` and `indices` are the upper half by columns.
pub fn elimination_tree(offsets: &[u32], indices: &[u32]) -> Vec<u32> {
    let cols = offsets.len() - 1;
    let mut tree = vec![NONE; cols];
    // An ancestor of each column, nearer to the root than its parent.
    let mut ancestor = vec![NONE; cols];
    for k in 0..cols {
        for &entry in &indices[offsets[k] as usize..offsets[k + 1] as usize] {
            let mut node = entry as usize;
            while node < k {
                let next = std::mem::replace(&mut ancestor[node], k as u32);
                if next == NONE {
                    tree[node] = k as u32;
                    break;
                }
                node = next as usize;
            }
        }
    }
    tree
}

/// The columns with the descendants of each directly before it.
pub fn postorder(tree: &[u32]) -> Vec<u32> {
    let count = tree.len();
    // Children as linked lists, ascending.
    let mut first_child = vec![NONE; count];
    let mut sibling = vec![NONE; count];
    let mut roots = Vec::new();
    for column in (0..count).rev() {
        match tree[column] {
            NONE => roots.push(column as u32),
            parent => sibling[column] = std::mem::replace(&mut first_child[parent as usize], column as u32),
        }
    }
    let mut order = Vec::with_capacity(count);
    let mut path = Vec::new();
    while let Some(root) = roots.pop() {
        path.push(root);
        while let Some(&node) = path.last() {
            match std::mem::replace(&mut first_child[node as usize], NONE) {
                NONE => {
                    order.push(node);
                    path.pop();
                    if let (Some(&parent), next) = (path.last(), sibling[node as usize]) {
                        first_child[parent as usize] = next;
                    }
                }
                child => path.push(child),
            }
        }
    }
    order
}
