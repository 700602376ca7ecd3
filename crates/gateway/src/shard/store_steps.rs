//! Subscribers that read on in front of what this node keeps of a channel. Owns the step that they make with messages of the
//! store, and what they are told of those that it does not have either.

use millrace_core::{Name, Position, Progress, Room};

use super::Shard;
use super::past_pages::{Place, is_long, wide};
use super::recipients::Local;
use crate::inbox::{Page, WantedPage};
use crate::socket::Wake;
use crate::socket::connection::Shared;

impl Shard {
    /// Has one subscriber make a step with messages of the store: `from` that one on, up to those that are kept here. Returns
    /// the bytes of what it got.
    pub(super) fn step_in_store(
        &self,
        place: Place,
        connection: &Shared,
        (name, room): (&Name, Room),
        (from, until): (Position, u64),
    ) -> usize {
        let gone = self.cursors.borrow_mut().take_gone(place, from);
        if let Some(next) = gone {
            let next = next.min(until);
            let offset = next - 1;
            let why = Wake::Gap(name, Position { offset, ..from });
            self.tell_session(connection, &mut connection.io.borrow_mut(), why);
            self.keep_cursor(place, connection, Progress::Behind(next), true);
            return 0;
        }
        let list = place.list;
        let mut cursors = self.cursors.borrow_mut();
        let held = cursors.pages.from(list, (from, until), room);
        drop(cursors);
        let Some(held) = held else {
            let wanted = WantedPage {
                list,
                name: name.clone(),
                from,
                until,
                number: 0,
                refusals: 0,
            };
            self.cursors.borrow_mut().pages.wait(place, wanted);
            self.ask_for_pages();
            return 0;
        };
        let next = from.offset + wide(held.len());
        let has_read = !held.is_empty();
        let local = Local::new(place.socket, connection.slot, None);
        let is_long = held.iter().any(|held| is_long(held.publication.payload()));
        let each = held.into_iter().map(|held| (held.publication, held.number));
        let bytes = self.append_all_past(connection, &local, (list, name), is_long, each);
        self.keep_cursor(place, connection, Progress::Behind(next), has_read);
        bytes
    }

    /// The store may be asked again for the pages that were put off.
    pub(super) fn pages_again(&self) {
        self.cursors.borrow_mut().pages.ask_again();
        self.ask_for_pages();
    }

    /// A page has come from the store, or it could not be asked for it.
    pub(super) fn page_came(&self, page: Page) {
        let Page { wanted, messages } = page;
        let Some(messages) = messages else {
            self.cursors.borrow_mut().pages.put_off(wanted);
            return self.ask_for_pages();
        };
        let first = messages.first();
        let first = first.map_or(wanted.until, |kept| kept.number.position.offset);
        let mut cursors = self.cursors.borrow_mut();
        let mut places = cursors.pages.came(&wanted);
        places.retain(|place| cursors.reads(place));
        if !places.is_empty() {
            cursors.hold_page(wanted.list, &messages, &self.hub);
        }
        if first > wanted.from.offset {
            let offset = first;
            for place in &places {
                cursors.set_gone(
                    place,
                    Position {
                        offset,
                        ..wanted.from
                    },
                );
            }
        }
        drop(cursors);
        self.ask_for_pages();
        let mut places = places.into_iter();
        // before another page takes the place of this one
        if let Some(first) = places.next() {
            self.step_on(first);
        }
        let mut cursors = self.cursors.borrow_mut();
        cursors.ready.extend(places);
        self.watch_past(&mut cursors);
    }

    fn ask_for_pages(&self) {
        while let Some(wanted) = self.next_page() {
            self.hub.read_page(self.index, wanted);
        }
    }

    fn next_page(&self) -> Option<WantedPage> {
        self.cursors.borrow_mut().next_page()
    }
}
