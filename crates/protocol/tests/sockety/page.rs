//! The bytes in the documentation of the wire format and in its diagrams equal those that this codec
//! encodes and decodes.

use millrace_protocol::sockety::{
    DecoderConfig, GO_AWAY, HEARTBEAT, Id, STREAM_END, Sender, append_body, append_continue,
    append_data_head, append_fast_reply, append_file_end, append_file_head, append_head,
    append_header, append_stream_head, append_switch,
};

use crate::seen::{Draft, Seen, U, decode_all};

const PAGE: &str = include_str!("../../../../docs/sockety-wire.md");
const PACKETS: &str = include_str!("../../../../docs/images/sockety-packets.svg");
const MESSAGE: &str = include_str!("../../../../docs/images/sockety-message.svg");
const CONVERSATION: &str = include_str!("../../../../docs/images/sockety-conversation.svg");

const A: Id = U;
const B: Id = Id::new([0xbb; 16]);
const R: Id = Id::new([0xcc; 16]);

/// The text of a section, up to the next heading.
fn section(heading: &str) -> &'static str {
    let (_, behind) = PAGE.split_once(&format!("\n## {heading}\n")).unwrap();
    behind
        .split_once("\n## ")
        .map_or(behind, |(section, _)| section)
}

/// The cells of a section's tables that have so many columns, without the header rows.
fn rows(heading: &str, columns: usize) -> Vec<Vec<&'static str>> {
    section(heading)
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .map(|row| row.split('|').map(|cell| cell.trim().trim_matches('`')))
        .map(Iterator::collect)
        .filter(|row: &Vec<_>| row.len() == columns)
        .skip(1)
        .collect()
}

/// The lines of a section's code block.
fn listing(heading: &str) -> impl Iterator<Item = &'static str> {
    let (_, listing) = section(heading).split_once("```text\n").unwrap();
    listing.split_once("\n```").unwrap().0.lines()
}

/// The texts of a class in a diagram.
fn texts<'a>(picture: &'a str, class: &str) -> Vec<&'a str> {
    let of_class = |text: &&str| {
        let classes = text
            .split_once("class=\"")
            .and_then(|(_, rest)| rest.split_once('"'));
        classes.is_some_and(|(classes, _)| classes.split(' ').any(|one| one == class))
    };
    picture
        .split("<text")
        .skip(1)
        .filter(of_class)
        .map(|text| {
            text.split_once('>')
                .unwrap()
                .1
                .split_once("</text>")
                .unwrap()
                .0
        })
        .collect()
}

/// The bytes at the beginning of a text, written as pairs of digits and names of ids.
fn shown(text: &str) -> Vec<u8> {
    let text = text.replace("&lt;", "<").replace("&gt;", ">");
    let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'A'..=b'F');
    text.split_whitespace()
        .map_while(|word| match word {
            "<A>" => Some(A.as_bytes().to_vec()),
            "<B>" => Some(B.as_bytes().to_vec()),
            "<R>" => Some(R.as_bytes().to_vec()),
            _ if word.len() == 2 && word.bytes().all(is_digit) => {
                Some(vec![u8::from_str_radix(word, 16).unwrap()])
            }
            _ => None,
        })
        .flatten()
        .collect()
}

