//! What a worker tells the session of one of its sockets, as data: only the protocol knows what it means.

use super::Operation;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) operation: Operation,
    /// The fields, and the payload behind them.
    bytes: Box<[u8]>,
    fields: usize,
}

#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the probe of the tests is the first that is told")
)]
impl Instruction {
    pub(crate) fn new(operation: Operation, fields: &[u8], payload: &[u8]) -> Self {
        Self {
            operation,
            bytes: [fields, payload].concat().into_boxed_slice(),
            fields: fields.len(),
        }
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
