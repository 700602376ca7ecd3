//! Virtual sockets. Owns creating and deleting them.

use std::sync::Arc;

use super::Core;
use crate::annotation::Annotation;
use crate::id::SocketId;
use crate::post::Post;

impl<K> Core<K> {
    /// Creates a virtual socket on a real or virtual one, with the annotation for messages sent through
    /// it.
    ///
    /// If the target is unknown, or the real socket is [`CHAIN_STEPS`](crate::limits::CHAIN_STEPS) or
    /// more steps away, the id dangles for ever: no message reaches it, but it can be deleted. Of the
    /// ids with an unknown target only the last [`DANGLING_IDS`](crate::limits::DANGLING_IDS) are kept.
    pub fn create_virtual(&self, target: SocketId, annotation: Option<Annotation>) -> SocketId {
        let mut table = self.socket_table(target);
        match table.attach(target, annotation) {
            Ok(id) => id,
            Err(annotation) => {
                let id = table.allocate();
                drop(table);
                self.dangling
                    .lock()
                    .insert(id, target, annotation.map(Arc::new));
                id
            }
        }
    }

    /// Deletes a virtual socket with its subscriptions. Virtual sockets that have it as their target
    /// dangle from now on and lose their subscriptions, but can still be deleted.
    ///
    /// Returns false and changes nothing if there is no such virtual socket or its immediate target is
    /// not the `expected` one.
    pub fn delete_virtual<P: Post<Kept = K>>(
        &self,
        id: SocketId,
        expected: Option<SocketId>,
        post: &mut P,
    ) -> bool {
        let removed = self.socket_table(id).delete(id, expected);
        match removed {
            Some(removed) => {
                self.leave_all(removed, post);
                true
            }
            None => self.dangling.lock().delete(id, expected),
        }
    }
}
