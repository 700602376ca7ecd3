//! Which patterns match a name. Owns an immutable index, shared by every lock shard of the channels and
//! ordered by the literal beginning of each pattern; never knows the subscribers.
//!
//! In byte order, the names that begin with a pattern's literal bytes directly follow those bytes. So the
//! last pattern at or before a name shows how many bytes of the name the next lookup needs, and patterns
//! with another beginning are never visited.

use std::sync::Arc;

/// A pattern in the index.
pub(crate) trait Indexed {
    /// The bytes that every match begins with.
    fn literal(&self) -> &[u8];

    /// The whole text, which orders patterns with the same literal beginning.
    fn text(&self) -> &[u8];
}

/// Shares its chunks with other versions of itself: a change copies one chunk and the list of chunks.
pub(crate) struct PatternIndex<T> {
    /// The chunks in order. None is empty.
    chunks: Arc<Vec<Chunk<T>>>,
}

type Chunk<T> = Arc<Vec<Arc<T>>>;

/// A pattern, those before it in its chunk, and the chunks before that. Most lookups need only the first of these.
type Last<'a, T> = (&'a T, &'a [Arc<T>], &'a [Chunk<T>]);

impl<T: Indexed> PatternIndex<T> {
    /// An empty index.
    pub(crate) fn new() -> Self {
        Self {
            chunks: Arc::default(),
        }
    }

    /// Adds a pattern whose text is not in the index.
    pub(crate) fn insert(&mut self, pattern: Arc<T>) {
        let place = self.chunk_of(&*pattern);
        let chunks = Arc::make_mut(&mut self.chunks);
        let Some(shared) = chunks.get_mut(place) else {
            chunks.push(Arc::new(vec![pattern]));
            return;
        };
        let chunk = Arc::make_mut(shared);
        let at = chunk.partition_point(|each| key(&**each) < key(&*pattern));
        chunk.insert(at, pattern);
        if chunk.len() > CHUNK {
            let upper = chunk.split_off(CHUNK / 2);
            chunks.insert(place + 1, Arc::new(upper));
        }
    }

    /// Removes the pattern with the same text.
    pub(crate) fn remove(&mut self, pattern: &T) {
        let place = self.chunk_of(pattern);
        let chunks = Arc::make_mut(&mut self.chunks);
        let Some(shared) = chunks.get_mut(place) else {
            return;
        };
        let chunk = Arc::make_mut(shared);
        chunk.retain(|each| each.text() != pattern.text());
        if chunk.is_empty() {
            chunks.remove(place);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Visits the patterns whose literal bytes the name begins with, the longest first.
    pub(crate) fn for_each_candidate<'a>(&'a self, name: &[u8], mut visit: impl FnMut(&'a T)) {
        let mut sought = name;
        while let Some((last, chunk, chunks)) = self.back_from(sought) {
            let literal = last.literal();
            let common = common(literal, sought);
            if common < literal.len() {
                sought = sought.get(..common).unwrap_or_default();
                continue;
            }
            visit(last);
            let chunks = chunks.iter().rev().flat_map(|chunk| chunk.iter().rev());
            let before = chunk.iter().rev().chain(chunks).map(|each| &**each);
            before
                .take_while(|each| each.literal() == literal)
                .for_each(&mut visit);
            let Some(shorter) = literal.split_last() else {
                return;
            };
            sought = shorter.1;
        }
    }

    /// The last pattern whose literal bytes are at or before `sought`.
    fn back_from(&self, sought: &[u8]) -> Option<Last<'_, T>> {
        let at_most = |each: &Arc<T>| each.literal() <= sought;
        let chunks = self
            .chunks
            .partition_point(|chunk| chunk.first().is_some_and(at_most));
        let (chunk, before) = self.chunks.get(..chunks)?.split_last()?;
        let upto = chunk.get(..chunk.partition_point(at_most))?;
        let (last, upto) = upto.split_last()?;
        Some((last, upto, before))
    }

    /// The position of the chunk where a pattern is or belongs.
    fn chunk_of(&self, pattern: &T) -> usize {
        let behind = |chunk: &Chunk<T>| {
            chunk
                .first()
                .is_some_and(|first| key(&**first) <= key(pattern))
        };
        self.chunks.partition_point(behind).saturating_sub(1)
    }
}

impl<T> Clone for PatternIndex<T> {
    fn clone(&self) -> Self {
        Self {
            chunks: Arc::clone(&self.chunks),
        }
    }
}

fn key<T: Indexed>(pattern: &T) -> (&[u8], &[u8]) {
    (pattern.literal(), pattern.text())
}

/// The length of the beginning that two texts share.
fn common(one: &[u8], other: &[u8]) -> usize {
    one.iter()
        .zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}

/// The most patterns in a chunk.
const CHUNK: usize = if cfg!(test) { 4 } else { 64 };

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;
    use proptest::prelude::*;

    struct Entry(Vec<u8>, Pattern);

    impl Indexed for Entry {
        fn literal(&self) -> &[u8] {
            self.1.literal()
        }

        fn text(&self) -> &[u8] {
            &self.0
        }
    }

    fn entry(text: &[u8]) -> Entry {
        Entry(text.to_vec(), Pattern::new(text).unwrap())
    }

    fn found(index: &PatternIndex<Entry>, name: &[u8]) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        index.for_each_candidate(name, |each| found.push(each.0.clone()));
        found
    }

    #[test]
    fn only_patterns_with_the_same_beginning_are_visited() {
        let mut index = PatternIndex::new();
        for text in [
            "*", "a*", "ab*", "ab?", "abc*", "abd*", "b*", "zz*", "[a]*", "ab",
        ] {
            index.insert(Arc::new(entry(text.as_bytes())));
        }
        let mut here = found(&index, b"abcde");
        assert_eq!(here.first().unwrap(), b"abc*", "the longest comes first");
        here.sort();
        assert_eq!(
            here,
            [&b"*"[..], b"[a]*", b"a*", b"ab", b"ab*", b"ab?", b"abc*"]
        );
        assert_eq!(found(&index, b"").len(), 2);
        assert_eq!(found(&index, b"zy").len(), 2);
        assert_eq!(found(&index, b"\xff").len(), 2);
        assert_eq!(found(&index, b"zz").len(), 3);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn finds_what_a_linear_search_finds(
            ops in prop::collection::vec((any::<bool>(), prop::collection::vec(prop::sample::select(&b"ab*"[..]), 0..6)), 0..80),
            names in prop::collection::vec(prop::collection::vec(prop::sample::select(&b"abc"[..]), 0..8), 1..8),
        ) {
            let mut index = PatternIndex::new();
            let mut texts: Vec<Vec<u8>> = Vec::new();
            let mut versions = Vec::new();
            for (add, text) in ops {
                let there = texts.contains(&text);
                if add && !there {
                    index.insert(Arc::new(entry(&text)));
                    texts.push(text);
                } else if !add && there {
                    index.remove(&entry(&text));
                    texts.retain(|each| *each != text);
                }
                versions.push((index.clone(), texts.clone()));
            }
            prop_assert_eq!(index.is_empty(), texts.is_empty());
            for (index, texts) in versions {
                for name in &names {
                    let mut here = found(&index, name);
                    here.sort();
                    let mut expected = texts.clone();
                    expected.retain(|text| name.starts_with(entry(text).literal()));
                    expected.sort();
                    prop_assert_eq!(here, expected);
                }
            }
        }
    }
}
