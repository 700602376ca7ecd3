//! The I/O shards of a core under test. Owns recipient lists built only from what is posted; never asks
//! the core anything.

use std::collections::{BTreeMap, BTreeSet};

use millrace_core::{
    Annotation, ChannelId, Match, Name, Post, Recipient, Route, ShardIndex, ShardSet, SocketId,
    Space, Topic,
};
use millrace_testkit::model::{self, Delivery, Mark};
use std::sync::Arc;

/// Recipient lists, and what was posted since the last check.
#[derive(Default)]
pub(crate) struct Mirror {
    /// By channel, then by subscriber.
    pub(crate) lists: BTreeMap<ChannelId, BTreeMap<u64, Recipient>>,
    /// The names of the channels and patterns.
    pub(crate) names: BTreeMap<ChannelId, model::Topic>,
    /// The names that other nodes were told to be wanted.
    pub(crate) wanted: BTreeSet<model::Topic>,
    /// The last message for other nodes, and its channel.
    pub(crate) upstream: Option<(Vec<u8>, String)>,
    /// Shards that refuse messages.
    pub(crate) full: ShardSet,
    /// Messages for subscribers, one entry for each recipient.
    pub(crate) deliveries: Vec<(Delivery, String)>,
    /// What was made ready last. Every second message has to be made ready.
    ready: Option<(String, Option<Arc<Annotation>>)>,
}

impl Post for Mirror {
    type Message = str;
    type Kept = ();

    fn keep(&mut self, _: &str) -> ((), usize) {
        ((), 0)
    }

    fn join(&mut self, channel: ChannelId, name: &Name, recipient: Recipient) {
        let name = topic(name);
        let known = self.names.entry(channel).or_insert_with(|| name.clone());
        assert_eq!(*known, name, "{channel} keeps its name");
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
            .expect("a list that is left has been joined");
        let recipient = list
            .remove(&subscriber.get())
            .expect("a subscriber that leaves has joined");
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
        assert!(!matches!(self.names[&channel], model::Topic::Pattern(_)));
        self.deliver(shard, channel, message, except, recipients)
    }

    fn publish_match(
        &mut self,
        shard: ShardIndex,
        matched: Match<'_>,
        message: &str,
        except: &[SocketId],
        recipients: u32,
    ) -> bool {
        assert_eq!(matched.channel.space(), Space::Channel);
        if let Some((channel, _)) = &self.upstream {
            assert_eq!(matched.channel.as_bytes(), channel);
        }
        self.deliver(shard, matched.pattern, message, except, recipients)
    }

    fn direct(
        &mut self,
        route: Route,
        annotation: Option<&Arc<Annotation>>,
        message: &str,
    ) -> bool {
        self.check_ready(message, annotation);
        if self.full.contains(route.shard) {
            return false;
        }
        // a direct message does not carry the id that it was sent to; the driver fills it in
        let delivery = Delivery {
            subscriber: 0,
            socket: route.socket.get(),
            mark: annotation.map(|each| mark(each)),
            pattern: None,
        };
        self.deliveries.push((delivery, message.to_owned()));
        true
    }

    fn wanted(&mut self, _: ChannelId, name: &Name, wanted: bool) {
        let changed = if wanted {
            self.wanted.insert(topic(name))
        } else {
            self.wanted.remove(&topic(name))
        };
        assert!(changed, "{name:?} is {wanted} already");
    }

    fn upstream(&mut self, channel: Topic<'_>, message: &str) {
        self.check_ready(message, None);
        self.upstream = Some((channel.as_bytes().to_vec(), message.to_owned()));
    }

    fn is_ready(&self, message: &str, annotation: Option<&Arc<Annotation>>) -> bool {
        let takes_long = message.ends_with(['1', '3', '5', '7', '9']);
        !takes_long || self.ready == Some((message.to_owned(), annotation.cloned()))
    }

    fn make_ready(&mut self, message: &str, annotation: Option<&Arc<Annotation>>) {
        self.ready = Some((message.to_owned(), annotation.cloned()));
    }

    fn has_upstream(&self) -> bool {
        true
    }
}

impl Mirror {
    fn check_ready(&self, message: &str, annotation: Option<&Arc<Annotation>>) {
        assert!(
            self.is_ready(message, annotation),
            "{message} was not ready"
        );
    }

    fn deliver(
        &mut self,
        shard: ShardIndex,
        channel: ChannelId,
        message: &str,
        except: &[SocketId],
        recipients: u32,
    ) -> bool {
        assert!(except.is_sorted(), "{except:?}");
        self.check_ready(message, None);
        let list = &self.lists[&channel];
        assert!(
            except.iter().all(|id| list.contains_key(&id.get())),
            "everyone in {except:?} is a subscriber"
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
            "the number of recipients on {shard:?}"
        );
        assert!(recipients > 0, "a message was posted without a recipient");
        if self.full.contains(shard) {
            return false;
        }
        let pattern = match &self.names[&channel] {
            model::Topic::Pattern(text) => Some(text.clone()),
            model::Topic::Channel(_) | model::Topic::Sharded(_) => None,
        };
        let reached = reached.into_iter().map(|recipient| {
            let delivery = Delivery {
                pattern: pattern.clone(),
                ..delivery(recipient)
            };
            (delivery, message.to_owned())
        });
        self.deliveries.extend(reached);
        true
    }
}

/// Converts a name to the model's type.
pub(crate) fn topic(name: &Name) -> model::Topic {
    let bytes = name.as_bytes().to_vec();
    match name.space() {
        Space::Channel => model::Topic::Channel(bytes),
        Space::Sharded => model::Topic::Sharded(bytes),
        Space::Pattern => model::Topic::Pattern(bytes),
    }
}

/// Converts an annotation to the model's type.
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
        pattern: None,
    }
}
