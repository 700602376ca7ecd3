//! No bytes make the decoder of framed streams panic, hold much more than it was given, yield more than the limit,
//! decode differently when they come in pieces, or yield messages that do not decode to themselves when they are
//! encoded again. The first four bytes choose the framing, the limit, and how the rest is split.
#![no_main]

use libfuzzer_sys::fuzz_target;
use millrace_fuzz::cut;
use millrace_protocol::framing::{
    DecodeError, Decoder, Framing, Width, append_length, append_line,
};

type Seen = (Vec<Vec<u8>>, Result<Option<Vec<u8>>, DecodeError>);

fuzz_target!(|bytes: &[u8]| {
    let [framing, bound, step, other, stream @ ..] = bytes else {
        return;
    };
    let framing = match framing % 5 {
        0 => Framing::Line,
        1 => Framing::Length(Width::One),
        2 => Framing::Length(Width::Two),
        3 => Framing::Length(Width::Four),
        _ => Framing::None,
    };
    let bound = usize::from(*bound) + 1;
    let whole = decode(framing, bound, [stream]);
    let steps = [usize::from(*step) + 1, usize::from(*other) + 1];
    for seen in [
        decode(framing, bound, cut(stream, steps)),
        decode(framing, bound, stream.chunks(1).collect::<Vec<_>>()),
    ] {
        if framing == Framing::None {
            assert_eq!(seen.0.concat(), stream);
        } else {
            assert_eq!(seen, whole);
        }
    }

    let written = write(framing, &whole.0);
    let (again, end) = decode(framing, bound, [&written[..]]);
    assert_eq!(end, Ok(None));
    match framing {
        Framing::None => assert_eq!(again.concat(), stream),
        Framing::Length(_) => assert_eq!(again, whole.0),
        // the encoder replaces a CR within a line by a blank
        Framing::Line => assert_eq!(again.len(), whole.0.len()),
    }
});

fn decode<'a>(framing: Framing, bound: usize, pieces: impl IntoIterator<Item = &'a [u8]>) -> Seen {
    let (mut decoder, mut messages) = (Decoder::new(framing), Vec::new());
    for piece in pieces {
        let mut input = piece;
        loop {
            match decoder.next(&mut input, bound) {
                Ok(Some(message)) => {
                    assert!(message.len() <= bound);
                    messages.push(message.into_owned());
                }
                Ok(None) => break,
                Err(error) => return (messages, Err(error)),
            }
        }
        assert!(input.is_empty());
        let unfinished = decoder.unfinished().unwrap_or_default();
        assert!(unfinished <= bound + 4);
        assert!(decoder.held_bytes() <= 2 * unfinished);
    }
    (messages, decoder.finish())
}

fn write(framing: Framing, messages: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for message in messages {
        match framing {
            Framing::Line => append_line(message, &mut out),
            Framing::Length(width) => append_length(width, message, &mut out).unwrap(),
            Framing::None => out.extend_from_slice(message),
        }
    }
    out
}
