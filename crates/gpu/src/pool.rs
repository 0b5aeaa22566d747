//! Buffer pool: live and reusable buffers, and their total size in bytes.
//!
//! Browsers free the memory of a dropped buffer late, so every buffer is destroyed explicitly. The pool stores handles of any type `T`; its
//! caller creates and destroys the buffers themselves.

use residua_base::list::{Listed, PushAll};

/// What decides whether an unused buffer can stand in for a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class {
    /// WebGPU usage flags.
    pub usage: u32,
    /// Bytes, as created.
    pub capacity: u64,
}

/// Identifies a live buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry(u64);

/// Live and unused buffers. `T` is the buffer itself.
#[derive(Debug)]
pub struct Pool<T> {
    /// By entry, which ascend.
    live: Vec<(Entry, Live<T>)>,
    /// In the order of their release.
    unused: Vec<(Class, Entry)>,
    next: u64,
    bytes: u64,
    unused_bytes: u64,
    peak_bytes: u64,
    max_unused_bytes: u64,
}

#[derive(Debug)]
struct Live<T> {
    buffer: T,
    class: Class,
    unused: bool,
}

/// The smallest buffer that is created: kernels bind a few words, and classes of so few bytes would hardly ever be reused.
const SMALLEST: u64 = 256;

/// Of a buffer as large as this, which the pool would hardly keep, only what is needed is made.
const LARGE: u64 = 64 << 20;

/// Bytes to create for `size` bytes: the next of 4 steps an octave, so that less than a quarter is added and buffers are often of
/// equal size, unless they are large. Never more than `largest` unless `size` itself is.
pub fn capacity(size: u64, largest: u64) -> u64 {
    let size = size.max(SMALLEST);
    if size >= LARGE {
        return size.next_multiple_of(16).min(largest.max(size.next_multiple_of(4)));
    }
    let step = (size.next_power_of_two() / 8).max(SMALLEST / 4);
    let rounded = size.next_multiple_of(step);
    if rounded <= largest { rounded } else { size.next_multiple_of(16).min(largest.max(size.next_multiple_of(4))) }
}

impl<T: Clone> Pool<T> {
    /// An empty pool that keeps at most `max_unused_bytes` of unused buffers.
    pub fn new(max_unused_bytes: u64) -> Pool<T> {
        Pool {
            live: Vec::new(),
            unused: Vec::new(),
            next: 0,
            bytes: 0,
            unused_bytes: 0,
            peak_bytes: 0,
            max_unused_bytes,
        }
    }

    /// An unused buffer of exactly this class, which is in use from now on. Its content is what its last user left.
    pub fn take(&mut self, class: Class) -> Option<(Entry, T)> {
        let place = self.unused.iter().rposition(|(other, _)| *other == class)?;
        let (_, entry) = self.unused.remove(place);
        let live = self.find(entry).expect("what is unused is alive");
        let live = &mut self.live[live].1;
        live.unused = false;
        self.unused_bytes -= class.capacity;
        Some((entry, live.buffer.clone()))
    }

    /// Enters a new buffer, in use. It counts towards the peak once [`Self::confirm`] says that the device had room for it.
    pub fn insert(&mut self, buffer: T, class: Class) -> Entry {
        let entry = Entry(self.next);
        self.next += 1;
        self.bytes += class.capacity;
        self.live.push((entry, Live { buffer, class, unused: false }));
        entry
    }

    /// The allocations so far succeeded.
    pub fn confirm(&mut self) {
        self.peak_bytes = self.peak_bytes.max(self.bytes);
    }

    /// A buffer is not used any more, and may serve again. Gives the buffers to destroy so that the unused stay within their
    /// cap; these are the largest ones, or the buffer itself.
    #[must_use = "these buffers are to be destroyed"]
    pub fn release(&mut self, entry: Entry) -> Vec<T> {
        let Some(live) = self.find(entry) else { return Vec::new() };
        let live = &mut self.live[live].1;
        live.unused = true;
        let class = live.class;
        self.unused.push((class, entry));
        self.unused_bytes += class.capacity;
        let mut evicted = Vec::new();
        while self.unused_bytes > self.max_unused_bytes {
            // Of several that are the largest, the one that has lain the longest.
            let largest = self.unused.iter().rev().max_by_key(|(class, _)| class.capacity);
            let (_, entry) = *largest.expect("unused bytes belong to unused buffers");
            evicted.push_all(self.remove(entry));
        }
        evicted
    }

    /// Removes a buffer, which is then to be destroyed. None if the pool no longer has it.
    #[must_use = "this buffer is to be destroyed"]
    pub fn remove(&mut self, entry: Entry) -> Option<T> {
        let (_, live) = self.live.remove(self.find(entry)?);
        self.bytes -= live.class.capacity;
        if live.unused {
            self.unused_bytes -= live.class.capacity;
            self.unused.retain(|&(_, other)| other != entry);
        }
        Some(live.buffer)
    }

