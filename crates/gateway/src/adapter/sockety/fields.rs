//! The fields of events and instructions between a session and its worker: numbers are little-endian, ids are as on the
//! wire, texts come last. Each layout is defined once, by the function that writes or reads it.

use millrace_protocol::sockety::{FileListBuf, Head, Id, Subject};

use crate::contract::TransferId;

/// Bits of the first word of a message's fields.
pub(super) const RESPONSE: u32 = 1;
pub(super) const EXPECTS_RESPONSE: u32 = 1 << 1;
pub(super) const HAS_STREAM: u32 = 1 << 2;
/// The action is not ASCII only; set only towards the worker.
const WIDE: u32 = 1 << 3;

/// Appends the fields of `Event::SocketyMessage`: flags (4 bytes), number of files (4), the message's number on this
/// connection (8), its id (16), the id that it answers (16, zeros if none), bytes of its data (8) and of its files
/// together (8), the transfers of its data and of its stream (8 each, 0 if there is none: then the data is the payload,
/// or empty), bytes of the action (4), the action, and for each file its size (8), the bytes of its name (4) and its
/// name. The transfers are set later by [`set_transfers`].
pub(super) fn append_message(number: u64, head: &Head<'_>, out: &mut Vec<u8>) {
    let (mut flags, parent, action) = match head.subject {
        Subject::Action(action) => (0, Id::new([0; 16]), action),
        Subject::Parent(parent) => (RESPONSE, parent, ""),
    };
    if head.expects_response {
        flags |= EXPECTS_RESPONSE;
    }
    if head.has_stream {
        flags |= HAS_STREAM;
    }
    if !action.is_ascii() {
        flags |= WIDE;
    }
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&head.files.count().to_le_bytes());
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(head.id.as_bytes());
    out.extend_from_slice(parent.as_bytes());
    out.extend_from_slice(&head.data_size.to_le_bytes());
    out.extend_from_slice(&head.files.total_size().to_le_bytes());
    out.extend_from_slice(&[0; 16]);
    append_text(action, out);
    for file in head.files.iter() {
        out.extend_from_slice(&file.size.to_le_bytes());
        append_text(file.name, out);
    }
}

/// Sets the transfers of data and stream.
pub(super) fn set_transfers(
    fields: &mut [u8],
    data: Option<TransferId>,
    stream: Option<TransferId>,
) {
    for (at, id) in [(TRANSFERS_AT, data), (TRANSFERS_AT + 8, stream)] {
        let id = id.map_or(0, TransferId::get);
        if let Some(place) = fields.get_mut(at..at + 8) {
            place.copy_from_slice(&id.to_le_bytes());
        }
    }
}

const TRANSFERS_AT: usize = 64;

