//! The control messages of nodes: announcements, goodbyes, and queries about subscribers with their
//! answers. Owns the format. Hostile bytes are not a message and allocate nothing.

/// The numbers that a node reports to the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Real sockets open now.
    pub sockets: u64,
    /// Channels with a subscription.
    pub channels: u64,
    /// Subscriptions.
    pub subscriptions: u64,
}

/// A control message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// The node is present. True: the receivers should announce themselves, too.
    Present(Census, bool),
    /// The node leaves.
    Bye,
    /// The node has a link again and will soon be subscribed.
    Coming,
    /// A query for the number of subscribers of these channels.
    Ask(u64, Vec<Box<[u8]>>),
    /// The numbers for the query of the node `to`.
    Answer {
        to: u64,
        question: u64,
        census: Census,
        subscribers: Vec<u64>,
    },
}

impl Said {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Present(census, asks) => {
                out.extend_from_slice(&[1, u8::from(*asks)]);
                put_census(*census, &mut out);
            }
            Self::Bye => out.push(2),
            Self::Coming => out.push(5),
            Self::Ask(question, channels) => {
                out.push(3);
                put(*question, &mut out);
                for channel in channels {
                    put(u64::try_from(channel.len()).unwrap_or(u64::MAX), &mut out);
                    out.extend_from_slice(channel);
                }
            }
            Self::Answer {
                to,
                question,
                census,
                subscribers,
            } => {
                out.push(4);
                put(*to, &mut out);
                put(*question, &mut out);
                put_census(*census, &mut out);
                for count in subscribers {
                    put(*count, &mut out);
                }
            }
        }
        out
    }

    /// Decodes a control message; `None` if it is invalid.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (what, rest) = bytes.split_first()?;
        let mut reader = Reader(rest);
        let said = match what {
            1 => {
                let [asks] = reader.take()?;
                Self::Present(reader.census()?, asks != 0)
            }
            2 => Self::Bye,
            5 => Self::Coming,
            3 => {
                let question = reader.number()?;
                let mut channels = Vec::new();
                while !reader.0.is_empty() {
                    let length = usize::try_from(reader.number()?).ok()?;
                    let (channel, rest) = reader.0.split_at_checked(length)?;
                    channels.push(channel.into());
                    reader.0 = rest;
                    if channels.len() > MOST_CHANNELS {
                        return None;
                    }
                }
                Self::Ask(question, channels)
            }
            4 => {
                let (to, question, census) = (reader.number()?, reader.number()?, reader.census()?);
                let mut subscribers = Vec::new();
                while !reader.0.is_empty() {
                    subscribers.push(reader.number()?);
                    if subscribers.len() > MOST_CHANNELS {
                        return None;
                    }
                }
                Self::Answer {
                    to,
                    question,
                    census,
                    subscribers,
                }
            }
            _ => return None,
        };
        reader.0.is_empty().then_some(said)
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn number(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn census(&mut self) -> Option<Census> {
        Some(Census {
            sockets: self.number()?,
            channels: self.number()?,
            subscriptions: self.number()?,
        })
    }
}

fn put(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_census(census: Census, out: &mut Vec<u8>) {
    put(census.sockets, out);
    put(census.channels, out);
    put(census.subscriptions, out);
}

/// The most channels of one query.
pub const MOST_CHANNELS: usize = 1000;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CENSUS: Census = Census {
        sockets: 1,
        channels: 2,
        subscriptions: 3,
    };

    #[test]
    fn messages_decode_and_truncated_ones_are_refused() {
        for said in [
            Said::Present(CENSUS, true),
            Said::Bye,
            Said::Coming,
            Said::Ask(7, vec![(*b"a").into(), (*b"").into()]),
            Said::Answer {
                to: 8,
                question: 7,
                census: CENSUS,
                subscribers: vec![1, 2],
            },
        ] {
            let bytes = said.encode();
            assert_eq!(Said::decode(&bytes), Some(said.clone()));
            for end in 0..bytes.len() {
                assert_ne!(Said::decode(&bytes[..end]), Some(said.clone()), "{end}");
            }
            let longer = [&bytes[..], b"x"].concat();
            assert_eq!(Said::decode(&longer), None);
        }
    }

    #[test]
    fn queries_are_bounded() {
        let channels = |count| Said::Ask(1, vec![(*b"").into(); count]).encode();
        assert!(Said::decode(&channels(MOST_CHANNELS)).is_some());
        assert!(Said::decode(&channels(MOST_CHANNELS + 1)).is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_invalid(bytes: Vec<u8>, what in 0_u8..6) {
            let mut hostile = vec![what];
            hostile.extend_from_slice(&bytes);
            if let Some(said) = Said::decode(&hostile) {
                prop_assert!(matches!(said, Said::Present(..)) || said.encode() == hostile);
            }
        }
    }
}
