//! What a worker tells the session of one of its sockets, as data: only the protocol knows what it means.

use super::Operation;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    operation: u32,
    /// The fields, and the payload behind them.
    bytes: Box<[u8]>,
    fields: usize,
}

impl Instruction {
    pub(crate) fn new(operation: u32, fields: &[u8], payload: &[u8]) -> Self {
        Self {
            operation,
            bytes: [fields, payload].concat().into_boxed_slice(),
            fields: fields.len(),
        }
    }

    /// `None`: its number is no operation's.
    pub(crate) fn operation(&self) -> Option<Operation> {
        Operation::try_from(self.operation).ok()
    }

    pub(crate) fn fields(&self) -> &[u8] {
        self.bytes.get(..self.fields).unwrap_or_default()
    }

    pub(crate) fn payload(&self) -> &[u8] {
        self.bytes.get(self.fields..).unwrap_or_default()
    }

    /// Bytes of it that wait in a shard's inbox.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
    }
}
