//! The names of a channel in the store. Ensures that all names of a channel are in one slot of a cluster, and that none is
//! the name of a channel of the plain link.

/// The names of channels: `prefix!h{name}` is the stream of messages, `prefix!m{name}` the hash of what is known about the
/// channel, and `prefix!p{name}` the topic. Of members, `prefix!i{name}` is the index of sessions, `prefix!s{name}` and a session
/// the hash of its members, and `prefix!t{name}` the topic. In the name, `{`, `}` and `%` are percent-encoded.
#[derive(Clone, Debug)]
pub(super) struct Names(Box<[u8]>);

impl Names {
    pub(super) fn new(prefix: &str) -> Self {
        Self(prefix.as_bytes().into())
    }

    /// The stream of messages.
    pub(super) fn stream(&self, channel: &[u8]) -> Vec<u8> {
        self.name(b'h', channel)
    }

    /// The hash with epoch, newest offset and keys of idempotency.
    pub(super) fn meta(&self, channel: &[u8]) -> Vec<u8> {
        self.name(b'm', channel)
    }

    /// What is subscribed to and published on.
    pub(super) fn topic(&self, channel: &[u8]) -> Vec<u8> {
        self.name(TOPIC, channel)
    }

    /// The channel of a topic.
    pub(super) fn channel(&self, topic: &[u8]) -> Option<Vec<u8>> {
        self.named(TOPIC, topic)
    }

    /// The index of sessions with members.
    pub(super) fn index(&self, channel: &[u8]) -> Vec<u8> {
        self.name(b'i', channel)
    }

    /// The beginning of the names of the hashes of members, one for each session.
    pub(super) fn members(&self, channel: &[u8]) -> Vec<u8> {
        self.name(b's', channel)
    }

    /// What is subscribed to and published on about members.
    pub(super) fn member_topic(&self, channel: &[u8]) -> Vec<u8> {
        self.name(MEMBER_TOPIC, channel)
    }

    /// The channel of a topic about members.
    pub(super) fn member_channel(&self, topic: &[u8]) -> Option<Vec<u8>> {
        self.named(MEMBER_TOPIC, topic)
    }

    /// The sorted set of sessions. `tag` decides about its slot.
    pub(super) fn lease(&self, tag: &[u8]) -> Vec<u8> {
        self.name(b'l', tag)
    }

    /// What is a topic about sessions; no channel has it.
    pub(super) fn lease_topic(&self, tag: &[u8]) -> Vec<u8> {
        self.name(b'n', tag)
    }

    /// The beginning of the names of the marks of nodes on a server.
    pub(super) fn mark(&self, tag: &[u8]) -> Vec<u8> {
        self.name(b'c', tag)
    }

    fn named(&self, what: u8, topic: &[u8]) -> Option<Vec<u8>> {
        let rest = topic.strip_prefix(&*self.0)?;
        let rest = rest.strip_prefix(&[b'!', what, b'{'])?;
        decode(rest.strip_suffix(b"}")?)
    }

    fn name(&self, what: u8, channel: &[u8]) -> Vec<u8> {
        let mut name = Vec::with_capacity(self.0.len() + channel.len() + 4);
        name.extend_from_slice(&self.0);
        name.extend_from_slice(&[b'!', what, b'{']);
        encode(channel, &mut name);
        name.push(b'}');
        name
    }
}

fn encode(channel: &[u8], out: &mut Vec<u8>) {
    for byte in channel {
        match byte {
            b'{' => out.extend_from_slice(b"%7B"),
            b'}' => out.extend_from_slice(b"%7D"),
            b'%' => out.extend_from_slice(b"%25"),
            byte => out.push(*byte),
        }
    }
    if channel.is_empty() {
        // empty braces would not decide about the slot
        out.push(b'%');
    }
}

fn decode(text: &[u8]) -> Option<Vec<u8>> {
    match text {
        b"" => return None,
        b"%" => return Some(Vec::new()),
        _ => {}
    }
    let mut channel = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        match byte {
            b'%' => {
                let (code, behind) = rest.split_first_chunk::<2>()?;
                channel.push(match code {
                    b"7B" => b'{',
                    b"7D" => b'}',
                    b"25" => b'%',
                    _ => return None,
                });
                rest = behind;
            }
            b'{' | b'}' => return None,
            byte => channel.push(*byte),
        }
    }
    Some(channel)
}

const TOPIC: u8 = b'p';

const MEMBER_TOPIC: u8 = b't';

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_have_one_slot_and_no_brace_of_their_own() {
        let names = Names::new("app");
        assert_eq!(names.stream(b"room:1"), b"app!h{room:1}");
        assert_eq!(names.meta(b"a{b}%"), b"app!m{a%7Bb%7D%25}");
        assert_eq!(names.topic(b""), b"app!p{%}");
    }

    #[test]
    fn other_topics_have_no_channel() {
        let names = Names::new("app");
        for topic in [
            &b"app!p{}"[..],
            b"app!p{a}b",
            b"app!h{a}",
            b"app:a",
            b"other!p{a}",
            b"app!p{%7}",
            b"app!p{%41}",
            b"app!p{a{b}",
            b"app!p{",
        ] {
            assert_eq!(names.channel(topic), None, "{}", topic.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn a_topic_leads_back_to_its_channel(channel in proptest::collection::vec(
            prop_oneof![any::<u8>(), proptest::sample::select(b"{}%:!7BD25".to_vec())], 0..20,
        )) {
            let names = Names::new("app");
            let topic = names.topic(&channel);
            prop_assert_eq!(topic.iter().filter(|byte| b"{}".contains(byte)).count(), 2);
            prop_assert_eq!(names.channel(&topic), Some(channel.clone()));
            prop_assert_eq!(names.member_channel(&topic), None);
            let topic = names.member_topic(&channel);
            prop_assert_eq!(names.member_channel(&topic), Some(channel));
        }

        #[test]
        fn any_topic_is_decoded_or_refused(topic: Vec<u8>) {
            let names = Names::new("");
            if let Some(channel) = names.channel(&topic) {
                prop_assert_eq!(names.topic(&channel), topic);
            }
        }
    }
}