fn append_text(text: &str, out: &mut Vec<u8>) {
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// The fields of `Event::SocketyFile`: the message's number, the transfer (8 bytes each), and the file's index (4).
pub(super) fn of_file(number: u64, id: TransferId, index: u32) -> [u8; 20] {
    let mut fields = [0; 20];
    let (words, place) = fields.split_at_mut(16);
    let both = u128::from(number) | u128::from(id.get()) << 64;
    words.copy_from_slice(&both.to_le_bytes());
    place.copy_from_slice(&index.to_le_bytes());
    fields
}

/// Reads the fields of `Operation::SocketySave`: only the transfer (8 bytes); the path is the payload. `None`: they are
/// invalid.
pub(super) fn to_saved(fields: &[u8]) -> Option<TransferId> {
    let id = u64::from_le_bytes(*fields.first_chunk()?);
    Some(TransferId::new(id))
}

/// The fields of `Event::SocketyFileSaved`: the transfer, the bytes written (8 bytes each), and whether the file is
/// complete (4 bytes). The payload has the error.
pub(super) fn of_saved(id: TransferId, bytes: u64, last: bool) -> [u8; 20] {
    let mut fields = [0; 20];
    let (words, end) = fields.split_at_mut(16);
    let both = u128::from(id.get()) | u128::from(bytes) << 64;
    words.copy_from_slice(&both.to_le_bytes());
    end.copy_from_slice(&u32::from(last).to_le_bytes());
    fields
}

/// Reads the fields of `Operation::SocketyFile`: the transfer, and the bytes to be sent (8 each); the path is the
/// payload. `None`: they are invalid.
pub(super) fn to_disk_file(fields: &[u8]) -> Option<(TransferId, u64)> {
    let (id, rest) = fields.split_first_chunk()?;
    let size = u64::from_le_bytes(*rest.first_chunk()?);
    Some((TransferId::new(u64::from_le_bytes(*id)), size))
}

/// The fields of `Event::SocketyFastReply` and of the operation: the code (4 bytes), and the id that is answered.
pub(super) fn of_fast_reply(code: u16, id: Id) -> [u8; 20] {
    let mut fields = [0; 20];
    let (number, name) = fields.split_at_mut(4);
    number.copy_from_slice(&u32::from(code).to_le_bytes());
    name.copy_from_slice(id.as_bytes());
    fields
}

/// Reads [`of_fast_reply`]; `None`: they are invalid.
pub(super) fn to_fast_reply(fields: &[u8]) -> Option<(u16, Id)> {
    let (code, id) = fields.split_first_chunk::<4>()?;
    let code = u16::try_from(u32::from_le_bytes(*code)).ok()?;
    Some((code, Id::new(id.try_into().ok()?)))
}

/// A whole message that the worker sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outgoing<'a> {
    pub(super) subject: Subject<'a>,
    pub(super) id: Id,
    pub(super) expects_response: bool,
}

/// Reads the fields of `Operation::SocketySend`: flags (4 bytes, as in [`append_message`], without a stream), the id
/// (16), the id that it answers (16, ignored if none), and the action. `None`: they are invalid.
pub(super) fn to_outgoing(fields: &[u8]) -> Option<Outgoing<'_>> {
    let (flags, rest) = fields.split_first_chunk::<4>()?;
    let (id, rest) = rest.split_first_chunk::<16>()?;
    let (parent, action) = rest.split_first_chunk::<16>()?;
    let flags = u32::from_le_bytes(*flags);
    if flags & !(RESPONSE | EXPECTS_RESPONSE) != 0 {
        return None;
    }
    let action = str::from_utf8(action).ok()?;
    Some(outgoing(flags, *id, *parent, action))
}

/// The part that both operations share. The action is used only if the message is not a response.
fn outgoing(flags: u32, id: [u8; 16], parent: [u8; 16], action: &str) -> Outgoing<'_> {
    let subject = if flags & RESPONSE == 0 {
        Subject::Action(action)
    } else {
        Subject::Parent(Id::new(parent))
    };
    Outgoing {
        subject,
        id: Id::new(id),
        expects_response: flags & EXPECTS_RESPONSE != 0,
    }
}

/// A message that the worker begins and whose contents follow.
#[derive(Debug)]
pub(super) struct Announced<'a> {
    pub(super) outgoing: Outgoing<'a>,
    pub(super) has_stream: bool,
    pub(super) data_size: u64,
    pub(super) files: FileListBuf,
}

/// Reads the fields of `Operation::SocketyBegin`: flags (4 bytes, as in [`append_message`]), the id (16), the id that
/// it answers (16, ignored if none), bytes of its data (8), bytes of the action (4), the action, and for each file its
/// size (8), the bytes of its name (4) and its name. `None`: they are invalid, or exceed what the wire can express.
pub(super) fn to_announced(fields: &[u8]) -> Option<Announced<'_>> {
    let (flags, rest) = fields.split_first_chunk::<4>()?;
    let (id, rest) = rest.split_first_chunk::<16>()?;
    let (parent, rest) = rest.split_first_chunk::<16>()?;
    let (data_size, rest) = rest.split_first_chunk::<8>()?;
    let (action, mut rest) = split_text(rest)?;
    let mut files = FileListBuf::new();
    while !rest.is_empty() {
        let (size, behind) = rest.split_first_chunk::<8>()?;
        let (name, behind) = split_text(behind)?;
        files.push(name, u64::from_le_bytes(*size)).ok()?;
        rest = behind;
    }
    let flags = u32::from_le_bytes(*flags);
    Some(Announced {
        outgoing: outgoing(flags, *id, *parent, action),
        has_stream: flags & HAS_STREAM != 0,
        data_size: u64::from_le_bytes(*data_size),
        files,
    })
}

