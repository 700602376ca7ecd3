//! The I/O shards' side of a core under test. Owns recipient lists built only from what is posted; never
//! asks the core anything.

use std::collections::BTreeMap;

use millrace_core::{
    Annotation, ChannelId, Post, Recipient, Route, ShardIndex, ShardSet, SocketId,
};
use millrace_testkit::model::{Delivery, Mark};
use std::sync::Arc;

/// Recipient lists, and what arrived since they were last looked at.
#[derive(Default)]
pub(crate) struct Mirror {
    /// By channel, then by subscriber.
    pub(crate) lists: BTreeMap<ChannelId, BTreeMap<u64, Recipient>>,
    /// What the names of the channels are, as far as the test told.
    pub(crate) names: BTreeMap<ChannelId, Vec<u8>>,
    /// What the operation under way calls its channel.
    pub(crate) naming: Vec<u8>,
    /// Shards that refuse messages.
    pub(crate) full: ShardSet,
    /// Messages for subscribers, expanded.
    pub(crate) deliveries: Vec<(Delivery, String)>,
}

impl Post for Mirror {
    type Message = str;

    fn join(&mut self, channel: ChannelId, recipient: Recipient) {
        let name = self
            .names
            .entry(channel)
            .or_insert_with(|| self.naming.clone());
        assert_eq!(*name, self.naming, "one name for {channel}");
        let subscriber = recipient.subscriber.get();
        let before = self
            .lists
            .entry(channel)
            .or_default()
            .insert(subscriber, recipient);
        assert_eq!(before, None, "{subscriber} joins {channel} once");
    }

    fn leave(&mut self, channel: ChannelId, subscriber: SocketId, route: Route) {
        let list = self
            .lists
            .get_mut(&channel)
            .expect("someone joined before someone leaves");
        let recipient = list
            .remove(&subscriber.get())
            .expect("who leaves has joined");
        assert_eq!(recipient.route, route);
        if list.is_empty() {
            self.lists.remove(&channel);
        }
    }

    fn publish(
        &mut self,
        shard: ShardIndex,
        channel: ChannelId,
        message: &str,
        except: &[SocketId],
        recipients: u32,
    ) -> bool {
        assert!(except.is_sorted(), "{except:?}");
        let list = &self.lists[&channel];
        assert!(
            except.iter().all(|id| list.contains_key(&id.get())),
            "{except:?} are subscribers"
        );
        let here = list
            .values()
            .filter(|recipient| recipient.route.shard == shard);
        let reached: Vec<&Recipient> = here
            .filter(|recipient| except.binary_search(&recipient.subscriber).is_err())
            .collect();
        assert_eq!(
            usize::try_from(recipients),
            Ok(reached.len()),
            "the count for {shard:?}"
        );
        assert!(recipients > 0, "nobody to post for");
        if self.full.contains(shard) {
            return false;
        }
        let reached = reached
            .into_iter()
            .map(|recipient| (delivery(recipient), message.to_owned()));
        self.deliveries.extend(reached);
        true
    }

    fn direct(
        &mut self,
        route: Route,
        annotation: Option<&Arc<Annotation>>,
        message: &str,
    ) -> bool {
        if self.full.contains(route.shard) {
            return false;
        }
        // a direct message does not say whom it was aimed at; the driver fills that in
        let delivery = Delivery {
            subscriber: 0,
            socket: route.socket.get(),
            mark: annotation.map(|each| mark(each)),
        };
        self.deliveries.push((delivery, message.to_owned()));
        true
    }
}

/// The model's word for an annotation.
pub(crate) fn mark(annotation: &Annotation) -> Mark {
    match annotation {
        Annotation::Prefix(prefix) => Mark::Prefix(prefix.to_vec()),
        Annotation::UserData(number) => Mark::Number(*number),
    }
}

fn delivery(recipient: &Recipient) -> Delivery {
    Delivery {
        subscriber: recipient.subscriber.get(),
        socket: recipient.route.socket.get(),
        mark: recipient.annotation.as_deref().map(mark),
    }
}