fn written<E: std::fmt::Debug>(append: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Vec<u8> {
    let mut out = Vec::new();
    append(&mut out).unwrap();
    out
}

fn of_head(draft: &Draft) -> Vec<u8> {
    written(|out| draft.with(|head| append_head(head, out)))
}

fn asking(mut draft: Draft) -> Draft {
    draft.expects_response = true;
    draft
}

fn streaming(mut draft: Draft) -> Draft {
    draft.has_stream = true;
    draft
}

fn response() -> Draft {
    let data_size = 2;
    asking(Draft {
        data_size,
        ..Draft::response(A, R)
    })
}

#[test]
fn the_headers_equal_those_of_the_encoder() {
    let shown: Vec<_> = rows("Header", 2).iter().map(|row| shown(row[0])).collect();
    let header = |channels| {
        let mut out = Vec::new();
        append_header(channels, &mut out);
        out
    };
    assert_eq!(shown, [1, 100, 256, 4096].map(header));
}

#[test]
fn the_packets_equal_those_of_the_encoder() {
    let with_head = |head: fn(u32, &mut Vec<u8>), bytes: &[u8]| {
        let mut out = Vec::new();
        head(u32::try_from(bytes.len()).unwrap(), &mut out);
        [&out, bytes].concat()
    };
    let file = written(|out| append_file_head(1, 3, out));
    let expected = [
        written(|out| append_switch(5, out)),
        written(|out| append_switch(299, out)),
        of_head(&asking(Draft::message(A, "a"))),
        written(|out| append_fast_reply(0, A, out)),
        written(|out| append_fast_reply(256, A, out)),
        of_head(&response()),
        written(|out| append_continue(&[1, b'a'], out)),
        with_head(append_stream_head, b"hi"),
        vec![STREAM_END],
        vec![0x90],
        vec![HEARTBEAT],
        vec![GO_AWAY],
        [&file[..], b"abc"].concat(),
        written(|out| append_file_end(1, out)),
        with_head(append_data_head, b"hello"),
    ];
    let rows = rows("Packets", 5);
    let examples: Vec<_> = rows.iter().map(|row| shown(row[3])).collect();
    assert_eq!(examples, expected);
    for (row, bytes) in rows.iter().zip(&expected) {
        let fits = |(bit, place): (u8, u32)| {
            !bit.is_ascii_digit() || (bytes[0] >> place & 1) == bit - b'0'
        };
        assert!(row[1].bytes().zip((0..8).rev()).all(fits), "{row:?}");
    }
    let bits = texts(PACKETS, "bit");
    let drawn: Vec<_> = bits.chunks(8).map(<[&str]>::concat).collect();
    assert_eq!(drawn[0], "111000NN");
    assert_eq!(
        drawn[1..16],
        rows.iter().map(|row| row[1]).collect::<Vec<_>>()
    );
    assert_eq!(drawn[16..18], ["DDEEFFG0", "0000ZZN0"]);
}

#[test]
fn the_widths_equal_those_of_the_encoder() {
    let rows = rows("Packets", 6);
    let widths = |code: &str| -> Vec<usize> {
        let row = rows.iter().find(|row| row[0] == code).unwrap();
        row[2..].iter().map(|cell| cell.parse().unwrap()).collect()
    };
    let [sizes, indices] = [[0, 1 << 8, 1 << 16, 1 << 24], [0, 1, 1 << 8, 1 << 16]];
    let size = |size| {
        let mut out = Vec::new();
        append_data_head(size, &mut out);
        out.len() - 1
    };
    assert_eq!(widths("PP"), sizes.map(size));
    let index = |index| written(|out| append_file_end(index, out)).len() - 1;
    assert_eq!(widths("II"), indices.map(index));
    let body = |draft: &Draft| written(|out| draft.with(|head| append_body(head, out))).len();
    let message = || Draft::message(A, "");
    let least = body(&message());
    let data = |data_size| {
        body(&Draft {
            data_size,
            ..message()
        }) - least
    };
    assert_eq!(widths("DD"), [0, 1, 1 << 8, 1 << 16].map(data));
    let files = |files: Vec<(String, u64)>| body(&Draft { files, ..message() }) - least;
    let (count, total, one) = (widths("EE"), widths("FF"), widths("ZZ"));
    let empty = |count: usize| files(vec![(String::new(), 0); count]) - 3 * count;
    assert_eq!(count[0], 0);
    assert_eq!(
        [1, 1 << 8, 1 << 16].map(empty)[..],
        [2 + count[1], 2 + count[2], 2 + count[3]]
    );
    for (size, of_total, of_one) in [
        (0, 0, 0),
        (1 << 8, 0, 1),
        (1 << 16, 1, 2),
        (1 << 24, 2, 3),
        (1 << 32, 3, 3),
    ] {
        let expected = count[1] + total[of_total] + 1 + one[of_one] + 1;
        assert_eq!(files(vec![(String::new(), size)]), expected, "{size}");
    }
    let columns = ["PP", "II", "DD", "EE", "FF", "ZZ"].map(widths);
    let expected: Vec<_> = (0..4)
        .flat_map(|code| {
            let texts = (code < 2).then_some(code + 1);
            columns.iter().map(move |column| column[code]).chain(texts)
        })
        .map(|width| width.to_string())
        .collect();
    assert_eq!(texts(PACKETS, "width-code"), expected);
}

#[test]
fn the_message_is_encoded_and_decoded_as_shown() {
    let mut draft = asking(Draft::message(A, "store"));
    draft.data_size = 5;
    draft.files.push(("hi.txt".to_owned(), 3));
    let (mut sender, mut out) = (Sender::new(1), Vec::new());
    draft.with(|head| sender.begin(head, &mut out)).unwrap();
    sender.data(0, b"hello", &mut out).unwrap();
    sender.file(0, 0, b"abc", &mut out).unwrap();
    sender.end_file(0, 0, &mut out).unwrap();
    let listed: Vec<u8> = listing("Messages and responses").flat_map(shown).collect();
    assert_eq!(listed, out);
    assert_eq!(shown(&texts(MESSAGE, "hex").join(" ")), out);
    assert!(MESSAGE.contains(&format!("{} bytes", out.len())));
    let wire = [&[0xe0][..], &out].concat();
    let (seen, unfinished, is_busy) = decode_all(&DecoderConfig::default(), [&wire[..]]);
    let expected = [
        Seen::Header(1),
        Seen::Message(0, draft, false),
        Seen::Data(0, b"hello".to_vec(), 0, false),
        Seen::File(0, 0, b"abc".to_vec()),
        Seen::FileEnd(0, 0, true),
    ];
    assert_eq!(
        (&seen[..], unfinished, is_busy),
        (&expected[..], None, false)
    );
}

#[test]
fn the_conversation_is_encoded_and_decoded_as_shown() {
    let said = |who: &str| -> Vec<Vec<u8>> {
        let lines = listing("A conversation").filter_map(|line| line.strip_prefix(who));
        lines.map(shown).collect()
    };
    for who in ["client", "server"] {
        let drawn: Vec<_> = texts(CONVERSATION, who).into_iter().map(shown).collect();
        assert_eq!(drawn, said(who));
    }
    let drafts = [
        streaming(asking(Draft::message(A, "a"))),
        streaming(Draft::message(B, "b")),
    ];
    let (mut sender, mut out) = (Sender::new(4096), Vec::new());
    append_header(4096, &mut out);
    for draft in &drafts {
        draft.with(|head| sender.begin(head, &mut out)).unwrap();
    }
    sender.stream(1, &[b"b1"], false, &mut out).unwrap();
    sender.stream(0, &[b"a1"], false, &mut out).unwrap();
    sender.stream(0, &[], true, &mut out).unwrap();
    sender.abort(1, &mut out).unwrap();
    out.push(GO_AWAY);
    assert_eq!(said("client").concat(), out);
    let [a, b] = drafts;
    let expected = [
        Seen::Header(4096),
        Seen::Message(0, a, false),
        Seen::Message(1, b, false),
        Seen::Stream(1, b"b1".to_vec()),
        Seen::Stream(0, b"a1".to_vec()),
        Seen::StreamEnd(0, true),
        Seen::Abort(1),
        Seen::GoAway,
    ];
    let (seen, unfinished, is_busy) = decode_all(&DecoderConfig::default(), [&out[..]]);
    assert_eq!(
        (&seen[..], unfinished, is_busy),
        (&expected[..], None, false)
    );
    let (mut sender, mut out) = (Sender::new(4096), Vec::new());
    append_header(4096, &mut out);
    append_fast_reply(0, A, &mut out).unwrap();
    response()
        .with(|head| sender.begin(head, &mut out))
        .unwrap();
    sender.data(0, b"ok", &mut out).unwrap();
    out.push(HEARTBEAT);
    assert_eq!(said("server").concat(), out);
}
