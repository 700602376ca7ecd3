//! What a worker tells the session of one of its sockets, as data: only the protocol knows what it means.

use super::Operation;
use crate::frame::SharedBytes;

/// See the module. A view: of one that waits, [`Waiting`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction<'a> {
    operation: u32,
    fields: &'a [u8],
    payload: &'a [u8],
    shared: Option<&'a SharedBytes>,
}

/// An instruction that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    operation: u32,
    /// The fields, and the payload behind them.
    bytes: Box<[u8]>,
    fields: usize,
    shared: Option<SharedBytes>,
}

impl<'a> Instruction<'a> {
    pub(crate) fn new(operation: u32, fields: &'a [u8], payload: &'a [u8]) -> Self {
        Self {
            operation,
            fields,
            payload,
            shared: None,
        }
    }

    /// With bytes that are not copied, instead of a payload.
    pub(crate) fn sharing(operation: u32, fields: &'a [u8], shared: &'a SharedBytes) -> Self {
        Self {
            shared: Some(shared),
            ..Self::new(operation, fields, &[])
        }
    }

    /// `None`: its number is no operation's.
    pub(crate) fn operation(&self) -> Option<Operation> {
        Operation::try_from(self.operation).ok()
    }

    pub(crate) fn fields(&self) -> &'a [u8] {
        self.fields
    }

    pub(crate) fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// `None`: it has a payload, or nothing.
    pub(crate) fn shared(&self) -> Option<&'a SharedBytes> {
        self.shared
    }

    /// Bytes of it where it is in [one piece](Self::append).
    pub(crate) fn length(&self) -> usize {
        HEAD_BYTES + self.fields.len() + self.payload.len()
    }

    /// Appends it without what it [shares](Self::shared), to be [read](Self::read) later.
    pub(crate) fn append(&self, out: &mut Vec<u8>) {
        let fields = u32::try_from(self.fields.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&self.operation.to_le_bytes());
        out.extend_from_slice(&fields.to_le_bytes());
        out.extend_from_slice(self.fields);
        out.extend_from_slice(self.payload);
    }

    /// Reads what [`append`](Self::append) wrote, and nothing else; `None`: something else did.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (operation, rest) = bytes.split_first_chunk()?;
        let (fields, rest) = rest.split_first_chunk()?;
        let fields = usize::try_from(u32::from_le_bytes(*fields)).ok()?;
        let (fields, payload) = rest.split_at_checked(fields)?;
        Some(Self::new(u32::from_le_bytes(*operation), fields, payload))
    }

    /// A copy, to wait.
    pub(crate) fn to_waiting(self) -> Waiting {
        Waiting {
            operation: self.operation,
            bytes: [self.fields, self.payload].concat().into_boxed_slice(),
            fields: self.fields.len(),
            shared: self.shared.cloned(),
        }
    }
}

impl Waiting {
    pub(crate) fn view(&self) -> Instruction<'_> {
        let (fields, payload) = self
            .bytes
            .split_at_checked(self.fields)
            .unwrap_or((&self.bytes, &[]));
        Instruction {
            shared: self.shared.as_ref(),
            ..Instruction::new(self.operation, fields, payload)
        }
    }

    /// Bytes of it while it waits, without those that it shares.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
    }
}

/// The operation and the bytes of the fields.
const HEAD_BYTES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_read_as_it_was_written() {
        let instruction = Instruction::new(0xffff, b"fields", b"payload");
        let mut bytes = Vec::new();
        instruction.append(&mut bytes);
        assert_eq!(bytes.len(), instruction.length());
        assert_eq!(Instruction::read(&bytes), Some(instruction));
        assert_eq!(Instruction::read(&bytes[..13]), None);
        assert_eq!(instruction.to_waiting().view(), instruction);
        let shared = SharedBytes::new(b"shared");
        let instruction = Instruction::sharing(1, b"fields", &shared);
        assert_eq!(instruction.to_waiting().view(), instruction);
    }
}
