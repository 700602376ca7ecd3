//! Who has asked a store of histories something, and how each is told what came of it: a session of `millrace.v1`, or a
//! JavaScript thread. Owns the form of these answers.

use millrace_backplane::store::{Appended, StoreError, StoredPast};
use millrace_core::{Epoch, Kind, Position, ShardSet, SocketId};

use super::{Hub, stored_past};
use crate::event::{Instruction, Operation, Question, Reply};
use crate::inbox::Command;

/// Who is told what came of a question to the store.
#[derive(Debug)]
pub(crate) enum Teller {
    /// A session of `millrace.v1`, by the number of the operation.
    Session(SocketId, u32),
    /// A JavaScript thread.
    Asker(Question),
}

/// What came of it.
pub(crate) enum Outcome {
    Published(Appended),
    /// The channel is followed now.
    Followed,
    Read(StoredPast),
    Failed(StoreError),
    /// The channel cannot be followed, or not be read.
    Away,
    /// The members of other nodes cannot be read.
    MembersUnknown,
}

impl Teller {
    /// Whether it is a session, whose client may ask once more.
    pub(super) fn is_session(&self) -> bool {
        matches!(self, Self::Session(..))
    }

    pub(super) fn tell(self, hub: &Hub, outcome: Outcome) {
        match self {
            Self::Session(socket, number) => {
                let mut fields = number.to_le_bytes().to_vec();
                verdict(&outcome).append(&mut fields);
                let payload = match &outcome {
                    Outcome::Read(past) => stored_past::encode(past),
                    _ => Vec::new(),
                };
                hub.answer_session(socket, &fields, &payload);
            }
            Self::Asker(question) => question.answer(reply(outcome)),
        }
    }
}

/// What a session of `millrace.v1` is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreVerdict {
    /// The message is there.
    Published(Position),
    /// A channel is followed now.
    Followed,
    /// What was read is the payload.
    Read,
    /// The store cannot be reached: nothing was done.
    Away,
    /// Whether the message was published is not known.
    Unknown,
}

impl StoreVerdict {
    /// Reads the fields of an answer behind its number; `None`: it is the answer of a handler.
    pub(crate) fn read(fields: &[u8]) -> Option<Self> {
        Some(match *fields.first()? {
            PUBLISHED => {
                let (epoch, rest) = fields.get(1..)?.split_first_chunk()?;
                let (offset, _) = rest.split_first_chunk()?;
                Self::Published(Position {
                    epoch: Epoch::new(u64::from_le_bytes(*epoch)),
                    offset: u64::from_le_bytes(*offset),
                })
            }
            FOLLOWED => Self::Followed,
            READ => Self::Read,
            AWAY => Self::Away,
            UNKNOWN => Self::Unknown,
            _ => return None,
        })
    }

    fn append(&self, fields: &mut Vec<u8>) {
        match self {
            Self::Published(Position { epoch, offset }) => {
                fields.push(PUBLISHED);
                fields.extend_from_slice(&epoch.get().to_le_bytes());
                fields.extend_from_slice(&offset.to_le_bytes());
            }
            Self::Followed => fields.push(FOLLOWED),
            Self::Read => fields.push(READ),
            Self::Away => fields.push(AWAY),
            Self::Unknown => fields.push(UNKNOWN),
        }
    }
}

/// The verdicts by number, apart from those of handlers.
const PUBLISHED: u8 = 0x81;
const FOLLOWED: u8 = 0x82;
const READ: u8 = 0x83;
const AWAY: u8 = 0x84;
const UNKNOWN: u8 = 0x85;

fn verdict(outcome: &Outcome) -> StoreVerdict {
    match outcome {
        Outcome::Published(appended) => StoreVerdict::Published(appended.position),
        Outcome::Followed => StoreVerdict::Followed,
        Outcome::Read(_) => StoreVerdict::Read,
        Outcome::Failed(StoreError::Unknown) => StoreVerdict::Unknown,
        Outcome::Failed(_) | Outcome::Away | Outcome::MembersUnknown => StoreVerdict::Away,
    }
}

/// What a JavaScript thread is told.
fn reply(outcome: Outcome) -> Reply {
    let failed =
        |error: StoreError| Reply::Failed(code(error).into(), Some(error.to_string().into()));
    match outcome {
        Outcome::Published(appended) => {
            let Position { epoch, offset } = appended.position;
            let text = format!("{epoch} {offset} {}", u8::from(appended.is_repeated));
            Reply::Said(Kind::Text, text.into_bytes().into())
        }
        Outcome::Followed => Reply::Yes,
        Outcome::Read(past) => {
            let bytes = stored_past::encode(&past);
            Reply::Said(Kind::Binary, bytes.into())
        }
        Outcome::Failed(error) => failed(error),
        Outcome::Away => failed(StoreError::Away),
        Outcome::MembersUnknown => Reply::Failed(
            "ERR_MILLRACE_PRESENCE_UNAVAILABLE".into(),
            Some("the members of other nodes cannot be read now".into()),
        ),
    }
}

/// The code of a publication's failure.
pub(super) fn code(error: StoreError) -> &'static str {
    match error {
        StoreError::Unknown => "ERR_MILLRACE_PUBLICATION_UNKNOWN",
        StoreError::Away | StoreError::Full | StoreError::Refused => {
            "ERR_MILLRACE_HISTORY_UNAVAILABLE"
        }
    }
}

impl Hub {
    /// Gives a session of `millrace.v1` an answer of the store; a closed socket gets none. Never refused: as many are on
    /// their way as sessions have asked.
    fn answer_session(&self, socket: SocketId, fields: &[u8], payload: &[u8]) {
        let mut dirty = ShardSet::default();
        let operation = Operation::V1Answer.number();
        let instruction = Instruction::new(operation, fields, payload);
        self.core.reach(socket, &[], |route, _annotation| {
            let command = Command::Tell {
                slot: route.slot,
                socket: route.socket,
                instruction: Box::new(instruction.to_waiting()),
            };
            self.inboxes.post(route.shard, command);
            dirty.insert(route.shard);
        });
        self.wake(&mut dirty);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_read_as_it_was_written_and_none_is_that_of_a_handler() {
        let position = Position {
            epoch: Epoch::new(u64::MAX),
            offset: 7,
        };
        for verdict in [
            StoreVerdict::Published(position),
            StoreVerdict::Followed,
            StoreVerdict::Read,
            StoreVerdict::Away,
            StoreVerdict::Unknown,
        ] {
            let mut fields = Vec::new();
            verdict.append(&mut fields);
            assert_eq!(StoreVerdict::read(&fields), Some(verdict));
            assert!(fields[0] >= 0x80);
        }
        assert_eq!(StoreVerdict::read(&[PUBLISHED, 1]), None);
        assert_eq!(StoreVerdict::read(&[1]), None);
        assert_eq!(StoreVerdict::read(&[]), None);
    }
}
