//! A map of few entries: a list that is looked through. The code of a hash map for each kind of key would be the larger part of
//! the module's, and no faster for a dozen entries.

/// Keys, each once, with their values.
#[derive(Clone, Debug)]
pub struct Table<K, V>(Vec<(K, V)>);

impl<K, V> Default for Table<K, V> {
    fn default() -> Table<K, V> {
        Table(Vec::new())
    }
}

impl<K: PartialEq, V> Table<K, V> {
    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// The value of a key, to be changed.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.0.iter_mut().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// Whether a key is there.
    pub fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// Enters a value, in place of the one that the key has.
    pub fn insert(&mut self, key: K, value: V) {
        match self.get_mut(&key) {
            Some(known) => *known = value,
            None => self.0.push((key, value)),
        }
    }

    /// Strikes the entries whose keys are not wanted.
    pub fn retain(&mut self, wanted: impl Fn(&K) -> bool) {
        self.0.retain(|(key, _)| wanted(key));
    }

    /// How many keys there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// All values, in the order of their keys' first entry.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn a_key_has_the_value_last_entered_until_it_is_struck() {
        let mut table = Table::default();
        for (key, value) in [("a", 1), ("b", 2), ("a", 3)] {
            table.insert(key, value);
        }
        assert_eq!((table.get(&"a"), table.get(&"c")), (Some(&3), None));
        assert_eq!(table.values().copied().collect::<Vec<_>>(), [3, 2]);
        table.retain(|key| *key != "a");
        assert!(!table.contains_key(&"a") && table.contains_key(&"b"));
    }
}
