//! The inflaters of a listener, which its connections use in turn: about as many as there are I/O threads, whatever the
//! number of connections.

use millrace_protocol::websocket::deflate::Inflater;

use crate::sync::Mutex;

/// The inflaters that no thread uses now.
#[derive(Debug, Default)]
pub(crate) struct Inflaters(Mutex<Vec<Inflater>>);

/// An inflater for one call of a session, taken when it is first needed.
#[derive(Debug)]
pub(crate) struct Lent<'i> {
    inflaters: &'i Inflaters,
    taken: Option<Inflater>,
}

impl Inflaters {
    pub(crate) fn lend(&self) -> Lent<'_> {
        Lent {
            inflaters: self,
            taken: None,
        }
    }
}

impl AsMut<Inflater> for Lent<'_> {
    fn as_mut(&mut self) -> &mut Inflater {
        self.taken.get_or_insert_with(|| {
            let spare = self.inflaters.0.lock().pop();
            spare.unwrap_or_default()
        })
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Some(inflater) = self.taken.take() {
            self.inflaters.0.lock().push(inflater);
        }
    }
}
