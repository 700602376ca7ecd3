//! An instruction of a worker to the session of one of its sockets, as data: only the protocol interprets it.

use super::Operation;
use crate::frame::SharedBytes;

/// See the module. A view; an instruction that waits is a [`Waiting`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction<'a> {
    operation: u32,
    fields: &'a [u8],
    payload: &'a [u8],
    shared: Option<&'a SharedBytes>,
}

/// A copied instruction that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    operation: u32,
    /// The fields, followed by the payload.
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

    /// An instruction with shared bytes, which are not copied, instead of a payload.
    pub(crate) fn sharing(operation: u32, fields: &'a [u8], shared: &'a SharedBytes) -> Self {
        Self {
            shared: Some(shared),
            ..Self::new(operation, fields, &[])
        }
    }

    /// The operation; `None` if the number is unknown.
    pub(crate) fn operation(&self) -> Option<Operation> {
        Operation::try_from(self.operation).ok()
    }

    pub(crate) fn fields(&self) -> &'a [u8] {
        self.fields
    }

    pub(crate) fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The shared bytes; `None` if it has a payload or nothing.
    pub(crate) fn shared(&self) -> Option<&'a SharedBytes> {
        self.shared
    }

    /// The bytes that it takes in [one piece](Self::append).
    pub(crate) fn length(&self) -> usize {
        HEAD_BYTES + self.fields.len() + self.payload.len()
    }

    /// Appends it without its [shared bytes](Self::shared), to be [read](Self::read) later.
    pub(crate) fn append(&self, out: &mut Vec<u8>) {
        let fields = u32::try_from(self.fields.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&self.operation.to_le_bytes());
        out.extend_from_slice(&fields.to_le_bytes());
        out.extend_from_slice(self.fields);
        out.extend_from_slice(self.payload);
    }

    /// Reads what [`append`](Self::append) wrote; `None` for anything else.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (operation, rest) = bytes.split_first_chunk()?;
        let (fields, rest) = rest.split_first_chunk()?;
        let fields = usize::try_from(u32::from_le_bytes(*fields)).ok()?;
        let (fields, payload) = rest.split_at_checked(fields)?;
        Some(Self::new(u32::from_le_bytes(*operation), fields, payload))
    }

    /// Copies it so that it can wait.
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

    /// The bytes that it takes while it waits, without the shared ones.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
    }
}

/// The operation, and the length of the fields.
const HEAD_BYTES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_is_read_as_it_was_written() {
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
