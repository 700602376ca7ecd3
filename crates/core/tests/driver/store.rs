//! Operations on the key/value store, while time passes.

use std::collections::BTreeMap;

use millrace_core::{Held, Update};

use super::{Driver, name};

impl Driver {
    pub(super) fn set_key(&mut self, a: u8, b: u8, c: u8) {
        self.now += u64::from(c % 4);
        self.model.expire(self.now);
        let now = || self.now;
        if c < 64 {
            let before = self.core.set_key(&name(a), value(b).map(Into::into), now);
            let expected = self.model.set_key(&name(a), value(b));
            assert_eq!(before, expected.map(Into::into));
            return;
        }
        let until = (!c.is_multiple_of(3)).then(|| self.now + u64::from(c % 16));
        let before = self.core.update_key(&name(a), now, |held| {
            let before = held.map(|Held { value, until }| (value.to_vec(), until));
            let update = match (c % 5, value(b)) {
                (0, _) => Update::Keep,
                (1, _) => Update::Until(until),
                (_, Some(value)) => Update::Set {
                    value: value.into(),
                    until,
                },
                (_, None) => Update::Delete,
            };
            (update, before)
        });
        assert_eq!(before.as_ref(), self.model.keys.get(&name(a)));
        let after = match c % 5 {
            0 => before,
            1 => before.map(|(value, _)| (value, until)),
            _ => value(b).map(|value| (value, until)),
        };
        self.model.set_until(&name(a), after);
        // also removes what expires at once
        self.model.expire(self.now);
    }

    pub(super) fn set_key_if(&mut self, a: u8, b: u8, g: u8) {
        let check = value(g);
        let new = value(b).map(Into::into);
        let done = self
            .core
            .set_key_if(&name(a), new, check.as_deref(), || self.now);
        assert_eq!(
            done,
            self.model.set_key_if(&name(a), value(b), check.as_deref())
        );
    }

    pub(super) fn compare_keys(&self) {
        let expected: BTreeMap<Vec<u8>, Vec<u8>> = self
            .model
            .keys
            .iter()
            .map(|(key, (value, _))| (key.clone(), value.clone()))
            .collect();
        for count in [1, 3, 100] {
            let mut keys = BTreeMap::new();
            let mut cursor = 0;
            loop {
                cursor = self
                    .core
                    .scan_keys(cursor, count, self.now, &mut |key, value| {
                        let before = keys.insert(key.to_vec(), value.to_vec());
                        assert_eq!(before, None, "a scan shows each key once");
                    });
                if cursor == 0 {
                    break;
                }
            }
            assert_eq!(keys, expected);
        }
        assert_eq!(self.core.keys(usize::MAX, self.now).len(), expected.len());
        for byte in 0..8 {
            let value = self.core.key(&name(byte), || self.now);
            assert_eq!(value.as_deref(), expected.get(&name(byte)).map(|v| &v[..]));
        }
        assert!(self.core.key_count() >= expected.len());
        let each = |(key, value): (&Vec<u8>, &Vec<u8>)| key.len() + value.len() + 128;
        let bytes: usize = expected.iter().map(each).sum();
        assert!(self.core.key_bytes() >= u64::try_from(bytes).expect("few"));
        if self.core.key_count() == expected.len() {
            assert_eq!(usize::try_from(self.core.key_bytes()), Ok(bytes));
        }
    }
}

fn value(byte: u8) -> Option<Vec<u8>> {
    (!byte.is_multiple_of(4)).then(|| vec![byte % 4; usize::from(byte % 4) - 1])
}