    /// Removes every unused buffer.
    #[must_use = "these buffers are to be destroyed"]
    pub fn trim(&mut self) -> Vec<T> {
        let unused = self.unused.clone();
        unused.into_iter().filter_map(|(_, entry)| self.remove(entry)).list()
    }

    /// Removes every buffer, used or not.
    #[must_use = "these buffers are to be destroyed"]
    pub fn clear(&mut self) -> Vec<T> {
        self.unused.clear();
        self.bytes = 0;
        self.unused_bytes = 0;
        std::mem::take(&mut self.live).into_iter().map(|(_, live)| live.buffer).list()
    }

    fn find(&self, entry: Entry) -> Option<usize> {
        self.live.binary_search_by_key(&entry.0, |(other, _)| other.0).ok()
    }

    /// Live buffers, unused ones included.
    pub fn count(&self) -> usize {
        self.live.len()
    }

    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The most bytes there ever were.
    pub fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(capacity: u64) -> Class {
        Class { usage: 1, capacity }
    }

    #[test]
    fn capacities_have_four_steps_an_octave_unless_large_and_keep_to_the_largest_allowed() {
        for (size, largest, expected) in [
            (0, 1 << 20, 256),
            (256, 1 << 20, 256),
            (257, 1 << 20, 320),
            (1000, 1 << 20, 1024),
            (1025, 1 << 20, 1280),
            (1026, 1200, 1040),
            (1190, 1196, 1196),
            (1 << 20, 1 << 20, 1 << 20),
            ((64 << 20) - 1, u64::MAX, 64 << 20),
            ((64 << 20) + 1, u64::MAX, (64 << 20) + 16),
        ] {
            assert_eq!(capacity(size, largest), expected, "{size} of at most {largest}");
        }
        for size in (256..100_000).step_by(37) {
            let capacity = capacity(size, u64::MAX);
            assert!(
                capacity >= size && capacity.is_multiple_of(4) && capacity * 4 <= size * 5 + 256,
                "{size}: {capacity}"
            );
        }
    }

    #[test]
    fn a_released_buffer_serves_the_next_request_of_its_class_alone() {
        let mut pool = Pool::new(10_000);
        let entry = pool.insert("a", class(512));
        assert_eq!(pool.take(class(512)), None);
        assert!(pool.release(entry).is_empty());
        assert_eq!(pool.take(class(256)), None);
        assert_eq!(pool.take(Class { usage: 2, capacity: 512 }), None);
        assert_eq!(pool.take(class(512)), Some((entry, "a")));
        assert_eq!(pool.take(class(512)), None);
        assert_eq!((pool.count(), pool.bytes()), (1, 512));
    }

    #[test]
    fn counts_return_to_the_start_after_a_thousand_rounds() {
        let mut pool = Pool::new(1000);
        let (mut created, mut most) = (0, 0);
        for round in 0..1000_u64 {
            let entries: Vec<Entry> = [256, 512 + 256 * (round % 3)]
                .map(|capacity| {
                    pool.take(class(capacity)).map(|(entry, _)| entry).unwrap_or_else(|| {
                        created += 1;
                        pool.insert(created, class(capacity))
                    })
                })
                .to_vec();
            pool.confirm();
            most = most.max(pool.bytes());
            for entry in entries {
                created -= pool.release(entry).len() as i32;
            }
            assert_eq!(pool.count() as i32, created, "live buffers are those made and not destroyed");
        }
        created -= pool.trim().len() as i32;
        assert_eq!((pool.count(), pool.bytes(), created), (0, 0, 0));
        assert_eq!(pool.peak_bytes(), most);
    }

    #[test]
    fn the_largest_unused_buffers_leave_when_the_cap_is_passed() {
        let mut pool = Pool::new(1000);
        let small = pool.insert("small", class(300));
        let large = pool.insert("large", class(800));
        let huge = pool.insert("huge", class(2000));
        assert!(pool.release(large).is_empty());
        assert_eq!(pool.release(small), ["large"]);
        assert_eq!(pool.release(huge), ["huge"]);
        assert_eq!((pool.count(), pool.bytes()), (1, 300));
    }

    #[test]
    fn a_failed_allocation_leaves_no_trace() {
        let mut pool = Pool::new(1000);
        let entry = pool.insert((), class(4096));
        assert_eq!(pool.remove(entry), Some(()));
        assert_eq!(pool.remove(entry), None);
        assert_eq!((pool.count(), pool.bytes(), pool.peak_bytes()), (0, 0, 0));
    }

    #[test]
    fn clearing_gives_back_used_and_unused_buffers_and_later_releases_do_nothing() {
        let mut pool = Pool::new(10_000);
        let (used, unused) = (pool.insert("used", class(256)), pool.insert("unused", class(512)));
        assert!(pool.release(unused).is_empty());
        assert_eq!(pool.clear(), ["used", "unused"]);
        assert!(pool.release(used).is_empty());
        assert_eq!((pool.count(), pool.bytes()), (0, 0));
    }
}