fn split_text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (text, rest) = rest.split_at_checked(length)?;
    Some((str::from_utf8(text).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_message_have_all_that_it_announces() {
        let mut files = FileListBuf::new();
        files.push("f", 3).unwrap();
        let head = Head {
            subject: Subject::Action("ab"),
            id: Id::new([7; 16]),
            expects_response: true,
            has_stream: true,
            data_size: 5,
            files: files.as_list(),
        };
        let mut fields = Vec::new();
        append_message(9, &head, &mut fields);
        set_transfers(
            &mut fields,
            Some(TransferId::new(64)),
            Some(TransferId::new(128)),
        );
        let expected = [
            &6_u32.to_le_bytes()[..],
            &1_u32.to_le_bytes(),
            &9_u64.to_le_bytes(),
            &[7; 16],
            &[0; 16],
            &5_u64.to_le_bytes(),
            &3_u64.to_le_bytes(),
            &64_u64.to_le_bytes(),
            &128_u64.to_le_bytes(),
            &2_u32.to_le_bytes(),
            b"ab",
            &3_u64.to_le_bytes(),
            &1_u32.to_le_bytes(),
            b"f",
        ];
        // two numbers of eight bytes follow the ids
        assert_eq!(fields, expected.concat());
    }

    #[test]
    fn the_fields_of_a_file_have_its_index() {
        let fields = of_file(2, TransferId::new(64), 3);
        assert_eq!((fields[0], fields[8], fields[16]), (2, 64, 3));
        assert_eq!(fields.iter().map(|byte| u32::from(*byte)).sum::<u32>(), 69);
    }

    #[test]
    fn fast_replies_go_both_ways() {
        let id = Id::new([9; 16]);
        let fields = of_fast_reply(4095, id);
        assert_eq!(to_fast_reply(&fields), Some((4095, id)));
        assert_eq!(to_fast_reply(&fields[..19]), None);
        let mut beyond = fields;
        beyond[2] = 1;
        assert_eq!(to_fast_reply(&beyond), None);
    }

    #[test]
    fn the_fields_of_a_message_to_begin_are_read() {
        let fields = [
            &6_u32.to_le_bytes()[..],
            &[1; 16],
            &[2; 16],
            &9_u64.to_le_bytes(),
            &2_u32.to_le_bytes(),
            b"go",
            &3_u64.to_le_bytes(),
            &1_u32.to_le_bytes(),
            b"f",
        ]
        .concat();
        let announced = to_announced(&fields).unwrap();
        assert_eq!(announced.outgoing.subject, Subject::Action("go"));
        assert!(announced.outgoing.expects_response && announced.has_stream);
        assert_eq!(announced.data_size, 9);
        let files = announced.files.as_list();
        let file = files.iter().next().unwrap();
        assert_eq!((files.count(), file.name, file.size), (1, "f", 3));
        for cut in 0..fields.len() {
            // without its file the message is complete, too
            assert_eq!(to_announced(&fields[..cut]).is_some(), cut == 50, "{cut}");
        }
    }

    #[test]
    fn the_fields_of_a_message_to_send_are_read() {
        let fields = |flags: u32, action: &[u8]| {
            [&flags.to_le_bytes()[..], &[1; 16], &[2; 16], action].concat()
        };
        let message = Outgoing {
            subject: Subject::Action("go"),
            id: Id::new([1; 16]),
            expects_response: true,
        };
        assert_eq!(to_outgoing(&fields(2, b"go")), Some(message));
        let response = Outgoing {
            subject: Subject::Parent(Id::new([2; 16])),
            expects_response: false,
            ..message
        };
        assert_eq!(to_outgoing(&fields(1, b"")), Some(response));
        for wrong in [fields(4, b""), fields(0, b"\xff"), vec![0; 35]] {
            assert_eq!(to_outgoing(&wrong), None);
        }
    }
}
